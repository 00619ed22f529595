//! Parsing of a complete control frame's payload.

use bytes::{Buf, Bytes};

use super::settings::ENTRY_BYTES;
use super::{
    Block, FLAG_CLEAR_SETTINGS, FLAG_FIN, FLAG_UNIDIRECTIONAL, Frame, FrameError, Kind,
    SYN_STREAM_FIXED, Setting, Settings, SynStream, block_offset,
};
use crate::{CloseReason, Priority, ResetReason, StreamId, Version};

/// Parses the `payload` of a frame of this `kind`.
pub(super) fn control(
    version: Version,
    kind: Kind,
    flags: u8,
    mut payload: Bytes,
) -> Result<Frame, FrameError> {
    let length = payload.len();
    let wrong = FrameError::Length { kind: kind.name(), length };
    let demand = |is_right: bool| if is_right { Ok(()) } else { Err(wrong) };
    let fin = flags & FLAG_FIN != 0;
    Ok(match kind {
        Kind::SynStream => {
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
        Kind::SynReply | Kind::Headers => {
            demand(length >= block_offset(version))?;
            let id = stream(&mut payload);
            payload.advance(block_offset(version) - 4);
            let block = Block { stream: id, fin, block: payload };
            if kind == Kind::SynReply { Frame::SynReply(block) } else { Frame::Headers(block) }
        }
        Kind::RstStream => {
            demand(length == 8)?;
            let stream = stream(&mut payload);
            Frame::RstStream { stream, reason: ResetReason(payload.get_u32()) }
        }
        Kind::Settings => {
            demand(length >= 4)?;
            let count = payload.get_u32() as usize;
            demand(Some(payload.len()) == count.checked_mul(ENTRY_BYTES))?;
            let is_v2 = version == Version::V2;
            let (entries, _) = payload.as_chunks::<ENTRY_BYTES>();
            let entries = entries.iter().map(|entry| Setting::parse(*entry, is_v2)).collect();
            Frame::Settings(Settings { clear: flags & FLAG_CLEAR_SETTINGS != 0, entries })
        }
        Kind::Noop => {
            demand(length == 0)?;
            Frame::Noop
        }
        Kind::Ping => {
            demand(length == 4)?;
            Frame::Ping(payload.get_u32())
        }
        Kind::GoAway => {
            let has_reason = version != Version::V2;
            demand(length == if has_reason { 8 } else { 4 })?;
            let last = stream(&mut payload);
            let reason = if has_reason { CloseReason(payload.get_u32()) } else { CloseReason::OK };
            Frame::GoAway { last, reason }
        }
        Kind::WindowUpdate => {
            demand(length == 8)?;
            let stream = stream(&mut payload);
            Frame::WindowUpdate { stream, delta: payload.get_u32() & 0x7fff_ffff }
        }
        Kind::Credential => Frame::Credential,
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
