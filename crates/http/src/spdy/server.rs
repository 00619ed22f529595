//! A SPDY server's connection.
//!
//! One future a connection does it all - reads, asks the handler, lets responses take turns, writes - so that nothing is
//! spawned and every wake-up is the connection's own.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::str;
use std::task::{Context, Poll};

use ::spdy::{
    CommandError, Config, Event, Fields, ResetReason, Role, Session, SessionError, StreamId,
    Version, message,
};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use thiserror::Error;

use super::fields;
use super::wire::Wire;
use crate::h2::FlowMeter;
use crate::h2::flow::Flow;
use crate::{Answer, Handler, Precedence, Push, Reply, RequestHead, Transport};

/// Why a connection ended before its time.
#[derive(Debug, Error)]
pub enum Broken {
    /// The transport failed.
    #[error("the SPDY connection failed: {0}")]
    Transport(#[from] io::Error),
    /// The client broke the protocol.
    #[error("the client broke SPDY: {0}")]
    Protocol(#[from] SessionError),
}

/// Serves the connection on `stream` until the client closes it. `meter` tells, then or while it lasts, how long flow
/// control limited it.
///
/// # Errors
/// If the stream fails or the client breaks the protocol.
pub async fn serve<S, H>(
    stream: S,
    handler: Rc<H>,
    version: Version,
    config: Config,
    meter: &FlowMeter,
) -> Result<(), Broken>
where
    S: Transport,
    H: Handler,
{
    let mut serving = Serving {
        wire: Wire::new(stream, config.chunk_bytes),
        session: Session::new(Role::Server, version, config),
        handler,
        arriving: BTreeMap::new(),
        pending: Vec::new(),
        failed: None,
    };
    let ended = poll_fn(|cx| serving.poll(cx, meter)).await;
    meter.enter(world::now(), Flow::Idle);
    ended
}

/// A request whose body is still arriving.
struct Arriving {
    fields: Fields,
    body_bytes: u64,
}

/// A request whose reply takes time.
struct Pending {
    exchange: Exchange,
    reply: Pin<Box<dyn Future<Output = Reply>>>,
}

/// A stream whose request has arrived.
#[derive(Clone, Copy)]
struct Exchange {
    stream: StreamId,
    /// A request for the head alone: its reply's body is not sent.
    head_only: bool,
    origin: Origin,
}

/// How a stream came to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The client asked.
    Asked,
    /// It was promised.
    Pushed,
}

struct Serving<S, H> {
    wire: Wire<S>,
    session: Session,
    handler: Rc<H>,
    arriving: BTreeMap<StreamId, Arriving>,
    pending: Vec<Pending>,
    failed: Option<SessionError>,
}

impl<S: Transport, H: Handler> Serving<S, H> {
    /// Does all that can be done now; ready when the connection has ended.
    fn poll(&mut self, cx: &mut Context<'_>, meter: &FlowMeter) -> Poll<Result<(), Broken>> {
        let read = self.wire.poll_read(&mut self.session, cx);
        while let Some(event) = self.session.poll_event() {
            self.on_event(event);
        }
        self.poll_pending(cx);
        let written = self.wire.poll_write(&mut self.session, cx);
        meter.enter(world::now(), self.flow(written.is_pending()));
        if let Poll::Ready(written) = written {
            written?;
            if let Some(error) = self.failed {
                return Poll::Ready(Err(error.into()));
            }
        }
        read.map_err(Broken::Transport)
    }

    fn flow(&self, is_transport_full: bool) -> Flow {
        if is_transport_full {
            Flow::Sending
        } else if self.session.is_window_limited() {
            Flow::Limited
        } else {
            Flow::Idle
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Opened { stream, fields, fin: true, .. } => {
                self.ask(stream, &Arriving { fields, body_bytes: 0 });
            }
            Event::Opened { stream, fields, .. } => {
                self.arriving.insert(stream, Arriving { fields, body_bytes: 0 });
            }
            Event::Data { stream, payload, fin } => {
                self.session.consume(stream, payload.len());
                if let Some(arriving) = self.arriving.get_mut(&stream) {
                    arriving.body_bytes += payload.len() as u64;
                }
                if fin {
                    self.on_end(stream);
                }
            }
            Event::Headers(head) if head.fin => self.on_end(head.stream),
            Event::Reset { stream, .. } | Event::Broken { stream, .. } => {
                self.arriving.remove(&stream);
                self.pending.retain(|pending| pending.exchange.stream != stream);
            }
            Event::Failed(error) => {
                self.failed = Some(error);
                self.arriving.clear();
                self.pending.clear();
            }
            Event::Headers(_)
            | Event::Replied(_)
            | Event::Sent { .. }
            | Event::Pong(_)
            | Event::Settings(_)
            | Event::GoAway { .. } => {}
        }
    }

