//! Messages in transit: bodies and tunnels with the request's note, and interim responses (RFC 9110 section 15.2) ahead of an answer.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, ready};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_stack::server::{Body, BodyError, Duplex, Later, RequestBody};
use http_stack::{Answer, Response};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use units::Time;

use super::outgoing::OutgoingBody;
use crate::caching::CacheFill;
use crate::journal::{RequestNote, RequestOutcome};
use crate::observation::Observed;

/// A response's body on its way to the client.
pub(super) struct RelayedBody {
    body: OutgoingBody,
    note: RequestNote,
    filling: CacheFill,
    ends: BodyEnds,
}

/// Listeners to a response's body, beside its note.
#[derive(Default)]
pub(super) struct BodyEnds {
    /// Counter of the request's body.
    pub(super) received: Rc<Cell<u64>>,
    /// Observer of the exchange.
    pub(super) observed: Observed,
    /// Unix time at which the world's clock started.
    pub(super) start: Duration,
}

impl BodyEnds {
    fn observe_end(&self, problem: Option<&BodyError>) {
        let at = self.start + world::now().since(Time::ZERO);
        let problem = problem.map(ToString::to_string);
        self.observed.tell(|exchange| exchange.end(at, problem.as_deref()));
    }
}

impl RelayedBody {
    /// A body of which `ends` is told.
    pub(super) fn new(
        body: OutgoingBody,
        note: RequestNote,
        filling: CacheFill,
        ends: BodyEnds,
    ) -> RelayedBody {
        let mut passing = RelayedBody { body, note, filling, ends };
        passing.finish();
        passing
    }

    /// Notes the end, if it is reached.
    fn finish(&mut self) {
        if self.body.is_ended() && self.note.entry.outcome == RequestOutcome::Abandoned {
            self.filling.finish();
            self.ends.observe_end(None);
            let now = Some(world::now());
            self.note.entry.outcome = RequestOutcome::Passed;
            (self.note.entry.times.origin_last, self.note.entry.times.client_last) = (now, now);
        }
    }
}

impl Body for RelayedBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let next = self.body.poll_next(cx);
        match &next {
            Poll::Pending => {}
            Poll::Ready(Some(Err(error))) => {
                self.note.entry.outcome = RequestOutcome::Failed(kind(error));
                self.filling = CacheFill::nothing();
                self.ends.observe_end(Some(error));
            }
            Poll::Ready(Some(Ok(piece))) => {
                self.note.entry.sent_bytes += piece.len() as u64;
                self.filling.add(piece);
                self.ends.observed.tell(|exchange| exchange.response_piece(piece));
                self.finish();
            }
            Poll::Ready(None) => self.finish(),
        }
        next
    }
}

impl Drop for RelayedBody {
    fn drop(&mut self) {
        self.note.entry.received_bytes = self.ends.received.get();
        self.note.entry.uncompressed_bytes = self.body.unchanged_bytes();
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
pub(super) struct CountedBody {
    pub(super) body: RequestBody,
    pub(super) received: Rc<Cell<u64>>,
}

impl Body for CountedBody {
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
    pub(super) note: RequestNote,
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

/// Maximum number forwarded; more are useless.
const MOST: u32 = 100;

/// Interim responses from an origin. Clones share the same queue.
#[derive(Clone, Default)]
pub(super) struct Interims(Rc<InterimQueue>);

#[derive(Default)]
struct InterimQueue {
    count: Cell<u32>,
    waiting: RefCell<VecDeque<http::Response<()>>>,
}

impl fmt::Debug for Interims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interims").field("count", &self.0.count.get()).finish_non_exhaustive()
    }
}

impl Interims {
    /// Queues one for the client.
    pub(super) fn put(&self, head: http::Response<()>) {
        let InterimQueue { count, waiting } = &*self.0;
        if count.get() < MOST {
            count.set(count.get() + 1);
            waiting.borrow_mut().push_back(head);
        }
    }

    fn take(&self) -> Option<http::Response<()>> {
        self.0.waiting.borrow_mut().pop_front()
    }

    /// The answer of `work`, preceded by the interim responses that arrive meanwhile.
    pub(super) fn before(self, work: impl Future<Output = Response> + 'static) -> Answer {
        Answer::Later(Box::pin(Relay { interims: self, work: Some(Box::pin(work)) }))
    }
}

/// An answer under way, and the interim responses before it.
struct Relay {
    interims: Interims,
    /// `None` once the answer is given.
    work: Option<Later>,
}

impl Future for Relay {
    type Output = Response;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Response> {
        let mut work = self.work.take().expect("an answer is given once");
        let made = work.as_mut().poll(cx);
        let Some(head) = self.interims.take() else {
            if made.is_pending() {
                self.work = Some(work);
            }
            return made;
        };
        let work = match made {
            Poll::Pending => work,
            Poll::Ready(response) => Box::pin(ready(response)),
        };
        let then = Box::pin(Relay { interims: self.interims.clone(), work: Some(work) });
        Poll::Ready(Response::Interim { head, then })
    }
}
