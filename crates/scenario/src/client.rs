//! The two ends: clients, their devices, browsers, header fields and priorities, and the origin servers.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use units::parse;

use crate::choice;

choice! {
    /// State of the browser's cache at the start of a visit.
    pub enum View, "view" {
        /// Empty.
        Cold = "cold",
        /// As an earlier, unmeasured load of the same page left it.
        Warm = "warm",
        /// A cold visit, then a warm one in the same journey.
        Both = "both",
    }
    not_yet {}
}

choice! {
    /// Distances of the hosts.
    pub enum Origins, "origins" {
        /// All at the network's RTT.
        Equal = "equal",
        /// Each with the extra RTT that was recorded for it.
        Recorded = "recorded",
    }
    not_yet {}
}

choice! {
    /// Program that loads the page.
    #[derive(Default)]
    pub enum Program, "client" {
        /// farlink's own page loader, by a browser's policy.
        #[default]
        Loader = "loader",
        /// A real Chromium, in the emulated world.
        Chromium = "chromium",
    }
    not_yet {}
}

/// The client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Client {
    /// CPU costs: the name of a device profile, or the path of a file that holds one.
    pub device: String,
    /// Digest of that file, so that a changed file is another cell. Omitted from the text if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_digest: Option<String>,
    /// Factor on every cost of the device.
    pub cpu_multiplier: f64,
    /// The name of a browser policy.
    pub browser: String,
    /// Cache state.
    pub view: View,
    /// Hosts whose objects are not loaded, sorted.
    pub blocked_hosts: Vec<String>,
    /// Program that loads the page. Omitted from the text for the loader, which was once the only one.
    #[serde(default, skip_serializing_if = "Program::is_loader")]
    pub program: Program,
}

impl Program {
    fn is_loader(&self) -> bool {
        *self == Program::Loader
    }
}

/// The origin servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// Distances of the hosts.
    pub origins: Origins,
    /// Concurrent requests at one host; `None` is without limit.
    pub workers: Option<u32>,
    /// Time that a request occupies a worker, in addition to the page's own think time.
    pub service_time_ns: u64,
}

impl Default for Client {
    fn default() -> Client {
        Client {
            device: "desktop".to_owned(),
            device_digest: None,
            cpu_multiplier: 1.0,
            browser: "chrome".to_owned(),
            view: View::Cold,
            blocked_hosts: Vec::new(),
            program: Program::Loader,
        }
    }
}

impl Default for Server {
    fn default() -> Server {
        Server { origins: Origins::Equal, workers: None, service_time_ns: 0 }
    }
}

// Several clients on one network: each has a device, a radio and a page load of its own, and all share the hop
// behind the radios.

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

choice! {
    /// Header fields of requests.
    #[derive(Default)]
    pub enum RequestHeaderMode, "request-headers" {
        /// A few fields, and a cookie that pads them to the size in the page.
        #[default]
        Sized = "sized",
        /// The recorded fields; if there are none, those that the browser sends.
        Recorded = "recorded",
    }
    not_yet {}
}

impl RequestHeaderMode {
    /// True for the default.
    pub fn is_usual(&self) -> bool {
        *self == RequestHeaderMode::default()
    }
}

/// A mapping by name or file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrioritiesRef {
    /// The name of a mapping, or the path of a file that holds one.
    pub name: String,
    /// Digest of that file, so that a changed file is another cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
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
