//! The properties of a request that determine its answer, the part kept until its body has arrived, and the outbox of
//! responses.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tls::Protocol;
use tokio::io::AsyncWrite;
use world::now;

use super::Settings;
use crate::RequestHead;
use crate::h1::codec::{self, BodyLength, Request, Version};
use crate::server::{Feed, Patience};
use crate::timer_wheel::Timer;

/// The client's address, and whether its connection is secured.
#[derive(Clone, Copy)]
pub(super) struct ClientInfo {
    pub(super) peer: Option<SocketAddr>,
    pub(super) is_secure: bool,
}

/// The properties of a request that determine the form of its response.
#[derive(Clone, Copy)]
pub(super) struct AnswerContext {
    pub(super) version: Version,
    pub(super) persistent: bool,
    pub(super) method: Method,
    /// True if the client offers to switch protocols.
    pub(super) switches: bool,
}

/// The method, as far as the form of a response depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// The response has no body.
    Head,
    /// The response may be a tunnel.
    Connect,
    Other,
}

/// Reuse of the connection after a response.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Persistence {
    Persists,
    Closes,
}

impl Persistence {
    pub(super) fn of(persists: bool) -> Persistence {
        if persists { Persistence::Persists } else { Persistence::Closes }
    }
}

/// A request's head, kept until its body has arrived.
pub(super) struct PendingRequest {
    method: String,
    authority: String,
    target: String,
    fields: Vec<u8>,
    pub(super) exchange: AnswerContext,
    pub(super) body_bytes: u64,
    pub(super) patience: Patience,
}

/// A request's body, streamed to the handler that reads it.
pub(super) struct BodyUpload {
    pub(super) feed: Feed,
    pub(super) patience: Patience,
    pub(super) timer: Timer,
    /// The client waits for 100 (Continue).
    pub(super) expects_continue: bool,
    /// All of it has arrived.
    pub(super) is_over: bool,
    /// The client is expected to send.
    is_waiting: bool,
}

impl AnswerContext {
    pub(super) fn of(request: &Request<'_>) -> AnswerContext {
        let method = match request.method {
            "HEAD" => Method::Head,
            "CONNECT" => Method::Connect,
            _ => Method::Other,
        };
        // Bytes after a CONNECT belong to the tunnel, granted or not: they are not a request.
        let persistent = request.persistent && method != Method::Connect;
        // RFC 9110 section 7.8: meaningless in HTTP/1.0. A body would have to come first, which only h2c ever did.
        let switches = request.version == Version::V11
            && request.body == BodyLength::None
            && request.fields.get("upgrade").is_some();
        AnswerContext { version: request.version, persistent, method, switches }
    }
}

impl PendingRequest {
    pub(super) fn of(request: &Request<'_>) -> PendingRequest {
        PendingRequest {
            method: request.method.to_owned(),
            authority: request.authority.to_owned(),
            target: request.target.to_owned(),
            fields: request.fields.text().to_owned(),
            exchange: AnswerContext::of(request),
            body_bytes: 0,
            patience: Patience::default(),
        }
    }

    pub(super) fn head(&self, client: ClientInfo) -> RequestHead<'_> {
        RequestHead {
            scheme: client.scheme(&self.method, &self.target),
            protocol: protocol(self.exchange.version),
            fields: codec::Fields::of_text(&self.fields).into(),
            peer: client.peer,
            body_bytes: self.body_bytes,
            ..RequestHead::new(&self.method, &self.authority, &self.target)
        }
    }
}

impl BodyUpload {
    pub(super) fn new(feed: Feed, timer: Timer, expects_continue: bool) -> BodyUpload {
        BodyUpload {
            feed,
            patience: Patience::default(),
            timer,
            expects_continue,
            is_over: false,
            is_waiting: false,
        }
    }

    /// Starts the timeout for the client.
    pub(super) fn wait(&mut self, settings: &Settings) {
        if !std::mem::replace(&mut self.is_waiting, true) {
            let patience = self.patience.wait(now(), settings.body_pace, settings.idle_timeout);
            self.timer.set(patience);
        }
    }

    /// Notes that bytes have come.
    pub(super) fn end_wait(&mut self) {
        self.is_waiting = false;
        self.patience.took(now(), 0);
    }
}

impl ClientInfo {
    pub(super) fn head<'b>(self, request: &Request<'b>) -> RequestHead<'b> {
        RequestHead {
            scheme: self.scheme(request.method, request.target),
            protocol: protocol(request.version),
            fields: request.fields.into(),
            peer: self.peer,
            ..RequestHead::new(request.method, request.authority, request.target)
        }
    }

    /// RFC 9112 section 3.3: the scheme of a target in absolute form is its own.
    fn scheme<'b>(self, method: &str, target: &'b str) -> &'b str {
        let usual = if self.is_secure { "https" } else { "http" };
        match method {
            _ if target.starts_with('/') => usual,
            "CONNECT" => "",
            _ => target.split_once("://").map_or(usual, |(scheme, _)| scheme),
        }
    }
}

