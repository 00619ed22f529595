//! Removes malformed fields from h2's input, so that they end their stream and not the connection (RFC 9113 section 8.1.1).
//!
//! h2 decodes a header block into valid names and values, and cannot recover from an invalid one: it treats an
//! upper-case name or a NUL as an HPACK error. Here each block is read first: for its lines' shapes, with a separate
//! account of the dynamic table ([`hpack`]). Blocks without malformed lines, nearly all, pass unchanged. Others are
//! replaced by a block that keeps h2's table in step with the peer's, and that h2 treats as a malformed message. Errors
//! of frames and of HPACK itself are left to h2, and end the connection.

mod hpack;
mod huffman;

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use self::hpack::TableShape;
use self::hpack::Unreadable;
use crate::h2::frame::{
    CONTINUATION, FrameHead, HEAD_BYTES, HEADERS, PREFACE, PRIORITY_FLAG, PUSH_PROMISE,
};
use crate::h2::settings::FRAME_BYTES;

/// Limit of bytes held back of an unfinished header block. Beyond it, this and all later blocks pass unchecked.
const MOST_HELD_BYTES: usize = 64 << 10;

const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;

/// A stream from which h2 reads no malformed fields.
pub(crate) struct FieldFiltered<S> {
    stream: S,
    filter: FieldFilter,
}

impl<S> FieldFiltered<S> {
    /// Reads a client's bytes.
    pub(crate) fn of_client(stream: S) -> FieldFiltered<S> {
        FieldFiltered { stream, filter: FieldFilter::new(PREFACE.len()) }
    }

    /// Reads a server's bytes.
    pub(crate) fn of_server(stream: S) -> FieldFiltered<S> {
        FieldFiltered { stream, filter: FieldFilter::new(0) }
    }
}

/// Bytes held back between the stream and h2. No I/O.
#[derive(Debug)]
struct FieldFilter {
    /// Outstanding bytes of a frame without fields, or of the preface.
    passing: usize,
    table: TableShape,
    /// A partial frame head or header block.
    held: Vec<u8>,
    /// Bytes ready for h2.
    ready: Vec<u8>,
    /// True once it has lost the table, so that everything passes.
    is_open: bool,
}

/// The first item of some bytes.
enum FilterStep {
    /// Nothing, or an incomplete item.
    Nothing,
    /// A valid header block of this length, including its frames' heads.
    Good(usize),
    /// A malformed block of this length, and its replacement for h2.
    Replaced(usize, Vec<u8>),
}

/// A frame, and the bytes after it.
struct SplitFrame<'b> {
    head: FrameHead,
    payload: &'b [u8],
    rest: &'b [u8],
}

impl FieldFilter {
    fn new(passing: usize) -> FieldFilter {
        let (held, ready) = (Vec::new(), Vec::new());
        FieldFilter { passing, table: TableShape::new(), held, ready, is_open: false }
    }

    /// Processes the next bytes. Returns the length of the prefix that may pass at once, before the ready bytes; the
    /// rest is kept here.
    fn take(&mut self, bytes: &[u8]) -> usize {
        let (passed, next) = match self.held.is_empty() {
            true => self.inspect(bytes),
            false => (0, FilterStep::Nothing),
        };
        if passed < bytes.len() {
            self.held.extend_from_slice(&bytes[passed..]);
            if let FilterStep::Replaced(length, instead) = next {
                self.held.drain(..length);
                self.ready.extend(instead);
            }
            self.release();
        }
        passed
    }

    /// Moves held bytes that may pass to the ready ones.
    fn release(&mut self) {
        let mut held = std::mem::take(&mut self.held);
        let mut at = 0;
        loop {
            let (passed, next) = self.inspect(&held[at..]);
            self.ready.extend_from_slice(&held[at..at + passed]);
            at += passed;
            let FilterStep::Replaced(length, instead) = next else { break };
            self.ready.extend(instead);
            at += length;
        }
        if at < held.len() {
            held.drain(..at);
            self.held = held;
        }
    }

    /// The number of leading `bytes` that may pass, and the item after them.
    fn inspect(&mut self, bytes: &[u8]) -> (usize, FilterStep) {
        let mut at = 0;
        while !self.is_open {
            let skipped = self.passing.min(bytes.len() - at);
            (at, self.passing) = (at + skipped, self.passing - skipped);
            let rest = &bytes[at..];
            let Some(head) = FrameHead::of(rest) else { return (at, FilterStep::Nothing) };
            if !carries_fields(head) {
                self.passing = HEAD_BYTES + head.length as usize;
                continue;
            }
            match self.read(rest) {
                Ok(FilterStep::Good(length)) => at += length,
                Ok(FilterStep::Nothing) if rest.len() > MOST_HELD_BYTES => self.is_open = true,
                Ok(next) => return (at, next),
                Err(Unreadable) => self.is_open = true,
            }
        }
        (bytes.len(), FilterStep::Nothing)
    }

