//! What a transport and a congestion controller say to each other.

use std::fmt;
use std::time::Duration;

use units::{BitsPerSec, Time};

use crate::{RateSample, Window};

/// Where the transport's loss recovery stands, as far as a controller cares (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Phase {
    /// Nothing is amiss.
    #[default]
    Open,
    /// Something is amiss, but nothing is being repaired (Disorder, CWR).
    Disturbed,
    /// Losses are being repaired.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// A connection that may send from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// When.
    pub now: Time,
    /// The smoothed and the smallest round trip of the handshake, if it gave a sample.
    pub rtt: Option<Duration>,
    /// Payload of a full segment.
    pub segment_bytes: u32,
}

/// One acknowledgement, as far as a controller cares. Sequence numbers may count bytes or packets,
/// as long as they grow in the order of sending and never wrap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack<'a> {
    /// When it arrived.
    pub now: Time,
    /// The round trip of the newest segment it covers, if that is unambiguous.
    pub rtt: Option<Duration>,
    /// How much may count towards growth: none while the transport is reducing the window or the
    /// sender does not fill it. Linux 6 counts delivered segments; Linux 3 counts acknowledgements,
    /// so there it is never more than one.
    pub growth: u32,
    /// Segments that became cumulatively acknowledged, by whatever count `growth` goes.
    pub acked: u32,
    /// Where loss recovery stands after this acknowledgement.
    pub phase: Phase,
    /// Everything below this sequence number has been acknowledged.
    pub acknowledged: u64,
    /// The next sequence number to be sent.
    pub next: u64,
    /// How fast the network delivers; present for controllers that are
    /// [rate-based](Controller::is_rate_based).
    pub rate: Option<&'a RateSample>,
}

impl Ack<'_> {
    /// An acknowledgement of one segment that says nothing else.
    pub fn at(now: Time) -> Ack<'static> {
        Ack {
            now,
            rtt: None,
            growth: 1,
            acked: 1,
            phase: Phase::Open,
            acknowledged: 0,
            next: 0,
            rate: None,
        }
    }
}

/// Sending resumes with nothing in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resume {
    /// When.
    pub now: Time,
    /// How long after the last transmission.
    pub idle: Duration,
    /// The pause was for want of data, rather than of window.
    pub app_limited: bool,
}

/// The retransmission timer expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// When.
    pub now: Time,
    /// As in [`Ack::next`].
    pub next: u64,
    /// As in [`RateSample::lost`], what the timeout marked lost included.
    pub lost: u64,
}

/// How a controller wants segments spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Payload may leave this fast on average (`sk_pacing_rate`).
    pub rate: BitsPerSec,
    /// A burst has at least so many segments (`min_tso_segs`).
    pub least_burst: u32,
    /// The controller holds back on purpose: what is delivered meanwhile says nothing about the
    /// path, and the transport marks it application-limited.
    pub restrained: bool,
}

/// A congestion control algorithm (Linux: `struct tcp_congestion_ops`).
pub trait Controller: fmt::Debug + Send + Sync {
    /// The handshake is over (`init`).
    fn start(&mut self, _window: &Window, _start: &Start) {}

    /// Learns from an acknowledgement and moves the window (`pkts_acked`, then `cong_avoid` or
    /// `cong_control`).
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// The slow start threshold after congestion was detected, in segments (`ssthresh`).
    fn on_congestion(&mut self, window: &Window) -> u32;

    /// The retransmission timer expired (`set_state(TCP_CA_Loss)`).
    fn on_timeout(&mut self, _timeout: &Timeout) {}

    /// Sending resumes after idleness (`CA_EVENT_TX_START`).
    fn on_resume(&mut self, _window: &mut Window, _resume: &Resume) {}

    /// The window to go back to when a reduction from `prior_cwnd` proves to have been a mistake
    /// (`undo_cwnd`; RFC 3522, RFC 5682).
    fn undo(&mut self, window: &Window, prior_cwnd: u32) -> u32 {
        window.cwnd.max(prior_cwnd)
    }

    /// Whether the controller models the path and sets the window by that alone (Linux:
    /// `cong_control`). Such a one is given rate samples; the transport neither reduces its window
    /// in recovery, nor restores it at the end, nor lets it decay in idleness, and paces it.
    fn is_rate_based(&self) -> bool {
        false
    }

    /// How it wants segments spaced; none: the transport decides.
    fn pace(&self) -> Option<Pace> {
        None
    }
}
