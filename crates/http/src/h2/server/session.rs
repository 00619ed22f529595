//! The state of one connection and the turn of its wheel.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use ::h2::RecvStream;
use ::h2::server::{Connection, SendResponse};
use bytes::Bytes;
use http::{Method, Request, Uri, request};

use super::reply::{Exchange, Respond, Sending};
use crate::h2::backlog::Backlog;
use crate::h2::flow::{Flow, FlowMeter};
use crate::h2::gather::Gathered;
use crate::h2::observer::{Observed, Observer, Shared};
use crate::h2::settings;
use crate::schedule::{Dependency, Schedule, Served, Signal, Urgency};
use crate::{Answer, Handler, Push, Reply, RequestHead, Transport};

/// A request whose body is still arriving.
struct Arriving {
    head: request::Parts,
    body: RecvStream,
    body_bytes: u64,
    respond: SendResponse<Bytes>,
}

/// A request whose reply takes time.
struct Pending {
    exchange: Exchange,
    reply: Pin<Box<dyn Future<Output = Reply>>>,
}

pub(super) struct Session<'a, S, H> {
    connection: Connection<Observed<Gathered<S>>, Bytes>,
    stream: Gathered<S>,
    observer: Shared,
    backlog: Rc<Backlog>,
    handler: Rc<H>,
    settings: settings::Server,
    meter: &'a FlowMeter,
    arriving: Vec<Arriving>,
    pending: Vec<Pending>,
    sending: BTreeMap<u32, Sending>,
    schedule: Box<dyn Schedule>,
}

