//! The course of a journey: the sequence of pages that its client visits, their times, and the state dropped in
//! between.

use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::time::Duration;

use browser::Session;
use chance::{RandomSource, RandomStream};
use scenario::{
    CrossTraffic, Itinerary, Keeps, Noise, PageOrder, Scenario, Spacing, View, VisitPace, World,
};
use units::Time;

use super::{BETWEEN_VISITS, RADIO, start_phase};

/// Sequence of a client's visits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Course {
    steps: Vec<CourseStep>,
    pace: VisitPace,
    keeps: Keeps,
}

/// One visit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CourseStep {
    /// Index among the journey's pages.
    pub(super) page: usize,
    /// State of the browser's cache: warm after an earlier visit of the page.
    pub(super) view: View,
    /// True if it is recorded, false if it only prepares a later visit.
    pub(super) is_measured: bool,
}

impl Course {
    /// The course of a client of this scenario, which has `pages` pages.
    pub(crate) fn of(scenario: &Scenario, pages: usize, visitor: Visitor) -> Course {
        let step = |view, is_measured| CourseStep { page: 0, view, is_measured };
        let (cold, warm) = (View::Cold, View::Warm);
        let steps = match scenario.client.view {
            View::Cold => return Course::through(&scenario.journey, pages, visitor),
            View::Warm => vec![step(cold, false), step(warm, true)],
            View::Both => vec![step(cold, true), step(warm, true)],
        };
        // A browser that is closed after its first visit, and has its cache and its sessions when it is restarted.
        let keeps = Keeps { cache: true, sessions: true, metrics: true, ..Keeps::NOTHING };
        Course { steps, pace: VisitPace::Think(BETWEEN_VISITS), keeps }
    }

    fn through(journey: &Itinerary, pages: usize, visitor: Visitor) -> Course {
        let source = match journey.order {
            PageOrder::Listed => None,
            PageOrder::Drawn(Some(seed)) => Some(RandomSource::new(seed, 0)),
            // A plan would have set the seed.
            PageOrder::Drawn(None) | PageOrder::DrawnAnew => Some(visitor.journey_source()),
        };
        let mut draws = source.map(|source| source.stream("journey/order"));
        let mut steps: Vec<CourseStep> = Vec::new();
        let mut was_there = vec![false; pages];
        for _ in 0..journey.times {
            for page in order(pages, draws.as_mut()) {
                let comes_back = std::mem::replace(&mut was_there[page], true);
                let view = match comes_back && journey.keeps.cache {
                    true => View::Warm,
                    false => View::Cold,
                };
                steps.push(CourseStep { page, view, is_measured: true });
            }
        }
        Course { steps, pace: journey.pace, keeps: journey.keeps }
    }

    /// True if TCP's metrics are kept between visits.
    pub(crate) fn keeps_metrics(scenario: &Scenario) -> bool {
        scenario.client.view != View::Cold || scenario.journey.keeps.metrics
    }

    /// The visits in their order.
    pub(super) fn steps(&self) -> &[CourseStep] {
        &self.steps
    }

    /// Waits between two visits, the first of which began at `began`.
    pub(super) async fn pause(&self, began: Time) {
        match self.pace {
            VisitPace::Think(span) => world::sleep(span).await,
            VisitPace::Every(span) => {
                if began + span > world::now() {
                    world::sleep_until(began + span).await;
                }
            }
        }
    }

    /// The browser after a visit: the same, or a restarted one if its connections are not kept or are of no use.
    pub(super) fn after_visit(&self, session: Rc<Session>) -> Rc<Session> {
        match self.keeps.connections && !session.has_given_up() {
            true => session,
            false => Rc::new(session.restarted()),
        }
    }

    /// Drops state of the previous visit that is not kept.
    pub(super) fn forget(&self, session: &Session) {
        let Keeps { sessions, metrics, cache, names, .. } = self.keeps;
        if !sessions {
            session.forget_servers();
        }
        if !metrics {
            world::forget_peers();
        }
        if !cache {
            session.empty_cache();
        }
        if !names {
            session.forget_names();
        }
    }
}

/// Each page once: in the list's order, or shuffled (Fisher and Yates).
fn order(pages: usize, draws: Option<&mut RandomStream>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..pages).collect();
    if let Some(draws) = draws {
        for last in (1..pages).rev() {
            order.swap(last, draws.below(last as u64 + 1) as usize);
        }
    }
    order
}

/// A note for readers of results.
pub(super) fn note(scenario: &Scenario) -> Option<String> {
    let forgets = scenario.visits_each() > 1 && !Course::keeps_metrics(scenario);
    (forgets && scenario.world == World::Emu).then(|| {
        "TCP's metrics are not kept: the kernel remembers nothing from one connection to the next, within a visit neither (tcp_no_metrics_save)".to_owned()
    })
}

