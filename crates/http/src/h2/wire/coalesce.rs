//! Writes cut into segments as servers and browsers cut them.
//!
//! With Nagle's algorithm off each write ends in a segment of its own, full or not, and h2 writes each DATA frame of a
//! server by itself, and all requests of a client since its last poll together.
//!
//! Servers gather the output of one turn of their loop into one write (H2O's and nghttp2's output buffers); so does
//! [`CoalescedWriter`]: writes are kept until they fill a TLS record or until the turn ends, when
//! [`CoalescedWriter::poll_pass_on`] passes them on. Browsers write a frame at a time; so does [`HeadPerWrite`].

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::h2::frame::{CONTINUATION, Frames, HEADERS};

/// The amount gathered: the plaintext of one TLS record (RFC 8446 section 5.1).
const FULL_BYTES: usize = 16_384;

/// A stream whose writes are gathered. Clones share the stream: one for h2, one for the owner of the loop, which knows
/// when a turn ends.
pub(crate) struct CoalescedWriter<S>(Rc<RefCell<CoalescerState<S>>>);

struct CoalescerState<S> {
    stream: S,
    /// Without memory while it is empty: most connections are idle most of the time.
    gathered: BytesMut,
    /// Off until the connection's loop runs: before that no turn ends.
    turning: bool,
}

impl<S> Clone for CoalescedWriter<S> {
    fn clone(&self) -> CoalescedWriter<S> {
        CoalescedWriter(Rc::clone(&self.0))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> CoalescedWriter<S> {
    /// Passes writes through until [`CoalescedWriter::begin`].
    pub(crate) fn new(stream: S) -> CoalescedWriter<S> {
        CoalescedWriter(Rc::new(RefCell::new(CoalescerState {
            stream,
            gathered: BytesMut::new(),
            turning: false,
        })))
    }

    /// Starts gathering; the caller must call [`CoalescedWriter::poll_pass_on`] at the end of each turn.
    pub(crate) fn begin(&self) {
        self.0.borrow_mut().turning = true;
    }

    /// Number of bytes that wait for the turn's end or the stream.
    pub(crate) fn gathered_bytes(&self) -> usize {
        self.0.borrow().gathered.len()
    }

    /// Ends the turn: gathered bytes go to the stream. Ready when it has accepted all of them.
    pub(crate) fn poll_pass_on(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.0.borrow_mut();
        ready!(inner.poll_drain(cx))?;
        Pin::new(&mut inner.stream).poll_flush(cx)
    }
}

impl<S: AsyncWrite + Unpin> CoalescerState<S> {
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.gathered.is_empty() {
            let taken = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.gathered))?;
            if taken == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.drop_front(taken);
        }
        Poll::Ready(Ok(()))
    }

    /// Drops `bytes` that the stream has accepted.
    fn drop_front(&mut self, bytes: usize) {
        self.gathered.advance(bytes);
        if self.gathered.is_empty() {
            self.gathered = BytesMut::new();
        }
    }

    /// Writes the gathered bytes and then `parts`; returns the number of bytes of `parts` accepted.
    fn poll_write_all(
        &mut self,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.gathered.is_empty() {
            return Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        }
        let mut all = Vec::with_capacity(1 + parts.len());
        all.push(IoSlice::new(&self.gathered));
        all.extend(parts.iter().map(|part| IoSlice::new(part)));
        let taken = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, &all))?;
        let old = taken.min(self.gathered.len());
        self.drop_front(old);
        if taken > old {
            return Poll::Ready(Ok(taken - old));
        }
        // None of `parts` was written: they are few beside the waiting bytes, and may wait with them.
        ready!(self.poll_drain(cx))?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CoalescedWriter<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.borrow_mut().stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CoalescedWriter<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(data)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut inner = self.0.borrow_mut();
        let total: usize = parts.iter().map(|part| part.len()).sum();
        if !inner.turning || inner.gathered.len() + total >= FULL_BYTES {
            return inner.poll_write_all(cx, parts);
        }
        if inner.gathered.capacity() == 0 {
            inner.gathered.reserve(FULL_BYTES);
        }
        for part in parts {
            inner.gathered.extend_from_slice(part);
        }
        Poll::Ready(Ok(total))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// No effect while the loop runs: the end of the turn flushes.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.0.borrow_mut();
        if inner.turning {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut inner.stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.0.borrow_mut();
        ready!(inner.poll_drain(cx))?;
        Pin::new(&mut inner.stream).poll_shutdown(cx)
    }
}

// Writes each request's head separately, as browsers do.
//
// h2 gathers all requests since its last poll into one write: the number of requests per segment, and the number of segments
// of the initial window that they take, would depend on the speed of the client's processor. Chromium writes a frame at a
// time (`SpdySession::DoWrite`), each in its own TLS record; without Nagle's algorithm each is then a segment, until the
// congestion window is full. This does the same for frames that carry heads; others go with the frames after them.

/// A client's stream that writes at most one request's head at a time.
pub(crate) struct HeadPerWrite<S> {
    stream: S,
    written: Frames,
}

impl<S> HeadPerWrite<S> {
    /// Writes to `stream`.
    pub(crate) fn new(stream: S) -> HeadPerWrite<S> {
        HeadPerWrite { stream, written: Frames::of_client() }
    }

