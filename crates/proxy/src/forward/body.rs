//! Bodies and tunnels on their way, with the request's note.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_stack::server::{Body, BodyError, Duplex, RequestBody};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::caching::Filling;
use crate::journal::{Note, Outcome};
use crate::upstream::ResponseBody;

/// A response's body on its way to the client.
pub(super) struct Passing {
    body: ResponseBody,
    note: Note,
    filling: Filling,
    received: Rc<Cell<u64>>,
}

impl Passing {
    /// `received` counts the request's body.
    pub(super) fn new(
        body: ResponseBody,
        note: Note,
        filling: Filling,
        received: Rc<Cell<u64>>,
    ) -> Passing {
        let mut passing = Passing { body, note, filling, received };
        passing.finish();
        passing
    }

    /// Notes the end, if it is reached.
    fn finish(&mut self) {
        if self.body.is_ended() && self.note.entry.outcome == Outcome::Abandoned {
            self.filling.finish();
            let now = Some(world::now());
            self.note.entry.outcome = Outcome::Passed;
            (self.note.entry.times.origin_last, self.note.entry.times.client_last) = (now, now);
        }
    }
}

impl Body for Passing {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let next = self.body.poll_next(cx);
        match &next {
            Poll::Pending => {}
            Poll::Ready(Some(Err(error))) => {
                self.note.entry.outcome = Outcome::Failed(kind(error));
                self.filling = Filling::nothing();
            }
            Poll::Ready(Some(Ok(piece))) => {
                self.note.entry.sent_bytes += piece.len() as u64;
                self.filling.add(piece);
                self.finish();
            }
            Poll::Ready(None) => self.finish(),
        }
        next
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        self.note.entry.received_bytes = self.received.get();
    }
}

/// Error type of RFC 9209 section 2.3.
fn kind(error: &BodyError) -> &'static str {
    match error {
        BodyError::Stalled => "connection_read_timeout",
        BodyError::Broken(_) | BodyError::GivenUp(_) => "http_response_incomplete",
        BodyError::Malformed(_) => "http_protocol_error",
    }
}

/// A request's body that counts its bytes.
pub(super) struct Counted {
    pub(super) body: RequestBody,
    pub(super) received: Rc<Cell<u64>>,
}

impl Body for Counted {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let next = self.body.poll_next(cx);
        if let Poll::Ready(Some(Ok(piece))) = &next {
            self.received.set(self.received.get() + piece.len() as u64);
        }
        next
    }
}

/// A tunnel that counts its bytes.
pub(super) struct CountedTunnel<T> {
    pub(super) tunnel: T,
    pub(super) note: Note,
}

impl<T> Drop for CountedTunnel<T> {
    fn drop(&mut self) {
        self.note.entry.times.client_last = Some(world::now());
    }
}

impl<T: Duplex> AsyncRead for CountedTunnel<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.tunnel).poll_read(cx, buf);
        self.note.entry.sent_bytes += (buf.filled().len() - before) as u64;
        read
    }
}

impl<T> CountedTunnel<T> {
    fn received(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &written {
            self.note.entry.received_bytes += *bytes as u64;
        }
        written
    }
}

impl<T: Duplex> AsyncWrite for CountedTunnel<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tunnel).poll_write(cx, data);
        self.received(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tunnel).poll_write_vectored(cx, parts);
        self.received(written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tunnel).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tunnel).poll_shutdown(cx)
    }
}
