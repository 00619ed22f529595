//! The answer to one request, in a task of its own.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use ::h3::error::{Code, StreamError};
use ::h3::server::{RequestResolver, RequestStream};
use bytes::{Buf, Bytes};
use http::header::{CONTENT_LENGTH, HeaderValue, TE};
use http::{Method, Request, Response as Head, StatusCode};

use super::session::OpenRequests;
use crate::h3::adapter::{self, RecvStream, SendStream, SharedMeters, StopFuture};
use crate::message::expects_continue;
use crate::schedule::Urgency;
use crate::server::{
    Body, BodyError, CheckedBody, Later, SharedServerState, directions, interim, is_bodiless,
    refusal, strip_framing,
};
use crate::{Answer, Duplex, Handler, Reply, RequestBody, RequestHead, Response, Scheduler};
use tls::Protocol;

/// Shared state of a connection's answers.
pub(super) struct Responder<H> {
    pub(super) handler: Rc<H>,
    pub(super) scheduler: Scheduler,
    /// The connection, for its client's address, which may change.
    pub(super) client: quinn::Connection,
    pub(super) tally: SharedMeters,
    pub(super) common: SharedServerState,
    pub(super) open: Rc<OpenRequests>,
}

type ResponseSender = RequestStream<SendStream, Bytes>;
type RequestReceiver = RequestStream<RecvStream, Bytes>;

impl<H: Handler> Responder<H> {
    /// Answers `request`.
    pub(super) async fn answer(
        &self,
        request: RequestResolver<adapter::Connection, Bytes>,
    ) -> Result<(), StreamError> {
        let (request, stream) = request.resolve_request().await?;
        let (mut sending, mut receiving) = stream.split();
        if is_malformed(&request) || self.tally.borrow().is_malformed(sending.send_id()) {
            receiving.stop_sending(Code::H3_MESSAGE_ERROR);
            sending.stop_stream(Code::H3_MESSAGE_ERROR);
            return Ok(());
        }
        let stop = self.tally.borrow_mut().take_stop(sending.send_id());
        if let Some(rank) = rank(self.scheduler, &request, sending.send_id().into_inner()) {
            self.tally.borrow_mut().rank(sending.send_id(), rank);
        }
        if request.method() == Method::CONNECT {
            return self.connect(&request, sending, receiving, stop).await;
        }
        let head_only = request.method() == Method::HEAD;
        let expects = expects_continue(request.headers());
        let first = match expects {
            // It is sent only after 100 (Continue).
            true => Some(Bytes::new()),
            // Only its arrival shows whether a request has a body.
            false => poll_fn(|cx| poll_piece(&mut receiving, cx)).await?,
        };
        let demand = BodyWanted::default();
        let invites = expects.then(|| Rc::clone(&demand));
        let answer = match first {
            None if length(&request).is_some_and(|bytes| bytes > 0) => {
                sending.stop_stream(Code::H3_MESSAGE_ERROR);
                return Ok(());
            }
            None => self.handler.handle(self.head(&request, 0)),
            Some(first) => match self.receive(&request, first, receiving, demand) {
                Ok(answer) => answer,
                Err(body) => {
                    if expects {
                        send_continue(&mut sending).await?;
                    }
                    match drain_body(body).await {
                        Ok(bytes) => self.handler.handle(self.head(&request, bytes)),
                        Err(_) => {
                            // RFC 9114 section 4.1.2.
                            sending.stop_stream(Code::H3_MESSAGE_ERROR);
                            return Ok(());
                        }
                    }
                }
            },
        };
        match answer {
            Answer::Ready(reply) => send(&mut sending, reply, head_only).await,
            Answer::Later(response) => {
                let mut wait = Wait { open: &self.open, stop, invites };
                match wait.final_response(&mut sending, response).await? {
                    None => Ok(()),
                    Some(Response::Whole(reply)) => send(&mut sending, reply, head_only).await,
                    Some(Response::Streamed { head, length, body }) => {
                        wait.stream_out(&mut sending, head, length, body, head_only).await
                    }
                    Some(_) => {
                        send(&mut sending, refusal(StatusCode::NOT_IMPLEMENTED), head_only).await
                    }
                }
            }
        }
    }

