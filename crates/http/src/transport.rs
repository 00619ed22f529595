//! The transport below HTTP, and the relay that joins two of them.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tls::Stream;
use tokio::io::{AsyncRead, AsyncWrite};
use world::TcpStream;
use world::sim::HeldNotes;

use crate::h1::Buffer;
use crate::timer_wheel::Timer;

/// A stream below HTTP.
pub trait Transport: AsyncRead + AsyncWrite + Unpin {
    /// Receiver of notes on the bytes that HTTP has ready and has not handed down; `None` if they are unwanted.
    fn held(&self) -> Option<HeldNotes>;

    /// The address of the other end, if it has one.
    fn peer(&self) -> Option<SocketAddr> {
        None
    }

    /// Makes the stream end with an error, not cleanly, when it is dropped.
    fn abort(&mut self) {}

    /// Returns true if the stream is confidential.
    fn is_secure(&self) -> bool {
        false
    }
}

impl Transport for TcpStream {
    fn held(&self) -> Option<HeldNotes> {
        TcpStream::held(self)
    }

    fn peer(&self) -> Option<SocketAddr> {
        self.peer_addr().ok()
    }

    fn abort(&mut self) {
        self.abort_on_drop();
    }
}

impl Transport for Stream {
    fn held(&self) -> Option<HeldNotes> {
        self.tcp()?.held()
    }

    fn peer(&self) -> Option<SocketAddr> {
        Stream::peer(self)
    }

    fn abort(&mut self) {
        // In a tunnel TLS ends without close_notify, which its client recognises as an early end.
        if let Some(tcp) = self.tcp() {
            tcp.abort_on_drop();
        }
    }

    fn is_secure(&self) -> bool {
        Stream::is_secure(self)
    }
}

// Joins two streams: copies each to the other, until both have ended.
//
// A half-close is passed on and leaves the other direction open (RFC 9110 section 9.3.6 lets a tunnel end then; TLS
// and SSH within it may still send). No buffer is held while nothing moves.

/// A pool of buffers.
pub(crate) trait BufferPool {
    /// Lends an empty buffer.
    fn lend(&self) -> Buffer;
    /// Takes back an empty buffer.
    fn take_back(&self, buffer: Buffer);
}

/// Idle timeouts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RelayTimeout {
    /// While both directions are open.
    pub(crate) open: Duration,
    /// When one has ended.
    pub(crate) half_closed: Duration,
}

/// The end of two joined streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RelayEnd {
    /// Both have ended.
    Ended,
    /// Nothing passed for too long.
    Stalled,
}

/// Joins two streams until they end; bytes already `carried` go from the first to the second before anything else.
///
/// # Errors
/// If one of them fails.
pub(crate) async fn join<N, F>(
    (near, far): (&mut N, &mut F),
    carried: Option<Buffer>,
    buffers: &impl BufferPool,
    timer: &Timer,
    patience: RelayTimeout,
) -> io::Result<RelayEnd>
where
    N: AsyncRead + AsyncWrite + Unpin,
    F: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    let (mut up, mut down) = (RelayDirection::carrying(carried), RelayDirection::default());
    timer.set(patience.open);
    poll_fn(|cx| {
        let mut moved = false;
        let upward = up.poll(Pin::new(&mut *near), Pin::new(&mut *far), buffers, &mut moved, cx);
        let downward =
            down.poll(Pin::new(&mut *far), Pin::new(&mut *near), buffers, &mut moved, cx);
        match (upward, downward) {
            (Poll::Ready(Err(error)), _) | (_, Poll::Ready(Err(error))) => {
                return Poll::Ready(Err(error));
            }
            (Poll::Ready(Ok(())), Poll::Ready(Ok(()))) => return Poll::Ready(Ok(RelayEnd::Ended)),
            _ => {}
        }
        if moved {
            let is_half_closed = up.has_ended || down.has_ended;
            timer.set(if is_half_closed { patience.half_closed } else { patience.open });
        }
        timer.poll_expired(cx).map(|()| Ok(RelayEnd::Stalled))
    })
    .await
}

/// One direction.
#[derive(Debug, Default)]
struct RelayDirection {
    /// Bytes being moved.
    carried: Option<Buffer>,
    is_unflushed: bool,
    has_ended: bool,
    is_done: bool,
}

impl RelayDirection {
    /// A direction that already holds `carried`.
    fn carrying(carried: Option<Buffer>) -> RelayDirection {
        RelayDirection { carried, ..RelayDirection::default() }
    }

    /// Moves as much as possible; ready when the end has been passed on. `moved` is set if anything was moved.
    fn poll(
        &mut self,
        mut from: Pin<&mut (impl AsyncRead + ?Sized)>,
        mut to: Pin<&mut (impl AsyncWrite + ?Sized)>,
        buffers: &impl BufferPool,
        moved: &mut bool,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while !self.is_done {
            while let Some(mut buffer) = self.carried.take() {
                if buffer.is_empty() {
                    buffers.take_back(buffer);
                    break;
                }
                let written = to.as_mut().poll_write(cx, buffer.filled());
                if let Poll::Ready(Ok(bytes)) = written {
                    buffer.consume(bytes);
                    *moved = true;
                    self.is_unflushed = true;
                }
                self.carried = Some(buffer);
                if ready!(written)? == 0 {
                    return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                }
            }
            if self.is_unflushed {
                ready!(to.as_mut().poll_flush(cx))?;
                self.is_unflushed = false;
            }
            if self.has_ended {
                ready!(to.as_mut().poll_shutdown(cx))?;
                self.is_done = true;
                break;
            }
            let mut buffer = buffers.lend();
            let read = buffer.poll_fill(&mut from, cx);
            if buffer.is_empty() {
                buffers.take_back(buffer);
            } else {
                self.carried = Some(buffer);
            }
            self.has_ended = ready!(read)? == 0;
            *moved = true;
        }
        Poll::Ready(Ok(()))
    }
}
