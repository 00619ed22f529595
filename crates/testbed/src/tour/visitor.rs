//! The clients of a journey: identity and start time of each.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use chance::Source;
use units::Time;

use super::{RADIO, start_phase};
use scenario::{CrossTraffic, Nuisance, Scenario, Spacing};

/// Address of the only or first client.
pub(crate) const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

/// One of the clients that load the page, or the cross-traffic client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Visitor {
    /// Its number, from 0: its user number on links.
    pub(crate) number: u32,
    /// Start of its journey.
    pub(crate) begins: Duration,
    seed: u64,
}

impl Visitor {
    /// The clients that load the page, in the order of their numbers. They begin after the lead of background
    /// traffic and the nuisance model's phase.
    pub(crate) fn all(scenario: &Scenario, seed: u64) -> Vec<Visitor> {
        let source = Source::new(seed, 0);
        let mut begins = scenario.traffic.lead();
        if scenario.nuisance == Nuisance::On {
            begins += start_phase(source);
        }
        let clients = scenario.clients;
        let mut draws = source.stream("visit/spacing");
        let mut space = || match clients.start_spacing {
            Spacing::Together => Duration::ZERO,
            Spacing::Ns(nanos) => Duration::from_nanos(nanos),
            Spacing::DrawnNs(nanos) => 2 * draws.span(Duration::from_nanos(nanos)),
        };
        if clients.cross_traffic != CrossTraffic::None {
            begins += space();
        }
        let visitor = |number| {
            if number > 0 {
                begins += space();
            }
            Visitor { number, begins, seed }
        };
        (0..clients.count).map(visitor).collect()
    }

    /// The client with this number, or, behind the last, the cross-traffic client.
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn of(scenario: &Scenario, seed: u64, number: u32) -> Visitor {
        let mut all =
            Visitor::all(scenario, seed).into_iter().chain(Visitor::beside(scenario, seed));
        all.find(|visitor| visitor.number == number).expect("orders are for clients that there are")
    }

    /// The cross-traffic client, present from the start.
    pub(crate) fn beside(scenario: &Scenario, seed: u64) -> Option<Visitor> {
        let number = scenario.clients.count;
        let somebody = scenario.clients.cross_traffic != CrossTraffic::None;
        somebody.then_some(Visitor { number, begins: Duration::ZERO, seed })
    }

    /// The same client, starting later by `lead`.
    pub(crate) fn after(self, lead: Duration) -> Visitor {
        Visitor { begins: self.begins + lead, ..self }
    }

    /// Waits until it begins.
    pub(crate) async fn wait(self) {
        if !self.begins.is_zero() {
            world::sleep_until(Time::ZERO + self.begins).await;
        }
    }

    /// Source of its own random streams.
    pub(crate) fn source(self) -> Source {
        Source::new(self.seed, u64::from(self.number))
    }

    /// Source of the network's random streams.
    pub(crate) fn journey_source(self) -> Source {
        Source::new(self.seed, 0)
    }

    /// Its address: 10.0.0.1, then 10.0.0.3 and so on.
    pub(crate) fn address(self) -> IpAddr {
        address(self.number)
    }

    /// Name of its radio.
    pub(crate) fn radio(self) -> String {
        radio_name(self.number)
    }
}

/// Name of the radio of the client with this number.
pub(crate) fn radio_name(number: u32) -> String {
    match number {
        0 => RADIO.to_owned(),
        _ => format!("{RADIO}/{number}"),
    }
}

/// The address of the client with this number. On a real wire, the second address is the servers'.
pub(crate) fn address(number: u32) -> IpAddr {
    match number {
        0 => CLIENT,
        _ => Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 2)) + number).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{Clients, NetworkSpec};

    fn begins(clients: Clients, nuisance: Nuisance) -> Vec<Duration> {
        let mut scenario = Scenario::new("a", NetworkSpec::default());
        (scenario.clients, scenario.nuisance) = (clients, nuisance);
        Visitor::all(&scenario, 7).into_iter().map(|visitor| visitor.begins).collect()
    }

    #[test]
    fn clients_begin_together_or_one_after_the_other() {
        let of = |start_spacing| Clients { count: 3, start_spacing, ..Clients::default() };
        let second = 1_000_000_000;
        assert_eq!(begins(of(Spacing::Together), Nuisance::Off), [Duration::ZERO; 3]);
        let spaced = begins(of(Spacing::Ns(second)), Nuisance::Off);
        assert_eq!(spaced, [0, 1, 2].map(Duration::from_secs));
        let drawn = begins(of(Spacing::DrawnNs(second)), Nuisance::On);
        assert!(drawn.is_sorted() && drawn[2] - drawn[1] != drawn[1] - drawn[0], "{drawn:?}");
        let together = begins(of(Spacing::Together), Nuisance::On);
        assert!(together[0] > Duration::ZERO && together.iter().all(|at| *at == together[0]));
        let beside = Clients { cross_traffic: CrossTraffic::Download, ..of(Spacing::Ns(second)) };
        assert_eq!(begins(beside, Nuisance::Off), [1, 2, 3].map(Duration::from_secs));
    }

    #[test]
    fn nobody_has_the_servers_address() {
        let all: Vec<String> = (0..3).map(|number| address(number).to_string()).collect();
        assert_eq!(all, ["10.0.0.1", "10.0.0.3", "10.0.0.4"]);
    }
}