    /// Offers the handler a request whose body has begun, or waits for 100 (Continue); returns the body if it is unwanted.
    fn receive(
        &self,
        request: &Request<()>,
        first: Bytes,
        stream: RequestReceiver,
        demand: BodyWanted,
    ) -> Result<Answer, RequestBody> {
        let length = length(request);
        let first = Some(first).filter(|first| !first.is_empty());
        let received = H3RequestBody { first, stream, demand, is_over: false };
        let body = RequestBody::new(Box::new(CheckedBody::new(Box::new(received), length)), length);
        self.handler.receive(self.head(request, 0), self.common.paced(body))
    }

    /// RFC 9114 section 4.4: the following data belongs to the tunnel.
    async fn connect(
        &self,
        request: &Request<()>,
        mut sending: ResponseSender,
        stream: RequestReceiver,
        stop: Option<StopFuture>,
    ) -> Result<(), StreamError> {
        let mut wait = Wait { open: &self.open, stop, invites: None };
        let response = match self.handler.handle(self.head(request, 0)) {
            Answer::Ready(reply) => Response::Whole(reply),
            Answer::Later(response) => match wait.final_response(&mut sending, response).await? {
                Some(response) => response,
                None => return Ok(()),
            },
        };
        // The client would treat any other success as a tunnel.
        let not_implemented = || refusal(StatusCode::NOT_IMPLEMENTED);
        match response {
            Response::Tunnel(far) => {
                let _tunnel = self.open.tunnel();
                tunnel(&mut sending, stream, far).await
            }
            Response::Whole(reply) if !reply.head.parts.status().is_success() => {
                send(&mut sending, reply, false).await
            }
            Response::Streamed { head, length, body } if !head.status().is_success() => {
                wait.stream_out(&mut sending, head, length, body, false).await
            }
            _ => send(&mut sending, not_implemented(), false).await,
        }
    }

    fn head<'r>(&self, request: &'r Request<()>, body_bytes: u64) -> RequestHead<'r> {
        RequestHead {
            protocol: Protocol::H3,
            peer: Some(self.client.remote_address()),
            body_bytes,
            ..RequestHead::of_parts(request.method(), request.uri(), request.headers())
        }
    }
}

/// A response's rank among those of its connection, the highest first, in quinn's terms; `None` if all have the same.
/// By RFC 9218's rules: non-incremental responses have distinct ranks in the order of their requests, before the
/// incremental ones of their urgency, which share one.
fn rank(scheduler: Scheduler, request: &Request<()>, stream: u64) -> Option<i32> {
    const BAND: i32 = 1 << 28;
    if !scheduler.reads_signals() {
        return None;
    }
    let field = request.headers().get("priority");
    let urgency = field.map_or_else(Urgency::default, |field| Urgency::parse(field.as_bytes()));
    let place = match (scheduler, urgency.is_incremental) {
        (Scheduler::Strict, _) => 0,
        (_, true) => BAND - 1,
        (_, false) => i32::try_from(stream / 4).unwrap_or(BAND).min(BAND - 2),
    };
    Some(-(i32::from(urgency.level) * BAND) - place)
}

/// Returns true if a request has connection-specific fields (RFC 9114 section 4.2) or contradictory lengths (RFC 9110
/// section 8.6). h3 has already checked the consistency of the host.
fn is_malformed(request: &Request<()>) -> bool {
    const OF_THE_CONNECTION: [&str; 5] =
        ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];
    let fields = request.headers();
    OF_THE_CONNECTION.iter().any(|name| fields.contains_key(*name))
        || fields.get_all(TE).iter().any(|value| value != "trailers")
        || match fields.get_all(CONTENT_LENGTH).iter().count() {
            0 => false,
            1 => length(request).is_none(),
            _ => true,
        }
}

