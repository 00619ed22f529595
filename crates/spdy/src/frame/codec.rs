//! Frames from a stream of bytes, with any segmentation, and their encoding.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::{
    Block, ENTRY_BYTES, FLAG_CLEAR_SETTINGS, FLAG_FIN, FLAG_UNIDIRECTIONAL, Frame, FrameError,
    FrameType, HEAD_BYTES, MAX_LENGTH, SYN_STREAM_FIXED, Setting, Settings, SynStream,
    block_offset, flag,
};
use crate::{CloseReason, Priority, ResetReason, StreamId, Version};

/// Finds the frames in the bytes of one direction. Payloads of DATA frames are slices of the input; so are
/// unsegmented control frames.
#[derive(Debug)]
pub struct Reader {
    version: Version,
    /// Maximum payload of a control frame.
    limit: usize,
    /// The beginning of an incomplete frame head or control frame.
    held: BytesMut,
    data: Option<DataFrame>,
}

/// A DATA frame with bytes still to come.
#[derive(Clone, Copy, Debug)]
struct DataFrame {
    stream: StreamId,
    fin: bool,
    left: usize,
}

impl Reader {
    /// A reader of frames of `version`, whose control frames have at most `limit` bytes of payload.
    pub fn new(version: Version, limit: usize) -> Reader {
        Reader { version, limit, held: BytesMut::new(), data: None }
    }

    /// Takes the next frame, or piece of a DATA frame, from the front of `bytes`. `None` if all of `bytes` is
    /// consumed and more is needed.
    ///
    /// # Errors
    /// See [`FrameError`]; nothing can be read after one.
    pub fn next(&mut self, bytes: &mut Bytes) -> Result<Option<Frame>, FrameError> {
        if let Some(frame) = self.data {
            return Ok(self.piece(frame, bytes));
        }
        let Some(head) = self.peek_head(bytes) else { return Ok(None) };
        let is_control = head[0] & 0x80 != 0;
        let length = u32::from_be_bytes([0, head[5], head[6], head[7]]) as usize;
        if is_control {
            return self.control(head, length, bytes);
        }
        self.held.clear();
        let stream = StreamId::new(u32::from_be_bytes([head[0], head[1], head[2], head[3]]));
        let frame = DataFrame { stream, fin: head[4] & FLAG_FIN != 0, left: length };
        if length > 0 {
            self.data = Some(frame);
            return Ok(self.piece(frame, bytes));
        }
        Ok(Some(Frame::Data { stream, payload: Bytes::new(), fin: frame.fin }))
    }

    fn piece(&mut self, frame: DataFrame, bytes: &mut Bytes) -> Option<Frame> {
        if bytes.is_empty() {
            return None;
        }
        let payload = bytes.split_to(bytes.len().min(frame.left));
        let left = frame.left - payload.len();
        self.data = (left > 0).then_some(DataFrame { left, ..frame });
        Some(Frame::Data { stream: frame.stream, payload, fin: frame.fin && left == 0 })
    }

    /// The head of the next frame. A control frame's is left in place; a DATA frame's is consumed.
    fn peek_head(&mut self, bytes: &mut Bytes) -> Option<[u8; HEAD_BYTES]> {
        if self.held.is_empty()
            && let Some(head) = bytes.first_chunk()
        {
            let head = *head;
            if head[0] & 0x80 == 0 {
                bytes.advance(HEAD_BYTES);
            }
            return Some(head);
        }
        self.hold(HEAD_BYTES, bytes);
        self.held.first_chunk().copied()
    }

    /// Buffers the available part of a frame's first `wanted` bytes.
    fn hold(&mut self, wanted: usize, bytes: &mut Bytes) {
        let missing = wanted.saturating_sub(self.held.len());
        self.held.extend_from_slice(&bytes.split_to(missing.min(bytes.len())));
    }

