//! Pings through a radio: the first from idle, the others while it is awake.
//!
//! The radio's delay is computed here from its settings, independently of the state machine that carries
//! packets: a bound if it depends on the state that pings find.

use std::collections::BTreeMap;
use std::time::Duration;

use net::{LinkConfig, RadioConfig, Technology};

use super::ping::{self, INTERVAL, PINGS};
use super::{PacketDirection, Ping, TestedNetwork};

/// A subframe of LTE, whose block is retransmitted as a unit.
const SUBFRAME: Duration = Duration::from_millis(1);

/// Round trips of the whole network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RadioPing {
    /// The first, which finds the radio idle.
    pub first: Ping,
    /// The later ones, which keep the radio awake if a ping every 200 ms does.
    pub awake: Ping,
}

/// Bounds of an average duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct DurationBounds {
    least: Duration,
    most: Duration,
}

impl DurationBounds {
    fn exactly(span: Duration) -> DurationBounds {
        DurationBounds { least: span, most: span }
    }

    fn up_to(most: Duration) -> DurationBounds {
        DurationBounds { least: Duration::ZERO, most }
    }

    fn and(self, other: DurationBounds) -> DurationBounds {
        DurationBounds { least: self.least + other.least, most: self.most + other.most }
    }
}

/// Measures the radio; `None` if the network has none.
pub(super) fn measure(bench: &TestedNetwork<'_>) -> Option<RadioPing> {
    let radio = bench.network.radio.as_ref()?;
    let links = ping::of_links(bench);
    let repeated =
        [PacketDirection::Up, PacketDirection::Down].into_iter().flat_map(|way| bench.links(way));
    let repeated = repeated.map(repetitions).fold(DurationBounds::default(), DurationBounds::and);
    let awake = waits(radio, links.configured + repeated.most).and(repeated);
    let rest = radio.least_first_wait();
    // Packets sent meanwhile waited for the same promotion.
    let settled = 2 * (rest + awake.most) + INTERVAL;
    let before = settled.as_nanos().div_ceil(INTERVAL.as_nanos()) as usize;
    let mut trips = ping::send(bench, before + PINGS, INTERVAL);
    let later = trips.split_off(&(settled.as_nanos() as u64));
    let first = trips.into_iter().take(1).filter(|(sent, _)| *sent == 0).collect();
    let of_first = DurationBounds { least: rest, most: rest + awake.most + latest(bench) };
    let ping = |added, sent, trips| with(&links, added, sent, trips);
    Some(RadioPing { first: ping(of_first, 1, first), awake: ping(awake, PINGS, later) })
}

/// A ping over the links with this additional delay.
fn with(links: &Ping, added: DurationBounds, sent: usize, trips: BTreeMap<u64, Duration>) -> Ping {
    Ping {
        configured: links.configured + added.least,
        less: links.less,
        more: links.more.map(|more| more + (added.most - added.least)),
        sent,
        round_trips: trips.into_values().collect(),
    }
}

/// Waiting time of a ping at an awake radio, there and back, if its answer comes after `answered` at the latest.
fn waits(radio: &RadioConfig, answered: Duration) -> DurationBounds {
    let asleep = |since: Duration, most: Duration| match answered < since {
        true => DurationBounds::default(),
        false => DurationBounds::up_to(most),
    };
    match &radio.technology {
        Technology::Lte(lte) => {
            let request = DurationBounds::exactly(lte.request.period / 2 + lte.request.grant);
            let cycle = lte.short.cycle.max(lte.long.cycle);
            request.and(asleep(lte.continuous, cycle)).and(promotion(radio, lte.idle_to_connected))
        }
        // Small pings lose the dedicated channel, and may request it again.
        Technology::Umts(umts) => {
            let shared = [&umts.fach_up, &umts.fach_down];
            let drains = shared.map(|fach| fach.drain(ping::PACKET_BYTES));
            let overflows = drains.iter().any(|drain| *drain >= INTERVAL)
                || shared.iter().any(|fach| ping::PACKET_BYTES > fach.threshold_bytes);
            let anew = if overflows { umts.fach_to_dch } else { Duration::ZERO };
            let shared = DurationBounds::up_to(drains.iter().sum::<Duration>() + anew);
            shared.and(promotion(radio, umts.idle_to_dch))
        }
        Technology::Wifi(wifi) => {
            asleep(wifi.inactivity, wifi.beacon * wifi.listen_interval.max(1))
        }
        Technology::Dama(dama) => {
            DurationBounds::up_to(dama.frame).and(promotion(radio, dama.grant))
        }
        Technology::Leo(leo) => {
            let turn = DurationBounds::exactly(leo.uplink_wait / 2);
            turn.and(DurationBounds::up_to(leo.extra_rtt_most + 2 * leo.outage_most))
        }
    }
}

