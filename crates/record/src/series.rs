//! How a visit went over time, as far as its experiment wants that recorded.

use serde::{Deserialize, Serialize};

/// The width of an [interval](Interval), in nanoseconds.
pub const INTERVAL_NS: u64 = 100_000_000;

/// What was recorded over time. What nobody asked for is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Since when: the end of the client's visit before, or the journey's beginning.
    pub since_ns: u64,
    /// How the servers' ends of the visit's connections stood, connection by connection, each in time's order.
    pub windows: Vec<WindowSample>,
    /// What the client got and sent in each interval since navigation start.
    pub throughput: Vec<Interval>,
    /// How many packets of which size the client got and sent since navigation start, the smallest size first.
    pub packets: Vec<PacketSize>,
    /// The changes of state of the client's radio.
    pub radio: Vec<RadioStep>,
    /// When responses left the servers' ends of the visit's connections, in the page's order.
    pub departures: Vec<Departure>,
}

/// One end of a TCP connection after something happened to it: what `tcp_probe` tells of it, and some more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSample {
    /// Which of the visit's connections.
    pub connection: u32,
    /// When. The first of a connection that is older than the series says how it stood when that began.
    pub at_ns: u64,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow start threshold, segments; none as long as it is infinite.
    pub ssthresh: Option<u32>,
    /// Segments in the network, as the sender reckons (`tcp_packets_in_flight`).
    pub in_flight: u32,
    /// Payload that was sent and is not acknowledged.
    pub in_flight_bytes: u64,
    /// Payload that was written and is not sent.
    pub unsent_bytes: u64,
    /// What the peer's window is.
    pub peer_window_bytes: u64,
    /// Smoothed round trip; 0 before the first.
    pub srtt_ns: u64,
    /// Retransmission timeout, back-off included.
    pub rto_ns: u64,
    /// Segments that it has sent again so far.
    pub retransmits: u64,
}

/// What passed in [`INTERVAL_NS`]: bytes on the wire, IP headers included, by their arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// To the client.
    pub bytes_down: u64,
    /// From it.
    pub bytes_up: u64,
}

/// Packets of one size that arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketSize {
    /// Bytes, IP header included.
    pub wire_bytes: u32,
    /// How many the client got.
    pub down: u64,
    /// How many it sent that arrived.
    pub up: u64,
}

/// A change of a radio's state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RadioStep {
    /// When.
    pub at_ns: u64,
    /// Out of which state, in the words of its standard.
    pub from: String,
    /// Into which.
    pub to: String,
    /// Whether a packet brought it about rather than a timer.
    pub by_packet: bool,
    /// How long before it the last packet was that the client got, or that it sent and that arrived; none if there was none since the series began.
    pub quiet_ns: Option<u64>,
}

/// When a response left the transport of the end that the client was connected to, for the first time: a proxy's, or a host's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    /// Index in the page.
    pub object: u32,
    /// The segment with its first byte.
    pub first_at_ns: u64,
    /// The segment with its last.
    pub last_at_ns: u64,
}
