//! A recorded rate: what a link could carry, and when.
//!
//! Two shapes. A list of **opportunities** says at which instants a packet may leave, as Mahimahi
//! records cellular links: an opportunity carries up to 1504 bytes counted as Mahimahi counts them
//! (an IP packet and the four bytes that a TUN device puts before it, `link_queue.cc`,
//! `PACKET_SIZE`), a larger packet takes several, small ones share one, and what nobody uses is
//! wasted. A list of **segments** says how long which rate holds; it hides how the rate varies within
//! a segment.
//!
//! A trace begins when its link does. At its end it repeats, or the link stands still for ever, as
//! with Mahimahi's `--once`: a recording says nothing of what came after it. A link that stands still
//! has no deadline, so whoever waits for it needs a time limit of their own.

use std::fmt;
use std::time::Duration;

use units::{BitsPerSec, Time};

mod columns;
mod csv;
mod error;
mod json;
mod mahimahi;
mod opportunities;
mod read;
mod segments;

pub use error::TraceError;
pub use read::{Direction, RateUnit, TraceOptions};

pub(crate) use opportunities::{Opportunities, OpportunityCursor};
pub(crate) use segments::Segments;

/// A recorded rate.
#[derive(Clone, PartialEq)]
pub struct Trace {
    origin: String,
    options: TraceOptions,
    taken: String,
    shape: Shape,
}

/// How the recording says what could be carried.
#[derive(Clone, PartialEq)]
pub(crate) enum Shape {
    /// Instants at which a packet may leave.
    Opportunities(Opportunities),
    /// Rates that hold for a while.
    Segments(Segments),
}

impl Trace {
    /// The file it was read from.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// How the file was to be read.
    pub fn options(&self) -> TraceOptions {
        self.options
    }

    /// What was recognised in the file and taken from it.
    pub fn taken(&self) -> &str {
        &self.taken
    }

    /// How long it lasts before it repeats or ends.
    pub fn duration(&self) -> Duration {
        match &self.shape {
            Shape::Opportunities(opportunities) => opportunities.period(),
            Shape::Segments(segments) => segments.period(),
        }
    }

    /// Its mean rate. Of opportunities: 1500 bytes each.
    pub fn mean(&self) -> BitsPerSec {
        match &self.shape {
            Shape::Opportunities(opportunities) => opportunities.mean(),
            Shape::Segments(segments) => segments.mean(),
        }
    }

    /// The highest rate of a segment, or of any second of opportunities.
    pub fn peak(&self) -> BitsPerSec {
        match &self.shape {
            Shape::Opportunities(opportunities) => opportunities.peak(),
            Shape::Segments(segments) => segments.peak(),
        }
    }

    /// The least time in which so many bytes of full packets can be carried, whenever that begins: never more than
    /// the truth.
    pub fn least_time(&self, bytes: u64) -> Duration {
        match &self.shape {
            Shape::Opportunities(opportunities) => opportunities.least_time(bytes),
            // Rounded down, whichever way the rate rounds.
            Shape::Segments(segments) => {
                segments.peak().time_for(bytes).saturating_sub(Duration::from_nanos(1))
            }
        }
    }

    /// What a link that is always busy can carry by `until`, in bytes of full packets.
    pub fn capacity_bytes(&self, until: Time) -> u64 {
        match &self.shape {
            Shape::Opportunities(opportunities) => opportunities.capacity_bytes(until),
            Shape::Segments(segments) => segments.capacity_bytes(until),
        }
    }

    /// From when on the link stands still for ever: from the beginning if it never moves, from the end if it does not
    /// begin anew. `None`: it always moves again.
    pub fn stands_still_from(&self) -> Option<Time> {
        match self.mean().0 {
            0 if self.peak().0 == 0 => Some(Time::ZERO),
            _ => self.options.once.then(|| Time::ZERO + self.duration()),
        }
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (origin, taken) = (&self.origin, &self.taken);
        f.debug_struct("Trace")
            .field("origin", origin)
            .field("taken", taken)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Trace {
    /// As a network's setting `trace` reads it: the file, then how to read it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.options)
    }
}

#[cfg(test)]
mod tests;