/// The size of a request's body, if the head tells it.
fn length(request: &Request<()>) -> Option<u64> {
    let value = request.headers().get(CONTENT_LENGTH)?.to_str().ok()?;
    value.bytes().all(|byte| byte.is_ascii_digit()).then(|| value.parse().ok()).flatten()
}

async fn send(
    stream: &mut ResponseSender,
    reply: Reply,
    head_only: bool,
) -> Result<(), StreamError> {
    let silent = head_only || reply.head.is_bodiless();
    stream.send_response(reply.head.parts.clone()).await?;
    if !silent && !reply.body.is_empty() {
        stream.send_data(reply.body).await?;
    }
    stream.finish().await
}

/// A client's wait for a handler, which the client may abandon.
struct Wait<'a> {
    open: &'a Rc<OpenRequests>,
    stop: Option<StopFuture>,
    /// The demand for a body that the client holds back until it gets 100 (Continue).
    invites: Option<BodyWanted>,
}

/// True once a body is wanted.
type BodyWanted = Rc<Cell<bool>>;

/// Sends 100 (Continue).
async fn send_continue(stream: &mut ResponseSender) -> Result<(), StreamError> {
    let mut head = Head::new(());
    *head.status_mut() = StatusCode::CONTINUE;
    stream.send_response(head).await
}

/// The size of an unwanted body.
async fn drain_body(mut body: RequestBody) -> Result<u64, BodyError> {
    let mut bytes = 0;
    while let Some(piece) = body.next().await {
        bytes += piece?.len() as u64;
    }
    Ok(bytes)
}

impl Wait<'_> {
    /// The output of `making`; none if the client abandons the request.
    async fn unless_stopped<T>(&mut self, making: impl Future<Output = T>) -> Option<T> {
        let _handler = self.open.handlers();
        let mut making = pin!(making);
        poll_fn(|cx| match (making.as_mut().poll(cx), &mut self.stop) {
            (Poll::Ready(made), _) => Poll::Ready(Some(made)),
            (Poll::Pending, Some(stop)) => stop.as_mut().poll(cx).map(|()| None),
            (Poll::Pending, None) => Poll::Pending,
        })
        .await
    }

    /// The final response, once the interim ones before it have been sent; none if the client abandons the request.
    async fn final_response(
        &mut self,
        stream: &mut ResponseSender,
        mut making: Later,
    ) -> Result<Option<Response>, StreamError> {
        loop {
            let mut invites = self.invites.take();
            let made = self.unless_stopped(poll_fn(|cx| match making.as_mut().poll(cx) {
                Poll::Ready(response) => Poll::Ready(Some(response)),
                // RFC 9110 section 10.1.1: once the body is wanted.
                Poll::Pending => match invites.take_if(|demand| demand.get()) {
                    Some(_) => Poll::Ready(None),
                    None => Poll::Pending,
                },
            }));
            let made = made.await;
            self.invites = invites;
            let head = match made {
                None => return Ok(None),
                Some(None) => {
                    send_continue(stream).await?;
                    continue;
                }
                Some(Some(Response::Interim { head, then })) => {
                    making = then;
                    head
                }
                Some(response) => return Ok(response),
            };
            if let Some(head) = interim(head) {
                stream.send_response(head).await?;
            }
        }
    }

    /// Sends a body piece by piece; QUIC accepts the next when it has room.
    async fn stream_out(
        mut self,
        stream: &mut ResponseSender,
        mut head: Head<()>,
        length: Option<u64>,
        body: Box<dyn Body>,
        head_only: bool,
    ) -> Result<(), StreamError> {
        strip_framing(&mut head);
        let is_bodiless = is_bodiless(head.status());
        if let Some(bytes) = length.filter(|_| !is_bodiless) {
            head.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(bytes));
        }
        stream.send_response(head).await?;
        if head_only || is_bodiless {
            return stream.finish().await;
        }
        let mut source = CheckedBody::new(body, length);
        while let Some(piece) = self.unless_stopped(poll_fn(|cx| source.poll_next(cx))).await {
            if !send_piece(stream, piece, Code::H3_INTERNAL_ERROR).await? {
                break;
            }
        }
        Ok(())
    }
}