fn protocol(version: Version) -> Protocol {
    match version {
        Version::V10 => Protocol::H10,
        Version::V11 => Protocol::H1,
    }
}

/// Bodies up to this size are copied after their heads, so that the transport gets one piece: that costs less than the
/// kernel's work on a second one.
const COPIED: usize = 8 * 1024;

/// Amount of copied bytes that triggers a send.
const FULL: usize = 64 * 1024;

/// Pieces per write (`UIO_FASTIOV` is 8: Linux takes that many without an allocation).
const PIECES: usize = 8;

/// Bytes to send, in order: copied text, and large bodies by reference.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    text: Vec<u8>,
    /// Bytes of `text` already sent.
    sent: usize,
    /// Large bodies, each with its position: the length of `text` at its insertion.
    bodies: VecDeque<(usize, Bytes)>,
}

impl Outbox {
    pub(super) fn is_empty(&self) -> bool {
        self.sent == self.text.len() && self.bodies.is_empty()
    }

    /// Returns true if it owns memory: a new one has none.
    pub(super) fn has_memory(&self) -> bool {
        self.text.capacity() > 0
    }

    /// Number of bytes to send.
    pub(super) fn len(&self) -> usize {
        let bodies: usize = self.bodies.iter().map(|(_, body)| body.len()).sum();
        self.text.len() - self.sent + bodies
    }

    /// Returns true if it should be sent before more is added.
    pub(super) fn is_full(&self) -> bool {
        self.text.len() >= FULL || self.bodies.len() >= PIECES / 2
    }

    /// Appends text.
    pub(super) fn text(&mut self, text: &[u8]) {
        self.text.extend_from_slice(text);
    }

    /// Appends the text that `write` produces.
    pub(super) fn with_text(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.text);
    }

    /// Appends a body.
    pub(super) fn body(&mut self, body: &Bytes) {
        if body.len() <= COPIED {
            self.text.extend_from_slice(body);
        } else {
            self.bodies.push_back((self.text.len(), body.clone()));
        }
    }

    /// Passes the transport as much as it accepts in one write; returns the number of bytes.
    pub(super) fn poll_write<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let stream = Pin::new(stream);
        let written = if self.bodies.is_empty() {
            ready!(stream.poll_write(cx, &self.text[self.sent..]))?
        } else {
            let mut pieces = [IoSlice::new(&[]); PIECES];
            let count = self.gather(&mut pieces);
            ready!(stream.poll_write_vectored(cx, &pieces[..count]))?
        };
        self.advance(written);
        Poll::Ready(if written == 0 { Err(io::ErrorKind::WriteZero.into()) } else { Ok(written) })
    }

    /// Fills `pieces` from the front; returns their number.
    fn gather<'a>(&'a self, pieces: &mut [IoSlice<'a>; PIECES]) -> usize {
        let (mut count, mut at) = (0, self.sent);
        let mut put = |piece: &'a [u8]| {
            if count < PIECES && !piece.is_empty() {
                pieces[count] = IoSlice::new(piece);
                count += 1;
            }
        };
        for (place, body) in self.bodies.iter().take(PIECES) {
            put(&self.text[at..*place]);
            put(body);
            at = *place;
        }
        put(&self.text[at..]);
        count
    }

    /// Drops `bytes` from the front.
    fn advance(&mut self, mut bytes: usize) {
        while let Some((place, body)) = self.bodies.front_mut() {
            let text = bytes.min(*place - self.sent);
            self.sent += text;
            bytes -= text;
            if bytes < body.len() {
                let _sent = body.split_to(bytes);
                return;
            }
            bytes -= body.len();
            self.bodies.pop_front();
        }
        self.sent += bytes;
        if self.sent == self.text.len() {
            self.text.clear();
            self.sent = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::partial_writer::PartialWriter;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Any content leaves in order, however little is written at once.
        #[test]
        fn partial_writes_keep_the_order(
            replies in vec((0usize..200, prop_oneof![0usize..50, COPIED - 2..COPIED + 50]), 1..12),
            takes in vec(1usize..30_000, 0..40),
        ) {
            let mut stream = PartialWriter::taking(takes, usize::MAX);
            let (mut outbox, mut expected) = (Outbox::default(), Vec::new());
            let mut cx = Context::from_waker(Waker::noop());
            for (number, (text, body)) in replies.into_iter().enumerate() {
                let (text, body) = (vec![number as u8; text], vec![!number as u8; body]);
                outbox.text(&text);
                outbox.body(&Bytes::from(body.clone()));
                expected.extend([text, body].concat());
                // More is appended after a partial write.
                if number % 3 == 2 && !outbox.is_empty() {
                    prop_assert!(outbox.poll_write(&mut stream, &mut cx).is_ready());
                }
            }
            while !outbox.is_empty() {
                prop_assert!(outbox.poll_write(&mut stream, &mut cx).is_ready());
            }
            prop_assert_eq!(stream.writes.concat(), expected);
        }
    }
}
