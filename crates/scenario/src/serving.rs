//! Servers: order and framing of responses, addresses of origins, keep-alive.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use units::parse;

use super::knobs::{self, KnobError, KnobProblem, Knobs};
use crate::choice;

choice! {
    /// Scheduler of responses that share a connection.
    pub enum Scheduler, "scheduler" {
        /// One after the other, in the order of their responses.
        Fifo = "fifo",
        /// A piece of each, in turn.
        RoundRobin = "round-robin",
        /// The most urgent of eight levels first, equal ones in turn: SPDY's three bits, RFC 9218's urgency.
        Strict = "strict",
        /// By RFC 7540's tree of dependencies and weights.
        Tree = "tree",
        /// By RFC 9218: by urgency, and round-robin or not as `i` says.
        Rfc9218 = "rfc9218",
    }
    not_yet {}
}

choice! {
    /// Objects of a document's own host that are pushed with it (HTTP/2, SPDY). farlink's client accepts them then.
    pub enum Push, "push" {
        /// None; the client refuses what is pushed.
        None = "none",
        /// Style sheets.
        Css = "css",
        /// Render-blocking objects: style sheets, and scripts that are requested ahead of images.
        Blocking = "blocking",
        /// All.
        All = "all",
    }
    not_yet {}
}

/// Settings of the servers' end of a connection; unset ones are as in the protocol's server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serving {
    /// Scheduler of responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<Scheduler>,
    /// The largest payload of one DATA frame, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame_bytes: Option<u32>,
    /// Limit of unsent data in TCP's send buffer (`TCP_NOTSENT_LOWAT`).
    #[serde(rename = "unsent", default, skip_serializing_if = "Option::is_none")]
    pub notsent_lowat: Option<NotsentLowat>,
    /// Objects that are pushed; `None` is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push: Option<Push>,
}

/// Limit of unsent data in TCP's send buffer, where it can no longer be reordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotsentLowat {
    /// A number of bytes.
    Bytes(u32),
    /// The whole send buffer: Linux's default.
    Unlimited,
}

impl Serving {
    /// Allowed limits of a DATA frame: at most the size that every peer accepts (RFC 9113 section 4.2).
    pub const FRAME_BYTES: std::ops::RangeInclusive<u32> = 256..=16_384;

    /// Allowed limits of unsent data.
    pub const NOTSENT_BYTES: std::ops::RangeInclusive<u32> = 1_024..=(1 << 30);

    /// True if nothing is set.
    pub fn is_usual(&self) -> bool {
        *self == Serving::default()
    }

    /// Parses a frame size: `4KB`.
    ///
    /// # Errors
    /// One sentence.
    pub fn parse_frame(text: &str) -> Result<u32, String> {
        size(text, &Serving::FRAME_BYTES)
    }
}

impl NotsentLowat {
    /// Parses `16KB`, or `unlimited`.
    ///
    /// # Errors
    /// One sentence.
    pub fn parse(text: &str) -> Result<NotsentLowat, String> {
        match text.trim() {
            "unlimited" => Ok(NotsentLowat::Unlimited),
            text => match size(text, &Serving::NOTSENT_BYTES) {
                Ok(bytes) => Ok(NotsentLowat::Bytes(bytes)),
                Err(error) => Err(format!("{error}, or `unlimited`")),
            },
        }
    }
}

impl std::fmt::Display for NotsentLowat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NotsentLowat::Bytes(bytes) => write!(f, "{bytes} B"),
            NotsentLowat::Unlimited => f.write_str("unlimited"),
        }
    }
}

fn size(text: &str, range: &std::ops::RangeInclusive<u32>) -> Result<u32, String> {
    let bytes = units::parse::size_bytes(text).map_err(|error| error.to_string())?;
    u32::try_from(bytes).ok().filter(|bytes| range.contains(bytes)).ok_or_else(|| {
        format!("`{text}` is not from {} to {} bytes: write 4KB", range.start(), range.end())
    })
}

choice! {
    /// Placement of the page's hosts on machines.
    #[derive(Default)]
    pub enum OriginAddresses, "origin-addresses" {
        /// Each on a machine of its own.
        #[default]
        Separate = "separate" (stored "apart"),
        /// All on one machine, at one address, with one certificate and the same workers.
        Shared = "shared" (stored "together"),
    }
    not_yet {}
}

