//! How the two ends speak HTTP/2 with each other: windows, limits, and how soon the other end counts as gone.
//!
//! Memory is bounded by `streams` times `stream_window_bytes` in each direction. The connection's window is that product, so that any
//! number of slow readers cannot stop the others: whatever each leaves unread has room.
//!
//! Over QUIC, where each connection that is carried has a stream with an HTTP/2 of its own, HTTP/2's windows are what holds back a writer. QUIC's own are
//! larger and fixed: what comes is read at once.

use std::time::Duration;

use http_stack::h3::bare::{self, Fec};
use http_stack::h3::settings::Transport;

/// The largest frame: what every peer takes (RFC 9113 section 6.5.2).
pub(crate) const FRAME_BYTES: u32 = 16_384;

/// The largest piece that is sent: with its frame's head of 9 bytes it fills one TLS record of 16,384 bytes.
pub(crate) const PIECE_BYTES: usize = FRAME_BYTES as usize - 9;

/// As many streams as one end has reset are remembered.
const REMEMBERED_RESETS: usize = 1_000;

/// As many streams may be reset by the near end before the far end has seen them (CVE-2023-44487).
const PENDING_RESETS: usize = 500;

/// An answer and one that follows it unasked: a page that its client does not take stops no object.
const QUIC_WINDOWS: u32 = 2;

/// HTTP/2's frames around what its windows count.
const QUIC_SLACK_BYTES: u32 = 64 << 10;

/// What carries a leg.
#[derive(Clone, Debug, Default)]
pub enum Over {
    /// TCP connections: all that is carried shares them.
    #[default]
    Tcp,
    /// One QUIC connection: what is carried has a stream each.
    Quic(Quic),
}

/// A leg's QUIC.
#[derive(Clone, Debug)]
pub struct Quic {
    /// Congestion control and acknowledgements; the windows are the leg's.
    pub transport: Transport,
    /// Forward error correction; at both ends, or at neither.
    pub fec: Option<Fec>,
}

/// What both ends of a leg set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What carries it.
    pub over: Over,
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
    /// As much may lie unsent in TCP: what lies there can no longer be overtaken. (QUIC's is fixed.)
    pub notsent_lowat_bytes: u32,
    /// The congestion control of the leg's TCP, by the kernel's name; `None` leaves the machine's (or the simulated node's).
    pub congestion: Option<String>,
}

impl Default for Settings {
    /// 256 streams of 256 KiB: 64 MiB at most.
    fn default() -> Settings {
        Settings {
            over: Over::Tcp,
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

impl Over {
    /// Its forward error correction.
    pub(crate) fn fec(&self) -> Option<&Fec> {
        match self {
            Over::Tcp => None,
            Over::Quic(quic) => quic.fec.as_ref(),
        }
    }
}

impl Settings {
    /// What one HTTP/2 connection may leave unread.
    fn connection_window_bytes(&self) -> u32 {
        match self.over {
            Over::Tcp => self.windows_bytes(self.streams),
            Over::Quic(_) => self.windows_bytes(QUIC_WINDOWS),
        }
    }

    /// RFC 9113 section 6.9.1: no window exceeds 2^31 - 1.
    fn windows_bytes(&self, count: u32) -> u32 {
        count.saturating_mul(self.stream_window_bytes).min((1 << 31) - 1)
    }

    /// As QUIC is to be set to carry this. A stream counts until its end is acknowledged, a round trip after it counts here no more; and between the
    /// requests of one client.
    pub(super) fn quic(&self, quic: &Quic) -> bare::Settings {
        let stream_window_bytes = self.windows_bytes(QUIC_WINDOWS).saturating_add(QUIC_SLACK_BYTES);
        let transport = Transport {
            stream_window_bytes,
            connection_window_bytes: Some(
                self.windows_bytes(self.streams).max(stream_window_bytes),
            ),
            ..quic.transport.clone()
        };
        bare::Settings {
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

/// h2 forgets them by the machine's clock, which a simulated world must not see: there they are kept.
fn remembered() -> Duration {
    if world::is_virtual() { Duration::MAX } else { Duration::from_secs(30) }
}