impl<'a, S, H> Session<'a, S, H>
where
    S: Transport,
    H: Handler,
{
    pub(super) async fn begin(
        stream: S,
        handler: Rc<H>,
        settings: &settings::Server,
        meter: &'a FlowMeter,
    ) -> Result<Self, ::h2::Error> {
        let mut observer = Observer::of_server();
        if settings.scheduler.reads_signals() {
            observer = observer.with_signals();
        }
        let observer = Rc::new(RefCell::new(observer));
        let backlog = Backlog::new(stream.held(), &observer);
        let stream = Gathered::new(stream);
        let observed = Observed::new(stream.clone(), &observer);
        let connection = settings.builder().handshake(observed).await?;
        stream.begin();
        Ok(Session {
            connection,
            stream,
            observer,
            backlog,
            handler,
            settings: *settings,
            meter,
            arriving: Vec::new(),
            pending: Vec::new(),
            sending: BTreeMap::new(),
            schedule: settings.scheduler.schedule(),
        })
    }

    /// Does all that can be done now; ready when the connection has ended.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ::h2::Error>> {
        loop {
            // Reads what came and writes what is queued.
            while let Poll::Ready(accepted) = self.connection.poll_accept(cx) {
                match accepted {
                    None => return Poll::Ready(Ok(())),
                    Some(Err(error)) => return Poll::Ready(Err(error)),
                    Some(Ok((request, respond))) => {
                        self.heed_signals();
                        self.accept(request, respond);
                    }
                }
            }
            self.heed_signals();
            let mut moved = self.poll_arriving(cx);
            moved |= self.poll_pending(cx);
            moved |= self.hand_over(cx);
            if !moved {
                // A stream that has failed fails h2's next write or read too, which tells it better.
                let _ = self.stream.poll_pass_on(cx);
                self.backlog.note_written(self.stream.gathered_bytes());
                return Poll::Pending;
            }
        }
    }

    /// Passes on what the last turn left.
    pub(super) async fn finish(&self) {
        // The connection is over: a client that is gone misses nothing.
        let _ = std::future::poll_fn(|cx| self.stream.poll_pass_on(cx)).await;
        self.backlog.note_written(self.stream.gathered_bytes());
    }

    /// Nothing will be sent any more.
    pub(super) fn end(&self) {
        self.meter.enter(world::now(), Flow::Idle);
    }

    /// Tells the schedule what the client has said since the last time.
    fn heed_signals(&mut self) {
        for (stream, signal) in self.observer.borrow_mut().take_signals() {
            self.schedule.signal(stream, signal);
        }
    }

    fn accept(&mut self, request: Request<RecvStream>, respond: SendResponse<Bytes>) {
        let (head, body) = request.into_parts();
        if let Some(field) = head.headers.get("priority") {
            let urgency = Urgency::parse(field.as_bytes());
            self.schedule.signal(respond.stream_id().as_u32(), Signal::Field(urgency));
        }
        let arriving = Arriving { head, body, body_bytes: 0, respond };
        if arriving.body.is_end_stream() {
            self.ask(arriving);
        } else {
            self.arriving.push(arriving);
        }
    }

    /// Drains requests' bodies; true if one is whole.
    fn poll_arriving(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        let mut at = 0;
        while at < self.arriving.len() {
            match self.arriving[at].poll(cx) {
                Poll::Pending => at += 1,
                Poll::Ready(whole) => {
                    let arriving = self.arriving.remove(at);
                    if whole {
                        self.ask(arriving);
                    }
                    moved = true;
                }
            }
        }
        moved
    }

    fn ask(&mut self, Arriving { head, body_bytes, mut respond, .. }: Arriving) {
        let uri = &head.uri;
        let authority = uri.authority().map(|authority| authority.as_str());
        let host = || head.headers.get(http::header::HOST)?.to_str().ok();
        let request = RequestHead {
            method: head.method.as_str(),
            authority: authority.or_else(host).unwrap_or(""),
            target: uri.path_and_query().map_or("/", |target| target.as_str()),
            body_bytes,
        };
        let scheme = uri.scheme_str().unwrap_or("https");
        // What is promised must be known before the answer lets the client ask for it (RFC 9113 section 8.4.1).
        let promised = self.promise(&mut respond, request, scheme);
        let answer = self.handler.handle(request);
        let head_only = head.method == Method::HEAD;
        self.work(Exchange { respond: Respond::Asked(respond), head_only }, answer);
        for (exchange, path) in promised {
            let answer = self.handler.handle(RequestHead {
                method: Method::GET.as_str(),
                target: &path,
                body_bytes: 0,
                ..request
            });
            self.work(exchange, answer);
        }
    }

    /// Promises what the handler pushes with the answer to `request`, as far as the client takes it.
    fn promise(
        &mut self,
        respond: &mut SendResponse<Bytes>,
        request: RequestHead<'_>,
        scheme: &str,
    ) -> Vec<(Exchange, String)> {
        let mut promised = Vec::new();
        for Push { path, priority } in self.handler.pushes(request) {
            let uri = Uri::builder().scheme(scheme).authority(request.authority);
            let Ok(uri) = uri.path_and_query(path.as_str()).build() else { continue };
            let mut get = Request::new(());
            *get.uri_mut() = uri;
            let parent = respond.stream_id().as_u32();
            // A client that takes no pushes takes none of the others.
            let Ok(pushed) = respond.push_request(get) else { break };
            let stream = pushed.stream_id().as_u32();
            // RFC 7540 section 5.3.5; RFC 9218 leaves it to the server (section 8).
            let dependency = Dependency { parent, ..Dependency::default() };
            let urgency = Urgency { level: priority as u8, ..Urgency::default() };
            self.schedule.signal(stream, Signal::Dependency(dependency));
            self.schedule.signal(stream, Signal::Field(urgency));
            let respond = Respond::Pushed(pushed);
            promised.push((Exchange { respond, head_only: false }, path));
        }
        promised
    }

    fn work(&mut self, exchange: Exchange, answer: Answer) {
        match answer {
            Answer::Ready(reply) => self.answer(exchange, reply),
            Answer::Later(reply) => self.pending.push(Pending { exchange, reply }),
        }
    }

    /// Polls replies that take time; true if one is there.
    fn poll_pending(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        let mut at = 0;
        while at < self.pending.len() {
            match self.pending[at].reply.as_mut().poll(cx) {
                Poll::Pending => at += 1,
                Poll::Ready(reply) => {
                    let exchange = self.pending.remove(at).exchange;
                    self.answer(exchange, reply);
                    moved = true;
                }
            }
        }
        moved
    }

    fn answer(&mut self, exchange: Exchange, reply: Reply) {
        if let Some(sending) = exchange.answer(reply, &self.backlog) {
            self.schedule.add(sending.id());
            self.sending.insert(sending.id(), sending);
        }
    }

    /// Hands h2 the next chunk if the transport has taken all before it; true if there was one.
    fn hand_over(&mut self, cx: &mut Context<'_>) -> bool {
        let flow = if self.observer.borrow().is_send_blocked() {
            Flow::Sending
        } else if self.schedule.is_empty() {
            Flow::Idle
        } else {
            let (sending, chunk) = (&mut self.sending, self.settings.chunk_bytes);
            let moved = self.schedule.serve_one(&mut |id| {
                let stream = sending.get_mut(&id).expect("a scheduled stream is sending");
                let served = stream.send(cx, chunk);
                if matches!(served, Served::Done(_)) {
                    sending.remove(&id);
                }
                served
            });
            if moved {
                return true;
            }
            Flow::Limited
        };
        self.meter.enter(world::now(), flow);
        false
    }
}

impl Arriving {
    /// Ready when the body is whole (true) or given up (false).
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        while let Some(piece) = std::task::ready!(self.body.poll_data(cx)) {
            let Ok(piece) = piece else {
                return Poll::Ready(false);
            };
            self.body_bytes += piece.len() as u64;
            if self.body.flow_control().release_capacity(piece.len()).is_err() {
                return Poll::Ready(false);
            }
        }
        self.body.poll_trailers(cx).map(|trailers| trailers.is_ok())
    }
}
