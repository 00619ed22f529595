//! Rate of a link: constant or traced.

use std::fmt;
use std::sync::Arc;

use units::BitsPerSec;

use crate::Trace;

/// A link's rate, in IP bits (no link-layer framing).
#[derive(Clone, Debug, PartialEq)]
pub enum Rate {
    /// A constant rate.
    Constant(BitsPerSec),
    /// A recorded rate.
    Trace(Arc<Trace>),
}

impl Rate {
    /// Unlimited: serialisation takes no time.
    pub const UNLIMITED: Rate = Rate::Constant(BitsPerSec::UNLIMITED);

    /// Long-run mean rate.
    pub fn mean(&self) -> BitsPerSec {
        match self {
            Rate::Constant(rate) => *rate,
            Rate::Trace(trace) => trace.mean(),
        }
    }

    /// Upper bound of the rate at any time (over stretches of a second or more, if a trace consists of single
    /// packets).
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
    /// Human-readable form: `1.6 Mbit/s`, `trace walk.txt (mean 1.6 Mbit/s)`.
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
