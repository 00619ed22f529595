//! Pipelining: a client's connection that sends requests without waiting for responses (RFC 9112 section 9.3.2).
//!
//! Requests leave in the order of the calls; the server answers in that order. So a slow response delays all those
//! behind it, however small they are: head-of-line blocking. Any failure of the connection - a close, an error, bytes
//! that are not HTTP - leaves all later requests unanswered ([`RequestError::Unanswered`]): they may be sent again
//! elsewhere, for the caller pipelines only requests without side effects.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::Request;

use super::client::Settings;
use super::client::{ClientWire, RequestOutput, ResponseInput};
use crate::{Priority, Progress, RequestError, Transport};

/// A connection to a server, over plain TCP or TLS. Clones share the connection.
#[derive(Debug)]
pub struct Pipeline<S: Transport>(Rc<RefCell<PipelineState<S>>>);

impl<S: Transport> Clone for Pipeline<S> {
    fn clone(&self) -> Self {
        Pipeline(Rc::clone(&self.0))
    }
}

#[derive(Debug)]
struct PipelineState<S> {
    wire: ClientWire<S>,
    /// Number of requests that have joined.
    joined: u64,
    sending: TurnQueue,
    receiving: TurnQueue,
    /// The server will answer no further request, or the connection is unusable.
    closed: bool,
}

/// The turns of requests, in the order of joining.
#[derive(Debug, Default)]
struct TurnQueue {
    turn: u64,
    waiting: BTreeMap<u64, Waker>,
}

impl TurnQueue {
    fn poll_turn(&mut self, cx: &mut Context<'_>, place: u64) -> Poll<()> {
        if self.turn == place {
            return Poll::Ready(());
        }
        self.waiting.insert(place, cx.waker().clone());
        Poll::Pending
    }

    fn pass_on(&mut self) {
        self.turn += 1;
        if let Some(next) = self.waiting.remove(&self.turn) {
            next.wake();
        }
    }

    fn wake_all(&mut self) {
        while let Some((_, waker)) = self.waiting.pop_first() {
            waker.wake();
        }
    }
}

impl<S: Transport> Pipeline<S> {
    /// Wraps a stream on which nothing has been sent.
    pub fn new(stream: S, settings: Settings) -> Pipeline<S> {
        Pipeline(Rc::new(RefCell::new(PipelineState {
            wire: ClientWire::new(stream, settings),
            joined: 0,
            sending: TurnQueue::default(),
            receiving: TurnQueue::default(),
            closed: false,
        })))
    }

    /// Applies `act` to the stream below.
    pub(crate) fn with_stream<T>(&self, act: impl FnOnce(&S) -> T) -> T {
        act(&self.0.borrow().wire.stream)
    }

    /// Returns true if another request may be sent: the server has neither closed the connection nor announced that it will.
    pub fn is_usable(&self) -> bool {
        let mut shared = self.0.borrow_mut();
        let is_idle = shared.receiving.turn == shared.joined;
        if is_idle && !shared.closed {
            // No request is reading: only the end of the stream, or unsolicited bytes, can be there.
            let mut cx = Context::from_waker(Waker::noop());
            shared.closed =
                !shared.wire.input.is_empty() || shared.wire.poll_fill(&mut cx).is_ready();
        }
        !shared.closed
    }

    /// Sends `request` after all earlier ones, and reports its response to `progress` when its turn comes.
    ///
    /// # Errors
    /// See [`RequestError`]; the connection is not usable then, nor if the future is dropped before its end.
    pub async fn fetch(
        &self,
        request: &Request<Bytes>,
        _priority: Priority,
        progress: &mut dyn Progress,
    ) -> Result<(), RequestError> {
        let mut ticket = PipelinePosition::join(&self.0);
        progress.admitted();
        ticket.send(request, progress).await?;
        ticket.receive(request, progress).await
    }
}

/// A request's place in the pipeline. Dropping it early closes the connection to others.
struct PipelinePosition<'p, S: Transport> {
    shared: &'p RefCell<PipelineState<S>>,
    place: u64,
    is_done: bool,
}

impl<'p, S: Transport> PipelinePosition<'p, S> {
    fn join(shared: &'p RefCell<PipelineState<S>>) -> PipelinePosition<'p, S> {
        let place = shared.borrow().joined;
        shared.borrow_mut().joined += 1;
        PipelinePosition { shared, place, is_done: false }
    }

    async fn send(
        &mut self,
        request: &Request<Bytes>,
        progress: &mut dyn Progress,
    ) -> Result<(), RequestError> {
        poll_fn(|cx| self.shared.borrow_mut().poll_turn(cx, self.place, |s| &mut s.sending))
            .await?;
        let mut out = RequestOutput::default();
        out.fill(request);
        while !out.is_sent() {
            poll_fn(|cx| self.shared.borrow_mut().wire.poll_write(cx, &mut out))
                .await
                .map_err(RequestError::Unanswered)?;
        }
        poll_fn(|cx| self.shared.borrow_mut().wire.poll_flush(cx))
            .await
            .map_err(RequestError::Unanswered)?;
        progress.sent(out.head.len() as u64, out.body.len() as u64);
        self.shared.borrow_mut().sending.pass_on();
        Ok(())
    }

    async fn receive(
        &mut self,
        request: &Request<Bytes>,
        progress: &mut dyn Progress,
    ) -> Result<(), RequestError> {
        poll_fn(|cx| self.shared.borrow_mut().poll_turn(cx, self.place, |s| &mut s.receiving))
            .await?;
        let mut reading = ResponseInput::default();
        let persistent = poll_fn(|cx| {
            let wire = &mut self.shared.borrow_mut().wire;
            wire.poll_response(cx, request.method(), &mut reading, progress, None)
        })
        .await?;
        self.is_done = true;
        let mut shared = self.shared.borrow_mut();
        if !persistent {
            shared.close();
        }
        shared.receiving.pass_on();
        Ok(())
    }
}

impl<S: Transport> Drop for PipelinePosition<'_, S> {
    fn drop(&mut self) {
        if !self.is_done {
            self.shared.borrow_mut().close();
        }
    }
}

impl<S: Transport> PipelineState<S> {
    /// Waits for the request's turn, unless it will never come.
    fn poll_turn(
        &mut self,
        cx: &mut Context<'_>,
        place: u64,
        queue: impl FnOnce(&mut PipelineState<S>) -> &mut TurnQueue,
    ) -> Poll<Result<(), RequestError>> {
        if self.closed {
            let gone = io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "the connection ended with an earlier response",
            );
            return Poll::Ready(Err(RequestError::Unanswered(gone)));
        }
        queue(self).poll_turn(cx, place).map(Ok)
    }

    fn close(&mut self) {
        self.closed = true;
        self.sending.wake_all();
        self.receiving.wake_all();
    }
}
