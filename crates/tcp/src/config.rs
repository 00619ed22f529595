//! How an endpoint behaves. The default is Linux 6.18 with its shipped settings.
//!
//! Sources: `include/net/tcp.h`, `net/ipv4/tcp.c` (`tcp_init`), `net/ipv4/tcp_ipv4.c` (`tcp_sk_init`).

use std::time::Duration;

use congestion::{Algorithm, Era};

use crate::{EcnPolicy, Pacing};

/// Settings of one endpoint; many connections share one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Payload bytes of a full segment: 1448 on a path of 1500 bytes with timestamps, 1460 without.
    pub mss: u32,
    /// Segments that may be sent before the first acknowledgement (`TCP_INIT_CWND`, RFC 6928).
    pub initial_window: u32,
    /// Retransmission timeout before the first sample (`TCP_TIMEOUT_INIT`, RFC 6298).
    pub initial_rto: Duration,
    /// Smallest variance term of the timeout (`TCP_RTO_MIN`).
    pub min_rto: Duration,
    /// Largest timeout (`TCP_RTO_MAX`).
    pub max_rto: Duration,
    /// Retransmissions of a SYN after the linear ones (`tcp_syn_retries`).
    pub syn_retries: u32,
    /// Timeouts of a SYN before they double (`tcp_syn_linear_timeouts`, Linux 6.5).
    pub syn_linear_timeouts: u32,
    /// Retransmissions of a SYN-ACK (`tcp_synack_retries`).
    pub syn_ack_retries: u32,
    /// Doublings of the smallest timeout after which a connection is given up (`tcp_retries2`).
    pub retries: u32,
    /// Congestion control.
    pub congestion: Algorithm,
    /// Whose arithmetic it follows.
    pub congestion_era: Era,
    /// Whether segments are spaced where the controller does not ask for it.
    pub pacing: Pacing,
    /// Explicit congestion notification (`tcp_ecn`, RFC 3168).
    pub ecn: EcnPolicy,
    /// Shrink the window after idleness (`tcp_slow_start_after_idle`, RFC 2861).
    pub slow_start_after_idle: bool,
    /// Offer timestamps (`tcp_timestamps`, RFC 7323). Mind `mss`.
    pub timestamps: bool,
    /// Probe for a lost tail after two round trips (`tcp_early_retrans=3`, RFC 8985 section 7).
    pub tail_loss_probe: bool,
    /// Let small segments wait for each other (RFC 896). Off: browsers and servers set `TCP_NODELAY`.
    pub nagle: bool,
    /// How much may be written ahead of acknowledgements.
    pub send_buffer: SendBufferPolicy,
    /// How much may be received ahead of the application.
    pub receive_buffer: ReceiveBufferPolicy,
    /// Refuse writes while this much waits unsent (`TCP_NOTSENT_LOWAT`).
    pub notsent_lowat: Option<u64>,
    /// When to acknowledge.
    pub ack_policy: AckPolicy,
    /// How long the end that closed first lingers (`TCP_TIMEWAIT_LEN`).
    pub time_wait: Duration,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mss: 1448,
            initial_window: 10,
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            syn_retries: 6,
            syn_linear_timeouts: 4,
            syn_ack_retries: 5,
            retries: 15,
            congestion: Algorithm::Cubic,
            congestion_era: Era::Linux6,
            pacing: Pacing::Off,
            ecn: EcnPolicy::Passive,
            slow_start_after_idle: true,
            timestamps: true,
            tail_loss_probe: true,
            nagle: false,
            send_buffer: SendBufferPolicy::default(),
            receive_buffer: ReceiveBufferPolicy::default(),
            notsent_lowat: None,
            ack_policy: AckPolicy::default(),
            time_wait: Duration::from_secs(60),
        }
    }
}

impl Config {
    /// What the SYN says: payload plus the options that every segment carries.
    pub(crate) fn advertised_mss(&self) -> u32 {
        self.mss + if self.timestamps { crate::segment::TIMESTAMPS_BYTES } else { 0 }
    }
}

/// The send buffer. It grows to twice the congestion window's memory, as in `tcp_sndbuf_expand`.
///
/// Bytes of payload are charged one for one; the kernel also charges descriptors, a few percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendBufferPolicy {
    /// At the start (`tcp_wmem[1]` is 16 KB, but a connection expands it to 87040 at once).
    pub initial_bytes: u64,
    /// The limit of growth (`tcp_wmem[2]`). Equal to `initial_bytes`: fixed, as by `SO_SNDBUF`.
    pub max_bytes: u64,
}

impl Default for SendBufferPolicy {
    fn default() -> SendBufferPolicy {
        SendBufferPolicy { initial_bytes: 16 * 1024, max_bytes: 4 << 20 }
    }
}

/// The receive buffer, in bytes of window: half of the kernel's memory, as with its initial
/// `scaling_ratio`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveBufferPolicy {
    /// At the start (`tcp_rmem[1]` = 131072, halved). The first window is this rounded down to segments:
    /// 64240.
    pub initial_bytes: u64,
    /// The limit of autotuning (`tcp_rmem[2]` = 32 MB, halved). Equal to `initial_bytes`: fixed, as by
    /// `SO_RCVBUF`.
    pub max_bytes: u64,
}

impl Default for ReceiveBufferPolicy {
    fn default() -> ReceiveBufferPolicy {
        ReceiveBufferPolicy { initial_bytes: 64 * 1024, max_bytes: 16 << 20 }
    }
}

/// When the receiver acknowledges (`__tcp_ack_snd_check`, `tcp_event_data_recv`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPolicy {
    /// Segments acknowledged at once at the start and after a long pause, at least and at most
    /// (`tcp_incr_quickack`, `TCP_MAX_QUICKACKS`).
    pub quick_acks: (u32, u32),
    /// Shortest delay (`TCP_ATO_MIN`, `TCP_DELACK_MIN`).
    pub min_delay: Duration,
    /// Longest delay (`TCP_DELACK_MAX`).
    pub max_delay: Duration,
    /// Replies within the delay that make a connection interactive, which ends quick acknowledgements
    /// (`tcp_pingpong_thresh`).
    pub interactive_after: u32,
    /// The longest that acknowledgements of out-of-order data are held back after the first three
    /// (`tcp_comp_sack_delay_ns`); zero: never.
    pub compression_delay: Duration,
    /// At most so many are held back (`tcp_comp_sack_nr`).
    pub compression_limit: u32,
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
    };
}

impl Default for AckPolicy {
    fn default() -> AckPolicy {
        AckPolicy::LINUX
    }
}
