//! Joins two streams: what comes from one goes to the other, until both have ended.
//!
//! An end of one direction is passed on and leaves the other open (RFC 9110 section 9.3.6 lets a tunnel end then; TLS and
//! SSH within it may still have something to say). No buffer is held while nothing moves.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite};

use crate::h1::Buffer;

/// Where buffers come from and go to.
pub(crate) trait Buffers {
    /// An empty one.
    fn lend(&self) -> Buffer;
    /// Takes back an empty one.
    fn take_back(&self, buffer: Buffer);
}

/// One direction.
#[derive(Debug, Default)]
pub(crate) struct Way {
    /// Bytes on their way.
    carried: Option<Buffer>,
    is_unflushed: bool,
    has_ended: bool,
    is_done: bool,
}

impl Way {
    /// A direction in which `carried` is already on its way.
    pub(crate) fn carrying(carried: Option<Buffer>) -> Way {
        Way { carried, ..Way::default() }
    }

    /// Whether nothing more comes.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Moves what can be moved; ready when the end was passed on. `moved` is set if anything was.
    pub(crate) fn poll(
        &mut self,
        mut from: Pin<&mut (impl AsyncRead + ?Sized)>,
        mut to: Pin<&mut (impl AsyncWrite + ?Sized)>,
        buffers: &impl Buffers,
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
