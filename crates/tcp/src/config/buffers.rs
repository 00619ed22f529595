//! Sizes of the sockets' buffers.
//!
//! Sources: `tcp_init` (`tcp_rmem`, `tcp_wmem`), `tcp_fixup_sndbuf`, `tcp_init_buffer_space`, `tcp_select_initial_window`,
//! `tcp_sndbuf_expand`.

use crate::config::behaviour::ReceiveTuning;

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
    pub const LINUX_3_10: SendBufferPolicy = SendBufferPolicy {
        initial_bytes: 10 * 2356,
        max_bytes: 4 << 20,
        segment_memory_bytes: 2356,
        expands_at_start: false,
    };
    /// Linux 2.6.32 to 3.1: 1460 bytes, 320 of headers (`MAX_TCP_HEADER` of a distribution's kernel) and a
    /// descriptor of 256.
    pub const LINUX_3_0: SendBufferPolicy = SendBufferPolicy {
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
    pub const LINUX_3_10: ReceiveBufferPolicy = ReceiveBufferPolicy {
        initial_bytes: 87380 / 2,
        max_bytes: 3 << 20,
        first_window: Some(10),
        tuning: ReceiveTuning::Linux3,
    };
    /// Linux 3.0 and 3.2: three quarters of 87380 (`tcp_adv_win_scale=2`) and of 4 MB; ten segments at first.
    pub const LINUX_3_0: ReceiveBufferPolicy = ReceiveBufferPolicy {
        initial_bytes: 87380 / 4 * 3,
        max_bytes: 3 << 20,
        first_window: Some(10),
        tuning: ReceiveTuning::Linux3,
    };
    /// Linux 2.6.32: the same with four segments at first (RFC 2414).
    pub const LINUX_2_6_32: ReceiveBufferPolicy =
        ReceiveBufferPolicy { first_window: Some(4), ..ReceiveBufferPolicy::LINUX_3_0 };
}

impl Default for ReceiveBufferPolicy {
    fn default() -> ReceiveBufferPolicy {
        ReceiveBufferPolicy::LINUX_6
    }
}
