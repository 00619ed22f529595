//! How fast the network delivers: what a transport measures and a rate-based controller reads.
//!
//! Source: `struct rate_sample` of Linux 6.18 (`include/net/tcp.h`, `net/ipv4/tcp_rate.c`; described in
//! draft-cheng-iccrg-delivery-rate-estimation). Unit: segments.

use std::time::Duration;

use units::Time;

/// What one acknowledgement tells about the rate of delivery, and the totals behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// The delivery that was measured, if the acknowledgement covers a segment whose sending is known.
    pub delivery: Option<Delivery>,
    /// Delivered with this acknowledgement, in order or not (`acked_sacked`).
    pub newly_delivered: u32,
    /// Found lost with this acknowledgement (`losses`).
    pub newly_lost: u32,
    /// Delivered so far.
    pub delivered: u64,
    /// When the last of that was reported (`delivered_mstamp`).
    pub delivered_at: Time,
    /// Found lost so far, repeated losses included.
    pub lost: u64,
    /// In flight before this acknowledgement.
    pub prior_in_flight: u32,
    /// In flight after it.
    pub in_flight: u32,
    /// The acknowledgement was probably delayed by the receiver: its round trip is too long.
    pub is_ack_delayed: bool,
    /// The smoothed round trip.
    pub srtt: Option<Duration>,
    /// When the next segment may leave, as pacing has it; not before now.
    pub departure: Time,
}

/// Segments delivered over an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// How many.
    pub segments: u64,
    /// Over how long: the longer of sending and acknowledging. None if that is shorter than the
    /// smallest round trip, which cannot be.
    pub interval: Option<Duration>,
    /// What had been delivered when the newest of them was sent.
    pub prior_delivered: u64,
    /// When it was sent, the application had too little to fill the path.
    pub is_app_limited: bool,
}
