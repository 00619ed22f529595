//! Encoding of frames. Each function appends one frame of a version to a buffer.

use bytes::{BufMut, BytesMut};

use super::settings::ENTRY_BYTES;
use super::{
    Block, FLAG_CLEAR_SETTINGS, FLAG_FIN, FLAG_UNIDIRECTIONAL, Kind, MAX_LENGTH, SYN_STREAM_FIXED,
    Settings, SynStream, block_offset, flag,
};
use crate::{CloseReason, ResetReason, StreamId, Version};

fn control_head(out: &mut BytesMut, version: Version, kind: Kind, flags: u8, length: usize) {
    out.put_u16(0x8000 | version.number());
    out.put_u16(kind as u16);
    flags_and_length(out, flags, length);
}

fn flags_and_length(out: &mut BytesMut, flags: u8, length: usize) {
    assert!(length <= MAX_LENGTH, "a frame's length has 24 bits, {length} needs more");
    out.put_u32(u32::from(flags) << 24 | length as u32);
}

/// The head of a DATA frame with `length` bytes, which are to follow.
pub fn data_head(out: &mut BytesMut, stream: StreamId, fin: bool, length: usize) {
    out.put_u32(stream.get());
    flags_and_length(out, flag(FLAG_FIN, fin), length);
}

/// A SYN_STREAM.
pub fn syn_stream(out: &mut BytesMut, version: Version, frame: &SynStream) {
    let flags = flag(FLAG_FIN, frame.fin) | flag(FLAG_UNIDIRECTIONAL, frame.unidirectional);
    let length = SYN_STREAM_FIXED + frame.block.len();
    control_head(out, version, Kind::SynStream, flags, length);
    out.put_u32(frame.stream.get());
    out.put_u32(frame.associated.get());
    let level = frame.priority.level().min(version.lowest_priority());
    // The highest bits of the byte: 2 in version 2, else 3.
    out.put_u8(if version == Version::V2 { level << 6 } else { level << 5 });
    out.put_u8(frame.slot);
    out.put_slice(&frame.block);
}

/// A SYN_REPLY.
pub fn syn_reply(out: &mut BytesMut, version: Version, frame: &Block) {
    block(out, version, Kind::SynReply, frame);
}

/// A HEADERS frame.
pub fn headers(out: &mut BytesMut, version: Version, frame: &Block) {
    block(out, version, Kind::Headers, frame);
}

fn block(out: &mut BytesMut, version: Version, kind: Kind, frame: &Block) {
    let offset = block_offset(version);
    let flags = flag(FLAG_FIN, frame.fin);
    control_head(out, version, kind, flags, offset + frame.block.len());
    out.put_u32(frame.stream.get());
    out.put_bytes(0, offset - 4);
    out.put_slice(&frame.block);
}

/// A RST_STREAM.
pub fn rst_stream(out: &mut BytesMut, version: Version, stream: StreamId, reason: ResetReason) {
    control_head(out, version, Kind::RstStream, 0, 8);
    out.put_u32(stream.get());
    out.put_u32(reason.in_version(version).0);
}

/// A SETTINGS frame.
pub fn settings(out: &mut BytesMut, version: Version, settings: &Settings) {
    let flags = flag(FLAG_CLEAR_SETTINGS, settings.clear);
    let entries = &settings.entries;
    control_head(out, version, Kind::Settings, flags, 4 + entries.len() * ENTRY_BYTES);
    out.put_u32(entries.len() as u32);
    for entry in entries {
        out.put_slice(&entry.key(version == Version::V2));
        out.put_u32(entry.value);
    }
}

/// A NOOP, which only version 2 has.
pub fn noop(out: &mut BytesMut) {
    control_head(out, Version::V2, Kind::Noop, 0, 0);
}

/// A PING.
pub fn ping(out: &mut BytesMut, version: Version, id: u32) {
    control_head(out, version, Kind::Ping, 0, 4);
    out.put_u32(id);
}

/// A GOAWAY. In version 2 it has no status code.
pub fn go_away(out: &mut BytesMut, version: Version, last: StreamId, reason: CloseReason) {
    let has_reason = version != Version::V2;
    control_head(out, version, Kind::GoAway, 0, if has_reason { 8 } else { 4 });
    out.put_u32(last.get());
    if has_reason {
        out.put_u32(reason.0);
    }
}

/// A WINDOW_UPDATE, which version 2 lacks.
pub fn window_update(out: &mut BytesMut, version: Version, stream: StreamId, delta: u32) {
    control_head(out, version, Kind::WindowUpdate, 0, 8);
    out.put_u32(stream.get());
    out.put_u32(delta);
}
