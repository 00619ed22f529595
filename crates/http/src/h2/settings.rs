//! Every window, table and limit of a connection, with its source. h2's own defaults are not used.

use std::time::Duration;

use super::client::priority_tree::DependencyShape;
use super::frame::HEAD_BYTES;
use crate::Scheduler;

/// The frame size that every peer accepts, and that no browser or server raises (RFC 9113 section 6.5.2).
pub(super) const FRAME_BYTES: u32 = 16_384;

/// Number of streams reset by this end that are remembered, for ever: see the module [`super`].
const REMEMBERED_RESETS: usize = 1_000;

/// Limit of streams reset by the peer before this end has seen them, else the connection is closed (CVE-2023-44487). A
/// browser that leaves a page resets its open streams: up to 100.
const PENDING_RESETS: usize = 200;

/// Number of streams that may be opened before the peer's SETTINGS arrive: Chromium's `kInitialMaxConcurrentStreams`.
const INITIAL_STREAMS: usize = 100;

/// A client's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// The window of each stream: SETTINGS_INITIAL_WINDOW_SIZE.
    pub stream_window_bytes: u32,
    /// The connection's window.
    pub connection_window_bytes: u32,
    /// SETTINGS_HEADER_TABLE_SIZE.
    pub header_table_bytes: u32,
    /// SETTINGS_MAX_HEADER_LIST_SIZE.
    pub header_list_bytes: u32,
    /// Limit of one request's body queued in h2.
    pub send_buffer_bytes: usize,
    /// Shape of the signalled dependencies (RFC 7540 section 5.3); `None` sends none.
    pub dependencies: Option<DependencyShape>,
}

impl Client {
    /// Chrome's since 2015: 6 MB a stream, 15 MB a connection, 64 KB for HPACK, 256 KB a head (Chromium
    /// `net/http/http_network_session.cc` and `net/spdy/spdy_session.h`).
    pub const CHROME: Client = Client {
        stream_window_bytes: 6 << 20,
        connection_window_bytes: 15 << 20,
        header_table_bytes: 64 << 10,
        header_list_bytes: 256 << 10,
        send_buffer_bytes: 2 * FRAME_BYTES as usize,
        dependencies: None,
    };

    pub(super) fn builder(&self) -> ::h2::client::Builder {
        let mut builder = ::h2::client::Builder::new();
        builder
            .initial_window_size(self.stream_window_bytes)
            .initial_connection_window_size(self.connection_window_bytes)
            .header_table_size(self.header_table_bytes)
            .max_header_list_size(self.header_list_bytes)
            .max_frame_size(FRAME_BYTES)
            .max_send_buffer_size(self.send_buffer_bytes)
            .initial_max_send_streams(INITIAL_STREAMS)
            .enable_push(false)
            .max_concurrent_reset_streams(REMEMBERED_RESETS)
            .reset_stream_duration(Duration::MAX);
        builder
    }
}

impl Default for Client {
    fn default() -> Client {
        Client::CHROME
    }
}

/// A server's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// SETTINGS_MAX_CONCURRENT_STREAMS: 100, as in Apache and mod_spdy (nginx and Jetty: 128).
    pub streams: u32,
    /// The window of each stream, for request bodies.
    pub stream_window_bytes: u32,
    /// The connection's window, for request bodies.
    pub connection_window_bytes: u32,
    /// SETTINGS_HEADER_TABLE_SIZE: the protocol's initial value, as in nginx and Apache.
    pub header_table_bytes: u32,
    /// SETTINGS_MAX_HEADER_LIST_SIZE: 32 KB, nginx's `large_client_header_buffers` in total.
    pub header_list_bytes: u32,
    /// Size of a DATA frame of a response's body. The default leaves room in one TLS record of 16,384 bytes for the
    /// frame's head and a usual response head before it.
    pub chunk_bytes: usize,
    /// The scheduling of responses.
    pub scheduler: Scheduler,
}

impl Default for Server {
    fn default() -> Server {
        /// Room for a response's HEADERS frame.
        const HEAD_ROOM: usize = 119;
        Server {
            streams: 100,
            // The limits of uploads are those of downloads to Chrome.
            stream_window_bytes: Client::CHROME.stream_window_bytes,
            connection_window_bytes: Client::CHROME.connection_window_bytes,
            header_table_bytes: 4_096,
            header_list_bytes: 32 << 10,
            chunk_bytes: FRAME_BYTES as usize - HEAD_BYTES - HEAD_ROOM,
            scheduler: Scheduler::RoundRobin,
        }
    }
}

impl Server {
    pub(super) fn builder(&self) -> ::h2::server::Builder {
        let mut builder = ::h2::server::Builder::new();
        builder
            .max_concurrent_streams(self.streams)
            .initial_window_size(self.stream_window_bytes)
            .initial_connection_window_size(self.connection_window_bytes)
            .header_table_size(self.header_table_bytes)
            .max_header_list_size(self.header_list_bytes)
            .max_frame_size(FRAME_BYTES)
            .max_send_buffer_size(2 * self.chunk_bytes)
            .max_pending_accept_reset_streams(PENDING_RESETS)
            .max_concurrent_reset_streams(REMEMBERED_RESETS)
            .reset_stream_duration(Duration::MAX);
        builder
    }
}
