//! One transport connection, as counted by both of its ends.

use serde::{Deserialize, Serialize};

/// A transport connection over its whole life.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionRecord {
    /// Host name that was connected to.
    pub host: String,
    /// Protocol spoken: `h1`, `h2`, ...
    pub protocol: String,
    /// `none`, `tls12`, `tls13`, or a modelled version: `modelled tls10`.
    pub tls: String,
    /// Time of the first SYN.
    pub opened_at_ns: u64,
    /// Time at which the client completed the transport handshake.
    pub connected_at_ns: Option<u64>,
    /// Time at which the client completed the TLS handshake.
    pub secured_at_ns: Option<u64>,
    /// Time of closing, if within the visit.
    pub closed_at_ns: Option<u64>,
    /// Requests carried.
    pub requests: u32,
    /// Payload bytes the client sent, TLS included.
    pub bytes_up: u64,
    /// Payload bytes the client received, TLS included.
    pub bytes_down: u64,
    /// Segments the server retransmitted; `None` if unknown.
    pub retransmits_down: Option<u32>,
    /// Segments the client retransmitted; `None` if unknown.
    pub retransmits_up: Option<u32>,
    /// Retransmission timeouts of the server.
    pub timeouts_down: u32,
    /// The server's smoothed RTT at the end.
    pub srtt_down_ns: u64,
    /// The server's congestion window at the end, in segments.
    pub cwnd_down: u32,
    /// Time the server had data to send or in flight.
    pub busy_ns: u64,
    /// Part of `busy_ns` during which a flow-control window (TCP's or HTTP's) limited the server.
    pub flow_limited_ns: u64,
}

impl ConnectionRecord {
    /// Segments retransmitted by either end; `None` unless both counts are known.
    pub fn retransmits(&self) -> Option<u64> {
        Some(u64::from(self.retransmits_down?) + u64::from(self.retransmits_up?))
    }

    /// Returns true if flow control limited the connection for over 1 % of its busy time, which a result must
    /// mention.
    pub fn is_flow_limited(&self) -> bool {
        self.flow_limited_ns.saturating_mul(100) > self.busy_ns
    }
}
