//! HTTP/1.0 and HTTP/1.1 (RFC 9112): a sans-IO [`codec`], a [`client`], a [`pipeline`] and a [`server`].
//!
//! Left out: protocol upgrades, transfer codings other than `chunked`, and trailers, which are checked and discarded
//! (RFC 9110 section 6.5.1 allows it).

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

pub mod client;
pub mod codec;
pub mod pipeline;
pub mod server;

/// A buffer filled at its back and consumed at its front. Its memory is initialised once.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Buffer {
    /// A buffer with room for `bytes`.
    pub(crate) fn new(bytes: usize) -> Buffer {
        Buffer { bytes: vec![0; bytes], start: 0, end: 0 }
    }

    /// The unread bytes.
    pub(crate) fn filled(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// The unread bytes.
    pub(crate) fn filled_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.end]
    }

    /// Returns true if it holds no bytes.
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Drops `bytes` from the front.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        debug_assert!(self.start <= self.end, "no more is used than is there");
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Reads once from `stream` and appends; returns the number of bytes, 0 at the stream's end. A full buffer doubles:
    /// the decoder's limits bound its size.
    pub(crate) fn poll_fill<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
    ) -> Poll<std::io::Result<usize>> {
        self.make_room();
        let mut space = ReadBuf::new(&mut self.bytes[self.end..]);
        ready!(Pin::new(stream).poll_read(cx, &mut space))?;
        let read = space.filled().len();
        self.end += read;
        Poll::Ready(Ok(read))
    }

    /// Makes half the buffer free after the unread bytes, by moving them or (if they fill the buffer) doubling the buffer.
    fn make_room(&mut self) {
        let (size, filled) = (self.bytes.len(), self.end - self.start);
        if self.start > 0 && size - self.end < size / 2 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, filled);
        }
        if self.end == size {
            self.bytes.resize((2 * size).max(1024), 0);
        }
    }
}
