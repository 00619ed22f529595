//! What one end of a session is set to, each value with its source.

use crate::frame::HEAD_BYTES;
use crate::window::INITIAL_WINDOW;
use crate::{Compression, Policy};

/// What the peer may not exceed, whatever the protocol lets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The payload of a control frame. At least 8,192 must be taken (2.2.1).
    pub control_frame_bytes: usize,
    /// A header block once it is inflated.
    pub header_block_bytes: usize,
    /// The fields of one header block.
    pub fields: usize,
    /// Streams that the peer resets before they have ended: so many at once, then a quarter of that a second.
    pub resets: u32,
    /// PINGs, counted likewise.
    pub pings: u32,
    /// SETTINGS frames, counted likewise.
    pub settings: u32,
    /// Frames that carry nothing, or are for no stream, counted likewise.
    pub idle_frames: u32,
}

impl Limits {
    /// A server's.
    pub const SERVER: Limits = Limits {
        control_frame_bytes: 64 << 10,
        // What nginx takes in all (`large_client_header_buffers`).
        header_block_bytes: 32 << 10,
        fields: 128,
        // A browser that leaves a page resets what it has open: up to 100.
        resets: 200,
        pings: 100,
        settings: 40,
        idle_frames: 400,
    };

    /// A browser's: it takes larger heads than a server, Chrome 256 KB.
    pub const CLIENT: Limits =
        Limits { header_block_bytes: 256 << 10, fields: 256, ..Limits::SERVER };
}

/// Where a pushed response's head stands, for who drives a server's session: "Subsequent headers may follow in HEADERS frames" (3.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushedHead {
    /// In HEADERS behind the promise, which says no more than it must: it need not wait for the answer.
    Apart,
    /// In the promise itself, if there is an answer by then. npm's `spdy` takes no other pushes.
    Joined,
}

/// What one end is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// As many streams may the peer have open: SETTINGS_MAX_CONCURRENT_STREAMS. For a client these are pushed streams; with 0
    /// it refuses each.
    pub streams: u32,
    /// As many streams may this end open before the peer has told its limit.
    pub assumed_streams: u32,
    /// The window of each stream that the peer fills: SETTINGS_INITIAL_WINDOW_SIZE. Since version 3.
    pub stream_window_bytes: u32,
    /// The window of the session, at least the protocol's 64 KB. In version 3.1.
    pub session_window_bytes: u32,
    /// How this end's header blocks are compressed.
    pub compression: Compression,
    /// The most payload that goes into one DATA frame.
    pub chunk_bytes: usize,
    /// Which stream sends next.
    pub policy: Policy,
    /// Where the heads of what this end pushes stand.
    pub pushed_head: PushedHead,
    /// What the peer may not exceed.
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

    /// A server that lets 100 streams be open, as mod_spdy and nginx (100 and 128), and sends DATA frames that leave room in
    /// one TLS record for a response's head.
    pub const SERVER: Config = Config { streams: 100, limits: Limits::SERVER, ..Config::CLIENT };

    /// mod_spdy 0.9.3: DATA frames of 4,096 bytes, streams of one priority one after the other, windows of 64 KB.
    pub const MOD_SPDY: Config = Config {
        stream_window_bytes: INITIAL_WINDOW,
        session_window_bytes: INITIAL_WINDOW,
        chunk_bytes: 4_096,
        policy: Policy::PriorityInOrder,
        ..Config::SERVER
    };
}
