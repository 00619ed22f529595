//! One connection, from its first request to its end.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use http::{Response, StatusCode};
use world::sim::HeldNotes;

use super::Core;
use super::delayed::EndFraming;
use super::delayed::{AbortedAnswer, DelayedAnswer};
use super::exchange::Outbox;
use super::exchange::{AnswerContext, BodyUpload, ClientInfo, Method, PendingRequest, Persistence};
use crate::h1::Buffer;
use crate::h1::codec::{BodyLength, CodecEvent, Error, Request, RequestDecoder, Version, encode};
use crate::server::{BodyError, DrainWatch, RequestBody, feed, refusal};
use crate::timer_wheel::Timer;
use crate::{Answer, Handler, Reply, Transport};

/// The reason that a connection ended.
#[derive(Debug)]
pub enum Ended {
    /// Client or server requested it (`Connection: close`), or the client closed between requests.
    Orderly,
    /// No request came in time, or before the server shut down.
    Idle,
    /// A request or the client's reading of its response stalled.
    Stalled,
    /// A request was refused.
    Refused(Error),
    /// The transport failed, or ended in the middle of a request.
    Broken(io::Error),
    /// A response's body ended early.
    BrokeOff(BodyError),
}

/// Answers the requests on `stream` until the connection ends; returns the reason.
pub async fn serve<S, H>(stream: S, handler: Rc<H>, core: &Core) -> Ended
where
    S: Transport,
    H: Handler,
{
    let mut connection = ServerConnection {
        held: stream.held(),
        client: ClientInfo { peer: stream.peer(), is_secure: stream.is_secure() },
        stream,
        core,
        decoder: RequestDecoder::new(core.settings.limits),
        input: None,
        outbox: Outbox::default(),
        timer: core.timer(),
        drain: core.drain().watch(),
        waiting: AwaitedInput::Request,
        is_sending: false,
        pending: None,
        answered: 0,
    };
    connection.timer.set(core.settings.idle_timeout);
    match connection.run(&*handler).await {
        Ok(()) => connection.linger(Ended::Orderly).await,
        Err(ended) => ended,
    }
}

pub(super) struct ServerConnection<'c, S> {
    pub(super) stream: S,
    client: ClientInfo,
    pub(super) core: &'c Core,
    pub(super) decoder: RequestDecoder,
    /// Lent by the core while there are bytes in it.
    pub(super) input: Option<Buffer>,
    /// Its memory is lent by the core while the connection is active.
    pub(super) outbox: Outbox,
    /// Receiver of notes on the outbox's bytes, if any.
    held: Option<HeldNotes>,
    pub(super) timer: Timer,
    drain: DrainWatch,
    waiting: AwaitedInput,
    /// The transport has not accepted, or not flushed, all that was written.
    is_sending: bool,
    /// A request whose body has not all arrived.
    pending: Option<PendingRequest>,
    /// Number of requests answered.
    answered: u32,
}

/// The event for which the client's timeout runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AwaitedInput {
    /// The first byte of a request.
    Request,
    /// The rest of a head.
    Head,
    /// More of a body.
    Body,
}

/// The next step once the input is processed.
enum NextStep {
    /// More bytes are needed.
    Read,
    /// The outbox should be sent first.
    Send,
    /// A delayed answer, or one whose request has not all arrived.
    Later(DelayedAnswer),
    /// The response in the outbox is the last.
    Close,
    /// A request is malformed.
    Refuse(Error),
}