    /// Number of bytes of `parts` up to the end of the first head.
    fn first_head(&self, parts: &[IoSlice<'_>]) -> usize {
        let mut frames = self.written.clone();
        let mut bytes = 0;
        for part in parts {
            let mut part: &[u8] = part;
            loop {
                let (taken, ended) = frames.step(part);
                part = &part[taken..];
                bytes += taken;
                match ended {
                    Some(frame) if matches!(frame.kind, HEADERS | CONTINUATION) => return bytes,
                    None if taken == 0 => break,
                    _ => {}
                }
            }
        }
        bytes
    }

    fn note(&mut self, parts: &[IoSlice<'_>], mut bytes: usize) {
        for part in parts {
            let taken = bytes.min(part.len());
            self.written.feed(&part[..taken], |_| {});
            bytes -= taken;
        }
    }
}

/// The first `bytes` of `parts`.
fn beginning<'a>(parts: &'a [IoSlice<'_>], mut bytes: usize) -> Vec<IoSlice<'a>> {
    let cut = |part: &'a IoSlice<'_>| {
        let taken = bytes.min(part.len());
        bytes -= taken;
        (taken > 0).then(|| IoSlice::new(&part[..taken]))
    };
    parts.iter().filter_map(cut).collect()
}

impl<S: AsyncRead + Unpin> AsyncRead for HeadPerWrite<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for HeadPerWrite<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(data)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let head = beginning(parts, self.first_head(parts));
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, &head))?;
        self.note(parts, written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        true
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
    use std::future::poll_fn;
    use std::task::Waker;

    use proptest::prelude::*;

    use super::*;
    use crate::h2::frame::{DATA, PREFACE};
    use crate::partial_writer::PartialWriter;

    fn cx() -> Context<'static> {
        Context::from_waker(Waker::noop())
    }

    #[test]
    fn small_frames_of_a_turn_are_one_write() {
        let stream = CoalescedWriter::new(PartialWriter::eager());
        stream.begin();
        for byte in 0..5u8 {
            let mut half = stream.clone();
            let data = vec![byte; 1000];
            let parts = [IoSlice::new(&data[..9]), IoSlice::new(&data[9..])];
            let written = Pin::new(&mut half).poll_write_vectored(&mut cx(), &parts);
            assert!(matches!(written, Poll::Ready(Ok(1000))));
            assert!(Pin::new(&mut half).poll_flush(&mut cx()).is_ready());
        }
        assert!(stream.0.borrow().stream.writes.is_empty());
        assert!(stream.poll_pass_on(&mut cx()).is_ready());
        let sizes: Vec<usize> = stream.0.borrow().stream.writes.iter().map(Vec::len).collect();
        assert_eq!(sizes, [5000]);
    }

    #[test]
    fn before_the_first_turn_nothing_is_kept() {
        let mut stream = CoalescedWriter::new(PartialWriter::eager());
        let written = Pin::new(&mut stream).poll_write(&mut cx(), b"preface");
        assert!(matches!(written, Poll::Ready(Ok(7))));
        assert_eq!(stream.0.borrow().stream.writes, [b"preface"]);
    }

    proptest! {
        #[test]
        fn a_reluctant_stream_gets_every_byte_once_and_in_order(
            sizes in prop::collection::vec(1usize..9_000, 1..20),
            limits in prop::collection::vec(0usize..5_000, 0..60),
        ) {
            let mut stream = CoalescedWriter::new(PartialWriter::taking(limits, usize::MAX));
            stream.begin();
            let mut sent = Vec::new();
            for (index, size) in sizes.iter().enumerate() {
                let data = vec![index as u8; *size];
                let mut left = &data[..];
                while !left.is_empty() {
                    if let Poll::Ready(n) = Pin::new(&mut stream).poll_write(&mut cx(), left) {
                        left = &left[n.unwrap()..];
                    }
                }
                sent.extend_from_slice(&data);
            }
            while stream.poll_pass_on(&mut cx()).is_pending() {}
            prop_assert_eq!(stream.0.borrow().stream.writes.concat(), sent);
        }
    }

    fn frame(kind: u8, length: u8) -> Vec<u8> {
        let mut frame = vec![0, 0, length, kind, 4, 0, 0, 0, 1];
        frame.resize(9 + usize::from(length), 0xee);
        frame
    }

    fn writes(all: &[u8], most: usize) -> Vec<usize> {
        let mut singly = HeadPerWrite::new(PartialWriter::taking(Vec::new(), most));
        let mut left = all;
        while !left.is_empty() {
            // In two parts, like h2's writes of a buffer and borrowed data.
            let (a, b) = left.split_at(left.len() / 2);
            let mut write = Box::pin(poll_fn(|cx| {
                Pin::new(&mut singly).poll_write_vectored(cx, &[IoSlice::new(a), IoSlice::new(b)])
            }));
            let mut cx = Context::from_waker(std::task::Waker::noop());
            let Poll::Ready(Ok(taken)) = write.as_mut().poll(&mut cx) else {
                panic!("it never waits")
            };
            drop(write);
            left = &left[taken..];
        }
        assert_eq!(singly.stream.writes.concat(), all);
        singly.stream.writes.iter().map(Vec::len).collect()
    }

    #[test]
    fn each_head_goes_alone_and_the_rest_with_what_follows() {
        let settings = frame(4, 18);
        let heads = [frame(HEADERS, 40), frame(HEADERS, 0), frame(DATA, 100), frame(HEADERS, 7)];
        let all = [PREFACE.to_vec(), settings, heads.concat(), frame(DATA, 30)].concat();
        assert_eq!(writes(&all, usize::MAX), [24 + 27 + 49, 9, 109 + 16, 39]);
    }

    #[test]
    fn a_stream_that_takes_little_gets_the_same_bytes() {
        let all = [PREFACE.to_vec(), frame(HEADERS, 40), frame(HEADERS, 33)].concat();
        assert_eq!(writes(&all, 30), [30, 30, 13, 30, 12]);
    }
}