    fn control(
        &mut self,
        head: [u8; HEAD_BYTES],
        length: usize,
        bytes: &mut Bytes,
    ) -> Result<Option<Frame>, FrameError> {
        let [v0, v1, k0, k1, flags, ..] = head;
        let is_ours = u16::from_be_bytes([v0 & 0x7f, v1]) == self.version.number();
        let number = u16::from_be_bytes([k0, k1]);
        let kind = FrameType::find(number, self.version);
        if length > self.limit {
            let kind = kind.map_or("control", FrameType::name);
            return Err(FrameError::TooLarge { kind, length, limit: self.limit });
        }
        let whole = HEAD_BYTES + length;
        let payload = if self.held.is_empty() && bytes.len() >= whole {
            bytes.split_to(whole).slice(HEAD_BYTES..)
        } else {
            self.hold(whole, bytes);
            if self.held.len() < whole {
                return Ok(None);
            }
            self.held.split().freeze().slice(HEAD_BYTES..)
        };
        match kind {
            Some(kind) if is_ours => control(self.version, kind, flags, payload).map(Some),
            Some(FrameType::SynStream) => Ok(Some(other_version(payload))),
            _ => Ok(Some(Frame::Unknown)),
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

// Parsing of a complete control frame's payload.

/// Parses the `payload` of a frame of this `kind`.
pub(super) fn control(
    version: Version,
    kind: FrameType,
    flags: u8,
    mut payload: Bytes,
) -> Result<Frame, FrameError> {
    let length = payload.len();
    let wrong = FrameError::Length { kind: kind.name(), length };
    let demand = |is_right: bool| if is_right { Ok(()) } else { Err(wrong) };
    let fin = flags & FLAG_FIN != 0;
    Ok(match kind {
        FrameType::SynStream => {
            demand(length >= SYN_STREAM_FIXED)?;
            Frame::SynStream(SynStream {
                stream: stream(&mut payload),
                associated: stream(&mut payload),
                priority: priority(payload.get_u8(), version),
                slot: payload.get_u8(),
                fin,
                unidirectional: flags & FLAG_UNIDIRECTIONAL != 0,
                block: payload,
            })
        }
        FrameType::SynReply | FrameType::Headers => {
            demand(length >= block_offset(version))?;
            let id = stream(&mut payload);
            payload.advance(block_offset(version) - 4);
            let block = Block { stream: id, fin, block: payload };
            if kind == FrameType::SynReply { Frame::SynReply(block) } else { Frame::Headers(block) }
        }
        FrameType::RstStream => {
            demand(length == 8)?;
            let stream = stream(&mut payload);
            Frame::RstStream { stream, reason: ResetReason(payload.get_u32()) }
        }
        FrameType::Settings => {
            demand(length >= 4)?;
            let count = payload.get_u32() as usize;
            demand(Some(payload.len()) == count.checked_mul(ENTRY_BYTES))?;
            let is_v2 = version == Version::V2;
            let (entries, _) = payload.as_chunks::<ENTRY_BYTES>();
            let entries = entries.iter().map(|entry| Setting::parse(*entry, is_v2)).collect();
            Frame::Settings(Settings { clear: flags & FLAG_CLEAR_SETTINGS != 0, entries })
        }
        FrameType::Noop => {
            demand(length == 0)?;
            Frame::Noop
        }
        FrameType::Ping => {
            demand(length == 4)?;
            Frame::Ping(payload.get_u32())
        }
        FrameType::GoAway => {
            let has_reason = version != Version::V2;
            demand(length == if has_reason { 8 } else { 4 })?;
            let last = stream(&mut payload);
            let reason = if has_reason { CloseReason(payload.get_u32()) } else { CloseReason::OK };
            Frame::GoAway { last, reason }
        }
        FrameType::WindowUpdate => {
            demand(length == 8)?;
            let stream = stream(&mut payload);
            Frame::WindowUpdate { stream, delta: payload.get_u32() & 0x7fff_ffff }
        }
        FrameType::Credential => Frame::Credential,
    })
}

/// A SYN_STREAM of another version: only its stream is read.
pub(super) fn other_version(mut payload: Bytes) -> Frame {
    if payload.len() < 4 { Frame::Unknown } else { Frame::OtherVersion(stream(&mut payload)) }
}

fn stream(payload: &mut Bytes) -> StreamId {
    StreamId::new(payload.get_u32())
}

fn priority(byte: u8, version: Version) -> Priority {
    Priority::new(if version == Version::V2 { byte >> 6 } else { byte >> 5 })
}

// Encoding of frames. Each function appends one frame of a version to a buffer.

fn control_head(out: &mut BytesMut, version: Version, kind: FrameType, flags: u8, length: usize) {
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
    control_head(out, version, FrameType::SynStream, flags, length);
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
    block(out, version, FrameType::SynReply, frame);
}

/// A HEADERS frame.
pub fn headers(out: &mut BytesMut, version: Version, frame: &Block) {
    block(out, version, FrameType::Headers, frame);
}

fn block(out: &mut BytesMut, version: Version, kind: FrameType, frame: &Block) {
    let offset = block_offset(version);
    let flags = flag(FLAG_FIN, frame.fin);
    control_head(out, version, kind, flags, offset + frame.block.len());
    out.put_u32(frame.stream.get());
    out.put_bytes(0, offset - 4);
    out.put_slice(&frame.block);
}

/// A RST_STREAM.
pub fn rst_stream(out: &mut BytesMut, version: Version, stream: StreamId, reason: ResetReason) {
    control_head(out, version, FrameType::RstStream, 0, 8);
    out.put_u32(stream.get());
    out.put_u32(reason.in_version(version).0);
}

/// A SETTINGS frame.
pub fn settings(out: &mut BytesMut, version: Version, settings: &Settings) {
    let flags = flag(FLAG_CLEAR_SETTINGS, settings.clear);
    let entries = &settings.entries;
    control_head(out, version, FrameType::Settings, flags, 4 + entries.len() * ENTRY_BYTES);
    out.put_u32(entries.len() as u32);
    for entry in entries {
        out.put_slice(&entry.key(version == Version::V2));
        out.put_u32(entry.value);
    }
}

/// A NOOP, which only version 2 has.
pub fn noop(out: &mut BytesMut) {
    control_head(out, Version::V2, FrameType::Noop, 0, 0);
}

/// A PING.
pub fn ping(out: &mut BytesMut, version: Version, id: u32) {
    control_head(out, version, FrameType::Ping, 0, 4);
    out.put_u32(id);
}

/// A GOAWAY. In version 2 it has no status code.
pub fn go_away(out: &mut BytesMut, version: Version, last: StreamId, reason: CloseReason) {
    let has_reason = version != Version::V2;
    control_head(out, version, FrameType::GoAway, 0, if has_reason { 8 } else { 4 });
    out.put_u32(last.get());
    if has_reason {
        out.put_u32(reason.0);
    }
}

/// A WINDOW_UPDATE, which version 2 lacks.
pub fn window_update(out: &mut BytesMut, version: Version, stream: StreamId, delta: u32) {
    control_head(out, version, FrameType::WindowUpdate, 0, 8);
    out.put_u32(stream.get());
    out.put_u32(delta);
}
