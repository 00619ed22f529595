//! Things that happened at an instant and belong to no single object's phases.

use serde::{Deserialize, Serialize};

/// One event of a visit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When.
    pub at_ns: u64,
    /// What.
    pub kind: EventKind,
    /// The object concerned, as an index into the page.
    pub object: Option<u32>,
    /// The connection concerned, as an index into the visit's connections.
    pub connection: Option<u32>,
    /// More, for people.
    pub detail: String,
}

/// The kinds of events. The names are what the store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EventKind {
    /// The visit began (navigation start).
    Start,
    /// The load event fired.
    Load,
    /// The load failed.
    Failure,
    /// A packet was dropped by a link's queue.
    QueueDrop,
    /// The client's radio changed its state.
    Radio,
    /// A packet was lost on a link.
    Loss,
    /// A segment was sent again; the detail says why.
    Retransmit,
    /// A request reached the proxy; the detail says what became of it there.
    Proxied,
    /// The proxy opened a connection to an origin, or a PEP did; the detail says what it carried.
    Upstream,
    /// A PEP has carried the visit; the detail says what that came to.
    Pep,
    /// A connection of a PEP's leg, since when the visit had it; the detail says what it had carried at the visit's end.
    Leg,
}

impl EventKind {
    /// The name that the store holds.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Start => "start",
            EventKind::Load => "load",
            EventKind::Failure => "failure",
            EventKind::QueueDrop => "queue-drop",
            EventKind::Radio => "radio",
            EventKind::Loss => "loss",
            EventKind::Retransmit => "retransmit",
            EventKind::Proxied => "proxied",
            EventKind::Upstream => "upstream",
            EventKind::Pep => "pep",
            EventKind::Leg => "leg",
        }
    }
}