impl<S: Transport> ServerConnection<'_, S> {
    /// Answers requests until the last response has been sent.
    async fn run<H: Handler>(&mut self, handler: &H) -> Result<(), Ended> {
        loop {
            match self.advance(handler) {
                NextStep::Read => {
                    self.send().await?;
                    self.wait();
                    self.read().await?;
                }
                NextStep::Send => self.send().await?,
                NextStep::Later(late) => match self.finish(late).await {
                    Ok(Persistence::Persists) => {}
                    Ok(Persistence::Closes) => return self.send().await,
                    Err(AbortedAnswer::Refusable(ended)) => return Err(self.reject(ended).await),
                    Err(AbortedAnswer::Ended(ended)) => return Err(ended),
                },
                NextStep::Close => return self.send().await,
                NextStep::Refuse(error) => return Err(self.reject(Ended::Refused(error)).await),
            }
        }
    }

    /// Processes the input as far as possible without waiting.
    fn advance<H: Handler>(&mut self, handler: &H) -> NextStep {
        let Some(mut input) = self.input.take() else { return NextStep::Read };
        let turn = self.decode(&mut input, handler);
        self.keep(input);
        turn
    }

    /// Keeps unread input, or returns its buffer.
    pub(super) fn keep(&mut self, input: Buffer) {
        if input.is_empty() {
            self.core.return_input(input);
        } else {
            self.input = Some(input);
        }
    }

    fn decode<H: Handler>(&mut self, input: &mut Buffer, handler: &H) -> NextStep {
        if self.outbox.is_empty() && !self.outbox.has_memory() {
            self.outbox = self.core.outbox();
        }
        loop {
            if self.outbox.is_full() {
                return NextStep::Send;
            }
            let (used, event) = match self.decoder.next(input.filled()) {
                Ok(step) => step,
                Err(error) => return NextStep::Refuse(error),
            };
            if matches!(event, CodecEvent::Head(_)) {
                self.waiting = AwaitedInput::Request;
            }
            let answered = match event {
                CodecEvent::More => {
                    input.consume(used);
                    return NextStep::Read;
                }
                CodecEvent::Head(request) if request.body == BodyLength::None => {
                    let exchange = AnswerContext::of(&request);
                    Some((handler.handle(self.client.head(&request)), exchange))
                }
                CodecEvent::Head(request) => {
                    if let Some(late) = self.receive(&request, handler) {
                        input.consume(used);
                        return NextStep::Later(late);
                    }
                    self.pending = Some(PendingRequest::of(&request));
                    // RFC 9110 section 10.1.1: not if the body is already coming.
                    if request.expects_continue && input.filled().len() == used {
                        self.outbox.text(b"HTTP/1.1 100 Continue\r\n\r\n");
                    }
                    None
                }
                CodecEvent::Data(data) => {
                    let pending = self.pending.as_mut().expect("a body follows its head");
                    pending.body_bytes += data.len() as u64;
                    pending.patience.took(world::now(), data.len());
                    None
                }
                CodecEvent::End => {
                    let pending = self.pending.take().expect("a body follows its head");
                    Some((handler.handle(pending.head(self.client)), pending.exchange))
                }
            };
            input.consume(used);
            let Some((answer, exchange)) = answered else { continue };
            let reply = match answer {
                Answer::Ready(reply) => reply,
                Answer::Later(_) => {
                    return NextStep::Later(DelayedAnswer { answer, exchange, upload: None });
                }
            };
            if self.respond(&reply, exchange) == Persistence::Closes {
                return NextStep::Close;
            }
        }
    }

    /// Offers the handler a request whose body has not arrived; `None` if it wants the whole body.
    fn receive<H: Handler>(&self, request: &Request<'_>, handler: &H) -> Option<DelayedAnswer> {
        let (feed, fed) = feed();
        let length = match request.body {
            BodyLength::Exactly(bytes) => Some(bytes),
            _ => None,
        };
        let body = RequestBody::new(Box::new(fed), length);
        let answer = handler.receive(self.client.head(request), body).ok()?;
        let upload = BodyUpload::new(feed, self.core.timer(), request.expects_continue);
        Some(DelayedAnswer { answer, exchange: AnswerContext::of(request), upload: Some(upload) })
    }

    /// Sets the timer for the missing input. A head's time runs from its first byte.
    fn wait(&mut self) {
        let (before, settings) = (self.waiting, &self.core.settings);
        self.waiting = match (&mut self.pending, &self.input) {
            (Some(pending), _) => {
                let pace = settings.body_pace;
                let patience = pending.patience.wait(world::now(), pace, settings.idle_timeout);
                self.timer.set(patience);
                AwaitedInput::Body
            }
            (None, Some(_)) if before == AwaitedInput::Head => AwaitedInput::Head,
            (None, Some(_)) => {
                self.timer.set(settings.head_timeout);
                AwaitedInput::Head
            }
            (None, None) => {
                let is_leaving = self.drain.has_begun();
                let patience =
                    if is_leaving { settings.drain_timeout } else { settings.idle_timeout };
                self.timer.set(patience);
                AwaitedInput::Request
            }
        };
    }

    /// Puts a response into the outbox.
    pub(super) fn respond(&mut self, reply: &Reply, exchange: AnswerContext) -> Persistence {
        let is_connect = exchange.method == Method::Connect;
        if is_connect && reply.head.parts.status().is_success() {
            // The client would treat it as a tunnel.
            return self.respond(&refusal(StatusCode::NOT_IMPLEMENTED), exchange);
        }
        let head = &reply.head.h1[..];
        // The prepared head ends with an empty line; this connection's field goes before it.
        let open = &head[..head.len().saturating_sub(2)];
        let persistence = self.persistence(exchange);
        match connection_field(exchange.version, persistence) {
            None => self.outbox.text(head),
            Some(field) => {
                self.outbox.text(open);
                self.outbox.text(field);
                self.outbox.text(b"\r\n");
            }
        }
        if exchange.method != Method::Head && !reply.head.is_bodiless() {
            self.outbox.body(&reply.body);
        }
        persistence
    }

    /// Puts the head of a response with a streamed body into the outbox.
    pub(super) fn begin(
        &mut self,
        head: &Response<()>,
        length: Option<u64>,
        framing: EndFraming,
        exchange: AnswerContext,
    ) -> Persistence {
        let persistence = self.persistence(exchange);
        self.outbox.with_text(|text| {
            encode::open_head(text, head.status(), head.headers());
            match (framing, length) {
                (EndFraming::Chunked, _) => {
                    text.extend_from_slice(b"transfer-encoding: chunked\r\n")
                }
                (_, Some(bytes)) => encode::length_of(text, head.status(), bytes),
                (_, None) => {}
            }
            text.extend_from_slice(
                connection_field(exchange.version, persistence).unwrap_or_default(),
            );
            text.extend_from_slice(b"\r\n");
        });
        persistence
    }

    /// Decides whether the connection persists after one more answer.
    fn persistence(&mut self, exchange: AnswerContext) -> Persistence {
        self.answered += 1;
        let is_last = self.core.settings.requests.is_some_and(|most| self.answered >= most);
        Persistence::of(exchange.persistent && !is_last && !self.drain.has_begun())
    }

    /// Tells the client why its request is not answered, and ends.
    async fn reject(&mut self, ended: Ended) -> Ended {
        let status = match &ended {
            Ended::Refused(error) => error.status(),
            // RFC 9110 section 15.5.9.
            _ => StatusCode::REQUEST_TIMEOUT,
        };
        match self.refuse(status).await {
            Ok(()) => self.linger(ended).await,
            Err(ended) => ended,
        }
    }

    /// Refuses the client's request, once all earlier answers have left.
    async fn refuse(&mut self, status: StatusCode) -> Result<(), Ended> {
        let reason = status.canonical_reason().unwrap_or_default();
        let text = format!(
            "HTTP/1.1 {} {reason}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            status.as_str()
        );
        self.outbox.text(text.as_bytes());
        self.send().await
    }

    /// Sends the whole outbox. The peer must accept some of it in time.
    pub(super) async fn send(&mut self) -> Result<(), Ended> {
        self.begin_sending();
        poll_fn(|cx| self.poll_send_any(cx)).await
    }

    /// Starts the send timeout if there are bytes to send.
    pub(super) fn begin_sending(&mut self) {
        if !self.is_sending && !self.outbox.is_empty() {
            self.timer.set(self.core.settings.send_timeout);
            self.is_sending = true;
        }
    }

    /// Sends the whole outbox, if it is not empty.
    pub(super) fn poll_send_any(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Ended>> {
        if self.is_sending {
            ready!(self.poll_send(cx))?;
            self.is_sending = false;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Ended>> {
        let done = loop {
            if self.outbox.is_empty() {
                break Pin::new(&mut self.stream).poll_flush(cx);
            }
            match self.outbox.poll_write(&mut self.stream, cx) {
                Poll::Ready(Ok(_)) if self.outbox.is_empty() => {}
                Poll::Ready(Ok(_)) => self.timer.set(self.core.settings.send_timeout),
                Poll::Ready(Err(error)) => break Poll::Ready(Err(error)),
                Poll::Pending => break Poll::Pending,
            }
        };
        if let Some(held) = &self.held {
            held.application(self.outbox.len() as u64);
        }
        self.or_stalled(done, cx)
    }

    /// The transport's result, or an error on timeout.
    fn or_stalled<T>(
        &self,
        said: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, Ended>> {
        match said {
            Poll::Ready(result) => Poll::Ready(result.map_err(Ended::Broken)),
            Poll::Pending => self.timer.poll_expired(cx).map(|()| Err(Ended::Stalled)),
        }
    }

    /// Reads once.
    async fn read(&mut self) -> Result<(), Ended> {
        match poll_fn(|cx| self.poll_read(cx)).await {
            Ok(0) => Err(self.closed_by_client().await),
            Ok(_) => Ok(()),
            Err(Ended::Stalled) if self.waiting == AwaitedInput::Request => Err(Ended::Idle),
            Err(Ended::Stalled) => Err(self.reject(Ended::Stalled).await),
            Err(ended) => Err(ended),
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, Ended>> {
        let read = self.poll_fill(cx);
        let is_idle = read.is_pending() && self.waiting == AwaitedInput::Request;
        if is_idle && self.drain.poll_begun(cx).is_ready() {
            // A request may be on its way: it gets a last chance.
            self.timer.set(self.core.settings.drain_timeout);
        }
        if read.is_pending() {
            self.rest();
        }
        self.or_stalled(read, cx)
    }

    /// Reads once and appends to the input.
    pub(super) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut input = self.input.take().unwrap_or_else(|| self.core.input());
        let read = input.poll_fill(&mut self.stream, cx);
        self.keep(input);
        read
    }

    /// Handles the client's half-close after all its requests were answered.
    async fn closed_by_client(&mut self) -> Ended {
        let rest = self.input.as_ref().map_or(&[][..], Buffer::filled);
        if !self.decoder.is_between(rest) {
            return Ended::Broken(io::ErrorKind::UnexpectedEof.into());
        }
        // An error only means that the client did not wait.
        drop(self.shut_down().await);
        Ended::Orderly
    }

    async fn shut_down(&mut self) -> Result<(), Ended> {
        self.timer.set(self.core.settings.linger_timeout);
        poll_fn(|cx| {
            let shut = Pin::new(&mut self.stream).poll_shutdown(cx);
            self.or_stalled(shut, cx)
        })
        .await
    }

    /// Closes our direction and waits until the client has closed its own. RFC 9112 section 9.6: if the server closes
    /// both at once, with bytes of the client unread, TCP resets the connection, and the client may lose the response.
    async fn linger(&mut self, ended: Ended) -> Ended {
        if self.shut_down().await.is_err() {
            return ended;
        }
        loop {
            if let Some(input) = &mut self.input {
                input.consume(input.filled().len());
            }
            match poll_fn(|cx| self.poll_read(cx)).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return ended,
            }
        }
    }
}

impl<S> ServerConnection<'_, S> {
    /// Lends the outbox's memory to other connections while the connection is idle.
    fn rest(&mut self) {
        if self.outbox.is_empty() && self.outbox.has_memory() {
            self.core.return_outbox(std::mem::take(&mut self.outbox));
        }
    }
}

impl<S> Drop for ServerConnection<'_, S> {
    /// Returns the buffers to the next connection.
    fn drop(&mut self) {
        self.rest();
    }
}

/// The value of `Connection`, if the field is needed.
fn connection_field(version: Version, persistence: Persistence) -> Option<&'static [u8]> {
    match (version, persistence) {
        (Version::V11, Persistence::Persists) => None,
        // RFC 9112 appendix C.2.2: HTTP/1.0 clients need to be told.
        (Version::V10, Persistence::Persists) => Some(b"connection: keep-alive\r\n"),
        (_, Persistence::Closes) => Some(b"connection: close\r\n"),
    }
}
