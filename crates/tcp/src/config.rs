//! Behaviour of an endpoint: one knob for each difference between endpoints.
//!
//! The default is Linux 6.18 with its shipped settings; [`Generation::config`] has those of older kernels. Sources:
//! `include/net/tcp.h`, `net/ipv4/tcp.c` (`tcp_init`), `net/ipv4/tcp_ipv4.c` (`tcp_sk_init`) of each.

use std::time::Duration;

use congestion::{Algorithm, Era};

use crate::{EcnPolicy, Pacing};

mod behaviour;
mod clock;
mod generation;
pub(crate) mod named;

pub use behaviour::{
    Frto, Growth, HandshakeRtt, IdleRestart, LossDetection, LossWindow, MetricsUse, ReceiveTuning,
    Reduction, RttSampling, SpuriousResponse, SynLossWindow, TailLossProbe, TsoSegments,
};
pub use clock::Clock;
pub use generation::{Generation, UnknownGenerationError};

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
    pub(crate) const FORGOTTEN_RTO: Duration = crate::rtt::FALLBACK_RTO;

    /// MSS advertised in the SYN: payload plus the options that every segment carries.
    pub(crate) fn advertised_mss(&self) -> u32 {
        self.mss + if self.timestamps { crate::segment::TIMESTAMPS_BYTES } else { 0 }
    }
}

/// Acknowledgement policy of the receiver (`__tcp_ack_snd_check`, `tcp_event_data_recv`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPolicy {
    /// Segments acknowledged at once at the start and after a long pause, minimum and maximum
    /// (`tcp_incr_quickack`, `TCP_MAX_QUICKACKS`).
    pub quick_acks: (u32, u32),
    /// Shortest delay (`TCP_ATO_MIN`, `TCP_DELACK_MIN`).
    pub min_delay: Duration,
    /// Longest delay (`TCP_DELACK_MAX`).
    pub max_delay: Duration,
    /// Replies within the delay that make a connection interactive, which ends quick acknowledgements
    /// (`tcp_pingpong_thresh`).
    pub interactive_after: u32,
    /// Maximum delay of acknowledgements of out-of-order data after the first three
    /// (`tcp_comp_sack_delay_ns`); zero: never delayed.
    pub compression_delay: Duration,
    /// Maximum number of acknowledgements held back (`tcp_comp_sack_nr`).
    pub compression_limit: u32,
    /// Acknowledge the end of a write (PSH) at once.
    pub push_at_once: bool,
    /// Acknowledge streams less often.
    pub stretch: Option<StretchAcks>,
}

/// Condition for stretching acknowledgements over more than two segments (`net.inet.tcp.delayed_ack=3` of XNU).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StretchAcks {
    /// One acknowledgement for this number of segments (`maxseg_unacked`),
    pub segments: u32,
    /// while as many arrive within this time (`TCPTV_UNACKWIN`),
    pub window: Duration,
    /// and this many have arrived since the beginning or the last loss (`TCP_RCV_SS_PKTCOUNT`): the sender's slow start is over.
    pub slow_start_segments: u32,
}

impl AckPolicy {
    /// Acknowledges every segment at once.
    pub const EVERY_SEGMENT: AckPolicy = AckPolicy {
        quick_acks: (u32::MAX, u32::MAX),
        interactive_after: u32::MAX,
        compression_delay: Duration::ZERO,
        ..AckPolicy::LINUX
    };
    /// Linux 6.
    pub const LINUX: AckPolicy = AckPolicy {
        quick_acks: (2, 16),
        min_delay: Duration::from_millis(40),
        max_delay: Duration::from_millis(200),
        interactive_after: 1,
        compression_delay: Duration::from_millis(1),
        compression_limit: 44,
        push_at_once: false,
        stretch: None,
    };
    /// Linux 2.6.32 to 3.10: the same, but out-of-order data is always acknowledged at once (compression came
    /// with Linux 4.18).
    pub const LINUX_3: AckPolicy =
        AckPolicy { compression_delay: Duration::ZERO, ..AckPolicy::LINUX };
    /// Windows 7: every second segment, or after 200 ms (`TcpAckFrequency` 2, `TcpDelAckTicks` 2 in its
    /// documentation). A shorter delay at the start of a connection is not documented, and not modelled.
    pub(crate) const WINDOWS_7: AckPolicy = AckPolicy::plain(Duration::from_millis(200));
    /// iOS 9: every second segment, the end of a write at once, or after 100 ms (`TCPTV_DELACK`); in a stream every eighth
    /// (`tcp_cc_delay_ack` of XNU with `net.inet.tcp.delayed_ack=3`).
    pub(crate) const IOS_9: AckPolicy = AckPolicy {
        push_at_once: true,
        stretch: Some(StretchAcks {
            segments: 8,
            window: Duration::from_millis(100),
            slow_start_segments: 512,
        }),
        ..AckPolicy::plain(Duration::from_millis(100))
    };

    /// RFC 1122 section 4.2.3.2: every second full segment, or after `delay`.
    const fn plain(delay: Duration) -> AckPolicy {
        AckPolicy {
            quick_acks: (0, 0),
            min_delay: delay,
            max_delay: delay,
            interactive_after: 0,
            compression_delay: Duration::ZERO,
            compression_limit: 0,
            push_at_once: false,
            stretch: None,
        }
    }