// The clients of a journey: identity and start time of each.

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
    /// traffic and the noise model's phase.
    pub(crate) fn all(scenario: &Scenario, seed: u64) -> Vec<Visitor> {
        let source = RandomSource::new(seed, 0);
        let mut begins = scenario.traffic.lead();
        if scenario.noise == Noise::On {
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
    pub(crate) fn source(self) -> RandomSource {
        RandomSource::new(self.seed, u64::from(self.number))
    }

    /// Source of the network's random streams.
    pub(crate) fn journey_source(self) -> RandomSource {
        RandomSource::new(self.seed, 0)
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
    use scenario::{Clients, NetworkSpec};

    use super::*;

    fn course(order: &str, keeps: &str, seed: u64) -> Vec<(usize, View)> {
        let mut scenario = Scenario::new("sites.toml", NetworkSpec::default());
        scenario.journey = Itinerary {
            times: 2,
            order: order.parse().unwrap(),
            keeps: keeps.parse().unwrap(),
            ..Itinerary::default()
        };
        let visitor = Visitor::all(&scenario, seed)[0];
        Course::of(&scenario, 8, visitor).steps().iter().map(|s| (s.page, s.view)).collect()
    }

    fn pages(order: &str, seed: u64) -> Vec<usize> {
        course(order, "nothing", seed).into_iter().map(|(page, _)| page).collect()
    }

    #[test]
    fn a_list_is_gone_through_in_its_order() {
        let listed: Vec<usize> = (0..8).chain(0..8).collect();
        assert_eq!(pages("listed", 1), listed);
        let cached = course("listed", "cache", 1);
        assert!(cached[..8].iter().all(|(_, view)| *view == View::Cold));
        assert!(cached[8..].iter().all(|(_, view)| *view == View::Warm));
    }

    #[test]
    fn an_order_is_drawn_for_all_or_for_each() {
        let drawn = pages("drawn=3", 1);
        assert_eq!(drawn, pages("drawn=3", 2), "every repetition has the same");
        assert_ne!(drawn, pages("drawn=4", 1));
        assert_ne!(drawn, pages("listed", 1));
        assert_ne!(pages("drawn-anew", 1), pages("drawn-anew", 2));
        assert_eq!(pages("drawn-anew", 1), pages("drawn-anew", 1), "arms are paired by their seed");
        let mut once = drawn[..8].to_vec();
        once.sort_unstable();
        assert_eq!(once, (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn a_view_of_one_page_is_a_journey_of_two_visits() {
        let mut scenario = Scenario::new("a", NetworkSpec::default());
        scenario.client.view = View::Warm;
        let course = Course::of(&scenario, 1, Visitor::all(&scenario, 1)[0]);
        let measured: Vec<bool> = course.steps().iter().map(|step| step.is_measured).collect();
        assert_eq!(measured, [false, true]);
        assert_eq!(course.pace, VisitPace::Think(BETWEEN_VISITS));
    }

    fn begins(clients: Clients, noise: Noise) -> Vec<Duration> {
        let mut scenario = Scenario::new("a", NetworkSpec::default());
        (scenario.clients, scenario.noise) = (clients, noise);
        Visitor::all(&scenario, 7).into_iter().map(|visitor| visitor.begins).collect()
    }

    #[test]
    fn clients_begin_together_or_one_after_the_other() {
        let of = |start_spacing| Clients { count: 3, start_spacing, ..Clients::default() };
        let second = 1_000_000_000;
        assert_eq!(begins(of(Spacing::Together), Noise::Off), [Duration::ZERO; 3]);
        let spaced = begins(of(Spacing::Ns(second)), Noise::Off);
        assert_eq!(spaced, [0, 1, 2].map(Duration::from_secs));
        let drawn = begins(of(Spacing::DrawnNs(second)), Noise::On);
        assert!(drawn.is_sorted() && drawn[2] - drawn[1] != drawn[1] - drawn[0], "{drawn:?}");
        let together = begins(of(Spacing::Together), Noise::On);
        assert!(together[0] > Duration::ZERO && together.iter().all(|at| *at == together[0]));
        let beside = Clients { cross_traffic: CrossTraffic::Download, ..of(Spacing::Ns(second)) };
        assert_eq!(begins(beside, Noise::Off), [1, 2, 3].map(Duration::from_secs));
    }

    #[test]
    fn nobody_has_the_servers_address() {
        let all: Vec<String> = (0..3).map(|number| address(number).to_string()).collect();
        assert_eq!(all, ["10.0.0.1", "10.0.0.3", "10.0.0.4"]);
    }
}
