//! Streamed bodies: of requests to handlers, of responses to the session.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use ::spdy::{ResetReason, Session, StreamId};
use bytes::Bytes;

use crate::server::{BodyError, Demand, Feed, Source, Up};

/// Limit of one response's bytes in the session: more would not improve reordering.
const QUEUED_BYTES: usize = 64 << 10;

/// A request's body read by a handler.
struct Upload {
    feed: Feed,
    /// Bytes not consumed by the reader: the window shrinks by as many.
    untaken: usize,
    has_ended: bool,
}

/// A response's body produced by a handler.
struct Download {
    source: Source,
    is_tunnel: bool,
    /// True if the session has sent everything available.
    is_waiting: bool,
}

type Carried = Pin<Box<dyn Future<Output = Result<(), BodyError>>>>;

/// The streamed bodies of one connection.
#[derive(Default)]
pub(super) struct Bodies {
    uploads: BTreeMap<StreamId, Upload>,
    downloads: BTreeMap<StreamId, Download>,
    /// Clients' data in tunnels.
    carried: Vec<(StreamId, Carried)>,
    /// Bytes handed to the session.
    given: u64,
}

impl Bodies {
    /// Directs the data received on `stream` to `feed`.
    pub(super) fn receive(&mut self, stream: StreamId, feed: Feed) {
        self.uploads.insert(stream, Upload { feed, untaken: 0, has_ended: false });
    }

    /// Directs the data of `source` to `stream`.
    pub(super) fn send(&mut self, stream: StreamId, source: Source) {
        self.downloads.insert(stream, Download { source, is_tunnel: false, is_waiting: false });
    }

    /// The same for both directions of a tunnel.
    pub(super) fn join(&mut self, stream: StreamId, source: Source, up: Up) {
        self.downloads.insert(stream, Download { source, is_tunnel: true, is_waiting: false });
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
        *self = Bodies::default();
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

impl Upload {
    /// Extends the client's window by the bytes consumed; returns false at the end.
    fn poll(&mut self, stream: StreamId, session: &mut Session, cx: &Context<'_>) -> bool {
        // Whatever the demand, the task is woken on its change.
        let _: Demand = self.feed.demand(cx);
        let taken = self.feed.taken();
        if taken > 0 {
            session.consume(stream, taken);
            self.untaken -= taken;
        }
        !self.has_ended || self.untaken > 0
    }
}

impl Download {
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
