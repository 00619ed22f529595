//! Protocol stack of the page: protocol, security, connection policy, multiplexing.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::knobs::{self, KnobError, KnobProblem, Knobs};
use crate::choice;

choice! {
    /// The application protocol.
    pub enum Protocol, "protocol" {
        /// HTTP/1.0 without keep-alive (RFC 1945): one request per connection.
        H10 = "h1.0",
        /// HTTP/1.1 with keep-alive (RFC 9112).
        H1 = "h1",
        /// HTTP/1.1 with requests sent before earlier ones are answered (RFC 9112 section 9.3.2).
        H1Pipelined = "h1-pipelined",
        /// HTTP/2 (RFC 9113).
        H2 = "h2",
        /// SPDY/3.1.
        Spdy = "spdy",
        /// SPDY/3, without a session window.
        Spdy3 = "spdy/3",
        /// SPDY/2, without flow control.
        Spdy2 = "spdy/2",
        /// HTTP/3 (RFC 9114) over QUIC as a library deploys it: quinn with its own congestion control, windows and timers.
        H3Deployed = "h3-deployed",
        /// HTTP/3 over QUIC that is configured like TCP: congestion control, initial window, acknowledgements.
        H3Matched = "h3-matched",
        /// The protocol that each host spoke when the page was recorded: an arm of its own.
        Recorded = "recorded",
    }
    not_yet {}
    also {
        "h3": H3Deployed,
        "quic": H3Deployed,
        "http/3": H3Deployed,
        "http3": H3Deployed,
        "http/2": H2,
        "http2": H2,
        "http/1.1": H1,
        "http1.1": H1,
        "h1.1": H1,
        "http/1.0": H10,
        "http1.0": H10,
        "spdy/3.1": Spdy,
    }
}

impl Protocol {
    /// True if connections of HTTP/1.1 carry several requests, at some hosts at least.
    pub const fn keeps_alive(self) -> bool {
        matches!(self, Protocol::H1 | Protocol::H1Pipelined | Protocol::Recorded)
    }

    /// True for any version of SPDY.
    pub const fn is_spdy(self) -> bool {
        matches!(self, Protocol::Spdy | Protocol::Spdy3 | Protocol::Spdy2)
    }

    /// True if servers can push responses.
    pub const fn pushes(self) -> bool {
        self.is_multiplexed()
    }

    /// True for HTTP/1, which does not multiplex.
    pub const fn is_h1(self) -> bool {
        matches!(self, Protocol::H10 | Protocol::H1 | Protocol::H1Pipelined)
    }

    /// True if it runs over QUIC rather than TCP.
    pub const fn is_quic(self) -> bool {
        matches!(self, Protocol::H3Deployed | Protocol::H3Matched)
    }

    /// True if it multiplexes requests on a TCP connection.
    pub const fn is_multiplexed(self) -> bool {
        matches!(self, Protocol::H2 | Protocol::Spdy | Protocol::Spdy3 | Protocol::Spdy2)
    }
}

choice! {
    /// Security layer of a connection.
    pub enum Tls, "tls" {
        /// Clear text.
        None = "none",
        /// TLS 1.0 (RFC 2246), modelled: two round trips.
        Tls10 = "tls10",
        /// TLS 1.2 (RFC 5246): two round trips.
        Tls12 = "tls12",
        /// TLS 1.3 (RFC 8446): one round trip.
        Tls13 = "tls13",
    }
    not_yet {}
    also {
        "1.0": Tls10,
        "1.2": Tls12,
        "1.3": Tls13,
        "tls1.0": Tls10,
        "tls1.2": Tls12,
        "tls1.3": Tls13,
    }
}

impl Tls {
    /// The layer's name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Tls::None => "no TLS",
            Tls::Tls10 => "TLS 1.0 (modelled)",
            Tls::Tls12 => "TLS 1.2",
            Tls::Tls13 => "TLS 1.3",
        }
    }
}

