//! Instantaneous events that belong to no single object's phases.

use serde::{Deserialize, Serialize};

/// One event of a visit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Time of the event.
    pub at_ns: u64,
    /// Kind of the event.
    pub kind: EventKind,
    /// The object concerned, as an index into the page.
    pub object: Option<u32>,
    /// The connection concerned, as an index into the visit's connections.
    pub connection: Option<u32>,
    /// Further detail, human-readable.
    pub detail: String,
}

/// Kinds of events. The store holds their names.
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
    /// A segment was retransmitted; the detail gives the reason.
    Retransmit,
    /// A request reached the proxy; the detail gives its outcome there.
    Proxied,
    /// A proxy or PEP opened a connection to an origin; the detail says what it carried.
    Upstream,
    /// A PEP carried the visit; the detail holds its counters.
    Pep,
    /// A connection of a PEP's leg, from the time the visit had it; the detail says what it had carried by the
    /// visit's end.
    Leg,
}

impl EventKind {
    /// Name of the kind in the store.
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
