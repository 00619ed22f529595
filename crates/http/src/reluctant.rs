//! A stream for tests that takes what is written to it a little at a time, and has nothing to read.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Keeps each write apart.
pub(crate) struct Reluctant {
    /// The most bytes that it takes of each write to come, the last first. With 0 it is not ready.
    limits: Vec<usize>,
    /// The most that it takes of each after those.
    then: usize,
    /// What it has taken.
    pub(crate) writes: Vec<Vec<u8>>,
}

impl Reluctant {
    /// Takes as many bytes a write as `limits` say, from the last to the first, and `then` as many of each other.
    pub(crate) fn taking(limits: Vec<usize>, then: usize) -> Reluctant {
        Reluctant { limits, then, writes: Vec::new() }
    }

    /// Takes everything.
    pub(crate) fn eager() -> Reluctant {
        Reluctant::taking(Vec::new(), usize::MAX)
    }
}

impl AsyncRead for Reluctant {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

impl AsyncWrite for Reluctant {
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
