//! A SPDY server's connection.
//!
//! One future per connection does everything - reads, calls the handler, schedules responses, writes - so that nothing
//! is spawned and every wake-up is the connection's own.

mod bodies;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::str;
use std::task::{Context, Poll};

use ::spdy::{
    CloseReason, CommandError, Config, Event, Fields, ResetReason, Role, Session, SessionError,
    StreamId, Version, message,
};
use http::{Response as Head, StatusCode};
use thiserror::Error;

use self::bodies::SpdyBodies;
use super::SessionWire;
use crate::h2::FlowMeter;
use crate::h2::metering::FlowState;
use crate::server::{
    CheckedBody, DrainWatch, Fields as RequestFields, Later, RequestProgress, SharedServerState,
    StallVerdict, StallWatch, directions, feed, is_bodiless, refusal, strip_framing,
};
use crate::{Answer, Handler, Reply, RequestBody, RequestHead, Response, Transport};
use tls::Protocol;

/// The reason that a connection ended prematurely.
#[derive(Debug, Error)]
pub enum SpdyServerError {
    /// The transport failed.
    #[error("the SPDY connection failed: {0}")]
    Transport(#[from] io::Error),
    /// The client violated the protocol.
    #[error("the client broke SPDY: {0}")]
    Protocol(#[from] SessionError),
}

/// Serves the connection on `stream` until the client closes it. `meter` tells, at any time, how long flow control limited it.
///
/// # Errors
/// If the stream fails or the client breaks the protocol.
pub async fn serve<S, H>(
    stream: S,
    handler: Rc<H>,
    version: Version,
    config: Config,
    meter: &FlowMeter,
) -> Result<(), SpdyServerError>
where
    S: Transport,
    H: Handler,
{
    serve_in(&SharedServerState::default(), stream, handler, version, config, meter).await
}

/// The same, for a connection that shares `common`.
///
/// # Errors
/// As [`serve`]; also if the client is too slow for `common`'s patience.
pub async fn serve_in<S, H>(
    common: &SharedServerState,
    stream: S,
    handler: Rc<H>,
    version: Version,
    config: Config,
    meter: &FlowMeter,
) -> Result<(), SpdyServerError>
where
    S: Transport,
    H: Handler,
{
    let mut serving = SpdyServer {
        peer: stream.peer(),
        wire: SessionWire::new(stream, config.chunk_bytes),
        session: Session::recalling(Role::Server, version, config, common.recall.as_ref()),
        handler,
        arriving: BTreeMap::new(),
        pending: Vec::new(),
        bodies: SpdyBodies::default(),
        failed: None,
        common: common.clone(),
        drain: common.watch(),
        is_leaving: false,
        stall_watch: StallWatch::over(common),
        received: 0,
        answered: 0,
    };
    let ended = poll_fn(|cx| serving.poll(cx, meter)).await;
    meter.enter(world::now(), FlowState::Idle);
    ended
}

/// A request whose body is still arriving.
struct ArrivingSpdyRequest {
    fields: Fields,
    body_bytes: u64,
}

/// A request whose reply is delayed.
struct PendingSpdyAnswer {
    exchange: SpdyResponder,
    reply: Later,
}

/// A stream whose request has arrived.
struct SpdyResponder {
    stream: StreamId,
    /// A HEAD request: its reply's body is not sent.
    head_only: bool,
    origin: StreamOrigin,
    /// The client's data in the tunnel that it requested by `CONNECT`.
    tunnel: Option<RequestBody>,
}

impl SpdyResponder {
    fn of(stream: StreamId, head: RequestHead<'_>, tunnel: Option<RequestBody>) -> SpdyResponder {
        SpdyResponder {
            stream,
            head_only: head.method == "HEAD",
            origin: StreamOrigin::Asked,
            tunnel,
        }
    }
}

/// The origin of a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamOrigin {
    /// A client's request.
    Asked,
    /// A promise.
    Pushed,
}

struct SpdyServer<S, H> {
    peer: Option<SocketAddr>,
    wire: SessionWire<S>,
    session: Session,
    handler: Rc<H>,
    arriving: BTreeMap<StreamId, ArrivingSpdyRequest>,
    pending: Vec<PendingSpdyAnswer>,
    bodies: SpdyBodies,
    failed: Option<SessionError>,
    common: SharedServerState,
    drain: DrainWatch,
    /// True if the session ends when nothing is open any more.
    is_leaving: bool,
    stall_watch: StallWatch,
    /// Bytes of heads and bodies received.
    received: u64,
    /// Bytes of complete bodies handed to the session.
    answered: u64,
}

impl<S: Transport, H: Handler> SpdyServer<S, H> {
    /// Does all possible work; ready when the connection has ended.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        meter: &FlowMeter,
    ) -> Poll<Result<(), SpdyServerError>> {
        if self.drain.poll_begun(cx).is_ready() {
            self.leave();
        }
        let read = self.wire.poll_read(&mut self.session, cx);
        while let Some(event) = self.session.poll_event() {
            self.on_event(event);
        }
        self.poll_pending(cx);
        match self.look_out(cx) {
            StallVerdict::Wait => {}
            StallVerdict::Leave => self.leave(),
            StallVerdict::End => {
                return Poll::Ready(Err(io::Error::from(io::ErrorKind::TimedOut).into()));
            }
        }
        self.bodies.poll(&mut self.session, cx);
        let written = loop {
            let written = self.wire.poll_write(&mut self.session, cx);
            // The write has made room.
            let goes_on = matches!(written, Poll::Ready(Ok(())));
            if !goes_on || !self.bodies.poll(&mut self.session, cx) {
                break written;
            }
        };
        meter.enter(world::now(), self.flow(written.is_pending()));
        if let Poll::Ready(written) = written {
            written?;
            if let Some(error) = self.failed {
                return Poll::Ready(Err(error.into()));
            }
            if self.is_leaving && self.session.open_streams() == 0 {
                return self.wire.poll_shutdown(cx).map_err(SpdyServerError::Transport);
            }
        }
        read.map_err(SpdyServerError::Transport)
    }