/// Protocol, security and connection policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stack {
    /// The application protocol.
    pub protocol: Protocol,
    /// The security layer.
    pub tls: Tls,
    /// Largest number of connections to one host; `None` is the browser policy's number.
    pub connections_per_host: Option<u32>,
    /// Largest number of connections in all; `None` is the browser policy's number.
    pub connections_total: Option<u32>,
    /// Largest number of requests on a pipelined connection; `None` is the browser policy's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline_depth: Option<u32>,
}

impl Default for Stack {
    fn default() -> Stack {
        Stack {
            protocol: Protocol::H2,
            tls: Tls::Tls13,
            connections_per_host: None,
            connections_total: None,
            pipeline_depth: None,
        }
    }
}

// Settings of the protocols that multiplex requests on one TCP connection: HTTP/2 and SPDY.

/// Knobs of HTTP/2 and SPDY: `stream-window=64KB,connection-window=64KB`. Unset knobs are as in Chrome and the
/// servers here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Multiplexing {
    /// Client's receive window per stream: SETTINGS_INITIAL_WINDOW_SIZE.
    pub stream_window_bytes: Option<u32>,
    /// Client's receive window per connection.
    pub connection_window_bytes: Option<u32>,
    /// Concurrent requests that a server accepts on a connection: SETTINGS_MAX_CONCURRENT_STREAMS.
    pub streams: Option<u32>,
    /// Size of each end's table of received header fields: SETTINGS_HEADER_TABLE_SIZE, HTTP/2 only.
    pub header_table_bytes: Option<u32>,
    /// True if SPDY compresses its header blocks.
    pub header_compression: Option<bool>,
}

/// A connection's initial window (SPDY/3.1 section 2.6.8; a byte less in HTTP/2, RFC 9113 section 6.9.2), which
/// cannot be made smaller.
const LEAST_CONNECTION_WINDOW: u64 = 1 << 16;
/// The largest window (RFC 9113 section 6.9.1).
const LARGEST_WINDOW: u64 = (1 << 31) - 1;
/// Upper limit of the table that servers let a peer request.
const LARGEST_TABLE: u64 = 1 << 20;

const UPGRADE: &str = "HTTP/2 is spoken in clear text by prior knowledge here: RFC 9113 (section 3.1) has withdrawn the upgrade from HTTP/1.1, and the HTTP/2 library has no way to begin with it";

impl Multiplexing {
    /// True if no knob is set.
    pub fn is_usual(&self) -> bool {
        *self == Multiplexing::default()
    }

    /// The reason why `protocol` does not support these settings, if it does not.
    pub fn contradiction(&self, protocol: Protocol) -> Option<&'static str> {
        let Multiplexing {
            stream_window_bytes, connection_window_bytes, header_table_bytes, ..
        } = self;
        match protocol {
            Protocol::Spdy2 if stream_window_bytes.or(*connection_window_bytes).is_some() => {
                Some("SPDY/2 has no flow control: leave its windows out, or use spdy")
            }
            Protocol::Spdy3 if connection_window_bytes.is_some() => Some(
                "SPDY/3 has no window for the connection: leave it out, or use spdy (SPDY/3.1)",
            ),
            Protocol::Spdy | Protocol::Spdy3 | Protocol::Spdy2 if header_table_bytes.is_some() => {
                Some(
                    "SPDY has no header table: its zlib stream remembers 2 KB; header-table is HTTP/2's",
                )
            }
            Protocol::H2 if self.header_compression.is_some() => Some(
                "HTTP/2 always compresses header fields (HPACK): header-table=0B leaves it the static table",
            ),
            _ => None,
        }
    }
}

impl Knobs for Multiplexing {
    const ONE: &'static str = "multiplexing knob";
    const ALL: &'static str =
        "stream-window, connection-window, streams, header-table and header-compression";