    /// The request on `stream` is whole.
    fn on_end(&mut self, stream: StreamId) {
        if let Some(arriving) = self.arriving.remove(&stream) {
            self.ask(stream, &arriving);
        }
    }

    fn ask(&mut self, stream: StreamId, request: &Arriving) {
        let Some(head) = request_head(self.session.version(), request) else {
            // "If a client sends a SYN_STREAM without all of the method, host, path, scheme, and version headers, the
            // server MUST reply with a HTTP 400 Bad Request reply" (3.2.1).
            let reply = Reply::new(StatusCode::BAD_REQUEST, HeaderMap::new(), Bytes::new());
            let exchange = Exchange { stream, head_only: false, origin: Origin::Asked };
            return self.answer(exchange, reply);
        };
        let head_only = head.method == "HEAD";
        let scheme = scheme(self.session.version(), request);
        // "To minimize race conditions with the client, the SYN_STREAM for the pushed resources MUST be sent prior to sending any
        // content which could allow the client to discover the pushed resource" (3.3.1).
        let promised = promise(&mut self.session, &*self.handler, stream, head, scheme);
        let answer = self.handler.handle(head);
        self.work(Exchange { stream, head_only, origin: Origin::Asked }, answer);
        for (stream, path) in promised {
            let get = RequestHead { method: "GET", target: &path, body_bytes: 0, ..head };
            let answer = self.handler.handle(get);
            self.work(Exchange { stream, head_only: false, origin: Origin::Pushed }, answer);
        }
    }

    fn work(&mut self, exchange: Exchange, answer: Answer) {
        match answer {
            Answer::Ready(reply) => self.answer(exchange, reply),
            Answer::Later(reply) => self.pending.push(Pending { exchange, reply }),
        }
    }

    /// Polls replies that take time.
    fn poll_pending(&mut self, cx: &mut Context<'_>) {
        let mut at = 0;
        while at < self.pending.len() {
            match self.pending[at].reply.as_mut().poll(cx) {
                Poll::Pending => at += 1,
                Poll::Ready(reply) => {
                    let exchange = self.pending.remove(at).exchange;
                    self.answer(exchange, reply);
                }
            }
        }
    }

    fn answer(&mut self, exchange: Exchange, reply: Reply) {
        let Exchange { stream, head_only, origin } = exchange;
        let is_silent = head_only || reply.body.is_empty() || reply.head.is_bodiless();
        let fields = fields::of_reply(self.session.version(), &reply);
        let mut answered = match origin {
            Origin::Asked => self.session.reply(stream, &fields, is_silent).map(drop),
            // The SYN_STREAM promised; the answer is in HEADERS (3.3.1).
            Origin::Pushed => self.session.headers(stream, &fields, is_silent).map(drop),
        };
        if !is_silent && answered.is_ok() {
            answered = self.session.send(stream, reply.body, true);
        }
        match answered {
            // A client that has given up the stream misses nothing.
            Ok(()) | Err(CommandError::Closed(_)) => {}
            Err(CommandError::Fields(_)) => self.session.reset(stream, ResetReason::INTERNAL_ERROR),
        }
    }
}

/// Promises what `handler` pushes with the answer to `request` on `stream`, as far as the client takes it.
fn promise<H: Handler>(
    session: &mut Session,
    handler: &H,
    stream: StreamId,
    request: RequestHead<'_>,
    scheme: &str,
) -> Vec<(StreamId, String)> {
    let mut promised = Vec::new();
    for Push { path, priority } in handler.pushes(request) {
        let fields = fields::of_promise(session.version(), scheme, request.authority, &path);
        let priority = ::spdy::Priority::new(Precedence::from(priority).spdy);
        // A client that takes no (more) pushed streams takes none of the others.
        let Ok(opened) = session.push(stream, &fields, priority) else { break };
        promised.push((opened.stream, path));
    }
    promised
}

/// Of the request's URL.
fn scheme(version: Version, request: &Arriving) -> &str {
    let line = message::read_request(version, &request.fields).ok();
    line.and_then(|line| str::from_utf8(line.scheme).ok()).unwrap_or("https")
}

fn request_head(version: Version, request: &Arriving) -> Option<RequestHead<'_>> {
    let line = message::read_request(version, &request.fields).ok()?;
    Some(RequestHead {
        method: str::from_utf8(line.method).ok()?,
        authority: str::from_utf8(line.host).ok()?,
        target: str::from_utf8(line.path).ok()?,
        body_bytes: request.body_bytes,
    })
}
