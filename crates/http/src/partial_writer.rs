//! A test stream that accepts writes a little at a time, and has nothing to read.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Records each write separately.
pub(crate) struct PartialWriter {
    /// The most bytes accepted of each upcoming write, the last first. With 0 it is not ready.
    limits: Vec<usize>,
    /// The most accepted of each write after those.
    then: usize,
    /// The bytes accepted.
    pub(crate) writes: Vec<Vec<u8>>,
}

impl PartialWriter {
    /// Accepts as many bytes per write as `limits` say, from the last to the first, and then `then` per write.
    pub(crate) fn taking(limits: Vec<usize>, then: usize) -> PartialWriter {
        PartialWriter { limits, then, writes: Vec::new() }
    }

    /// Accepts everything.
    pub(crate) fn eager() -> PartialWriter {
        PartialWriter::taking(Vec::new(), usize::MAX)
    }
}

impl AsyncRead for PartialWriter {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

impl AsyncWrite for PartialWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let taken = self.limits.pop().unwrap_or(self.then).min(data.len());
        if taken == 0 {
            return Poll::Pending;
        }
        self.writes.push(data[..taken].to_vec());
        Poll::Ready(Ok(taken))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let all: Vec<u8> = parts.iter().flat_map(|part| part.to_vec()).collect();
        self.poll_write(cx, &all)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
