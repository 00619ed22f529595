//! Several clients on one network: each has a device, a radio and a page load of its own, and all share the hop behind the radios.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use units::parse;

use crate::choice;

choice! {
    /// What one more client does for as long as the others load their pages.
    #[derive(Default)]
    pub enum CrossTraffic, "cross traffic" {
        /// There is none.
        #[default]
        None = "none" (stored "nobody"),
        /// It downloads without end, over one connection.
        Download = "download",
        /// It uploads without end, over one connection.
        Upload = "upload",
    }
    not_yet {}
}

/// How many clients there are, and when each begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clients {
    /// So many load the page.
    pub count: u32,
    /// What one more client does, which begins first.
    #[serde(rename = "beside")]
    pub cross_traffic: CrossTraffic,
    /// What lies between one's beginning and the next one's.
    pub start_spacing: Spacing,
}

/// What lies between one beginning and the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// Nothing.
    #[default]
    Together,
    /// So many nanoseconds.
    Ns(u64),
    /// A time drawn for each, evenly from nothing to twice so many nanoseconds.
    DrawnNs(u64),
}

/// Why a text is not a spacing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{text}` is not what lies between two beginnings: write `500ms`, or `drawn 500ms` for up to twice that, evenly drawn{why}"
)]
pub struct SpacingError {
    /// What was typed.
    pub text: String,
    why: String,
}

impl Clients {
    /// The most clients at once.
    pub const MOST: u32 = 100;

    /// Whether there is but the one that there always is.
    pub fn is_one_alone(&self) -> bool {
        *self == Clients::default()
    }

    /// How many devices share the network.
    pub fn users(&self) -> u32 {
        self.count + u32::from(self.cross_traffic != CrossTraffic::None)
    }
}

impl Default for Clients {
    fn default() -> Clients {
        Clients { count: 1, cross_traffic: CrossTraffic::None, start_spacing: Spacing::Together }
    }
}

impl Spacing {
    /// Reads `500ms`, `drawn 500ms` or `0ms`.
    ///
    /// # Errors
    /// If it is none of these.
    pub fn parse(text: &str) -> Result<Spacing, SpacingError> {
        let (span, of): (&str, fn(u64) -> Spacing) = match text.trim().strip_prefix("drawn ") {
            Some(span) => (span, Spacing::DrawnNs),
            None => (text, Spacing::Ns),
        };
        let wrong = |why: String| SpacingError { text: text.to_owned(), why };
        let span = parse::duration(span).map_err(|error| wrong(format!(" ({error})")))?;
        if span > Duration::from_secs(3600) {
            return Err(wrong(" (at most 1h)".to_owned()));
        }
        match span.as_nanos() as u64 {
            0 => Ok(Spacing::Together),
            nanos => Ok(of(nanos)),
        }
    }
}

impl fmt::Display for Spacing {
    /// As [`Spacing::parse`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Spacing::Together => f.write_str("0ms"),
            Spacing::Ns(nanos) => write!(f, "{}ms", nanos as f64 / 1e6),
            Spacing::DrawnNs(nanos) => write!(f, "drawn {}ms", nanos as f64 / 1e6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spacing_reads_back() {
        for text in ["0ms", "500ms", "1.5ms", "drawn 2000ms"] {
            assert_eq!(Spacing::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Spacing::parse("drawn 0s"), Ok(Spacing::Together));
        for text in ["soon", "5", "drawn", "drawn drawn 5ms", "2h"] {
            let message = Spacing::parse(text).unwrap_err().to_string();
            assert!(message.contains("drawn 500ms"), "{message}");
        }
    }
}
