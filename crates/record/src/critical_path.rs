//! Critical path of a visit: the chain of waits that made its page load time, and the part of each that is excess over the physical floor.

use serde::{Deserialize, Serialize};

/// A stretch of time, in nanoseconds since the world began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Period {
    /// Its beginning.
    pub from_ns: u64,
    /// Its end.
    pub until_ns: u64,
}

impl Period {
    /// Periods in chronological order, those that overlap or touch merged.
    pub fn merged(mut periods: Vec<Period>) -> Vec<Period> {
        periods.sort_by_key(|period| period.from_ns);
        let mut merged: Vec<Period> = Vec::with_capacity(periods.len());
        for period in periods {
            match merged.last_mut() {
                Some(last) if period.from_ns <= last.until_ns => {
                    last.until_ns = last.until_ns.max(period.until_ns);
                }
                _ => merged.push(period),
            }
        }
        merged
    }
}

/// Activity of the network during a visit, from which its critical path is derived. It is not stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkActivity {
    /// Periods during which packets waited at the slowest link or were in service there, either way.
    pub busy: Vec<Period>,
    /// Periods from the sending of a packet that was lost to its retransmission, and the connection; `None`: unknown.
    pub losses: Vec<(Option<u32>, Period)>,
    /// Periods during which packets waited for the client's radio to change its state.
    pub radio: Vec<Period>,
}

/// The chain of waits from navigation start to the load event, without gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticalPath {
    /// Its steps in chronological order.
    pub steps: Vec<PathStep>,
}

/// One wait on the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathStep {
    /// Object that was waited for, as an index in the page.
    pub object: u32,
    /// Cause of the wait.
    pub cause: PathCause,
    /// Its beginning since navigation start.
    pub from_ns: u64,
    /// Its end since navigation start.
    pub until_ns: u64,
    /// The part that no physical limit requires. Negative only in [`PathCause::Other`].
    pub excess_ns: i64,
}

/// Wait of a step of the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PathCause {
    /// Propagation, and the server's own time for an answer.
    RoundTrip,
    /// The client's compute.
    Compute,
    /// A change of the radio's state.
    Radio,
    /// A name lookup.
    Dns,
    /// Handshakes of TCP, QUIC and TLS.
    Handshake,
    /// A free connection, or a free stream of one.
    Connection,
    /// The request's way into the transport.
    Sending,
    /// The link, which carried packets.
    Queue,
    /// The sender, whose window did not allow more: slow start, congestion avoidance or flow control.
    Window,
    /// Responses in front on a connection that answers in order.
    HeadOfLine,
    /// Detection and repair of a loss.
    Loss,
    /// Anything else; negative where a visit beat the floor of its model.
    Other,
}

impl PathCause {
    /// All causes, in the order of presentation.
    pub const ALL: [PathCause; 12] = [
        PathCause::Dns,
        PathCause::Handshake,
        PathCause::Connection,
        PathCause::Radio,
        PathCause::Sending,
        PathCause::RoundTrip,
        PathCause::Window,
        PathCause::Queue,
        PathCause::HeadOfLine,
        PathCause::Loss,
        PathCause::Compute,
        PathCause::Other,
    ];

    /// Its name in the store and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            PathCause::RoundTrip => "round-trip",
            PathCause::Compute => "cpu",
            PathCause::Radio => "radio",
            PathCause::Dns => "dns",
            PathCause::Handshake => "handshake",
            PathCause::Connection => "connection",
            PathCause::Sending => "sending",
            PathCause::Queue => "queue",
            PathCause::Window => "window",
            PathCause::HeadOfLine => "head-of-line",
            PathCause::Loss => "loss",
            PathCause::Other => "other",
        }
    }

    /// Its name for readers.
    pub fn words(self) -> &'static str {
        match self {
            PathCause::RoundTrip => "round trips",
            PathCause::Compute => "CPU",
            PathCause::Radio => "radio promotion",
            PathCause::Dns => "name lookups",
            PathCause::Handshake => "handshakes",
            PathCause::Connection => "waiting for a connection",
            PathCause::Sending => "sending requests",
            PathCause::Queue => "queueing",
            PathCause::Window => "slow start",
            PathCause::HeadOfLine => "head-of-line blocking",
            PathCause::Loss => "loss recovery",
            PathCause::Other => "other",
        }
    }

    /// The cause with this name.
    pub fn named(name: &str) -> Option<PathCause> {
        PathCause::ALL.into_iter().find(|cause| cause.name() == name)
    }
}

impl CriticalPath {
    /// Excess of a cause over the floor.
    pub fn excess_ns(&self, cause: PathCause) -> i64 {
        self.steps.iter().filter(|step| step.cause == cause).map(|step| step.excess_ns).sum()
    }

    /// Excess over the floor in all: page load time minus floor.
    pub fn total_excess_ns(&self) -> i64 {
        self.steps.iter().map(|step| step.excess_ns).sum()
    }
}
