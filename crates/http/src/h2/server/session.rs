//! The state of one connection and its event loop.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use ::h2::server::{Connection, SendResponse};
use ::h2::{Reason, RecvStream};
use bytes::Bytes;
use http::{Method, Request, Uri, request};

use super::FrameRates;
use super::reply::{H2BodySender, H2Responder, Respond, send_continue};
use super::{BodyWanted, body_of};
use crate::h2::metering::H2Backlog;
use crate::h2::metering::{FlowMeter, FlowState};
use crate::h2::settings;
use crate::h2::wire::coalesce::CoalescedWriter;
use crate::h2::wire::field_filter::FieldFiltered;
use crate::h2::wire::observer::{Observed, Observer, SharedObserver};
use crate::message::expects_continue;
use crate::schedule::{Dependency, Schedule, ServeOutcome, Signal, Urgency};
use crate::server::{
    Body, BodyError, DrainWatch, Later, RequestProgress, SharedServerState, StallVerdict,
    StallWatch, Up,
};
use crate::{Answer, Handler, Push, Reply, RequestBody, RequestHead, Response, Transport};
use tls::Protocol;

/// A request whose body is still arriving.
struct ArrivingH2Request {
    head: request::Parts,
    body: RequestBody,
    body_bytes: u64,
    respond: SendResponse<Bytes>,
}

/// A request whose reply is delayed.
struct PendingH2Answer {
    exchange: H2Responder,
    reply: Later,
}

/// A client's bytes in a tunnel, being carried.
struct Carrying {
    stream: u32,
    up: Pin<Box<dyn Future<Output = Result<(), BodyError>>>>,
}

pub(super) struct H2Session<'a, S, H> {
    connection: Connection<FieldFiltered<Observed<CoalescedWriter<S>>>, Bytes>,
    stream: CoalescedWriter<S>,
    observer: SharedObserver,
    backlog: Rc<H2Backlog>,
    handler: Rc<H>,
    settings: settings::Server,
    peer: Option<SocketAddr>,
    /// The scheme of requests that h2 reports without one: those with `Host` in the place of `:authority`.
    scheme: &'static str,
    meter: &'a FlowMeter,
    arriving: Vec<ArrivingH2Request>,
    pending: Vec<PendingH2Answer>,
    sending: BTreeMap<u32, H2BodySender>,
    carrying: Vec<Carrying>,
    schedule: Box<dyn Schedule>,
    common: SharedServerState,
    drain: DrainWatch,
    floods: FrameRates,
    stall_watch: StallWatch,
}