    fn turn(&mut self, knob: &str, value: &str) -> Result<(), KnobProblem> {
        match knob {
            "stream-window" => {
                let expected = "a size of 1B to 2147483647B";
                self.stream_window_bytes = Some(size(value, 1, LARGEST_WINDOW, expected)?);
            }
            "connection-window" => {
                let expected = "a size of 65536B to 2147483647B";
                let bytes = size(value, LEAST_CONNECTION_WINDOW, LARGEST_WINDOW, expected)?;
                self.connection_window_bytes = Some(bytes);
            }
            "streams" => {
                let streams = value.parse().ok().filter(|streams| (1..=1000).contains(streams));
                self.streams = Some(streams.ok_or(KnobProblem::Expected("1 to 1000 requests"))?);
            }
            "header-table" => {
                let expected = "a size of 0B to 1048576B";
                self.header_table_bytes = Some(size(value, 0, LARGEST_TABLE, expected)?);
            }
            "header-compression" => self.header_compression = Some(knobs::on_or_off(value)?),
            "upgrade" => return Err(KnobProblem::Refused(UPGRADE)),
            _ => return Err(KnobProblem::Unknown),
        }
        Ok(())
    }
}

fn size(value: &str, least: u64, most: u64, expected: &'static str) -> Result<u32, KnobProblem> {
    let bytes = units::parse::size_bytes(value).ok().filter(|bytes| (least..=most).contains(bytes));
    bytes.and_then(|bytes| u32::try_from(bytes).ok()).ok_or(KnobProblem::Expected(expected))
}

impl FromStr for Multiplexing {
    type Err = KnobError;

    fn from_str(text: &str) -> Result<Multiplexing, KnobError> {
        knobs::parse(text)
    }
}

impl fmt::Display for Multiplexing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |knob: &str, bytes: Option<u32>| bytes.map(|bytes| format!("{knob}={bytes}B"));
        f.write_str(&knobs::list([
            size("stream-window", self.stream_window_bytes),
            size("connection-window", self.connection_window_bytes),
            self.streams.map(|streams| format!("streams={streams}")),
            size("header-table", self.header_table_bytes),
            self.header_compression.map(|on| format!("header-compression={}", knobs::switch(on))),
        ]))
    }
}

impl Serialize for Multiplexing {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Multiplexing {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Multiplexing, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Multiplexing {
        text.parse().unwrap()
    }

    fn refusal(text: &str) -> String {
        text.parse::<Multiplexing>().unwrap_err().to_string()
    }

    #[test]
    fn what_is_turned_is_written_back() {
        let all = "stream-window=64000B,connection-window=65536B,streams=8,header-table=0B,header-compression=off";
        for text in ["", "streams=1", all] {
            assert_eq!(read(text).to_string(), text);
        }
        assert_eq!(
            read(" streams=2, stream-window=1MB").to_string(),
            "stream-window=1000000B,streams=2"
        );
    }

    #[test]
    fn what_cannot_be_had_is_refused_by_name() {
        assert!(refusal("upgrade=on").contains("prior knowledge"));
        assert!(refusal("connection-window=65535B").contains("it takes a size of 65536B to"));
        assert!(refusal("streams=0").ends_with("cannot be `0`: it takes 1 to 1000 requests"));
        assert!(refusal("windows=1KB").starts_with("no multiplexing knob is called `windows`"));
    }

    #[test]
    fn a_protocol_takes_the_knobs_that_it_has() {
        let refused = |protocol, text| read(text).contradiction(protocol);
        assert_eq!(refused(Protocol::Spdy, "connection-window=64KiB,header-compression=off"), None);
        assert!(refused(Protocol::Spdy3, "connection-window=1MB").unwrap().contains("SPDY/3"));
        assert!(refused(Protocol::Spdy2, "stream-window=1MB").unwrap().contains("no flow control"));
        assert!(refused(Protocol::Spdy2, "header-table=1KB").unwrap().contains("zlib"));
        assert!(refused(Protocol::H2, "header-compression=off").unwrap().contains("HPACK"));
        assert_eq!(refused(Protocol::H2, "header-table=0B,stream-window=1MB"), None);
    }
}
