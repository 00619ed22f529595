//! Events received for each request and not yet reported.

use std::collections::{BTreeMap, VecDeque};
use std::task::{Context, Poll, Waker};

use ::spdy::{Event, Message, ResetReason, Session, SessionError, StreamId};
use bytes::Bytes;
use http::uri::Authority;

/// An event of a request.
pub(super) enum Part {
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
struct Inbox {
    parts: VecDeque<Part>,
    reader: Option<Waker>,
    /// The authority of the request.
    authority: Option<Authority>,
    /// True for a pushed stream whose response begins with the next HEADERS.
    awaits_head: bool,
}

/// The inboxes of a connection.
#[derive(Default)]
pub(super) struct Inboxes {
    open: BTreeMap<StreamId, Inbox>,
    closed: Option<Closed>,
}

/// The reason that nothing more comes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Closed {
    /// The transport is gone.
    Transport,
    /// The server broke the protocol.
    Protocol(SessionError),
}

impl Inboxes {
    pub(super) fn open(&mut self, stream: StreamId, authority: Option<Authority>) {
        self.open.insert(stream, Inbox { authority, ..Inbox::default() });
    }

    /// The authority of the request on `stream`.
    pub(super) fn authority(&self, stream: StreamId) -> Option<&str> {
        Some(self.open.get(&stream)?.authority.as_ref()?.as_str())
    }

    /// Opens a promised stream, possibly answered at once by `head`.
    pub(super) fn open_pushed(&mut self, stream: StreamId, head: Option<Message>) {
        let awaits_head = head.is_none();
        let parts = head.map(Part::Head).into_iter().collect();
        self.open.insert(stream, Inbox { awaits_head, parts, ..Inbox::default() });
    }

    /// Drops a request's inbox; returns the number of unreported bytes of data.
    pub(super) fn forget(&mut self, stream: StreamId) -> usize {
        let bytes =
            |part: &Part| if let Part::Data { payload, .. } = part { payload.len() } else { 0 };
        self.open.remove(&stream).map_or(0, |inbox| inbox.parts.iter().map(bytes).sum())
    }

    /// Closes all inboxes; the first reason counts.
    pub(super) fn close(&mut self, closed: Closed) {
        self.closed.get_or_insert(closed);
        let readers = self.open.values_mut().filter_map(|inbox| inbox.reader.take());
        readers.for_each(Waker::wake);
    }

    /// The next event of `stream`.
    pub(super) fn poll(
        &mut self,
        stream: StreamId,
        cx: &Context<'_>,
    ) -> Poll<Result<Part, Closed>> {
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
            Event::Sent { stream } => (stream, Part::Sent),
            Event::Replied(message) => (message.stream, Part::Head(message)),
            Event::Headers(message) if self.takes_head(message.stream) => {
                (message.stream, Part::Head(message))
            }
            Event::Headers(message) => (message.stream, Part::Trailers { fin: message.fin }),
            Event::Data { stream, payload, fin } => (stream, Part::Data { payload, fin }),
            Event::Reset { stream, reason } => (stream, Part::Refused(reason)),
            Event::Broken { stream, reason } => (stream, Part::Broken(reason)),
            // Promises are handled by the connection.
            Event::Opened { .. } => return,
            Event::Pong(_) | Event::Settings(_) | Event::GoAway { .. } => return,
            Event::Failed(error) => return self.close(Closed::Protocol(error)),
        };
        match (self.open.get_mut(&stream), part) {
            (Some(inbox), part) => {
                inbox.parts.push_back(part);
                if let Some(reader) = inbox.reader.take() {
                    reader.wake();
                }
            }
            (None, Part::Data { payload, .. }) => session.consume(stream, payload.len()),
            (None, _) => {}
        }
    }
}
