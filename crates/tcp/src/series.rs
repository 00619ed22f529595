//! How a connection moved: a snapshot after everything that happened to it, if somebody wants them.
//!
//! Where `ss -i` polls and the kernel's `tcp_probe` looks at each arriving segment before it is dealt with, a sample here is
//! taken when an event was dealt with and all that it let out has left: its `in_flight` is the window as it is used.

use serde::{Deserialize, Serialize};
use units::Time;

use crate::state::State;
use crate::stats::Stats;

/// What happened. Of several things at one instant the last of this order is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// Nothing that is known: somebody looked, as one must at the kernel's connections.
    Look,
    /// The application wrote.
    Write,
    /// The application ended writing, or everything.
    Close,
    /// A segment is about to be dealt with: the kernel's tracepoint `tcp_probe`, which knows less of the connection than anything else here
    /// (see the crate `kernel`, `probe`).
    Probe,
    /// A segment arrived.
    Segment,
    /// A timer other than those below expired.
    Timer,
    /// The timer of the tail loss probe expired.
    LossProbe,
    /// The retransmission timer expired.
    Timeout,
}

impl Trigger {
    /// Its name in traces.
    pub fn name(self) -> &'static str {
        match self {
            Trigger::Look => "look",
            Trigger::Write => "write",
            Trigger::Close => "close",
            Trigger::Probe => "probe",
            Trigger::Segment => "segment",
            Trigger::Timer => "timer",
            Trigger::LossProbe => "loss-probe",
            Trigger::Timeout => "timeout",
        }
    }
}

/// A connection at an instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// When.
    pub at: Time,
    /// What had happened.
    pub trigger: Trigger,
    /// The connection's state.
    pub state: State,
    /// Its counters and estimates.
    pub stats: Stats,
}

/// The samples of one connection, and what happened since the last.
#[derive(Debug, Default)]
pub(crate) struct Series {
    pub(crate) samples: Vec<Sample>,
    pub(crate) pending: Option<Trigger>,
}

impl Series {
    pub(crate) fn note(&mut self, trigger: Trigger) {
        self.pending = self.pending.max(Some(trigger));
    }
}