/// Additional promotion if the radio goes idle before the next ping.
fn promotion(radio: &RadioConfig, takes: Duration) -> DurationBounds {
    match radio.longest_tail() > INTERVAL {
        true => DurationBounds::default(),
        false => DurationBounds::up_to(takes),
    }
}

/// Delay of a ping by retransmissions on a link: it is in one block, or in every block that its time touches.
fn repetitions(link: &LinkConfig) -> DurationBounds {
    let Some(harq) = link.harq else { return DurationBounds::default() };
    let touched = 1 + ping::service(link).as_nanos().div_ceil(SUBFRAME.as_nanos()) as u32;
    let mean = harq.mean();
    DurationBounds { least: mean, most: mean * touched }
}

/// The largest excess of a single ping's retransmissions over their mean.
fn latest(bench: &TestedNetwork<'_>) -> Duration {
    let links =
        [PacketDirection::Up, PacketDirection::Down].into_iter().flat_map(|way| bench.links(way));
    links.filter_map(|link| link.harq).map(|harq| harq.latest()).sum()
}

#[cfg(test)]
mod tests {
    use net::Network;

    use super::*;
    use crate::link_test;

    fn found(network: &str) -> (RadioPing, f64) {
        let network = Network::parse(network).unwrap();
        let found = link_test::run(&network, 1);
        let radio = found.radio.expect("it has a radio");
        assert_eq!(
            (radio.first.agrees(), radio.awake.agrees()),
            (Some(true), Some(true)),
            "{radio:?}"
        );
        let mean = radio.awake.summary().expect("pings come back").1;
        (radio, mean.as_secs_f64() * 1e3)
    }

    /// The study says "slightly below 20 to 30 ms"; the profile's own note 23 ms.
    #[test]
    fn a_ping_through_kallio2016s_cell_takes_what_its_note_says() {
        let (radio, mean) = found("kallio2016-cell-25prb");
        assert!((22.0..24.0).contains(&mean), "{mean} ms");
        let configured = radio.awake.configured.as_secs_f64() * 1e3;
        // 8.1 ms of links, 5 + 8 of a scheduling request, 0.89 of retransmissions each way.
        assert!((configured - 22.9).abs() < 0.2, "{configured} ms");
        assert!(radio.awake.more.unwrap() < Duration::from_millis(2), "{radio:?}");
        let (_, first, _) = radio.first.summary().unwrap();
        assert!((268..310).contains(&first.as_millis()), "{first:?}: a promotion takes 260 ms");
    }

    #[test]
    fn each_radio_adds_what_its_settings_say() {
        // Capacity is kept, so pings wait only for a frame: 22.5 ms on average.
        let (_, dama) = found("rtt=100ms,down=100mbit,up=100mbit,queue=100pkt,radio=dama");
        assert!((115.0..130.0).contains(&dama), "{dama} ms");
        // A station that dozes 200 ms after a packet is awake for an answer after 100 ms, but not after 300 ms.
        let (_, awake) = found("rtt=100ms,down=100mbit,up=100mbit,queue=100pkt,radio=wifi");
        assert!((100.0..100.1).contains(&awake), "{awake} ms");
        // Small pings end on the shared channel: 164 ms up, 18 ms down.
        let (_, umts) = found("rtt=100ms,down=100mbit,up=100mbit,queue=100pkt,radio=umts");
        assert!((200.0..285.0).contains(&umts), "{umts} ms");
        let (_, leo) = found("leo");
        assert!((27.0..65.0).contains(&leo), "{leo} ms");
    }

    #[test]
    fn a_radio_that_is_slower_than_its_settings_differs() {
        let (radio, _) = found("kallio2016-cell-4prb");
        let mut late = radio.awake.clone();
        late.round_trips.iter_mut().for_each(|trip| *trip += Duration::from_millis(4));
        assert_eq!(late.agrees(), Some(false));
    }
}
