//! Serialises packets one after the other at the link's rate, constant or traced.

use std::fmt;
use std::sync::Arc;

use units::{BitsPerSec, Time};

use crate::Trace;
use crate::trace::{OpportunityCursor, TraceShape};

/// Server of one queue. If service never begins or never ends, the instant is [`Time::NEVER`].
#[derive(Clone)]
pub(crate) enum LinkServer {
    /// Busy for each packet's length over the rate. Most packets are as long as the one before, so the last length
    /// and its nanoseconds are cached, which saves a division.
    Constant { rate: BitsPerSec, free_at: Time, last: (u32, u64) },
    /// Busy for as long as a trace's rates, or its opportunities, require.
    Traced { trace: Arc<Trace>, free_at: Time, cursor: OpportunityCursor },
}

/// Service of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServiceTime {
    /// Time at which it left the queue.
    pub(crate) starts: Time,
    /// Time at which its last byte was sent.
    pub(crate) ends: Time,
}

impl ServiceTime {
    /// A service that never ends.
    const NEVER: ServiceTime = ServiceTime { starts: Time::NEVER, ends: Time::NEVER };
}

/// [`BitsPerSec::time_for`] for one packet, without wide arithmetic: an IP packet has at most 65,535 bytes.
#[inline]
fn nanos(rate: BitsPerSec, bytes: u32) -> u64 {
    const LARGEST: u32 = 65_535;
    if rate == BitsPerSec::UNLIMITED || rate.0 == 0 || bytes > LARGEST {
        return rate.time_for(u64::from(bytes)).as_nanos() as u64;
    }
    let nanobits = u64::from(bytes) * 8_000_000_000;
    nanobits.saturating_add(rate.0 / 2) / rate.0
}

impl LinkServer {
    pub(crate) fn new(rate: &Rate) -> LinkServer {
        match rate {
            Rate::Constant(rate) => LinkServer::Constant {
                rate: *rate,
                free_at: Time::ZERO,
                last: (0, nanos(*rate, 0)),
            },
            Rate::Trace(trace) => LinkServer::Traced {
                trace: Arc::clone(trace),
                free_at: Time::ZERO,
                cursor: OpportunityCursor::default(),
            },
        }
    }

    /// Returns true if a packet may be served in parts: an opportunity of a trace is for a whole packet.
    pub(crate) fn divides(&self) -> bool {
        match self {
            LinkServer::Constant { .. } => true,
            LinkServer::Traced { trace, .. } => matches!(trace.shape(), TraceShape::Segments(_)),
        }
    }

    /// Time at which a packet that waits since `since`, behind no other, would leave the queue.
    #[inline]
    pub(crate) fn starts(&self, since: Time) -> Time {
        match self {
            LinkServer::Constant { free_at, .. } => since.max(*free_at),
            LinkServer::Traced { trace, free_at, cursor } => match trace.shape() {
                TraceShape::Segments(_) => since.max(*free_at),
                TraceShape::Opportunities(opportunities) => {
                    opportunities.starts(*cursor, since).unwrap_or(Time::NEVER)
                }
            },
        }
    }

    /// Serves a packet that waits since `since`, behind those served before.
    #[inline]
    pub(crate) fn serve(&mut self, since: Time, bytes: u32) -> ServiceTime {
        match self {
            LinkServer::Constant { rate, free_at, last } => {
                if last.0 != bytes {
                    *last = (bytes, nanos(*rate, bytes));
                }
                let starts = since.max(*free_at);
                *free_at = Time::from_nanos(starts.as_nanos().saturating_add(last.1));
                ServiceTime { starts, ends: *free_at }
            }
            LinkServer::Traced { trace, free_at, cursor } => match trace.shape() {
                TraceShape::Segments(segments) => {
                    let starts = since.max(*free_at);
                    *free_at = segments.ends(starts, bytes).unwrap_or(Time::NEVER);
                    ServiceTime { starts, ends: *free_at }
                }
                TraceShape::Opportunities(opportunities) => opportunities
                    .serve(cursor, since, bytes)
                    .map_or(ServiceTime::NEVER, |(starts, ends)| ServiceTime { starts, ends }),
            },
        }
    }
}

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
