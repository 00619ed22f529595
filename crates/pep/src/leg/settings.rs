//! How the two ends speak HTTP/2 with each other: windows, limits, and how soon the other end counts as gone.
//!
//! Memory is bounded by `streams` times `stream_window_bytes` in each direction. The connection's window is that product, so that any
//! number of slow readers cannot stop the others: whatever each leaves unread has room.

use std::time::Duration;

/// The largest frame: what every peer takes (RFC 9113 section 6.5.2).
pub(crate) const FRAME_BYTES: u32 = 16_384;

/// The largest piece that is sent: with its frame's head of 9 bytes it fills one TLS record of 16,384 bytes.
pub(crate) const PIECE_BYTES: usize = FRAME_BYTES as usize - 9;

/// As many streams as one end has reset are remembered.
const REMEMBERED_RESETS: usize = 1_000;

/// As many streams may be reset by the near end before the far end has seen them (CVE-2023-44487).
const PENDING_RESETS: usize = 500;

/// What both ends of a leg set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Connections carried at once; more go past the leg.
    pub streams: u32,
    /// The window of each: at 620 ms, 256 KiB carry 3.4 Mbit/s.
    pub stream_window_bytes: u32,
    /// How often the other end is asked whether it is there.
    pub keep_alive: Duration,
    /// How long the answer may take. Before it may lie all that TCP and the link's queues hold: seconds, on a slow uplink.
    pub dead_after: Duration,
    /// How long it may take to connect and to shake hands.
    pub patience: Duration,
    /// As much may lie unsent in TCP: what lies there can no longer be overtaken.
    pub notsent_lowat_bytes: u32,
    /// The leg's congestion control, by the kernel's name; `None` leaves the machine's (or the simulated node's).
    pub congestion: Option<String>,
}

impl Default for Settings {
    /// 256 streams of 256 KiB: 64 MiB at most.
    fn default() -> Settings {
        Settings {
            streams: 256,
            stream_window_bytes: 256 << 10,
            keep_alive: Duration::from_secs(15),
            dead_after: Duration::from_secs(30),
            patience: Duration::from_secs(10),
            notsent_lowat_bytes: 16 << 10,
            congestion: None,
        }
    }
}

impl Settings {
    /// RFC 9113 section 6.9.1: no window exceeds 2^31 - 1.
    fn connection_window_bytes(&self) -> u32 {
        self.streams.saturating_mul(self.stream_window_bytes).min((1 << 31) - 1)
    }

    pub(super) fn client(&self) -> h2::client::Builder {
        let mut builder = h2::client::Builder::new();
        builder
            .initial_window_size(self.stream_window_bytes)
            .initial_connection_window_size(self.connection_window_bytes())
            .max_frame_size(FRAME_BYTES)
            .max_send_buffer_size(2 * PIECE_BYTES)
            .max_concurrent_streams(self.streams)
            .initial_max_send_streams(self.streams as usize)
            .enable_push(true)
            .max_local_error_reset_streams(None)
            .max_concurrent_reset_streams(REMEMBERED_RESETS)
            .reset_stream_duration(remembered());
        builder
    }

    pub(super) fn server(&self) -> h2::server::Builder {
        let mut builder = h2::server::Builder::new();
        builder
            .initial_window_size(self.stream_window_bytes)
            .initial_connection_window_size(self.connection_window_bytes())
            .max_frame_size(FRAME_BYTES)
            .max_send_buffer_size(2 * PIECE_BYTES)
            .max_concurrent_streams(self.streams)
            .max_pending_accept_reset_streams(PENDING_RESETS)
            .max_local_error_reset_streams(None)
            .max_concurrent_reset_streams(REMEMBERED_RESETS)
            .reset_stream_duration(remembered());
        builder
    }
}

/// h2 forgets them by the machine's clock, which a simulated world must not see: there they are kept.
fn remembered() -> Duration {
    if world::is_virtual() { Duration::MAX } else { Duration::from_secs(30) }
}