    /// Takes no new requests and ends when the open ones have been answered.
    fn leave(&mut self) {
        self.session.go_away(CloseReason::OK);
        self.is_leaving = true;
    }

    /// Checks the client's timeouts.
    fn look_out(&mut self, cx: &mut Context<'_>) -> StallVerdict {
        let given = self.answered + self.bodies.given();
        let standing = || RequestProgress {
            progress: self.received + given.saturating_sub(self.session.queued() as u64),
            awaits_handler: !self.pending.is_empty() || self.bodies.waits_for_handlers(),
            is_tunnelling: self.bodies.has_tunnels(),
        };
        self.stall_watch.poll(standing, cx)
    }

    fn flow(&self, is_transport_full: bool) -> FlowState {
        if is_transport_full {
            FlowState::Sending
        } else if self.session.is_window_limited() {
            FlowState::Limited
        } else {
            FlowState::Idle
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Opened { stream, fields, fin, wire_bytes, .. } => {
                self.received += wire_bytes as u64;
                self.on_opened(stream, ArrivingSpdyRequest { fields, body_bytes: 0 }, fin);
            }
            Event::Data { stream, payload, fin } => {
                self.received += payload.len() as u64;
                if let Err(payload) = self.bodies.push(stream, payload) {
                    self.session.consume(stream, payload.len());
                    if let Some(arriving) = self.arriving.get_mut(&stream) {
                        arriving.body_bytes += payload.len() as u64;
                    }
                }
                if fin {
                    self.on_end(stream);
                }
            }
            Event::Headers(head) if head.fin => self.on_end(head.stream),
            Event::Reset { stream, .. } | Event::Broken { stream, .. } => {
                self.arriving.remove(&stream);
                self.pending.retain(|pending| pending.exchange.stream != stream);
                self.bodies.give_up(stream);
            }
            Event::Failed(error) => {
                self.failed = Some(error);
                self.arriving.clear();
                self.pending.clear();
                self.bodies.clear();
            }
            Event::Headers(_)
            | Event::Replied(_)
            | Event::Sent { .. }
            | Event::Pong(_)
            | Event::Settings(_)
            | Event::GoAway { .. } => {}
        }
    }

    fn on_opened(&mut self, stream: StreamId, request: ArrivingSpdyRequest, fin: bool) {
        match self.head(&request) {
            Some(head) if head.is_connect() => {
                // The following data belongs to the tunnel.
                let (feed, fed) = feed();
                self.bodies.receive(stream, feed);
                if fin {
                    self.bodies.end(stream, Ok(()));
                }
                let tunnel = RequestBody::new(Box::new(fed), None);
                let answer = self.handler.handle(head);
                self.work(SpdyResponder::of(stream, head, Some(tunnel)), answer);
            }
            _ if fin => self.ask(stream, &request),
            Some(head) => {
                let (feed, fed) = feed();
                let length = head.fields.get("content-length");
                let length = length.and_then(|value| str::from_utf8(value).ok()?.parse().ok());
                let body = CheckedBody::new(Box::new(fed), length);
                let body = self.common.paced(RequestBody::new(Box::new(body), length));
                match self.handler.receive(head, body) {
                    Ok(answer) => {
                        self.bodies.receive(stream, feed);
                        self.work(SpdyResponder::of(stream, head, None), answer);
                    }
                    Err(_) => drop(self.arriving.insert(stream, request)),
                }
            }
            None => drop(self.arriving.insert(stream, request)),
        }
    }

