//! A recorded rate: capacity of a link over time, and the errors of reading one.
//!
//! There are two forms. A list of **opportunities** states the instants at which a packet may leave, as Mahimahi
//! records cellular links: an opportunity carries up to 1504 bytes as Mahimahi counts them (an IP packet and the four
//! bytes that a TUN device puts before it, `link_queue.cc`, `PACKET_SIZE`); a larger packet takes several, small ones
//! share one, and unused ones are wasted. A list of **segments** states rates and how long each holds; it hides
//! variation within a segment.
//!
//! A trace begins when its link does. At its end it repeats, or the link stalls for ever, as with Mahimahi's
//! `--once`: a recording says nothing about the time after it. A stalled link has no deadline, so whatever waits for
//! it needs a time limit of its own.

use std::path::PathBuf;
use std::time::Duration;
use std::{fmt, io};

use thiserror::Error;
use units::{BitsPerSec, Time};

mod formats;
mod read;
mod shapes;

pub use read::{Direction, RateUnit, TraceOptions};
pub(crate) use shapes::{Opportunities, OpportunityCursor, RateSegments};

/// A recorded rate.
#[derive(Clone, PartialEq)]
pub struct Trace {
    origin: String,
    options: TraceOptions,
    taken: String,
    shape: TraceShape,
}

/// Form of the recording.
#[derive(Clone, PartialEq)]
pub(crate) enum TraceShape {
    /// Instants at which a packet may leave.
    Opportunities(Opportunities),
    /// Rates that hold for a while.
    Segments(RateSegments),
}

impl Trace {
    /// The file it was read from.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Options for reading the file.
    pub fn options(&self) -> TraceOptions {
        self.options
    }

    /// Description of what was recognised in the file and taken from it.
    pub fn taken(&self) -> &str {
        &self.taken
    }

    /// Duration before it repeats or ends.
    pub fn duration(&self) -> Duration {
        match &self.shape {
            TraceShape::Opportunities(opportunities) => opportunities.period(),
            TraceShape::Segments(segments) => segments.period(),
        }
    }

    /// Mean rate. An opportunity counts as 1500 bytes.
    pub fn mean(&self) -> BitsPerSec {
        match &self.shape {
            TraceShape::Opportunities(opportunities) => opportunities.mean(),
            TraceShape::Segments(segments) => segments.mean(),
        }
    }

    /// Highest rate of a segment, or of any second of opportunities.
    pub fn peak(&self) -> BitsPerSec {
        match &self.shape {
            TraceShape::Opportunities(opportunities) => opportunities.peak(),
            TraceShape::Segments(segments) => segments.peak(),
        }
    }

    /// Lower bound of the time to carry `bytes` of full packets, whenever that begins.
    pub fn least_time(&self, bytes: u64) -> Duration {
        match &self.shape {
            TraceShape::Opportunities(opportunities) => opportunities.least_time(bytes),
            // Rounded down, whichever way the rate rounds.
            TraceShape::Segments(segments) => {
                segments.peak().time_for(bytes).saturating_sub(Duration::from_nanos(1))
            }
        }
    }

    /// Bytes of full packets that an always busy link can carry by `until`.
    pub fn capacity_bytes(&self, until: Time) -> u64 {
        match &self.shape {
            TraceShape::Opportunities(opportunities) => opportunities.capacity_bytes(until),
            TraceShape::Segments(segments) => segments.capacity_bytes(until),
        }
    }

    /// Time from which the link stalls for ever: the beginning if it never moves, the end if it does not repeat.
    /// `None`: it always moves again.
    pub fn stands_still_from(&self) -> Option<Time> {
        match self.mean().0 {
            0 if self.peak().0 == 0 => Some(Time::ZERO),
            _ => self.options.once.then(|| Time::ZERO + self.duration()),
        }
    }

    pub(crate) fn shape(&self) -> &TraceShape {
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
    /// In the form of a network's setting `trace`: the file, then its options.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.options)
    }
}

/// Reasons why a file is not a trace. Messages name the line and the expected content.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file cannot be read.
    #[error("failed to read the trace {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The file is compressed and broken, or is not text.
    #[error("{file}: neither text nor gzip-compressed text: {reason}")]
    NotText {
        /// The file.
        file: String,
        /// The error.
        reason: String,
    },
    /// No reader recognises it.
    #[error(
        "{file}:{line}: no known form of a trace: expected a Mahimahi file (a whole number of ms a line), \
         `seconds rate` pairs, a CSV file whose header names a rate, or a JSON list of objects with \
         duration_ms and bandwidth_kbps"
    )]
    Unknown {
        /// The file.
        file: String,
        /// The first line that fits no format.
        line: usize,
    },
    /// A line that its format does not allow.
    #[error("{file}:{line}: `{text}`: {expected}")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The text of the line.
        text: String,
        /// The expected form.
        expected: &'static str,
    },
    /// The JSON text is invalid.
    #[error("{file}: not a trace in JSON: {reason}")]
    Json {
        /// The file.
        file: String,
        /// The parser's message, with line and column.
        reason: String,
    },
    /// The trace is empty.
    #[error("{file}: the trace is empty: {found}")]
    Empty {
        /// The file.
        file: String,
        /// Description of its content.
        found: &'static str,
    },
}

/// A line of a trace, for messages.
#[derive(Clone, Copy)]
struct TraceLine<'t> {
    file: &'t str,
    number: usize,
    text: &'t str,
}

impl TraceLine<'_> {
    /// Error for this line.
    fn wrong(&self, expected: &'static str) -> TraceError {
        /// Maximum number of characters shown in messages.
        const SHOWN: usize = 60;
        let mut text: String = self.text.chars().take(SHOWN).collect();
        if text.len() < self.text.len() {
            text.push_str("...");
        }
        TraceError::Line { file: self.file.to_owned(), line: self.number, text, expected }
    }
}

/// Non-empty lines of a text, with their numbers.
fn lines<'t>(file: &'t str, text: &'t str) -> impl Iterator<Item = TraceLine<'t>> {
    text.lines()
        .enumerate()
        .map(move |(index, text)| TraceLine { file, number: index + 1, text: text.trim() })
        .filter(|line| !line.text.is_empty())
}

#[cfg(test)]
mod tests;
