//! Interface between a transport and a congestion controller, with the delivery rates that it reads.

use std::fmt;
use std::time::Duration;

use units::{BitsPerSec, Time};

use crate::Window;

/// State of the transport's loss recovery, as far as a controller needs it (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum RecoveryPhase {
    /// No loss is suspected.
    #[default]
    Open,
    /// A loss is suspected, but nothing is being repaired (Disorder, CWR).
    Disturbed,
    /// Losses are being repaired.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// A connection that may send from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialState {
    /// Current time.
    pub now: Time,
    /// The smoothed and the smallest round trip of the handshake, if it gave a sample.
    pub rtt: Option<Duration>,
    /// Payload of a full segment.
    pub segment_bytes: u32,
}

/// One acknowledgement, as far as a controller needs it. Sequence numbers may count bytes or packets,
/// as long as they grow in the order of sending and never wrap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack<'a> {
    /// Time of its arrival.
    pub now: Time,
    /// The round trip of the newest segment it covers, if that is unambiguous.
    pub rtt: Option<Duration>,
    /// Amount that counts towards growth: none while the transport is reducing the window or the
    /// sender does not fill it. Linux 6 counts delivered segments; Linux 3 counts acknowledgements,
    /// so it is at most one there.
    pub growth: u32,
    /// Segments that became cumulatively acknowledged, whatever `growth` counts.
    pub acked: u32,
    /// State of loss recovery after this acknowledgement.
    pub phase: RecoveryPhase,
    /// Everything below this sequence number has been acknowledged.
    pub acknowledged: u64,
    /// The next sequence number to be sent.
    pub next: u64,
    /// Delivery rate of the network; present for controllers that are
    /// [rate-based](Controller::is_rate_based).
    pub rate: Option<&'a RateSample>,
}

impl Ack<'_> {
    /// An acknowledgement of one segment without further information.
    pub fn at(now: Time) -> Ack<'static> {
        Ack {
            now,
            rtt: None,
            growth: 1,
            acked: 1,
            phase: RecoveryPhase::Open,
            acknowledged: 0,
            next: 0,
            rate: None,
        }
    }
}

/// Sending resumes with nothing in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarefulResume {
    /// Current time.
    pub now: Time,
    /// Time since the last transmission.
    pub idle: Duration,
    /// The pause was for lack of data, not of window.
    pub app_limited: bool,
}

/// The retransmission timer expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// Current time.
    pub now: Time,
    /// As in [`Ack::next`].
    pub next: u64,
    /// As in [`RateSample::lost`], including segments marked lost by the timeout.
    pub lost: u64,
}

/// Pacing that a controller asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacingRate {
    /// Average rate of payload (`sk_pacing_rate`).
    pub rate: BitsPerSec,
    /// Minimum number of segments in a burst (`min_tso_segs`).
    pub least_burst: u32,
    /// The controller holds back on purpose: deliveries meanwhile say nothing about the
    /// path, and the transport marks them application-limited.
    pub restrained: bool,
}

/// A congestion control algorithm (Linux: `struct tcp_congestion_ops`).
pub trait Controller: fmt::Debug + Send + Sync {
    /// The handshake is over (`init`).
    fn start(&mut self, _window: &Window, _start: &InitialState) {}

    /// Learns from an acknowledgement and moves the window (`pkts_acked`, then `cong_avoid` or
    /// `cong_control`).
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// The slow start threshold after congestion was detected, in segments (`ssthresh`).
    fn on_congestion(&mut self, window: &Window) -> u32;

    /// The retransmission timer expired (`set_state(TCP_CA_Loss)`).
    fn on_timeout(&mut self, _timeout: &Timeout) {}

    /// Sending resumes after idleness (`CA_EVENT_TX_START`).
    fn on_resume(&mut self, _window: &mut Window, _resume: &CarefulResume) {}

    /// The window to go back to when a reduction from `prior_cwnd` proves spurious
    /// (`undo_cwnd`; RFC 3522, RFC 5682).
    fn undo(&mut self, window: &Window, prior_cwnd: u32) -> u32 {
        window.cwnd.max(prior_cwnd)
    }

    /// True if the controller models the path and sets the window by that alone (Linux:
    /// `cong_control`). Such a controller is given rate samples; the transport neither reduces its window
    /// in recovery, nor restores it at the end, nor lets it decay in idleness, and paces it.
    fn is_rate_based(&self) -> bool {
        false
    }

    /// Pacing that it asks for; none: the transport decides.
    fn pace(&self) -> Option<PacingRate> {
        None
    }
}

// Delivery rate of the network: measured by a transport, read by a rate-based controller.
//
// Source: `struct rate_sample` of Linux 6.18 (`include/net/tcp.h`, `net/ipv4/tcp_rate.c`; described in
// draft-cheng-iccrg-delivery-rate-estimation). Unit: segments.

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
