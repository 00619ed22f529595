//! Gathers a server's small frames into full segments.
//!
//! h2 writes each DATA frame by itself, and with Nagle's algorithm off each write ends in a segment of its own, full or not.
//! Servers gather the output of one turn of their loop into one write (H2O's and nghttp2's output buffers); so does this:
//! writes are kept until they fill a TLS record or until the turn ends, when [`Gathered::poll_pass_on`] passes them on.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The amount gathered: the plaintext of one TLS record (RFC 8446 section 5.1).
const FULL_BYTES: usize = 16_384;

/// A stream whose writes are gathered. Clones share the stream: one for h2, one for the owner of the loop, which knows
/// when a turn ends.
pub(super) struct Gathered<S>(Rc<RefCell<Inner<S>>>);

struct Inner<S> {
    stream: S,
    /// Without memory while it is empty: most connections are idle most of the time.
    gathered: BytesMut,
    /// Off until the connection's loop runs: before that no turn ends.
    turning: bool,
}

impl<S> Clone for Gathered<S> {
    fn clone(&self) -> Gathered<S> {
        Gathered(Rc::clone(&self.0))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Gathered<S> {
    /// Passes writes through until [`Gathered::begin`].
    pub(super) fn new(stream: S) -> Gathered<S> {
        Gathered(Rc::new(RefCell::new(Inner { stream, gathered: BytesMut::new(), turning: false })))
    }

    /// Starts gathering; the caller must call [`Gathered::poll_pass_on`] at the end of each turn.
    pub(super) fn begin(&self) {
        self.0.borrow_mut().turning = true;
    }

    /// Number of bytes that wait for the turn's end or the stream.
    pub(super) fn gathered_bytes(&self) -> usize {
        self.0.borrow().gathered.len()
    }

    /// Ends the turn: gathered bytes go to the stream. Ready when it has accepted all of them.
    pub(super) fn poll_pass_on(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.0.borrow_mut();
        ready!(inner.poll_drain(cx))?;
        Pin::new(&mut inner.stream).poll_flush(cx)
    }
}

impl<S: AsyncWrite + Unpin> Inner<S> {
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

impl<S: AsyncRead + Unpin> AsyncRead for Gathered<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.borrow_mut().stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gathered<S> {
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

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use proptest::prelude::*;

    use super::*;
    use crate::reluctant::Reluctant;

    fn cx() -> Context<'static> {
        Context::from_waker(Waker::noop())
    }

    #[test]
    fn small_frames_of_a_turn_are_one_write() {
        let stream = Gathered::new(Reluctant::eager());
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
        let mut stream = Gathered::new(Reluctant::eager());
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
            let mut stream = Gathered::new(Reluctant::taking(limits, usize::MAX));
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
}
