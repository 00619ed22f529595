//! Servers' retransmissions and the radio's simultaneous state changes: the events of a visit.

use std::collections::BTreeSet;

use record::{Event, EventKind, RadioChange, SentAgain};

use super::means::of_page;
use super::{Load, span};

/// Time since the beginning of a promotion within which needless retransmissions are attributed to it: a
/// promotion and its aftermath.
const AFTERMATH_NS: u64 = 3_000_000_000;

/// Distance between bursts of retransmissions.
const APART_NS: u64 = 1_000_000_000;

/// Infix in the names of a radio's transitions to a better state.
const PROMOTION: &str = " to ";

/// A segment that a server retransmitted.
pub(super) struct Again {
    pub(super) at_ns: u64,
    pub(super) connection: Option<u32>,
    is_needless: bool,
}

pub(super) fn all(events: &[Event]) -> Vec<Again> {
    let again = |event: &Event| {
        let sent = SentAgain::read(&event.detail).filter(|sent| sent.sender == "server")?;
        let Event { at_ns, connection, .. } = *event;
        Some(Again { at_ns, connection, is_needless: sent.needless })
    };
    let events = events.iter().filter(|event| event.kind == EventKind::Retransmit);
    events.filter_map(again).collect()
}

pub(super) fn needless(events: &[Event]) -> Vec<Again> {
    all(events).into_iter().filter(|again| again.is_needless).collect()
}

/// Number of needless retransmissions within 3 s of a promotion.
pub(super) fn after_promotion(events: &[Event]) -> usize {
    let promotions = promotions(events);
    needless(events).iter().filter(|again| is_after(&promotions, again)).count()
}

/// Number of needless retransmissions while the radio was up.
pub(super) fn radio_up(events: &[Event]) -> usize {
    let promotions = promotions(events);
    needless(events).iter().filter(|again| !is_after(&promotions, again)).count()
}

fn promotions(events: &[Event]) -> Vec<u64> {
    let begins = radio_changes(events).filter(|(_, change)| is_promotion(change.state));
    begins.map(|(at, _)| at).collect()
}

/// The radio's state changes, with their times.
pub(super) fn radio_changes(events: &[Event]) -> impl Iterator<Item = (u64, RadioChange<'_>)> {
    let radio = events.iter().filter(|event| event.kind == EventKind::Radio);
    radio.filter_map(|event| Some((event.at_ns, RadioChange::read(&event.detail)?)))
}

/// True if a state is the transition to a better one.
pub(super) fn is_promotion(state: &str) -> bool {
    state.contains(PROMOTION)
}

fn is_after(promotions: &[u64], again: &Again) -> bool {
    let within = |at: &u64| (*at..=*at + AFTERMATH_NS).contains(&again.at_ns);
    promotions.iter().any(within)
}

/// The median number of connections hit by a burst; `None` if there is no burst.
pub(super) fn connections_hit(events: &[Event]) -> Option<f64> {
    let mut again = all(events);
    again.sort_by_key(|again| again.at_ns);
    let bursts = again.chunk_by(|one, next| next.at_ns - one.at_ns <= APART_NS);
    let hit = bursts.map(|burst| {
        let connections: BTreeSet<u32> = burst.iter().filter_map(|it| it.connection).collect();
        connections.len() as f64
    });
    statistics::Sample::new(hit).map(|sample| sample.median())
}

/// Preference of requests for connections in recovery. Among requests that found some, but not all, of their
/// host's open connections recovering (a retransmission in the last second): the frequency with which they went
/// to a recovering one, over the share of recovering ones. Below 1, requests avoid them. `None` without such
/// requests.
pub(super) fn bound_to_hit(load: Load<'_>) -> Option<f64> {
    let again = all(load.events);
    let recovers = |connection: u32, at: u64| {
        let last = again.iter().filter(|it| it.connection == Some(connection) && it.at_ns <= at);
        last.map(|it| it.at_ns).max().is_some_and(|last| at - last <= APART_NS)
    };
    let (mut bound, mut by_chance) = (0.0, 0.0);
    for object in of_page(load) {
        let (Some(own), at) = (object.connection, span(object).0) else { continue };
        let Some(host) = load.connections.get(own as usize).map(|it| &it.host) else { continue };
        let open = load.connections.iter().zip(0..).filter(|(it, _)| {
            it.host == *host && it.opened_at_ns <= at && it.closed_at_ns.is_none_or(|end| end > at)
        });
        let open: Vec<u32> = open.map(|(_, number)| number).collect();
        let hit = open.iter().filter(|number| recovers(**number, at)).count();
        if hit > 0 && hit < open.len() {
            bound += f64::from(u8::from(recovers(own, at)));
            by_chance += hit as f64 / open.len() as f64;
        }
    }
    (by_chance > 0.0).then(|| bound / by_chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at_ms: u64, kind: EventKind, connection: u32, detail: &str) -> Event {
        let (at_ns, detail) = (at_ms * 1_000_000, detail.to_owned());
        Event { at_ns, kind, object: None, connection: Some(connection), detail }
    }

    #[test]
    fn what_is_sent_again_is_put_down_to_promotions_and_told_by_bursts() {
        let again = |at, connection, detail| event(at, EventKind::Retransmit, connection, detail);
        let events = [
            event(0, EventKind::Radio, 0, "IDLE to DCH, by a packet of 52 bytes up"),
            event(2000, EventKind::Radio, 0, "CELL_DCH, by a timer"),
            again(2500, 0, "server, timeout, needless"),
            again(2600, 1, "server, timeout, needless"),
            again(2700, 1, "client, timeout, needless"),
            again(6000, 1, "server, timeout, needless"),
            again(7500, 2, "server, fast retransmit"),
        ];
        assert_eq!((all(&events).len(), needless(&events).len()), (4, 3));
        assert_eq!((after_promotion(&events), radio_up(&events)), (2, 1));
        assert_eq!(connections_hit(&events), Some(1.0));
        assert_eq!(connections_hit(&events[..4]), Some(2.0));
        assert_eq!(connections_hit(&[]), None);
    }
}
