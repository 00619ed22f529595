//! The radio's states during a visit, one after the other, and their energy.
//!
//! The record has every change, and the total time in each state; the state at navigation start is the one that
//! the changes do not account for. A state has one power, so energy over time is exact. Joules for sent and
//! received data, where a radio has those, are in the record's total but not here, because the store does not
//! say when packets passed.

use std::collections::BTreeMap;

use net::RadioState;
use record::{EventKind, RadioChange, RadioRecord, VisitRecord};
use serde::Serialize;

use super::{rounded, since_start};

/// A span of time in one state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateSpan {
    /// Beginning, in milliseconds since navigation start.
    pub from_ms: f64,
    /// End.
    pub to_ms: f64,
    /// The state.
    pub state: String,
    /// Its connectivity level: `rest`, `low`, `full`; `promotion` on the way there.
    pub level: &'static str,
    /// The cause of the change to it.
    pub cause: String,
    /// Its power.
    pub watts: f64,
    /// Cumulated energy of all states up to its end.
    pub joules: f64,
}

/// A change of state: time, new state, cause.
type StateChange<'a> = (u64, &'a str, &'a str);

/// The states from navigation start to the visit's end.
pub fn stays(record: &VisitRecord, radio: &RadioRecord) -> Vec<StateSpan> {
    let start = record.started_at_ns;
    let end = start + radio.states.iter().map(|state| state.span_ns).sum::<u64>();
    let mut changes = changes(record);
    changes.retain(|(at, ..)| *at < end);
    let Some(first) = state_at_start(radio, &changes, end) else { return Vec::new() };
    let begins = std::iter::once((start, first, "it was so before")).chain(changes.iter().copied());
    let ends = changes.iter().map(|(at, ..)| *at).chain([end]);
    let mut joules = 0.0;
    let stay = |((from, state, cause), to): (StateChange<'_>, u64)| {
        let watts = watts(radio, state);
        joules += watts * (to - from) as f64 / 1e9;
        StateSpan {
            from_ms: since_start(record, from),
            to_ms: since_start(record, to),
            state: state.to_owned(),
            level: level(state),
            cause: cause.to_owned(),
            watts: rounded(watts),
            joules: rounded(joules),
        }
    };
    begins.zip(ends).filter(|((from, ..), to)| from < to).map(stay).collect()
}

fn changes(record: &VisitRecord) -> Vec<StateChange<'_>> {
    let events = record.events.iter().filter(|event| event.kind == EventKind::Radio);
    let told = events.filter_map(|event| Some((event.at_ns, RadioChange::read(&event.detail)?)));
    told.map(|(at, RadioChange { state, cause })| (at, state, cause)).collect()
}

/// The state with the most time that the changes do not account for.
fn state_at_start<'a>(
    radio: &'a RadioRecord,
    changes: &[StateChange<'_>],
    end: u64,
) -> Option<&'a str> {
    let mut explained: BTreeMap<&str, u64> = BTreeMap::new();
    let ends = changes.iter().skip(1).map(|(at, ..)| *at).chain([end]);
    for ((from, state, _), to) in changes.iter().zip(ends) {
        *explained.entry(state).or_default() += to - from;
    }
    let unexplained = |name: &str, span: u64| {
        span.saturating_sub(explained.get(name).copied().unwrap_or_default())
    };
    let most = radio.states.iter().max_by_key(|of| unexplained(&of.state, of.span_ns));
    most.map(|of| of.state.as_str())
}

/// The power of a state: its mean power during the visit.
fn watts(radio: &RadioRecord, state: &str) -> f64 {
    let of = radio.states.iter().find(|of| of.state == state && of.span_ns > 0);
    of.map_or(0.0, |of| of.energy_uj as f64 * 1e3 / of.span_ns as f64)
}

