//! Configuration of one end of a session, each value with its source.

use crate::frame::HEAD_BYTES;
use crate::window::INITIAL_WINDOW;
use crate::{Compression, Policy};

/// Limits on the peer, whatever the protocol allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Payload of a control frame. At least 8,192 must be accepted (2.2.1).
    pub control_frame_bytes: usize,
    /// Size of a header block once inflated.
    pub header_block_bytes: usize,
    /// Number of fields in one header block.
    pub fields: usize,
    /// Streams that the peer resets before they have ended: a burst of this size, then a quarter of it per second.
    pub resets: u32,
    /// PINGs, with the same kind of limit.
    pub pings: u32,
    /// SETTINGS frames, with the same kind of limit.
    pub settings: u32,
    /// Frames that carry nothing, or are for no stream, with the same kind of limit.
    pub idle_frames: u32,
}

impl Limits {
    /// A server's.
    pub const SERVER: Limits = Limits {
        control_frame_bytes: 64 << 10,
        // nginx's total limit (`large_client_header_buffers`).
        header_block_bytes: 32 << 10,
        fields: 128,
        // A browser that leaves a page resets its open streams: up to 100.
        resets: 200,
        pings: 100,
        settings: 40,
        idle_frames: 400,
    };

    /// A browser's: it accepts larger heads than a server, Chrome 256 KB.
    pub const CLIENT: Limits =
        Limits { header_block_bytes: 256 << 10, fields: 256, ..Limits::SERVER };
}

/// Location of a pushed response's head, for the owner of a server's session: "Subsequent headers may follow in
/// HEADERS frames" (3.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushedHead {
    /// In HEADERS after the promise, which contains only the mandatory fields: it need not wait for the response.
    Apart,
    /// In the promise itself, if the response is available by then. npm's `spdy` accepts no other pushes.
    Joined,
}

/// Configuration of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Maximum streams opened by the peer: SETTINGS_MAX_CONCURRENT_STREAMS. For a client these are pushed streams;
    /// with 0 it refuses each.
    pub streams: u32,
    /// Maximum streams opened by this end before the peer has announced its limit.
    pub assumed_streams: u32,
    /// The window of each stream that the peer fills: SETTINGS_INITIAL_WINDOW_SIZE. Since version 3.
    pub stream_window_bytes: u32,
    /// The window of the session, at least the protocol's 64 KB. In version 3.1.
    pub session_window_bytes: u32,
    /// Compression of this end's header blocks.
    pub compression: Compression,
    /// Maximum payload of a DATA frame.
    pub chunk_bytes: usize,
    /// Order of the streams' DATA.
    pub policy: Policy,
    /// Location of the heads of this end's pushes.
    pub pushed_head: PushedHead,
    /// Limits on the peer.
    pub limits: Limits,
}

/// Room for a response's head in the TLS record of its first DATA frame.
const HEAD_ROOM: usize = 120;

impl Config {
    /// Chrome's of 2013: windows of 10 MB (`kDefaultInitialRecvWindowSize`), 100 streams assumed; no pushed streams.
    pub const CLIENT: Config = Config {
        streams: 0,
        assumed_streams: 100,
        stream_window_bytes: 10 << 20,
        session_window_bytes: 10 << 20,
        compression: Compression::Deflate,
        chunk_bytes: (16 << 10) - HEAD_BYTES - HEAD_ROOM,
        policy: Policy::Priority,
        pushed_head: PushedHead::Apart,
        limits: Limits::CLIENT,
    };

    /// A server that allows 100 streams, as mod_spdy and nginx (100 and 128), and sends DATA frames that leave
    /// space in one TLS record for a response's head.
    pub const SERVER: Config = Config { streams: 100, limits: Limits::SERVER, ..Config::CLIENT };

    /// mod_spdy 0.9.3: DATA frames of 4,096 bytes, sequential streams within a priority, windows of 64 KB.
    pub const MOD_SPDY: Config = Config {
        stream_window_bytes: INITIAL_WINDOW,
        session_window_bytes: INITIAL_WINDOW,
        chunk_bytes: 4_096,
        policy: Policy::PriorityInOrder,
        ..Config::SERVER
    };
}
