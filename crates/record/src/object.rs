//! One object's life.

use serde::{Deserialize, Serialize};

/// One request as the client saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectRecord {
    /// Index in the page.
    pub object: u32,
    /// The full URL.
    pub url: String,
    /// `GET`, ...
    pub method: String,
    /// The kind of response, as the page's `Kind` is spelt (`Document`, `Image`, ...).
    pub kind: String,
    /// The status received; 0 if none was.
    pub status: u16,
    /// `h1`, `h2`, ...; `cache` if the browser's cache answered.
    pub protocol: String,
    /// Which connection carried it, as an index into the visit's connections.
    pub connection: Option<u32>,
    /// Whether that connection had been opened for an earlier object.
    pub reused: bool,
    /// When the client knew that it wanted the object.
    pub discovered_at_ns: u64,
    /// Where the time from discovery to the last byte went.
    pub phases: Phases,
    /// When the client's work on it (parsing, decoding, running) was done.
    pub done_at_ns: u64,
    /// Request head as it crossed the wire, before TLS.
    pub request_header_bytes: u64,
    /// Request body.
    pub request_body_bytes: u64,
    /// Response head as it crossed the wire, before TLS.
    pub response_header_bytes: u64,
    /// Response body as it crossed the wire, before TLS.
    pub body_bytes: u64,
    /// The priority it was asked for with (`Highest` ... `Lowest`).
    pub priority: String,
    /// Whether the first paint waits for it.
    #[serde(default)]
    pub blocks_render: bool,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// Consecutive spans that sum to the time from discovery to the last byte.
///
/// `connect` is TCP alone; `tls` follows it (HAR's `connect` is their sum). The first four lie before
/// the request; `dns`, `connect` and `tls` are zero on a reused connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    /// Waiting for a connection or for the browser's permission.
    pub blocked_ns: u64,
    /// Resolving the name.
    pub dns_ns: u64,
    /// TCP's handshake.
    pub connect_ns: u64,
    /// TLS's handshake.
    pub tls_ns: u64,
    /// Handing the request to the transport.
    pub send_ns: u64,
    /// From there to the first byte of the response.
    pub wait_ns: u64,
    /// From the first byte to the last.
    pub receive_ns: u64,
}

impl Phases {
    /// From discovery to the last byte.
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