impl OriginAddresses {
    /// True if each host has a machine of its own, the default.
    pub fn is_separate(&self) -> bool {
        *self == OriginAddresses::Separate
    }
}

// Keep-alive of HTTP/1.1 at origins: idle timeout and requests per connection.
//
// A server that closes first sends its FIN late, into an idle radio; one that answers few requests per
// connection makes browsers open new ones, and tells pipelining clients not to trust it with pipelining.

/// `idle=5s,requests=100`. Defaults are those of the servers here: 75 s (nginx's `keepalive_timeout`), and any
/// number of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeepAlive {
    /// Idle timeout of a connection.
    pub idle: Option<Duration>,
    /// Number of requests after which a connection is closed.
    pub requests: Option<u32>,
}

/// Lower limit. Servers' timers are coarse: 0.2 s matter little against a second.
const LEAST_IDLE: Duration = Duration::from_secs(1);
const MOST_IDLE: Duration = Duration::from_secs(3600);

impl KeepAlive {
    /// True if all is at the servers' defaults.
    pub fn is_usual(&self) -> bool {
        *self == KeepAlive::default()
    }
}

impl Knobs for KeepAlive {
    const ONE: &'static str = "knob of keep-alive";
    const ALL: &'static str = "idle and requests";

    fn turn(&mut self, knob: &str, value: &str) -> Result<(), KnobProblem> {
        match knob {
            "idle" => {
                let span = parse::duration(value).ok();
                let span = span.filter(|span| (LEAST_IDLE..=MOST_IDLE).contains(span));
                self.idle = Some(span.ok_or(KnobProblem::Expected("a time from 1s to 1h"))?);
            }
            "requests" => {
                let number = value.parse().ok().filter(|number| *number > 0);
                let number = number.ok_or(KnobProblem::Expected("a number from 1 on"))?;
                self.requests = Some(number);
            }
            _ => return Err(KnobProblem::Unknown),
        }
        Ok(())
    }
}

impl FromStr for KeepAlive {
    type Err = KnobError;

    fn from_str(text: &str) -> Result<KeepAlive, KnobError> {
        knobs::parse(text)
    }
}

impl fmt::Display for KeepAlive {
    /// In the form that is read; empty if all is at its default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let idle = self.idle.map(|span| match span.subsec_nanos() {
            0 => format!("idle={}s", span.as_secs()),
            _ => format!("idle={}ns", span.as_nanos()),
        });
        let requests = self.requests.map(|number| format!("requests={number}"));
        f.write_str(&knobs::list([idle, requests]))
    }
}

impl Serialize for KeepAlive {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for KeepAlive {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<KeepAlive, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_checked() {
        assert_eq!(Serving::parse_frame("4KiB"), Ok(4_096));
        assert!(Serving::parse_frame("1MB").unwrap_err().contains("256 to 16384"));
        assert_eq!(NotsentLowat::parse("unlimited"), Ok(NotsentLowat::Unlimited));
        assert_eq!(NotsentLowat::parse("128KB"), Ok(NotsentLowat::Bytes(128_000)));
        assert!(NotsentLowat::parse("0").unwrap_err().ends_with("or `unlimited`"));
    }

    #[test]
    fn what_is_written_is_read() {
        for text in ["", "idle=5s", "requests=100", "idle=1500ms,requests=1"] {
            let read: KeepAlive = text.parse().unwrap();
            assert_eq!(read.to_string().parse(), Ok(read), "{text}");
            assert_eq!(read.is_usual(), text.is_empty());
        }
        let read: KeepAlive = " requests = 7 , idle = 1min".parse().unwrap();
        assert_eq!(read.to_string(), "idle=60s,requests=7");
    }

    #[test]
    fn anything_else_is_refused() {
        for (text, says) in [
            ("idle", "from 1s to 1h"),
            ("idle=5", "from 1s to 1h"),
            ("idle=1ms", "from 1s to 1h"),
            ("requests=0", "from 1 on"),
            ("idle=5s,idle=6s", "set twice"),
            ("close=yes", "there are idle and requests"),
        ] {
            let error = text.parse::<KeepAlive>().unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