impl<'a, S, H> H2Session<'a, S, H>
where
    S: Transport,
    H: Handler,
{
    pub(super) async fn begin(
        common: &SharedServerState,
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
        let backlog = H2Backlog::new(stream.held(), &observer);
        let peer = stream.peer();
        let scheme = if stream.is_secure() { "https" } else { "http" };
        let stream = CoalescedWriter::new(stream);
        let observed = Observed::new(stream.clone(), &observer);
        let connection = settings.builder().handshake(FieldFiltered::of_client(observed)).await?;
        stream.begin();
        Ok(H2Session {
            connection,
            stream,
            observer,
            backlog,
            handler,
            settings: *settings,
            peer,
            scheme,
            meter,
            arriving: Vec::new(),
            pending: Vec::new(),
            sending: BTreeMap::new(),
            carrying: Vec::new(),
            schedule: settings.scheduler.schedule(),
            common: common.clone(),
            drain: common.watch(),
            floods: FrameRates::default(),
            stall_watch: StallWatch::over(common),
        })
    }

    /// Does all possible work; ready when the connection has ended.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ::h2::Error>> {
        if self.drain.poll_begun(cx).is_ready() {
            self.connection.graceful_shutdown();
        }
        loop {
            // Reads input and writes queued frames.
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
            let mut moved = self.stem();
            moved |= self.poll_arriving(cx);
            moved |= self.poll_pending(cx);
            moved |= self.poll_carrying(cx);
            moved |= self.hand_over(cx);
            if !moved {
                moved = self.look_out(cx)?;
            }
            if !moved {
                // A stream error also fails h2's next write or read, which reports it better.
                let _ = self.stream.poll_pass_on(cx);
                self.backlog.note_written(self.stream.gathered_bytes());
                self.rest();
                return Poll::Pending;
            }
        }
    }

    /// Frees the memory of empty collections: a map keeps a node, a vector its capacity, and most connections are idle
    /// most of the time.
    fn rest(&mut self) {
        if self.sending.is_empty() {
            self.sending = BTreeMap::new();
        }
        if self.pending.is_empty() {
            self.pending = Vec::new();
        }
        if self.arriving.is_empty() {
            self.arriving = Vec::new();
        }
    }

    /// Closes the connection if the client floods it; returns true if it did.
    fn stem(&mut self) -> bool {
        let received = self.observer.borrow().controls();
        let is_flood = self.floods.is_flood(received, world::now);
        if is_flood {
            self.connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
        }
        is_flood
    }

    /// Flushes the output of the last turn.
    pub(super) async fn finish(&mut self) {
        self.stall_watch.linger();
        // The connection is over: a client that has left misses nothing.
        std::future::poll_fn(|cx| match self.stream.poll_pass_on(cx) {
            Poll::Ready(_) => Poll::Ready(()),
            Poll::Pending => self.stall_watch.poll_end(cx),
        })
        .await;
        self.backlog.note_written(self.stream.gathered_bytes());
    }

    /// Notes that nothing more will be sent.
    pub(super) fn end(&self) {
        self.meter.enter(world::now(), FlowState::Idle);
    }

    /// Passes the client's new priority signals to the schedule.
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
        if head.method == Method::CONNECT {
            // RFC 9113 section 8.5: the following DATA belongs to the tunnel.
            let answer = self.handler.handle(self.head(&head, 0));
            let tunnel = Some(body_of(&head, body, &BodyWanted::default()));
            let exchange = H2Responder::new(Respond::Asked(respond), false);
            self.work(H2Responder { tunnel, ..exchange }, answer);
        } else if body.is_end_stream() {
            self.ask(head, 0, respond);
        } else {
            let demand = BodyWanted::default();
            let body = body_of(&head, body, &demand);
            self.receive(ArrivingH2Request { head, body, body_bytes: 0, respond }, demand);
        }
    }

    /// Offers the handler a request whose body has not arrived.
    fn receive(&mut self, arriving: ArrivingH2Request, demand: BodyWanted) {
        let ArrivingH2Request { head, body, body_bytes, mut respond } = arriving;
        let body = self.common.paced(body);
        let invites = expects_continue(&head.headers).then_some(demand);
        match self.handler.receive(self.head(&head, 0), body) {
            Ok(answer) => {
                let exchange =
                    H2Responder::new(Respond::Asked(respond), head.method == Method::HEAD);
                self.work(H2Responder { invites, ..exchange }, answer);
            }
            Err(body) => {
                if invites.is_some() {
                    send_continue(&mut respond);
                }
                self.arriving.push(ArrivingH2Request { head, body, body_bytes, respond });
            }
        }
    }

    fn head<'r>(&self, head: &'r request::Parts, body_bytes: u64) -> RequestHead<'r> {
        let parts = RequestHead::of_parts(&head.method, &head.uri, &head.headers);
        let is_told = !parts.scheme.is_empty() || parts.is_connect();
        RequestHead {
            scheme: if is_told { parts.scheme } else { self.scheme },
            protocol: Protocol::H2,
            peer: self.peer,
            body_bytes,
            ..parts
        }
    }

    /// Drains requests' bodies; returns true if one is complete.
    fn poll_arriving(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        let mut at = 0;
        while at < self.arriving.len() {
            match self.arriving[at].poll(cx) {
                Poll::Pending => at += 1,
                Poll::Ready(whole) => {
                    let arriving = self.arriving.remove(at);
                    if whole {
                        self.ask(arriving.head, arriving.body_bytes, arriving.respond);
                    }
                    moved = true;
                }
            }
        }
        moved
    }

    fn ask(&mut self, head: request::Parts, body_bytes: u64, mut respond: SendResponse<Bytes>) {
        let request = self.head(&head, body_bytes);
        let scheme = head.uri.scheme_str().unwrap_or("https");
        // The client must learn of promises before the answer lets it request the same (RFC 9113 section 8.4.1).
        let promised = self.promise(&mut respond, request, scheme);
        let answer = self.handler.handle(request);
        let head_only = head.method == Method::HEAD;
        self.work(H2Responder::new(Respond::Asked(respond), head_only), answer);
        for (exchange, path) in promised {
            let answer = self.handler.handle(request.promised(&path));
            self.work(exchange, answer);
        }
    }

    /// Promises the responses that the handler pushes with the answer to `request`, as far as the client accepts them.
    fn promise(
        &mut self,
        respond: &mut SendResponse<Bytes>,
        request: RequestHead<'_>,
        scheme: &str,
    ) -> Vec<(H2Responder, String)> {
        let mut promised = Vec::new();
        for Push { path, priority } in self.handler.pushes(request) {
            let uri = Uri::builder().scheme(scheme).authority(request.authority);
            let Ok(uri) = uri.path_and_query(path.as_str()).build() else { continue };
            let mut get = Request::new(());
            *get.uri_mut() = uri;
            let parent = respond.stream_id().as_u32();
            // A client that refuses one push refuses the others.
            let Ok(pushed) = respond.push_request(get) else { break };
            let stream = pushed.stream_id().as_u32();
            // RFC 7540 section 5.3.5; RFC 9218 leaves it to the server (section 8).
            let dependency = Dependency { parent, ..Dependency::default() };
            let urgency = Urgency { level: priority as u8, ..Urgency::default() };
            self.schedule.signal(stream, Signal::Dependency(dependency));
            self.schedule.signal(stream, Signal::Field(urgency));
            promised.push((H2Responder::new(Respond::Pushed(pushed), false), path));
        }
        promised
    }

    fn work(&mut self, exchange: H2Responder, answer: Answer) {
        match answer {
            Answer::Ready(reply) => self.answer(exchange, reply),
            Answer::Later(reply) => self.pending.push(PendingH2Answer { exchange, reply }),
        }
    }

    /// Polls delayed replies; returns true if one is ready. Replies to streams that the client has reset are dropped.
    fn poll_pending(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        let mut at = 0;
        while at < self.pending.len() {
            let pending = &mut self.pending[at];
            match pending.reply.as_mut().poll(cx) {
                Poll::Pending if pending.exchange.is_given_up(cx) => drop(self.pending.remove(at)),
                Poll::Pending => {
                    pending.exchange.invite();
                    at += 1;
                }
                Poll::Ready(Response::Interim { head, then }) => {
                    pending.exchange.inform(head);
                    pending.reply = then;
                    moved = true;
                }
                Poll::Ready(response) => {
                    let exchange = self.pending.remove(at).exchange;
                    self.respond(exchange, response);
                    moved = true;
                }
            }
        }
        moved
    }

    /// Carries clients' bytes through tunnels; returns true if one of them has ended.
    fn poll_carrying(&mut self, cx: &mut Context<'_>) -> bool {
        let before = self.carrying.len();
        let sending = &mut self.sending;
        self.carrying.retain_mut(|Carrying { stream, up }| match up.as_mut().poll(cx) {
            Poll::Pending => true,
            Poll::Ready(ended) => {
                if ended.is_err()
                    && let Some(sending) = sending.get_mut(stream)
                {
                    sending.break_off();
                }
                false
            }
        });
        self.carrying.len() < before
    }

    fn answer(&mut self, exchange: H2Responder, reply: Reply) {
        let sending = exchange.answer(reply, &self.backlog);
        self.send(sending);
    }

    fn respond(&mut self, exchange: H2Responder, response: Response) {
        let (sending, up) = exchange.respond(response, &self.backlog);
        if let (Some(sending), Some(up)) = (&sending, up) {
            let stream = sending.id();
            self.carrying.push(Carrying { stream, up: Box::pin(Up::carry(up)) });
        }
        self.send(sending);
    }

    fn send(&mut self, sending: Option<H2BodySender>) {
        if let Some(sending) = sending {
            self.schedule.add(sending.id());
            self.sending.insert(sending.id(), sending);
        }
    }

    /// Checks the client's timeouts; returns true if a shutdown was started.
    fn look_out(&mut self, cx: &mut Context<'_>) -> Result<bool, ::h2::Error> {
        let standing = || RequestProgress {
            progress: self.observer.borrow().progress(),
            awaits_handler: !self.pending.is_empty()
                || self.sending.values().any(|it| !it.has_data() && !it.is_tunnel()),
            is_tunnelling: !self.carrying.is_empty(),
        };
        match self.stall_watch.poll(standing, cx) {
            StallVerdict::Wait => Ok(false),
            StallVerdict::Leave if self.sending.is_empty() && self.arriving.is_empty() => {
                self.connection.graceful_shutdown();
                Ok(true)
            }
            StallVerdict::Leave => {
                self.connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
                Ok(true)
            }
            StallVerdict::End => Err(Reason::ENHANCE_YOUR_CALM.into()),
        }
    }

    /// Hands h2 the next chunk if the transport has accepted all earlier ones; returns true if there was one.
    fn hand_over(&mut self, cx: &mut Context<'_>) -> bool {
        let flow = if self.observer.borrow().is_send_blocked() {
            FlowState::Sending
        } else if self.schedule.is_empty() {
            FlowState::Idle
        } else {
            let (sending, chunk) = (&mut self.sending, self.settings.chunk_bytes);
            let mut flow = FlowState::Idle;
            let moved = self.schedule.serve_one(&mut |id| {
                let stream = sending.get_mut(&id).expect("a scheduled stream is sending");
                let served = stream.send(cx, chunk);
                match served {
                    ServeOutcome::Done(_) => drop(sending.remove(&id)),
                    // Otherwise it waits for its handler.
                    ServeOutcome::Blocked if stream.has_data() => flow = FlowState::Limited,
                    _ => {}
                }
                served
            });
            if moved {
                return true;
            }
            flow
        };
        self.meter.enter(world::now(), flow);
        false
    }
}

impl ArrivingH2Request {
    /// Ready when the body is complete (true) or abandoned (false).
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        while let Some(piece) = ready!(self.body.poll_next(cx)) {
            let Ok(piece) = piece else {
                return Poll::Ready(false);
            };
            self.body_bytes += piece.len() as u64;
        }
        Poll::Ready(true)
    }
}
