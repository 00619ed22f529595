//! Streamed bodies: of requests to handlers, of responses to the session.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use spdy::{PushedHead, ResetReason, Session, StreamId};

use super::{SpdyResponder, SpdyServer, StreamOrigin};
use crate::server::{BodyError, CheckedBody, Feed, FeedDemand, Up};
use crate::{Answer, Handler, Precedence, Push, Reply, RequestHead, Transport};

/// Limit of one response's bytes in the session: more would not improve reordering.
const QUEUED_BYTES: usize = 64 << 10;

/// A request's body read by a handler.
struct SpdyUpload {
    feed: Feed,
    /// Bytes not consumed by the reader: the window shrinks by as many.
    untaken: usize,
    has_ended: bool,
}

/// A response's body produced by a handler.
struct SpdyDownload {
    source: CheckedBody,
    is_tunnel: bool,
    /// True if the session has sent everything available.
    is_waiting: bool,
}

type TunnelFuture = Pin<Box<dyn Future<Output = Result<(), BodyError>>>>;

/// The streamed bodies of one connection.
#[derive(Default)]
pub(super) struct SpdyBodies {
    uploads: BTreeMap<StreamId, SpdyUpload>,
    downloads: BTreeMap<StreamId, SpdyDownload>,
    /// Clients' data in tunnels.
    carried: Vec<(StreamId, TunnelFuture)>,
    /// Bytes handed to the session.
    given: u64,
}

impl SpdyBodies {
    /// Directs the data received on `stream` to `feed`.
    pub(super) fn receive(&mut self, stream: StreamId, feed: Feed) {
        self.uploads.insert(stream, SpdyUpload { feed, untaken: 0, has_ended: false });
    }

    /// Directs the data of `source` to `stream`.
    pub(super) fn send(&mut self, stream: StreamId, source: CheckedBody) {
        self.downloads.insert(stream, SpdyDownload { source, is_tunnel: false, is_waiting: false });
    }

    /// The same for both directions of a tunnel.
    pub(super) fn join(&mut self, stream: StreamId, source: CheckedBody, up: Up) {
        self.downloads.insert(stream, SpdyDownload { source, is_tunnel: true, is_waiting: false });
        self.carried.push((stream, Box::pin(up.carry())));
    }

    /// Hands a piece to its reader; returns it if there is none.
    pub(super) fn push(&mut self, stream: StreamId, piece: Bytes) -> Result<(), Bytes> {
        let Some(upload) = self.uploads.get_mut(&stream) else { return Err(piece) };
        upload.untaken += piece.len();
        upload.feed.push(piece);
        Ok(())
    }

    /// Ends the data received on `stream`.
    pub(super) fn end(&mut self, stream: StreamId, end: Result<(), BodyError>) {
        if let Some(upload) = self.uploads.get_mut(&stream) {
            upload.feed.end(end);
            upload.has_ended = true;
        }
    }

    /// Handles the client's reset of `stream`.
    pub(super) fn give_up(&mut self, stream: StreamId) {
        self.end(stream, Err(BodyError::GivenUp("the client has reset the stream".to_owned())));
        self.downloads.remove(&stream);
    }

    /// Drops all of them.
    pub(super) fn clear(&mut self) {
        *self = SpdyBodies::default();
    }

    /// Bytes of streamed responses that have been handed to the session, including those that it dropped.
    pub(super) fn given(&self) -> u64 {
        self.given
    }

    /// Returns true if a response other than a tunnel's waits for its handler.
    pub(super) fn waits_for_handlers(&self) -> bool {
        self.downloads.values().any(|download| download.is_waiting && !download.is_tunnel)
    }

    /// Returns true if there are tunnels.
    pub(super) fn has_tunnels(&self) -> bool {
        !self.carried.is_empty()
    }

    /// Moves as much as possible; returns true if the session has got more to send.
    pub(super) fn poll(&mut self, session: &mut Session, cx: &mut Context<'_>) -> bool {
        self.carried.retain_mut(|(stream, carried)| match carried.as_mut().poll(cx) {
            Poll::Pending => true,
            Poll::Ready(Ok(())) => false,
            Poll::Ready(Err(_)) => {
                self.downloads.remove(stream);
                session.reset(*stream, ResetReason::INTERNAL_ERROR);
                false
            }
        });
        self.uploads.retain(|stream, upload| upload.poll(*stream, session, cx));
        let (given, mut moved) = (&mut self.given, false);
        self.downloads.retain(|stream, download| {
            let before = *given;
            let goes_on = download.poll(*stream, session, given, cx);
            moved |= *given != before || !goes_on;
            goes_on
        });
        moved
    }
}

