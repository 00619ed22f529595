//! Frames (2.2, 2.6): their encoding, without their meaning for a session.
//!
//! Header blocks stay compressed here: frames can be parsed without the state of a session.

use bytes::Bytes;
use thiserror::Error;

use crate::{CloseReason, Priority, ResetReason, StreamId, Version};

mod codec;

pub use self::codec::Reader;
pub use self::codec::{
    data_head, go_away, headers, noop, ping, rst_stream, settings, syn_reply, syn_stream,
    window_update,
};

/// Size of every frame's head.
pub const HEAD_BYTES: usize = 8;

/// Maximum length of a frame.
pub const MAX_LENGTH: usize = 0xff_ffff;

/// A frame, or a piece of a DATA frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A piece of a DATA frame, returned as it arrives, even if the rest is missing.
    Data {
        /// Its stream.
        stream: StreamId,
        /// The piece.
        payload: Bytes,
        /// True for the sender's last piece on the stream.
        fin: bool,
    },
    /// Opens a stream.
    SynStream(SynStream),
    /// Answers a SYN_STREAM.
    SynReply(Block),
    /// More fields for a stream.
    Headers(Block),
    /// Ends a stream abruptly.
    RstStream {
        /// Its stream.
        stream: StreamId,
        /// The status code.
        reason: ResetReason,
    },
    /// Session parameters of the sender.
    Settings(Settings),
    /// No operation; in version 2 only.
    Noop,
    /// To be echoed.
    Ping(u32),
    /// The sender accepts no new streams.
    GoAway {
        /// The last stream that it accepted.
        last: StreamId,
        /// The status code. In version 2 always "OK", which is not encoded.
        reason: CloseReason,
    },
    /// The sender accepts more DATA.
    WindowUpdate {
        /// The stream; 0 for the session.
        stream: StreamId,
        /// Number of additional bytes.
        delta: u32,
    },
    /// A client certificate, since version 3.
    Credential,
    /// A SYN_STREAM of another version: that stream must be reset, all other frames of other versions ignored
    /// (draft 2, "Protocol versioning").
    OtherVersion(StreamId),
    /// A frame of an undefined type, or of another version: to be ignored.
    Unknown,
}

/// Parameters of a new stream (2.6.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SynStream {
    /// The new stream.
    pub stream: StreamId,
    /// The stream that it belongs to; 0 for none.
    pub associated: StreamId,
    /// Priority of the stream.
    pub priority: Priority,
    /// In version 3 the slot of the client certificate that applies to it; 0 for none.
    pub slot: u8,
    /// True if the sender sends nothing more on it.
    pub fin: bool,
    /// True if the recipient may send nothing on it.
    pub unidirectional: bool,
    /// Its fields, compressed.
    pub block: Bytes,
}

/// A header block for a stream (2.6.2, 2.6.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The stream.
    pub stream: StreamId,
    /// True if the sender sends nothing more on it.
    pub fin: bool,
    /// The fields, compressed.
    pub block: Bytes,
}

/// Framing error. Nothing after it can be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// A control frame is larger than this end's limit.
    #[error("{kind} frame of {length} bytes exceeds the limit of {limit}")]
    TooLarge {
        /// Type of the frame.
        kind: &'static str,
        /// Its length.
        length: usize,
        /// This end's limit.
        limit: usize,
    },
    /// A control frame's length is wrong for its type.
    #[error("invalid length of a {kind} frame: {length} bytes")]
    Length {
        /// Type of the frame.
        kind: &'static str,
        /// Its length.
        length: usize,
    },
}

/// The types of control frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameType {
    SynStream = 1,
    SynReply = 2,
    RstStream = 3,
    Settings = 4,
    Noop = 5,
    Ping = 6,
    GoAway = 7,
    Headers = 8,
    WindowUpdate = 9,
    Credential = 10,
}

impl FrameType {
    const ALL: [FrameType; 10] = [
        FrameType::SynStream,
        FrameType::SynReply,
        FrameType::RstStream,
        FrameType::Settings,
        FrameType::Noop,
        FrameType::Ping,
        FrameType::GoAway,
        FrameType::Headers,
        FrameType::WindowUpdate,
        FrameType::Credential,
    ];

    /// The type with this number, if `version` has it.
    fn find(number: u16, version: Version) -> Option<FrameType> {
        let kind = FrameType::ALL.into_iter().find(|kind| *kind as u16 == number)?;
        let exists = match kind {
            FrameType::Noop => version == Version::V2,
            FrameType::WindowUpdate | FrameType::Credential => version != Version::V2,
            _ => true,
        };
        exists.then_some(kind)
    }

