//! Frames from a stream of bytes, with any segmentation.

use bytes::{Buf, Bytes, BytesMut};

use super::{FLAG_FIN, Frame, FrameError, HEAD_BYTES, Kind, parse};
use crate::{StreamId, Version};

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
        let kind = Kind::find(number, self.version);
        if length > self.limit {
            let kind = kind.map_or("control", Kind::name);
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
            Some(kind) if is_ours => parse::control(self.version, kind, flags, payload).map(Some),
            Some(Kind::SynStream) => Ok(Some(parse::other_version(payload))),
            _ => Ok(Some(Frame::Unknown)),
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