impl SpdyUpload {
    /// Extends the client's window by the bytes consumed; returns false at the end.
    fn poll(&mut self, stream: StreamId, session: &mut Session, cx: &Context<'_>) -> bool {
        // Whatever the demand, the task is woken on its change.
        let _: FeedDemand = self.feed.demand(cx);
        let taken = self.feed.taken();
        if taken > 0 {
            session.consume(stream, taken);
            self.untaken -= taken;
        }
        !self.has_ended || self.untaken > 0
    }
}

impl SpdyDownload {
    /// Hands the session what is available; returns false at the end.
    fn poll(
        &mut self,
        stream: StreamId,
        session: &mut Session,
        given: &mut u64,
        cx: &mut Context<'_>,
    ) -> bool {
        self.is_waiting = false;
        loop {
            match session.waiting(stream) {
                None => return false,
                Some(QUEUED_BYTES..) => return true,
                Some(queued) => self.is_waiting = queued == 0,
            }
            let sent = match self.source.poll_next(cx) {
                Poll::Pending => return true,
                Poll::Ready(Ok(Some(piece))) => {
                    *given += piece.len() as u64;
                    session.send(stream, piece, self.source.has_ended())
                }
                Poll::Ready(Ok(None)) => session.send(stream, Bytes::new(), true),
                Poll::Ready(Err(_)) => {
                    // Reset, so that it never ends cleanly.
                    session.reset(stream, ResetReason::INTERNAL_ERROR);
                    return false;
                }
            };
            if sent.is_err() || self.source.has_ended() {
                return false;
            }
        }
    }
}

// Server push (3.3.1).

/// A pushed stream that has been promised.
pub(super) struct PromisedPush {
    stream: StreamId,
    path: String,
    /// The answer, if the promise waited for it.
    answer: Option<Answer>,
}

impl<S: Transport, H: Handler> SpdyServer<S, H> {
    /// Promises the responses that the handler pushes with the answer to `request` on `stream`, as far as the client accepts them.
    pub(super) fn promise(
        &mut self,
        stream: StreamId,
        request: RequestHead<'_>,
    ) -> Vec<PromisedPush> {
        let mut promised = Vec::new();
        for Push { path, priority } in self.handler.pushes(request) {
            let answer = match self.session.config().pushed_head {
                PushedHead::Apart => None,
                PushedHead::Joined => Some(self.handler.handle(request.promised(&path))),
            };
            let (version, scheme, host) =
                (self.session.version(), request.scheme, request.authority);
            let fields = match &answer {
                Some(Answer::Ready(reply)) => {
                    crate::spdy::of_answered_promise(version, scheme, host, &path, reply)
                }
                _ => crate::spdy::of_promise(version, scheme, host, &path),
            };
            let priority = ::spdy::Priority::new(Precedence::from(priority).spdy);
            // A client that accepts no (more) pushed streams refuses the others too.
            let Ok(opened) = self.session.push(stream, &fields, priority) else { break };
            promised.push(PromisedPush { stream: opened.stream, path, answer });
        }
        promised
    }

    /// Answers the promise made with `request`.
    pub(super) fn keep(&mut self, promised: PromisedPush, request: RequestHead<'_>) {
        let PromisedPush { stream, path, answer } = promised;
        let exchange =
            SpdyResponder { stream, head_only: false, origin: StreamOrigin::Pushed, tunnel: None };
        match answer {
            Some(Answer::Ready(reply)) => self.complete(stream, reply),
            Some(later) => self.work(exchange, later),
            None => {
                let answer = self.handler.handle(request.promised(&path));
                self.work(exchange, answer);
            }
        }
    }

    /// Sends the rest of `reply`, whose head has gone.
    fn complete(&mut self, stream: StreamId, reply: Reply) {
        let body = if reply.head.is_bodiless() { Default::default() } else { reply.body };
        self.answered += body.len() as u64;
        // A client that has reset the stream misses nothing.
        let _ = self.session.send(stream, body, true);
    }
}
