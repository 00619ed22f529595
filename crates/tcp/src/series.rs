//! Time series of a connection: a snapshot after every event, if recorded.
//!
//! While `ss -i` polls and the kernel's `tcp_probe` samples before an arriving segment is processed, a sample here is
//! taken after an event was processed and all segments that it released have left: its `in_flight` is the window as used.

use serde::{Deserialize, Serialize};
use units::Time;

use crate::state::State;
use crate::stats::Stats;

/// Event of a sample. Of several events at one time the last in this order is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// Unknown: a poll, the only way to observe the kernel's connections.
    Look,
    /// The application wrote.
    Write,
    /// The application ended writing, or everything.
    Close,
    /// A segment is about to be processed: the kernel's tracepoint `tcp_probe`, which has less of the connection's state than the other
    /// triggers (see the crate `kernel`, `probe`).
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

/// A connection at one time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Time of the sample.
    pub at: Time,
    /// The event.
    pub trigger: Trigger,
    /// The connection's state.
    pub state: State,
    /// Its counters and estimates.
    pub stats: Stats,
}

/// The samples of one connection, and the events since the last.
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