/// Sends a piece of a body; returns false at its end. If the body ends early the stream is reset with `code`, never ended cleanly.
async fn send_piece(
    stream: &mut ResponseSender,
    piece: Result<Option<Bytes>, BodyError>,
    code: Code,
) -> Result<bool, StreamError> {
    match piece {
        Ok(Some(piece)) => {
            stream.send_data(piece).await?;
            return Ok(true);
        }
        Ok(None) => stream.finish().await?,
        Err(_) => stream.stop_stream(code),
    }
    Ok(false)
}

/// Sends the data from a tunnel's far end.
async fn send_tunnel_data(
    stream: &mut ResponseSender,
    mut source: CheckedBody,
) -> Result<(), StreamError> {
    loop {
        let piece = poll_fn(|cx| source.poll_next(cx)).await;
        if !send_piece(stream, piece, Code::H3_CONNECT_ERROR).await? {
            return Ok(());
        }
    }
}

async fn tunnel(
    sending: &mut ResponseSender,
    stream: RequestReceiver,
    far: Box<dyn Duplex>,
) -> Result<(), StreamError> {
    sending.send_response(Head::new(())).await?;
    let received =
        H3RequestBody { first: None, stream, demand: BodyWanted::default(), is_over: false };
    let (down, up) = directions(far, RequestBody::new(Box::new(received), None));
    let is_broken = {
        let down = send_tunnel_data(sending, CheckedBody::new(Box::new(down), None));
        let (mut down, mut up) = (pin!(down), pin!(up.carry()));
        let (mut is_down, mut is_up) = (false, false);
        poll_fn(|cx| {
            if !is_up && let Poll::Ready(ended) = up.as_mut().poll(cx) {
                is_up = true;
                if ended.is_err() {
                    return Poll::Ready(Ok(true));
                }
            }
            if !is_down && let Poll::Ready(ended) = down.as_mut().poll(cx) {
                is_down = true;
                if let Err(error) = ended {
                    return Poll::Ready(Err(error));
                }
            }
            if is_up && is_down { Poll::Ready(Ok(false)) } else { Poll::Pending }
        })
        .await?
    };
    if is_broken {
        sending.stop_stream(Code::H3_CONNECT_ERROR);
    }
    Ok(())
}

/// The client's bytes on a stream. Consuming them opens the window again.
struct H3RequestBody {
    first: Option<Bytes>,
    stream: RequestReceiver,
    demand: BodyWanted,
    is_over: bool,
}

impl Body for H3RequestBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        let next = poll_piece(&mut self.stream, cx);
        if next.is_pending() {
            self.demand.set(true);
        }
        let piece = ready!(next).transpose();
        self.is_over = !matches!(piece, Some(Ok(_)));
        Poll::Ready(piece.map(|piece| piece.map_err(|error| BodyError::GivenUp(error.to_string()))))
    }
}

impl Drop for H3RequestBody {
    /// RFC 9114 section 4.1: "the server MAY request that the client stop sending".
    fn drop(&mut self) {
        if !self.is_over {
            self.stream.stop_sending(Code::H3_NO_ERROR);
        }
    }
}

fn poll_piece(
    stream: &mut RequestReceiver,
    cx: &mut Context<'_>,
) -> Poll<Result<Option<Bytes>, StreamError>> {
    let piece = ready!(stream.poll_recv_data(cx))?;
    Poll::Ready(Ok(piece.map(|mut piece| piece.copy_to_bytes(piece.remaining()))))
}
