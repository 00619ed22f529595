//! Instantaneous events that belong to no single object's phases, and their details: text that reports parse again.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One event of a visit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpEvent {
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

/// The detail of a [retransmission](crate::EventKind::Retransmit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetransmitDetail<'a> {
    /// `client` or `server`.
    pub sender: &'a str,
    /// The reason, in words.
    pub cause: &'a str,
    /// True if the original turned out to have arrived, or would have.
    pub needless: bool,
}

/// The detail of a [change of a radio's state](crate::EventKind::Radio).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioChange<'a> {
    /// The new state, in the words of its standard.
    pub state: &'a str,
    /// The trigger: `a timer`, `a packet of 40 bytes up`.
    pub cause: &'a str,
}

const NEEDLESS: &str = ", needless";
const BY: &str = ", by ";

impl<'a> RetransmitDetail<'a> {
    /// Parses a detail; `None` if it has another form.
    pub fn read(detail: &'a str) -> Option<RetransmitDetail<'a>> {
        let (told, needless) = match detail.strip_suffix(NEEDLESS) {
            Some(told) => (told, true),
            None => (detail, false),
        };
        let (sender, cause) = told.split_once(", ")?;
        Some(RetransmitDetail { sender, cause, needless })
    }
}

impl fmt::Display for RetransmitDetail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RetransmitDetail { sender, cause, needless } = self;
        write!(f, "{sender}, {cause}{}", if *needless { NEEDLESS } else { "" })
    }
}

impl<'a> RadioChange<'a> {
    /// Parses a detail; `None` if it has another form.
    pub fn read(detail: &'a str) -> Option<RadioChange<'a>> {
        let (state, cause) = detail.split_once(BY)?;
        Some(RadioChange { state, cause })
    }
}

impl fmt::Display for RadioChange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{BY}{}", self.state, self.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for needless in [false, true] {
            let sent = RetransmitDetail { sender: "server", cause: "tail loss probe", needless };
            assert_eq!(RetransmitDetail::read(&sent.to_string()), Some(sent));
        }
        let change = RadioChange { state: "FACH to DCH", cause: "a packet of 1452 bytes down" };
        assert_eq!(change.to_string(), "FACH to DCH, by a packet of 1452 bytes down");
        assert_eq!(RadioChange::read(&change.to_string()), Some(change));
    }

    #[test]
    fn anything_else_is_refused() {
        assert_eq!(RetransmitDetail::read("1500 bytes"), None);
        assert_eq!(RadioChange::read("1500 bytes, down"), None);
    }
}
