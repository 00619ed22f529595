//! What a transport and a congestion controller say to each other.

use std::fmt;
use std::time::Duration;

use units::Time;

use crate::{Cubic, Reno, Window};

/// One acknowledgement, as far as a controller cares. Sequence numbers may count bytes or packets,
/// as long as they grow in the order of sending and never wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// The round trip of the newest segment it covers, if that is unambiguous.
    pub rtt: Option<Duration>,
    /// How many delivered segments may count towards growth: none while the transport is reducing
    /// the window or the sender does not fill it.
    pub growth: u32,
    /// Everything below this sequence number has been acknowledged.
    pub acknowledged: u64,
    /// The next sequence number to be sent.
    pub next: u64,
}

/// A congestion control algorithm (Linux: `struct tcp_congestion_ops`).
pub trait Controller: fmt::Debug + Send {
    /// Learns from an acknowledgement and grows the window (`pkts_acked`, then `cong_avoid`).
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// The slow start threshold after congestion was detected, in segments (`ssthresh`).
    fn on_congestion(&mut self, window: &Window) -> u32;

    /// The retransmission timer expired (`set_state(TCP_CA_Loss)`); `next` as in [`Ack::next`].
    fn on_timeout(&mut self, _now: Time, _next: u64) {}

    /// Sending resumes with nothing in flight, `idle` after the last transmission
    /// (`CA_EVENT_TX_START`).
    fn on_resume(&mut self, _now: Time, _idle: Duration) {}

    /// The window to go back to when a reduction from `prior_cwnd` proves to have been a mistake
    /// (`undo_cwnd`; RFC 3522, RFC 5682).
    fn undo(&self, window: &Window, prior_cwnd: u32) -> u32 {
        window.cwnd.max(prior_cwnd)
    }
}

/// The algorithms there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// Additive increase, multiplicative decrease by a half (RFC 5681).
    Reno,
    /// CUBIC as in Linux 6 (RFC 9438 with the kernel's constants), leaving slow start by HyStart.
    #[default]
    Cubic,
    /// CUBIC that leaves slow start on loss alone (module parameter `hystart=0`).
    CubicWithoutHystart,
}

impl Algorithm {
    /// A fresh controller for one connection.
    pub fn controller(self) -> Box<dyn Controller> {
        match self {
            Algorithm::Reno => Box::new(Reno),
            Algorithm::Cubic => Box::new(Cubic::with_hystart()),
            Algorithm::CubicWithoutHystart => Box::new(Cubic::without_hystart()),
        }
    }
}
