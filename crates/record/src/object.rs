//! Timing and sizes of one object.

use serde::{Deserialize, Serialize};

/// One request as seen by the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectRecord {
    /// Index in the page.
    pub object: u32,
    /// The full URL.
    pub url: String,
    /// `GET`, ...
    pub method: String,
    /// Kind of response, spelt as the page's `Kind` (`Document`, `Image`, ...).
    pub kind: String,
    /// HTTP status received; 0 if none was.
    pub status: u16,
    /// `h1`, `h2`, ...; `cache` if the browser's cache answered.
    pub protocol: String,
    /// Connection that carried it, as an index into the visit's connections.
    pub connection: Option<u32>,
    /// True if that connection had been opened for an earlier object.
    pub reused: bool,
    /// Time at which the client discovered the object.
    pub discovered_at_ns: u64,
    /// Breakdown of the time from discovery to the last byte.
    pub phases: Phases,
    /// Time at which the client's work on it (parsing, decoding, running) was done.
    pub done_at_ns: u64,
    /// Request head as it crossed the wire, before TLS.
    pub request_header_bytes: u64,
    /// Request body.
    pub request_body_bytes: u64,
    /// Response head as it crossed the wire, before TLS.
    pub response_header_bytes: u64,
    /// Response body as it crossed the wire, before TLS.
    pub body_bytes: u64,
    /// Request priority (`Highest` ... `Lowest`).
    pub priority: String,
    /// True if the object blocks the first paint.
    #[serde(default)]
    pub blocks_render: bool,
    /// Error message, if the request failed.
    pub error: Option<String>,
}

/// Consecutive spans that sum to the time from discovery to the last byte.
///
/// `connect` is TCP alone; `tls` follows it (HAR's `connect` is their sum). The first four lie before
/// the request; `dns`, `connect` and `tls` are zero on a reused connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    /// Waiting for a connection or for the browser's scheduler.
    pub blocked_ns: u64,
    /// Resolving the name.
    pub dns_ns: u64,
    /// TCP handshake.
    pub connect_ns: u64,
    /// TLS handshake.
    pub tls_ns: u64,
    /// Handing the request to the transport.
    pub send_ns: u64,
    /// Waiting for the first byte of the response, after the request was handed over.
    pub wait_ns: u64,
    /// From the first byte to the last.
    pub receive_ns: u64,
}

impl Phases {
    /// Time from discovery to the last byte.
    pub fn total_ns(&self) -> u64 {
        self.blocked_ns
            + self.dns_ns
            + self.connect_ns
            + self.tls_ns
            + self.send_ns
            + self.wait_ns
            + self.receive_ns
    }
}
