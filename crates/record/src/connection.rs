//! One transport connection, as both of its ends counted it.

use serde::{Deserialize, Serialize};

/// A transport connection over its whole life.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionRecord {
    /// The name that was connected to.
    pub host: String,
    /// What was spoken on it: `h1`, `h2`, ...
    pub protocol: String,
    /// `none`, `tls12`, `tls13`, or what is modelled: `modelled tls10`.
    pub tls: String,
    /// When the first SYN left.
    pub opened_at_ns: u64,
    /// When the transport's handshake was done for the client.
    pub connected_at_ns: Option<u64>,
    /// When TLS was done for the client.
    pub secured_at_ns: Option<u64>,
    /// When it closed, if it did within the visit.
    pub closed_at_ns: Option<u64>,
    /// Requests carried.
    pub requests: u32,
    /// Payload bytes the client sent, TLS included.
    pub bytes_up: u64,
    /// Payload bytes the client received, TLS included.
    pub bytes_down: u64,
    /// Segments the server retransmitted; `None` where nobody can tell.
    pub retransmits_down: Option<u32>,
    /// Segments the client retransmitted; `None` where nobody can tell.
    pub retransmits_up: Option<u32>,
    /// Retransmission timeouts of the server.
    pub timeouts_down: u32,
    /// The server's smoothed RTT at the end.
    pub srtt_down_ns: u64,
    /// The server's congestion window at the end, in segments.
    pub cwnd_down: u32,
    /// Time the server had data to send or in flight.
    pub busy_ns: u64,
    /// The part of `busy_ns` in which a flow-control window (TCP's or HTTP's) held it back.
    pub flow_limited_ns: u64,
}

impl ConnectionRecord {
    /// Segments that either end retransmitted; `None` where that is not known of both.
    pub fn retransmits(&self) -> Option<u64> {
        Some(u64::from(self.retransmits_down?) + u64::from(self.retransmits_up?))
    }

    /// Whether flow control limited it for over 1 % of its busy time, which a result must say.
    pub fn is_flow_limited(&self) -> bool {
        self.flow_limited_ns.saturating_mul(100) > self.busy_ns
    }
}
