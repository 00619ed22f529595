//! Several clients on one network: each has a device, a radio and a page load of its own, and all share the hop
//! behind the radios.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use units::parse;

use crate::choice;

choice! {
    /// Activity of one more client while the others load their pages.
    #[derive(Default)]
    pub enum CrossTraffic, "cross traffic" {
        /// No further client.
        #[default]
        None = "none" (stored "nobody"),
        /// Endless download over one connection.
        Download = "download",
        /// Endless upload over one connection.
        Upload = "upload",
    }
    not_yet {}
}

/// Number of clients and their start times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clients {
    /// Number of clients that load the page.
    pub count: u32,
    /// Activity of one more client, which begins first.
    #[serde(rename = "beside")]
    pub cross_traffic: CrossTraffic,
    /// Time between successive starts.
    pub start_spacing: Spacing,
}

/// Time between successive starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// None.
    #[default]
    Together,
    /// A fixed number of nanoseconds.
    Ns(u64),
    /// Drawn for each client, uniformly from zero to twice this number of nanoseconds.
    DrawnNs(u64),
}

/// Error of parsing a spacing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{text}` is not what lies between two beginnings: write `500ms`, or `drawn 500ms` for up to twice that, evenly drawn{why}"
)]
pub struct SpacingError {
    /// The text as typed.
    pub text: String,
    why: String,
}

impl Clients {
    /// The largest number of clients.
    pub const MOST: u32 = 100;

    /// True if there is only the one default client.
    pub fn is_one_alone(&self) -> bool {
        *self == Clients::default()
    }

    /// Number of devices that share the network.
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
    /// If the text is none of these.
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
    /// In the form that [`Spacing::parse`] reads.
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
