//! The far end of a tunnel.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_stack::wheel::Timer;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use world::TcpStream;

/// A connection through which bytes pass unread. It ends when nothing has passed for long, in either direction.
pub struct Tunnel {
    tcp: TcpStream,
    timer: Timer,
    idle_timeout: Duration,
}

impl Tunnel {
    pub(super) fn new(tcp: TcpStream, timer: Timer, idle_timeout: Duration) -> Tunnel {
        timer.set(idle_timeout);
        Tunnel { tcp, timer, idle_timeout }
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
        let read = Pin::new(&mut self.tcp).poll_read(cx, buf);
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
        let written = Pin::new(&mut self.tcp).poll_write(cx, data);
        self.passed(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write_vectored(cx, parts);
        self.passed(written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}