    /// Reads the header block at the start of `bytes`, if it is complete.
    fn read(&mut self, bytes: &[u8]) -> Result<FilterStep, Unreadable> {
        let Some(SplitFrame { head: first, payload, mut rest }) = split(bytes)? else {
            return Ok(FilterStep::Nothing);
        };
        let (introduction, fragment) = split_fragment(first, payload)?;
        if first.flags & END_HEADERS != 0 {
            let length = bytes.len() - rest.len();
            return Ok(match self.table.read(fragment)? {
                None => FilterStep::Good(length),
                Some(block) => FilterStep::Replaced(length, framed(first, introduction, &block)),
            });
        }
        let mut fragments = vec![fragment];
        loop {
            let Some(SplitFrame { head, payload, rest: behind }) = split(rest)? else {
                return Ok(FilterStep::Nothing);
            };
            if head.kind != CONTINUATION || head.stream != first.stream {
                return Err(Unreadable);
            }
            fragments.push(payload);
            rest = behind;
            if head.flags & END_HEADERS != 0 {
                break;
            }
        }
        let block = fragments.concat();
        // h2 treats a malformed block with continuations as a connection error. In as few frames as possible, it rarely has any.
        let block = self.table.read(&block)?.unwrap_or(block);
        Ok(FilterStep::Replaced(bytes.len() - rest.len(), framed(first, introduction, &block)))
    }

    /// Releases everything held, and stops checking.
    fn open(&mut self) {
        self.is_open = true;
        self.ready.append(&mut self.held);
    }

    /// Copies ready bytes into `buf` as far as there is room.
    fn give(&mut self, buf: &mut ReadBuf<'_>) {
        let given = self.ready.len().min(buf.remaining());
        buf.put_slice(&self.ready[..given]);
        self.ready.drain(..given);
        if self.ready.is_empty() {
            self.ready = Vec::new();
        }
    }
}

/// CONTINUATION does too, but is only valid within a block.
fn carries_fields(head: FrameHead) -> bool {
    matches!(head.kind, HEADERS | PUSH_PROMISE)
}

/// Splits off the frame at the start of `bytes`.
fn split(bytes: &[u8]) -> Result<Option<SplitFrame<'_>>, Unreadable> {
    let Some(head) = FrameHead::of(bytes) else { return Ok(None) };
    if head.length > FRAME_BYTES {
        return Err(Unreadable);
    }
    let parts = bytes[HEAD_BYTES..].split_at_checked(head.length as usize);
    Ok(parts.map(|(payload, rest)| SplitFrame { head, payload, rest }))
}

/// The bytes before the fields - a priority, a promised stream - and the fields, without padding.
fn split_fragment(head: FrameHead, payload: &[u8]) -> Result<(&[u8], &[u8]), Unreadable> {
    let is_padded = head.flags & PADDED != 0;
    let (padding, payload) = match payload.split_first() {
        Some((length, rest)) if is_padded => (usize::from(*length), rest),
        None if is_padded => return Err(Unreadable),
        _ => (0, payload),
    };
    let introduction = match head.kind {
        PUSH_PROMISE => 4,
        _ if head.flags & PRIORITY_FLAG != 0 => 5,
        _ => 0,
    };
    let end = payload.len().checked_sub(padding).ok_or(Unreadable)?;
    payload[..end].split_at_checked(introduction).ok_or(Unreadable)
}