    /// The policies that have names in configuration text.
    pub(crate) const NAMED: [(AckPolicy, &str); 5] = [
        (AckPolicy::LINUX, "linux-6"),
        (AckPolicy::LINUX_3, "linux-3"),
        (AckPolicy::WINDOWS_7, "windows-7"),
        (AckPolicy::IOS_9, "ios-9"),
        (AckPolicy::EVERY_SEGMENT, "every-segment"),
    ];
}

impl Default for AckPolicy {
    fn default() -> AckPolicy {
        AckPolicy::LINUX
    }
}

// Sizes of the sockets' buffers.
//
// Sources: `tcp_init` (`tcp_rmem`, `tcp_wmem`), `tcp_fixup_sndbuf`, `tcp_init_buffer_space`, `tcp_select_initial_window`,
// `tcp_sndbuf_expand`.

/// The send buffer. It grows to twice the congestion window's memory, as in `tcp_sndbuf_expand`.
///
/// Bytes of payload are charged one for one; the kernel also charges descriptors, a few percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendBufferPolicy {
    /// At the start (`tcp_wmem[1]` is 16 KB, but Linux 6 expands it to 87040 at once).
    pub initial_bytes: u64,
    /// The limit of growth (`tcp_wmem[2]`). Equal to `initial_bytes`: fixed, as by `SO_SNDBUF`.
    pub max_bytes: u64,
    /// Memory counted for one segment of the window: payload, headers and descriptor.
    pub segment_memory_bytes: u64,
    /// True if it grows to the initial window's memory when the connection opens (`tcp_init_buffer_space`
    /// since Linux 3.12), false if only once it is the limit.
    pub expands_at_start: bool,
}

impl SendBufferPolicy {
    /// Linux 6: 1460 bytes and headers rounded up to 4096, and the descriptor.
    pub const LINUX_6: SendBufferPolicy = SendBufferPolicy {
        initial_bytes: 16 * 1024,
        max_bytes: 4 << 20,
        segment_memory_bytes: 4096 + 256,
        expands_at_start: true,
    };
    /// Linux 3.2 to 3.10: `SKB_TRUESIZE(1460 + MAX_TCP_HEADER)`, ten of them at the start (`tcp_fixup_sndbuf`).
    pub(crate) const LINUX_3_10: SendBufferPolicy = SendBufferPolicy {
        initial_bytes: 10 * 2356,
        max_bytes: 4 << 20,
        segment_memory_bytes: 2356,
        expands_at_start: false,
    };
    /// Linux 2.6.32 to 3.1: 1460 bytes, 320 of headers (`MAX_TCP_HEADER` of a distribution's kernel) and a
    /// descriptor of 256.
    pub(crate) const LINUX_3_0: SendBufferPolicy = SendBufferPolicy {
        initial_bytes: 16 * 1024,
        max_bytes: 4 << 20,
        segment_memory_bytes: 1460 + 320 + 256,
        expands_at_start: false,
    };

    /// Fixed at `bytes`, as by `SO_SNDBUF`.
    #[must_use]
    pub const fn fixed(self, bytes: u64) -> SendBufferPolicy {
        SendBufferPolicy { initial_bytes: bytes, max_bytes: bytes, ..self }
    }
}

impl Default for SendBufferPolicy {
    fn default() -> SendBufferPolicy {
        SendBufferPolicy::LINUX_6
    }
}

/// The receive buffer, in bytes of window: the part of the kernel's memory that counts as payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveBufferPolicy {
    /// At the start.
    pub initial_bytes: u64,
    /// The limit of autotuning. Equal to `initial_bytes`: fixed, as by `SO_RCVBUF`.
    pub max_bytes: u64,
    /// The first window in segments, if that is less than the buffer.
    pub first_window: Option<u32>,
    /// Its autotuning.
    pub tuning: ReceiveTuning,
}

impl ReceiveBufferPolicy {
    /// Linux 6: half of `tcp_rmem` = 131072, 32 MB. The first window is that rounded down to segments: 64240.
    pub const LINUX_6: ReceiveBufferPolicy = ReceiveBufferPolicy {
        initial_bytes: 64 * 1024,
        max_bytes: 16 << 20,
        first_window: None,
        tuning: ReceiveTuning::Linux6,
    };
    /// Linux 3.10: half of 87380 (`tcp_adv_win_scale=1`) and of 6 MB; ten segments at first.
    pub(crate) const LINUX_3_10: ReceiveBufferPolicy = ReceiveBufferPolicy {
        initial_bytes: 87380 / 2,
        max_bytes: 3 << 20,
        first_window: Some(10),
        tuning: ReceiveTuning::Linux3,
    };
    /// Linux 3.0 and 3.2: three quarters of 87380 (`tcp_adv_win_scale=2`) and of 4 MB; ten segments at first.
    pub(crate) const LINUX_3_0: ReceiveBufferPolicy = ReceiveBufferPolicy {
        initial_bytes: 87380 / 4 * 3,
        max_bytes: 3 << 20,
        first_window: Some(10),
        tuning: ReceiveTuning::Linux3,
    };
    /// Linux 2.6.32: the same with four segments at first (RFC 2414).
    pub(crate) const LINUX_2_6_32: ReceiveBufferPolicy =
        ReceiveBufferPolicy { first_window: Some(4), ..ReceiveBufferPolicy::LINUX_3_0 };
}

impl Default for ReceiveBufferPolicy {
    fn default() -> ReceiveBufferPolicy {
        ReceiveBufferPolicy::LINUX_6
    }
}
