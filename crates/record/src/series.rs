//! Time series of a visit, as far as its experiment records them.

use serde::{Deserialize, Serialize};

/// The width of an [interval](Interval), in nanoseconds.
pub const INTERVAL_NS: u64 = 100_000_000;

/// Recorded time series. Those that were not requested are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Start of the series: the end of the client's previous visit, or the journey's beginning.
    pub since_ns: u64,
    /// TCP state of the servers' ends of the visit's connections, connection by connection, each in chronological
    /// order.
    pub windows: Vec<WindowSample>,
    /// Bytes received and sent by the client in each interval since navigation start.
    pub throughput: Vec<Interval>,
    /// Packets received and sent by the client since navigation start, by size, smallest first.
    pub packets: Vec<PacketSize>,
    /// State changes of the client's radio.
    pub radio: Vec<RadioStep>,
    /// Times at which responses left the servers' ends of the visit's connections, in the page's order.
    pub departures: Vec<Departure>,
}

/// State of one end of a TCP connection after an event: what `tcp_probe` reports, and some more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSample {
    /// Index of the visit's connection.
    pub connection: u32,
    /// Time of the sample. The first one of a connection older than the series holds the state at the start of the
    /// series.
    pub at_ns: u64,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow start threshold, segments; `None` while infinite.
    pub ssthresh: Option<u32>,
    /// Segments in flight, as the sender estimates them (`tcp_packets_in_flight`).
    pub in_flight: u32,
    /// Payload sent and not yet acknowledged.
    pub in_flight_bytes: u64,
    /// Payload written and not yet sent.
    pub unsent_bytes: u64,
    /// The peer's receive window.
    pub peer_window_bytes: u64,
    /// Smoothed round-trip time; 0 before the first sample.
    pub srtt_ns: u64,
    /// Retransmission timeout, back-off included.
    pub rto_ns: u64,
    /// Segments retransmitted so far.
    pub retransmits: u64,
}

/// Bytes on the wire in [`INTERVAL_NS`], IP headers included, counted at their arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// To the client.
    pub bytes_down: u64,
    /// From it.
    pub bytes_up: u64,
}

/// Arrived packets of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketSize {
    /// Bytes, IP header included.
    pub wire_bytes: u32,
    /// Number received by the client.
    pub down: u64,
    /// Number sent by the client that arrived.
    pub up: u64,
}

/// State change of a radio.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RadioStep {
    /// Time of the change.
    pub at_ns: u64,
    /// Previous state, in the words of its standard.
    pub from: String,
    /// New state.
    pub to: String,
    /// True if triggered by a packet rather than a timer.
    pub by_packet: bool,
    /// Time since the last packet that the client received, or sent and that arrived; `None` if there was none since
    /// the series began.
    pub quiet_ns: Option<u64>,
}

/// First departure of a response from the transport of the end that the client was connected to: a proxy or a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    /// Index in the page.
    pub object: u32,
    /// Time of the segment with its first byte.
    pub first_at_ns: u64,
    /// Time of the segment with its last byte.
    pub last_at_ns: u64,
}
