//! Delivery rate of the network: measured by a transport, read by a rate-based controller.
//!
//! Source: `struct rate_sample` of Linux 6.18 (`include/net/tcp.h`, `net/ipv4/tcp_rate.c`; described in
//! draft-cheng-iccrg-delivery-rate-estimation). Unit: segments.

use std::time::Duration;

use units::Time;

/// Delivery-rate sample of one acknowledgement, and the totals behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// The measured delivery, if the acknowledgement covers a segment whose transmission is known.
    pub delivery: Option<Delivery>,
    /// Delivered with this acknowledgement, in order or not (`acked_sacked`).
    pub newly_delivered: u32,
    /// Found lost with this acknowledgement (`losses`).
    pub newly_lost: u32,
    /// Delivered so far.
    pub delivered: u64,
    /// Time at which the last of them was reported (`delivered_mstamp`).
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
    /// Earliest departure of the next segment by pacing; not before now.
    pub departure: Time,
}

/// Segments delivered over an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Number of segments.
    pub segments: u64,
    /// The longer of sending and acknowledging time. None if it is shorter than the
    /// smallest round trip, which is impossible.
    pub interval: Option<Duration>,
    /// Total delivered when the newest of them was sent.
    pub prior_delivered: u64,
    /// At that time, the application had too little data to fill the path.
    pub is_app_limited: bool,
}
