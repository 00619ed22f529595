//! The far end of a tunnel.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_stack::wheel::Timer;
use tls::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::pool::Lease;

/// A connection through which bytes pass unread. It ends when nothing has passed for too long, in either direction.
pub struct Tunnel {
    stream: Stream,
    timer: Timer,
    idle_timeout: Duration,
    /// The lease on the connection's place among those to its origin, if it has one; released at the end.
    _lease: Option<Lease>,
}

impl Tunnel {
    pub(super) fn new(stream: Stream, timer: Timer, idle_timeout: Duration) -> Tunnel {
        timer.set(idle_timeout);
        Tunnel { stream, timer, idle_timeout, _lease: None }
    }

    /// The same tunnel, which keeps its place among the connections to its origin.
    pub(super) fn keeping(self, lease: Lease) -> Tunnel {
        Tunnel { _lease: Some(lease), ..self }
    }

    fn passed<T>(&self, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.timer.set(self.idle_timeout);
        }
        done
    }
}

impl AsyncRead for Tunnel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        match self.passed(read) {
            Poll::Pending => {
                self.timer.poll_expired(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
            }
            ready => ready,
        }
    }
}

impl AsyncWrite for Tunnel {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, data);
        self.passed(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.passed(written)
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