    fn head<'r>(&self, request: &'r ArrivingSpdyRequest) -> Option<RequestHead<'r>> {
        let head = request_head(self.session.version(), request)?;
        Some(RequestHead { peer: self.peer, ..head })
    }

    /// Handles the end of the request on `stream`.
    fn on_end(&mut self, stream: StreamId) {
        self.bodies.end(stream, Ok(()));
        if let Some(arriving) = self.arriving.remove(&stream) {
            self.ask(stream, &arriving);
        }
    }

    fn ask(&mut self, stream: StreamId, request: &ArrivingSpdyRequest) {
        let Some(head) = self.head(request) else {
            // "If a client sends a SYN_STREAM without all of the method, host, path, scheme, and version headers, the
            // server MUST reply with a HTTP 400 Bad Request reply" (3.2.1).
            let exchange = SpdyResponder {
                stream,
                head_only: false,
                origin: StreamOrigin::Asked,
                tunnel: None,
            };
            return self.answer(exchange, refusal(StatusCode::BAD_REQUEST));
        };
        // "To minimize race conditions with the client, the SYN_STREAM for the pushed resources MUST be sent prior to sending any
        // content which could allow the client to discover the pushed resource" (3.3.1).
        let promised = self.promise(stream, head);
        let answer = self.handler.handle(head);
        self.work(SpdyResponder::of(stream, head, None), answer);
        for promised in promised {
            self.keep(promised, head);
        }
    }

    fn work(&mut self, exchange: SpdyResponder, answer: Answer) {
        match answer {
            Answer::Ready(reply) => self.answer(exchange, reply),
            Answer::Later(reply) => self.pending.push(PendingSpdyAnswer { exchange, reply }),
        }
    }

    /// Polls delayed replies.
    fn poll_pending(&mut self, cx: &mut Context<'_>) {
        let mut at = 0;
        while at < self.pending.len() {
            match self.pending[at].reply.as_mut().poll(cx) {
                Poll::Pending => at += 1,
                // SPDY has no interim responses.
                Poll::Ready(Response::Interim { then, .. }) => self.pending[at].reply = then,
                Poll::Ready(response) => {
                    let exchange = self.pending.remove(at).exchange;
                    self.respond(exchange, response);
                }
            }
        }
    }

    fn respond(&mut self, mut exchange: SpdyResponder, response: Response) {
        let version = self.session.version();
        match (response, exchange.tunnel.take()) {
            (Response::Whole(reply), tunnel) => {
                self.answer(SpdyResponder { tunnel, ..exchange }, reply)
            }
            (Response::Tunnel(far), Some(body)) => {
                let fields = super::of_head(version, &Head::new(()), None);
                if self.begin(&exchange, &fields, false) {
                    let (down, up) = directions(far, body);
                    self.bodies.join(exchange.stream, CheckedBody::new(Box::new(down), None), up);
                }
            }
            (Response::Streamed { mut head, length, body }, tunnel)
                if tunnel.is_none() || !head.status().is_success() =>
            {
                strip_framing(&mut head);
                let is_silent =
                    exchange.head_only || is_bodiless(head.status()) || length == Some(0);
                let fields = super::of_head(version, &head, length);
                if self.begin(&exchange, &fields, is_silent) && !is_silent {
                    self.bodies.send(exchange.stream, CheckedBody::new(body, length));
                }
            }
            _ => self.answer(exchange, refusal(StatusCode::NOT_IMPLEMENTED)),
        }
    }

    fn answer(&mut self, mut exchange: SpdyResponder, reply: Reply) {
        if exchange.tunnel.take().is_some() && reply.head.parts.status().is_success() {
            // The client would treat it as a tunnel.
            return self.answer(exchange, refusal(StatusCode::NOT_IMPLEMENTED));
        }
        let is_silent = exchange.head_only || reply.body.is_empty() || reply.head.is_bodiless();
        let fields = super::of_reply(self.session.version(), &reply);
        if self.begin(&exchange, &fields, is_silent) && !is_silent {
            self.answered += reply.body.len() as u64;
            // A client that has reset the stream misses nothing.
            let _ = self.session.send(exchange.stream, reply.body, true);
        }
    }

    /// Sends the head of a response, which is all of it if it `is_silent`; returns false if that fails.
    fn begin(&mut self, exchange: &SpdyResponder, fields: &Fields, is_silent: bool) -> bool {
        let stream = exchange.stream;
        let begun = match exchange.origin {
            StreamOrigin::Asked => self.session.reply(stream, fields, is_silent),
            // The SYN_STREAM was the promise; the answer is in HEADERS (3.3.1).
            StreamOrigin::Pushed => self.session.headers(stream, fields, is_silent),
        };
        if let Err(CommandError::Fields(_)) = begun {
            self.session.reset(stream, ResetReason::INTERNAL_ERROR);
        }
        begun.is_ok()
    }
}

fn request_head(version: Version, request: &ArrivingSpdyRequest) -> Option<RequestHead<'_>> {
    let line = message::read_request(version, &request.fields).ok()?;
    let text = |part| str::from_utf8(part).ok();
    Some(RequestHead {
        scheme: text(line.scheme)?,
        protocol: Protocol::Spdy(version),
        fields: RequestFields::of_block(version, &request.fields),
        body_bytes: request.body_bytes,
        ..RequestHead::new(text(line.method)?, text(line.host)?, text(line.path)?)
    })
}
