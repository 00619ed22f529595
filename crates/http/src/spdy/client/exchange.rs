//! One request and its response, and the inbox of its events.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::uri::Authority;
use spdy::{Event, Message, ResetReason, Session, SessionError, StreamId, message};

use super::SpdyClientState;
use crate::{Progress, RequestError};

pub(super) struct SpdyExchange<'a> {
    shared: &'a Rc<RefCell<SpdyClientState>>,
    stream: StreamId,
    /// The sizes of the request's head and body.
    bytes: (u64, u64),
    /// True once the response's head has come.
    has_begun: bool,
    progress: &'a mut dyn Progress,
}

impl<'a> SpdyExchange<'a> {
    pub(super) fn new(
        shared: &'a Rc<RefCell<SpdyClientState>>,
        stream: StreamId,
        bytes: (u64, u64),
        progress: &'a mut dyn Progress,
    ) -> SpdyExchange<'a> {
        SpdyExchange { shared, stream, bytes, has_begun: false, progress }
    }

    pub(super) async fn run(mut self) -> Result<(), RequestError> {
        loop {
            let stream = self.stream;
            let next = poll_fn(|cx| self.shared.borrow_mut().inboxes.poll(stream, cx)).await;
            let part = next.map_err(|closed| self.failure(closed))?;
            if self.on_part(part)? {
                return Ok(());
            }
        }
    }

    /// Reports `part`; returns true if it is the response's last.
    fn on_part(&mut self, part: ResponsePart) -> Result<bool, RequestError> {
        match part {
            ResponsePart::Sent => {
                self.progress.sent(self.bytes.0, self.bytes.1);
                Ok(false)
            }
            ResponsePart::Head(head) => {
                let version = self.shared.borrow().session.version();
                // "If a client receives a SYN_REPLY without a status or without a version header, the client must reply with a
                // RST_STREAM frame indicating a PROTOCOL ERROR" (3.2.2).
                let status = message::read_status(version, &head.fields).map_err(|missing| {
                    self.reset(ResetReason::PROTOCOL_ERROR);
                    RequestError::Protocol(missing.to_string())
                })?;
                self.has_begun = true;
                if let Some(coding) = head.fields.get("content-encoding") {
                    self.progress.content_coding(coding);
                }
                self.progress.head(status, head.wire_bytes as u64);
                Ok(head.fin)
            }
            ResponsePart::Data { payload, fin } => {
                self.progress.data(&payload);
                let state = &mut *self.shared.borrow_mut();
                state.session.consume(self.stream, payload.len());
                state.send_queued();
                Ok(fin)
            }
            ResponsePart::Trailers { fin } => Ok(fin),
            ResponsePart::Refused(reason) => Err(RequestError::Refused(reason.to_string())),
            ResponsePart::Broken(reason) => {
                Err(RequestError::Protocol(format!("its stream was reset with {reason}")))
            }
        }
    }

    fn failure(&self, closed: SpdyClosure) -> RequestError {
        let aborted = io::Error::from(io::ErrorKind::ConnectionAborted);
        match closed {
            SpdyClosure::Protocol(error) => RequestError::Protocol(error.to_string()),
            SpdyClosure::Transport if self.has_begun => RequestError::Broken(aborted),
            SpdyClosure::Transport => RequestError::Unanswered(aborted),
        }
    }

    fn reset(&self, reason: ResetReason) {
        let state = &mut *self.shared.borrow_mut();
        state.session.reset(self.stream, reason);
        state.send_queued();
    }
}

impl Drop for SpdyExchange<'_> {
    /// Cancels an unwanted response, unless it is over.
    fn drop(&mut self) {
        let state = &mut *self.shared.borrow_mut();
        let untold = state.inboxes.forget(self.stream);
        state.session.consume(self.stream, untold);
        state.session.reset(self.stream, ResetReason::CANCEL);
        state.send_queued();
    }
}

/// An event of a request.
pub(super) enum ResponsePart {
    /// The request's last byte has been handed to the transport.
    Sent,
    Head(Message),
    Data {
        payload: Bytes,
        fin: bool,
    },
    /// Further fields, which are ignored; this may be the end.
    Trailers {
        fin: bool,
    },
    /// The server refused the request.
    Refused(ResetReason),
    /// The server violated the protocol.
    Broken(ResetReason),
}

