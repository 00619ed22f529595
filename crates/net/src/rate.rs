//! How fast a link serialises: at one rate, or as a trace says.

use std::fmt;
use std::sync::Arc;

use units::BitsPerSec;

use crate::Trace;

/// A link's rate, counted over IP packets (no link-layer framing).
#[derive(Clone, Debug, PartialEq)]
pub enum Rate {
    /// The same at all times.
    Constant(BitsPerSec),
    /// As recorded.
    Trace(Arc<Trace>),
}

impl Rate {
    /// No limit: serialisation takes no time.
    pub const UNLIMITED: Rate = Rate::Constant(BitsPerSec::UNLIMITED);

    /// The rate in the long run.
    pub fn mean(&self) -> BitsPerSec {
        match self {
            Rate::Constant(rate) => *rate,
            Rate::Trace(trace) => trace.mean(),
        }
    }

    /// A rate that the link exceeds at no time (over stretches of a second or more, where a trace
    /// consists of single packets).
    pub fn peak(&self) -> BitsPerSec {
        match self {
            Rate::Constant(rate) => *rate,
            Rate::Trace(trace) => trace.peak(),
        }
    }
}

impl From<BitsPerSec> for Rate {
    fn from(rate: BitsPerSec) -> Rate {
        Rate::Constant(rate)
    }
}

impl fmt::Display for Rate {
    /// For people: `1.6 Mbit/s`, `trace walk.txt (mean 1.6 Mbit/s)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rate::Constant(rate) => rate.fmt(f),
            Rate::Trace(trace) => {
                let mbit = trace.mean().0 as f64 / 1e6;
                write!(f, "trace {} (mean {mbit:.3} Mbit/s)", trace.origin())
            }
        }
    }
}
