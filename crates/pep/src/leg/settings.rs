//! HTTP/2 settings between the two ends: windows, limits, and the timeout after which the other end counts as gone.
//!
//! Memory is bounded by `streams` times `stream_window_bytes` in each direction. The connection's window is that product, so that no
//! number of slow readers can stop the others: there is room for everything they leave unread.
//!
//! Over QUIC, where each carried connection has a stream with an HTTP/2 of its own, HTTP/2's windows hold back a writer. QUIC's own are larger and
//! fixed: data is read at once.

use std::time::Duration;

use quic::Transport;
use quic::bare::{self, Fec};

/// The largest frame: the size that every peer accepts (RFC 9113 section 6.5.2).
pub(crate) const FRAME_BYTES: u32 = 16_384;

/// The largest piece sent: with its frame header of 9 bytes it fills one TLS record of 16,384 bytes.
pub(crate) const PIECE_BYTES: usize = FRAME_BYTES as usize - 9;

/// Maximum number of reset streams that an end remembers.
const REMEMBERED_RESETS: usize = 1_000;

/// Maximum number of streams that the near end may reset before the far end has seen them (CVE-2023-44487).
const PENDING_RESETS: usize = 500;

/// Room for an answer and one pushed after it: a page that its client does not read holds up no object.
const QUIC_WINDOWS: u32 = 2;

/// HTTP/2's frames around the data that its windows count.
const QUIC_SLACK_BYTES: u32 = 64 << 10;

/// Transport of a leg.
#[derive(Clone, Debug, Default)]
pub enum LegTransport {
    /// TCP connections, shared by everything carried.
    #[default]
    Tcp,
    /// One QUIC connection, with a stream for each carried connection.
    Quic(LegQuic),
}

/// A leg's QUIC.
#[derive(Clone, Debug)]
pub struct LegQuic {
    /// Congestion control and acknowledgements; the windows are the leg's.
    pub transport: Transport,
    /// Forward error correction; at both ends, or at neither.
    pub fec: Option<Fec>,
}

/// Settings of both ends of a leg.
#[derive(Clone, Debug)]
pub struct LegSettings {
    /// Its transport.
    pub over: LegTransport,
    /// Connections carried at once; more go past the leg.
    pub streams: u32,
    /// The window of each: at 620 ms, 256 KiB carry 3.4 Mbit/s.
    pub stream_window_bytes: u32,
    /// Interval of PINGs to the other end.
    pub keep_alive: Duration,
    /// Timeout for the answer. Everything in the queues of TCP and the link may be ahead of it: seconds, on a slow uplink.
    pub dead_after: Duration,
    /// Timeout for connecting and for handshakes.
    pub patience: Duration,
    /// Maximum of unsent bytes in TCP: data there can no longer be overtaken. (QUIC's is fixed.)
    pub notsent_lowat_bytes: u32,
    /// The congestion control of the leg's TCP, by the kernel's name; `None` for the default of the machine (or the
    /// simulated node).
    pub congestion: Option<String>,
}

impl Default for LegSettings {
    /// 256 streams of 256 KiB: 64 MiB at most.
    fn default() -> LegSettings {
        LegSettings {
            over: LegTransport::Tcp,
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

impl LegTransport {
    /// Its forward error correction.
    pub(crate) fn fec(&self) -> Option<&Fec> {
        match self {
            LegTransport::Tcp => None,
            LegTransport::Quic(quic) => quic.fec.as_ref(),
        }
    }
}

impl LegSettings {
    /// Maximum of unread bytes in one HTTP/2 connection.
    fn connection_window_bytes(&self) -> u32 {
        match self.over {
            LegTransport::Tcp => self.windows_bytes(self.streams),
            LegTransport::Quic(_) => self.windows_bytes(QUIC_WINDOWS),
        }
    }

    /// RFC 9113 section 6.9.1: no window exceeds 2^31 - 1.
    fn windows_bytes(&self, count: u32) -> u32 {
        count.saturating_mul(self.stream_window_bytes).min((1 << 31) - 1)
    }

    /// QUIC settings to carry this. A stream counts until its end is acknowledged, a round trip after it has ceased to count here, and between the
    /// requests of one client.
    pub(super) fn quic(&self, quic: &LegQuic) -> bare::StreamSettings {
        let stream_window_bytes = self.windows_bytes(QUIC_WINDOWS).saturating_add(QUIC_SLACK_BYTES);
        let transport = Transport {
            stream_window_bytes,
            connection_window_bytes: Some(
                self.windows_bytes(self.streams).max(stream_window_bytes),
            ),
            ..quic.transport.clone()
        };
        bare::StreamSettings {
            transport,
            streams: 1 + 4 * self.streams,
            keep_alive: self.keep_alive,
            idle: self.keep_alive + self.dead_after,
            fec: quic.fec.clone(),
        }
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

/// h2 forgets reset streams by the machine's clock, which a simulated world must not see: there they are kept.
fn remembered() -> Duration {
    if world::is_virtual() { Duration::MAX } else { Duration::from_secs(30) }
}
