//! Protocol stack of the page: protocol, security and connection policy.

use serde::{Deserialize, Serialize};

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