/// The connectivity level of a state.
pub fn level(state: &str) -> &'static str {
    use RadioState::{
        Assigned, Awake, Continuous, Dch, Doze, Fach, FachToDch, Idle, IdleToConnected, IdleToDch,
        LongDrx, Requesting, ShortDrx, Unassigned,
    };
    match RadioState::named(state) {
        Some(Idle | Doze | Unassigned) => "rest",
        Some(Fach | ShortDrx | LongDrx) => "low",
        Some(Dch | Continuous | Awake | Assigned) => "full",
        Some(IdleToDch | FachToDch | IdleToConnected | Requesting) => "promotion",
        // A state of another version of farlink.
        None => "low",
    }
}

#[cfg(test)]
mod tests {
    use record::{RadioStateRecord, TcpEvent, VisitOutcome};

    use super::*;

    const S: u64 = 1_000_000_000;

    fn change(at_s: u64, detail: &str) -> TcpEvent {
        let (object, connection) = (None, None);
        TcpEvent {
            at_ns: at_s * S,
            kind: EventKind::Radio,
            object,
            connection,
            detail: detail.to_owned(),
        }
    }

    fn spent(state: &str, seconds: u64, watts: f64) -> RadioStateRecord {
        let energy_uj = (seconds as f64 * watts * 1e6) as u64;
        RadioStateRecord { state: state.to_owned(), span_ns: seconds * S, energy_uj }
    }

    fn visit(events: Vec<TcpEvent>, states: Vec<RadioStateRecord>) -> VisitRecord {
        let energy_uj = states.iter().map(|state| state.energy_uj).sum();
        VisitRecord {
            index: 0,
            page: None,
            view: "cold".to_owned(),
            started_at_ns: 100 * S,
            outcome: VisitOutcome::Failed { reason: "a test".to_owned() },
            ttfb_ns: None,
            objects: Vec::new(),
            connections: Vec::new(),
            links: Vec::new(),
            events,
            wire_bytes_down: 0,
            wire_bytes_up: 0,
            queue_drops: 0,
            losses: 0,
            trace_digest: None,
            emulation: None,
            paint: None,
            radio: Some(RadioRecord { energy_uj, states, ..RadioRecord::default() }),
            series: None,
            activity: record::NetworkActivity::default(),
        }
    }

    fn stays_of(visit: &VisitRecord) -> Vec<StateSpan> {
        stays(visit, visit.radio.as_ref().unwrap())
    }

    #[test]
    fn the_state_at_the_start_is_what_is_left() {
        let visit = visit(
            vec![
                change(103, "FACH to DCH, by a packet of 1452 bytes down"),
                change(105, "CELL_DCH, by a timer"),
                change(111, "CELL_FACH, by a timer"),
            ],
            vec![
                spent("CELL_DCH", 6, 0.7),
                spent("CELL_FACH", 3 + 4, 0.35),
                spent("FACH to DCH", 2, 0.55),
            ],
        );
        let stays = stays_of(&visit);
        let states: Vec<(f64, f64, &str, &str)> =
            stays.iter().map(|s| (s.from_ms, s.to_ms, s.state.as_str(), s.level)).collect();
        assert_eq!(
            states,
            [
                (0.0, 3000.0, "CELL_FACH", "low"),
                (3000.0, 5000.0, "FACH to DCH", "promotion"),
                (5000.0, 11000.0, "CELL_DCH", "full"),
                (11000.0, 15000.0, "CELL_FACH", "low"),
            ]
        );
        assert_eq!(stays[1].cause, "a packet of 1452 bytes down");
        let joules = visit.radio.unwrap().energy_uj as f64 / 1e6;
        assert!((stays[3].joules - joules).abs() < 1e-3, "{stays:?}");
    }

    #[test]
    fn a_radio_that_did_not_change_has_one_state() {
        let visit = visit(Vec::new(), vec![spent("IDLE", 2, 0.0)]);
        assert_eq!(stays_of(&visit).len(), 1);
        assert_eq!(stays_of(&visit)[0].state, "IDLE");
    }

    #[test]
    fn every_state_has_a_level_of_its_own_technology() {
        assert_eq!(level(RadioState::Idle.name()), "rest");
        assert_eq!(level(RadioState::LongDrx.name()), "low");
        assert_eq!(level(RadioState::IdleToConnected.name()), "promotion");
    }
}
