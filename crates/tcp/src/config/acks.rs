//! Acknowledgement policies, by operating system.

use std::time::Duration;

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
    pub stretch: Option<Stretch>,
}

/// Condition for stretching acknowledgements over more than two segments (`net.inet.tcp.delayed_ack=3` of XNU).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
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
    pub const WINDOWS_7: AckPolicy = AckPolicy::plain(Duration::from_millis(200));
    /// iOS 9: every second segment, the end of a write at once, or after 100 ms (`TCPTV_DELACK`); in a stream every eighth
    /// (`tcp_cc_delay_ack` of XNU with `net.inet.tcp.delayed_ack=3`).
    pub const IOS_9: AckPolicy = AckPolicy {
        push_at_once: true,
        stretch: Some(Stretch {
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
