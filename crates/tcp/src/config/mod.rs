//! How an endpoint behaves: one knob for each thing in which endpoints differ.
//!
//! The default is Linux 6.18 with its shipped settings; [`Generation::config`] has those of older kernels. Sources:
//! `include/net/tcp.h`, `net/ipv4/tcp.c` (`tcp_init`), `net/ipv4/tcp_ipv4.c` (`tcp_sk_init`) of each.

mod acks;
mod behaviour;
mod buffers;
mod clock;
mod generation;
pub(crate) mod named;

use std::time::Duration;

use congestion::{Algorithm, Era};

use crate::{EcnPolicy, Pacing};

pub use acks::{AckPolicy, Stretch};
pub use behaviour::{
    Frto, Growth, HandshakeRtt, IdleRestart, LossDetection, LossWindow, MetricsUse, ReceiveTuning,
    Reduction, RttSampling, SpuriousResponse, SynLossWindow, TailLossProbe, TsoSegments,
};
pub use buffers::{ReceiveBufferPolicy, SendBufferPolicy};
pub use clock::Clock;
pub use generation::{Generation, UnknownGeneration};

/// Settings of one endpoint; many connections share one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Where the defaults came from. A label: nothing asks for it but reports.
    pub generation: Generation,

    /// Payload bytes of a full segment: 1448 on a path of 1500 bytes with timestamps, 1460 without.
    pub mss: u32,
    /// Offer timestamps (`tcp_timestamps`, RFC 7323). Mind `mss`.
    pub timestamps: bool,
    /// Offer selective acknowledgements (`tcp_sack`, RFC 2018). Without them duplicates are counted (RFC 6582).
    pub sack: bool,
    /// Report data that arrived twice (`tcp_dsack`, RFC 2883).
    pub dsack: bool,

    /// Retransmission timeout before the first sample (`TCP_TIMEOUT_INIT`, RFC 6298).
    pub initial_rto: Duration,
    /// Retransmissions of a SYN after the linear ones (`tcp_syn_retries`).
    pub syn_retries: u32,
    /// Timeouts of a SYN before they double (`tcp_syn_linear_timeouts`, Linux 6.5).
    pub syn_linear_timeouts: u32,
    /// Retransmissions of a SYN-ACK (`tcp_synack_retries`).
    pub syn_ack_retries: u32,
    /// What lost SYNs do to the initial window.
    pub syn_loss_window: SynLossWindow,
    /// Whether the handshake's round trip counts.
    pub handshake_rtt: HandshakeRtt,

    /// Smallest variance term of the timeout (`TCP_RTO_MIN`).
    pub min_rto: Duration,
    /// Largest timeout (`TCP_RTO_MAX`).
    pub max_rto: Duration,
    /// Doublings of the smallest timeout after which a connection is given up (`tcp_retries2`).
    pub retries: u32,
    /// The grain of timers and of round trips.
    pub clock: Clock,
    /// Where samples of the round trip come from.
    pub rtt_sampling: RttSampling,

    /// Congestion control.
    pub congestion: Algorithm,
    /// Whose arithmetic it follows.
    pub congestion_era: Era,
    /// Whether segments are spaced where the controller does not ask for it.
    pub pacing: Pacing,
    /// Explicit congestion notification (`tcp_ecn`, RFC 3168).
    pub ecn: EcnPolicy,
    /// Segments that may be sent before the first acknowledgement (`TCP_INIT_CWND`, RFC 6928).
    pub initial_window: u32,
    /// What lets the window grow.
    pub growth: Growth,
    /// Shrink the window after idleness (`tcp_slow_start_after_idle`, RFC 2861).
    pub slow_start_after_idle: bool,
    /// When it is shrunk.
    pub idle_restart: IdleRestart,
    /// Forget the round trip after idleness of a timeout or more, and wait this long until the next sample: what Erman et al. propose
    /// ("Towards a SPDY'ier Mobile Web?", 2013, section 6.2.1) against the promotion delays of cellular radio. No kernel does. Their
    /// "multiple seconds" are [`Config::FORGOTTEN_RTO`]; the initial timeout of RFC 6298 section 2.1, 1 s, is shorter than a promotion.
    pub reset_rtt_after_idle: Option<Duration>,

    /// How losses are found.
    pub loss_detection: LossDetection,
    /// Retransmit after one or two duplicates if fewer than four segments are in flight and none can follow (RFC 5827;
    /// `tcp_early_retrans`, Linux 3.5 to 4.11). Under RACK without effect.
    pub early_retransmit: bool,
    /// Probe for a lost tail.
    pub tail_loss_probe: TailLossProbe,
    /// How the window comes down.
    pub reduction: Reduction,
    /// How a timeout is tested.
    pub frto: Frto,
    /// What follows if it was spurious.
    pub spurious_response: SpuriousResponse,
    /// The window after a timeout.
    pub loss_window: LossWindow,

    /// What is shared with other connections to the same peer.
    pub metrics: MetricsUse,
    /// How long that is remembered (`TCP_METRICS_TIMEOUT`).
    pub metrics_lifetime: Duration,

    /// How many segments leave as one burst.
    pub tso_segments: TsoSegments,
    /// Let small segments wait for each other (RFC 896). Off: browsers and servers set `TCP_NODELAY`.
    pub nagle: bool,
    /// How much may be written ahead of acknowledgements.
    pub send_buffer: SendBufferPolicy,
    /// Refuse writes while this much waits unsent (`TCP_NOTSENT_LOWAT`).
    pub notsent_lowat: Option<u64>,
    /// How much may be received ahead of the application.
    pub receive_buffer: ReceiveBufferPolicy,
    /// When to acknowledge.
    pub ack_policy: AckPolicy,
    /// How long the end that closed first lingers (`TCP_TIMEWAIT_LEN`).
    pub time_wait: Duration,
}

impl Default for Config {
    fn default() -> Config {
        Generation::Linux6.config()
    }
}

impl Config {
    /// The timeout of a round trip that was forgotten: the kernel's own where it has no sample (`TCP_TIMEOUT_FALLBACK`), and the initial
    /// one up to Linux 3.0.
    pub const FORGOTTEN_RTO: Duration = crate::rtt::FALLBACK_RTO;

    /// What the SYN says: payload plus the options that every segment carries.
    pub(crate) fn advertised_mss(&self) -> u32 {
        self.mss + if self.timestamps { crate::segment::TIMESTAMPS_BYTES } else { 0 }
    }
}
