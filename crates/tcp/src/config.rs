//! Behaviour of an endpoint: one knob for each difference between endpoints.
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
    /// Source of the defaults. A label: used by reports only.
    pub generation: Generation,

    /// Payload bytes of a full segment: 1448 on a path of 1500 bytes with timestamps, 1460 without.
    pub mss: u32,
    /// Offer timestamps (`tcp_timestamps`, RFC 7323). Affects `mss`.
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
    /// Effect of lost SYNs on the initial window.
    pub syn_loss_window: SynLossWindow,
    /// Use of the handshake's round trip.
    pub handshake_rtt: HandshakeRtt,

    /// Smallest variance term of the timeout (`TCP_RTO_MIN`).
    pub min_rto: Duration,
    /// Largest timeout (`TCP_RTO_MAX`).
    pub max_rto: Duration,
    /// Doublings of the smallest timeout after which a connection is given up (`tcp_retries2`).
    pub retries: u32,
    /// Granularity of timers and of round trips.
    pub clock: Clock,
    /// Source of round trip samples.
    pub rtt_sampling: RttSampling,

    /// Congestion control.
    pub congestion: Algorithm,
    /// Kernel generation of its arithmetic.
    pub congestion_era: Era,
    /// Pacing of segments if the controller does not ask for it.
    pub pacing: Pacing,
    /// Explicit congestion notification (`tcp_ecn`, RFC 3168).
    pub ecn: EcnPolicy,
    /// Segments that may be sent before the first acknowledgement (`TCP_INIT_CWND`, RFC 6928).
    pub initial_window: u32,
    /// Growth of the window.
    pub growth: Growth,
    /// Shrink the window after idleness (`tcp_slow_start_after_idle`, RFC 2861).
    pub slow_start_after_idle: bool,
    /// Time at which it is shrunk.
    pub idle_restart: IdleRestart,
    /// Forget the round trip after idleness of a timeout or more, and wait this long until the next sample: proposed by Erman et al.
    /// ("Towards a SPDY'ier Mobile Web?", 2013, section 6.2.1) against the promotion delays of cellular radio. No kernel does this. Their
    /// "multiple seconds" are [`Config::FORGOTTEN_RTO`]; the initial timeout of RFC 6298 section 2.1, 1 s, is shorter than a promotion.
    pub reset_rtt_after_idle: Option<Duration>,

    /// Loss detection.
    pub loss_detection: LossDetection,
    /// Retransmit after one or two duplicates if fewer than four segments are in flight and none can follow (RFC 5827;
    /// `tcp_early_retrans`, Linux 3.5 to 4.11). No effect under RACK.
    pub early_retransmit: bool,
    /// Probe for a lost tail.
    pub tail_loss_probe: TailLossProbe,
    /// Reduction of the window.
    pub reduction: Reduction,
    /// Test of a timeout for being spurious.
    pub frto: Frto,
    /// Response to a spurious timeout.
    pub spurious_response: SpuriousResponse,
    /// The window after a timeout.
    pub loss_window: LossWindow,

    /// Metrics shared with other connections to the same peer.
    pub metrics: MetricsUse,
    /// Lifetime of these metrics (`TCP_METRICS_TIMEOUT`).
    pub metrics_lifetime: Duration,

    /// Number of segments in a burst.
    pub tso_segments: TsoSegments,
    /// Let small segments wait for each other (RFC 896). Off: browsers and servers set `TCP_NODELAY`.
    pub nagle: bool,
    /// Limit of data written ahead of acknowledgements.
    pub send_buffer: SendBufferPolicy,
    /// Refuse writes while this much waits unsent (`TCP_NOTSENT_LOWAT`).
    pub notsent_lowat: Option<u64>,
    /// Limit of data received ahead of the application.
    pub receive_buffer: ReceiveBufferPolicy,
    /// Acknowledgement policy.
    pub ack_policy: AckPolicy,
    /// Duration of TIME-WAIT at the end that closed first (`TCP_TIMEWAIT_LEN`).
    pub time_wait: Duration,
}

impl Default for Config {
    fn default() -> Config {
        Generation::Linux6.config()
    }
}

impl Config {
    /// Timeout after the round trip was forgotten: the kernel's own without a sample (`TCP_TIMEOUT_FALLBACK`), and the initial
    /// one up to Linux 3.0.
    pub const FORGOTTEN_RTO: Duration = crate::rtt::FALLBACK_RTO;

    /// MSS advertised in the SYN: payload plus the options that every segment carries.
    pub(crate) fn advertised_mss(&self) -> u32 {
        self.mss + if self.timestamps { crate::segment::TIMESTAMPS_BYTES } else { 0 }
    }
}