    fn name(self) -> &'static str {
        match self {
            FrameType::SynStream => "SYN_STREAM",
            FrameType::SynReply => "SYN_REPLY",
            FrameType::RstStream => "RST_STREAM",
            FrameType::Settings => "SETTINGS",
            FrameType::Noop => "NOOP",
            FrameType::Ping => "PING",
            FrameType::GoAway => "GOAWAY",
            FrameType::Headers => "HEADERS",
            FrameType::WindowUpdate => "WINDOW_UPDATE",
            FrameType::Credential => "CREDENTIAL",
        }
    }
}

const FLAG_FIN: u8 = 0x01;
const FLAG_UNIDIRECTIONAL: u8 = 0x02;
const FLAG_CLEAR_SETTINGS: u8 = 0x01;

/// `bit` if `is_set`, else 0.
fn flag(bit: u8, is_set: bool) -> u8 {
    if is_set { bit } else { 0 }
}

/// Version 2 has 16 unused bits between the stream of a SYN_REPLY or HEADERS frame and its block.
fn block_offset(version: Version) -> usize {
    if version == Version::V2 { 6 } else { 4 }
}

/// A SYN_STREAM's block follows 10 bytes in every version.
const SYN_STREAM_FIXED: usize = 10;

impl SynStream {
    /// The frame's size on the wire.
    pub fn wire_bytes(&self) -> usize {
        HEAD_BYTES + SYN_STREAM_FIXED + self.block.len()
    }
}

impl Block {
    /// The frame's size on the wire.
    pub fn wire_bytes(&self, version: Version) -> usize {
        HEAD_BYTES + block_offset(version) + self.block.len()
    }
}

// The entries of a SETTINGS frame (2.6.4).

/// Id of a setting, of 24 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SettingId(pub u32);

impl SettingId {
    /// The sender's estimate of the uplink bandwidth, in kB/s.
    pub const UPLOAD_BANDWIDTH: SettingId = SettingId(1);
    /// The sender's estimate of the downlink bandwidth, in kB/s.
    pub const DOWNLOAD_BANDWIDTH: SettingId = SettingId(2);
    /// The sender's estimate of the round-trip time, in ms.
    pub const ROUND_TRIP_TIME: SettingId = SettingId(3);
    /// Maximum streams that the recipient may have open.
    pub const MAX_CONCURRENT_STREAMS: SettingId = SettingId(4);
    /// The sender's congestion window, in packets.
    pub const CURRENT_CWND: SettingId = SettingId(5);
    /// The sender's rate of retransmissions.
    pub const DOWNLOAD_RETRANS_RATE: SettingId = SettingId(6);
    /// The initial window of each stream at the sender, in bytes.
    pub const INITIAL_WINDOW_SIZE: SettingId = SettingId(7);
    /// Number of client certificates that the sender keeps. In version 3 only.
    pub const CLIENT_CERTIFICATE_VECTOR_SIZE: SettingId = SettingId(8);
}

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its id.
    pub id: SettingId,
    /// Its value.
    pub value: u32,
    /// True if the server asks the client to keep it for later sessions (FLAG_SETTINGS_PERSIST_VALUE).
    pub persist: bool,
    /// True if the client returns a value kept from an earlier session of this server (FLAG_SETTINGS_PERSISTED).
    pub persisted: bool,
}

impl Setting {
    /// A setting for this session alone.
    pub fn new(id: SettingId, value: u32) -> Setting {
        Setting { id, value, persist: false, persisted: false }
    }
}

/// All entries of a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// True if the client must forget all kept values (FLAG_SETTINGS_CLEAR_SETTINGS).
    pub clear: bool,
    /// The entries, in order.
    pub entries: Vec<Setting>,
}

impl Settings {
    /// The value of `id`: the first one of several entries.
    pub fn get(&self, id: SettingId) -> Option<u32> {
        self.entries.iter().find(|entry| entry.id == id).map(|entry| entry.value)
    }
}

const ENTRY_BYTES: usize = 8;

const PERSIST: u8 = 0x1;
const PERSISTED: u8 = 0x2;

impl Setting {
    /// Flags and id. `is_v2`: the id comes first and in little-endian order, a mistake of the first implementation
    /// that draft 2 made the rule.
    fn key(self, is_v2: bool) -> [u8; 4] {
        let flags = flag(PERSIST, self.persist) | flag(PERSISTED, self.persisted);
        let [_, high, middle, low] = self.id.0.to_be_bytes();
        if is_v2 { [low, middle, high, flags] } else { [flags, high, middle, low] }
    }

    fn parse(entry: [u8; ENTRY_BYTES], is_v2: bool) -> Setting {
        let [a, b, c, d, value @ ..] = entry;
        let (flags, id) = if is_v2 { (d, [0, c, b, a]) } else { (a, [0, b, c, d]) };
        Setting {
            id: SettingId(u32::from_be_bytes(id)),
            value: u32::from_be_bytes(value),
            persist: flags & PERSIST != 0,
            persisted: flags & PERSISTED != 0,
        }
    }
}