/// A block in as few frames as possible, with the properties of the head `first`.
fn framed(first: FrameHead, introduction: &[u8], block: &[u8]) -> Vec<u8> {
    let payload = [introduction, block].concat();
    let mut left = &payload[..];
    let mut out = Vec::with_capacity(payload.len() + HEAD_BYTES);
    let (mut kind, mut flags) = (first.kind, first.flags & !(PADDED | END_HEADERS));
    loop {
        let (now, later) = left.split_at(left.len().min(FRAME_BYTES as usize));
        let end = if later.is_empty() { END_HEADERS } else { 0 };
        let head = FrameHead { length: now.len() as u32, kind, flags: flags | end, ..first };
        out.extend_from_slice(&head.encode());
        out.extend_from_slice(now);
        if later.is_empty() {
            return out;
        }
        (left, kind, flags) = (later, CONTINUATION, 0);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FieldFiltered<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let FieldFiltered { stream, filter } = self.get_mut();
        loop {
            if !filter.ready.is_empty() {
                filter.give(buf);
                return Poll::Ready(Ok(()));
            }
            let before = buf.filled().len();
            ready!(Pin::new(&mut *stream).poll_read(cx, buf))?;
            let came = &buf.filled()[before..];
            if came.is_empty() && filter.held.is_empty() {
                return Poll::Ready(Ok(()));
            }
            if came.is_empty() {
                filter.open();
                continue;
            }
            let passed = filter.take(came);
            buf.set_filled(before + passed);
            if passed > 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FieldFiltered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, data)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::h2::frame::DATA;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let head = FrameHead { length: payload.len() as u32, kind, flags, stream: 1 };
        [&head.encode(), payload].concat()
    }

    /// The bytes that h2 reads of `bytes`, which arrive in pieces of `step`.
    fn read(bytes: &[u8], step: usize) -> Vec<u8> {
        let mut filter = FieldFilter::new(0);
        let mut out = Vec::new();
        for piece in bytes.chunks(step) {
            let passed = filter.take(piece);
            out.extend_from_slice(&piece[..passed]);
            out.append(&mut filter.ready);
        }
        filter.open();
        [out, filter.ready].concat()
    }

    #[test]
    fn a_malformed_block_is_replaced_however_it_is_cut() {
        let block = b"\x82\x10\x01A\x00\x87";
        let padded = [&[3, 0, 0, 0, 0, 7][..], block, &[0; 3]].concat();
        let cut = [frame(HEADERS, 0x1, &block[..4]), frame(CONTINUATION, END_HEADERS, &block[4..])];
        let instead = b"\x82\x10\x0aconnection\0\x87";
        let data = frame(DATA, 0, &[7; 40]);
        let flags = PADDED | PRIORITY_FLAG | END_HEADERS;
        let bytes = [data.clone(), frame(HEADERS, flags, &padded), cut.concat(), data.clone()];
        let expected = [
            data.clone(),
            frame(HEADERS, PRIORITY_FLAG | END_HEADERS, &[&[0, 0, 0, 0, 7], &instead[..]].concat()),
            frame(HEADERS, 0x1 | END_HEADERS, instead),
            data.clone(),
        ];
        for step in [1, 7, 1_000] {
            assert_eq!(read(&bytes.concat(), step), expected.concat(), "in steps of {step}");
        }
    }

    #[test]
    fn a_block_that_grows_takes_another_frame() {
        let mut block = b"\x10\x01A\x00\x10\x01a\x7f\xf7\x7e".to_vec();
        block.resize(FRAME_BYTES as usize, b'b');
        let read = read(&frame(HEADERS, END_HEADERS, &block), 5_000);
        assert_eq!(read.len(), 2 * HEAD_BYTES + block.len() - 4 + 13);
        assert_eq!(&read[..5], [0, 0x40, 0, HEADERS, 0]);
        assert_eq!(&read[HEAD_BYTES + 0x4000..][..5], [0, 0, 9, CONTINUATION, END_HEADERS]);
    }

    #[test]
    fn a_block_without_end_is_let_go() {
        let mut filter = FieldFilter::new(0);
        let mut passed = filter.take(&frame(HEADERS, 0, &[]));
        let more = frame(CONTINUATION, 0, &[0x82; 1_000]);
        while passed == 0 && filter.ready.is_empty() {
            assert!(filter.held.len() <= MOST_HELD_BYTES);
            passed += filter.take(&more);
        }
        assert!(filter.is_open && filter.held.is_empty() && filter.ready.len() > MOST_HELD_BYTES);
    }

    prop_compose! {
        fn any_frames()(frames in prop::collection::vec(
            (
                prop::sample::select(vec![DATA, HEADERS, HEADERS, PUSH_PROMISE, CONTINUATION]),
                prop::sample::select(vec![0, END_HEADERS, END_HEADERS, END_HEADERS | PADDED]),
                prop::collection::vec(prop_oneof![Just(0), Just(1), Just(0x40), 0x80..0xc2u8, any::<u8>()], 0..30),
            ),
            0..8,
        )) -> Vec<u8> {
            frames.iter().flat_map(|(kind, flags, payload)| frame(*kind, *flags, payload)).collect()
        }
    }

    proptest! {
        #[test]
        fn any_frames_in_any_pieces_give_the_same(frames in any_frames(), step in 1..50usize) {
            prop_assert_eq!(read(&frames, step), read(&frames, usize::MAX));
        }

        #[test]
        fn any_bytes_in_any_pieces_give_the_same(bytes: Vec<u8>, step in 1..50usize) {
            prop_assert_eq!(read(&bytes, step), read(&bytes, usize::MAX));
        }
    }
}