#[derive(Default)]
struct ResponseInbox {
    parts: VecDeque<ResponsePart>,
    reader: Option<Waker>,
    /// The authority of the request.
    authority: Option<Authority>,
    /// True for a pushed stream whose response begins with the next HEADERS.
    awaits_head: bool,
}

/// The inboxes of a connection.
#[derive(Default)]
pub(super) struct Inboxes {
    open: BTreeMap<StreamId, ResponseInbox>,
    closed: Option<SpdyClosure>,
}

/// The reason that nothing more comes.
#[derive(Clone, Copy, Debug)]
pub(super) enum SpdyClosure {
    /// The transport is gone.
    Transport,
    /// The server broke the protocol.
    Protocol(SessionError),
}

impl Inboxes {
    pub(super) fn open(&mut self, stream: StreamId, authority: Option<Authority>) {
        self.open.insert(stream, ResponseInbox { authority, ..ResponseInbox::default() });
    }

    /// The authority of the request on `stream`.
    pub(super) fn authority(&self, stream: StreamId) -> Option<&str> {
        Some(self.open.get(&stream)?.authority.as_ref()?.as_str())
    }

    /// Opens a promised stream, possibly answered at once by `head`.
    pub(super) fn open_pushed(&mut self, stream: StreamId, head: Option<Message>) {
        let awaits_head = head.is_none();
        let parts = head.map(ResponsePart::Head).into_iter().collect();
        self.open.insert(stream, ResponseInbox { awaits_head, parts, ..ResponseInbox::default() });
    }

    /// Drops a request's inbox; returns the number of unreported bytes of data.
    pub(super) fn forget(&mut self, stream: StreamId) -> usize {
        let bytes = |part: &ResponsePart| {
            if let ResponsePart::Data { payload, .. } = part { payload.len() } else { 0 }
        };
        self.open.remove(&stream).map_or(0, |inbox| inbox.parts.iter().map(bytes).sum())
    }

    /// Closes all inboxes; the first reason counts.
    pub(super) fn close(&mut self, closed: SpdyClosure) {
        self.closed.get_or_insert(closed);
        let readers = self.open.values_mut().filter_map(|inbox| inbox.reader.take());
        readers.for_each(Waker::wake);
    }

    /// The next event of `stream`.
    pub(super) fn poll(
        &mut self,
        stream: StreamId,
        cx: &Context<'_>,
    ) -> Poll<Result<ResponsePart, SpdyClosure>> {
        let inbox = self.open.get_mut(&stream).expect("a request's inbox is open while it reads");
        if let Some(part) = inbox.parts.pop_front() {
            return Poll::Ready(Ok(part));
        }
        if let Some(closed) = self.closed {
            return Poll::Ready(Err(closed));
        }
        inbox.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Returns true, once, if the next HEADERS of `stream` are a pushed response's head.
    fn takes_head(&mut self, stream: StreamId) -> bool {
        self.open.get_mut(&stream).is_some_and(|inbox| std::mem::take(&mut inbox.awaits_head))
    }

    /// Puts `event` into its inbox. Unwanted data is consumed.
    pub(super) fn deliver(&mut self, event: Event, session: &mut Session) {
        let (stream, part) = match event {
            Event::Sent { stream } => (stream, ResponsePart::Sent),
            Event::Replied(message) => (message.stream, ResponsePart::Head(message)),
            Event::Headers(message) if self.takes_head(message.stream) => {
                (message.stream, ResponsePart::Head(message))
            }
            Event::Headers(message) => {
                (message.stream, ResponsePart::Trailers { fin: message.fin })
            }
            Event::Data { stream, payload, fin } => (stream, ResponsePart::Data { payload, fin }),
            Event::Reset { stream, reason } => (stream, ResponsePart::Refused(reason)),
            Event::Broken { stream, reason } => (stream, ResponsePart::Broken(reason)),
            // Promises are handled by the connection.
            Event::Opened { .. } => return,
            Event::Pong(_) | Event::Settings(_) | Event::GoAway { .. } => return,
            Event::Failed(error) => return self.close(SpdyClosure::Protocol(error)),
        };
        match (self.open.get_mut(&stream), part) {
            (Some(inbox), part) => {
                inbox.parts.push_back(part);
                if let Some(reader) = inbox.reader.take() {
                    reader.wake();
                }
            }
            (None, ResponsePart::Data { payload, .. }) => session.consume(stream, payload.len()),
            (None, _) => {}
        }
    }
}
