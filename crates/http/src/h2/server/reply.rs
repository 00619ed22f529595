//! A response on its stream.

use std::rc::Rc;
use std::task::{Context, Poll};

use ::h2::server::{SendPushedResponse, SendResponse};
use ::h2::{Reason, SendStream};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HeaderValue};
use http::{Response as Head, StatusCode};

use super::BodyWanted;
use crate::h2::metering::{H2Backlog, UnsentBody};
use crate::schedule::ServeOutcome;
use crate::server::{
    CheckedBody, RequestBody, Up, directions, interim, is_bodiless, refusal, strip_framing,
};
use crate::{Reply, Response};

/// The destination of a response.
pub(super) enum Respond {
    /// To a request.
    Asked(SendResponse<Bytes>),
    /// To a promise.
    Pushed(SendPushedResponse<Bytes>),
}

impl Respond {
    fn send(&mut self, head: Head<()>, silent: bool) -> Result<SendStream<Bytes>, ::h2::Error> {
        match self {
            Respond::Asked(respond) => respond.send_response(head, silent),
            Respond::Pushed(respond) => respond.send_response(head, silent),
        }
    }
}

/// Sends 100 (Continue).
pub(super) fn send_continue(respond: &mut SendResponse<Bytes>) {
    let mut head = Head::new(());
    *head.status_mut() = StatusCode::CONTINUE;
    // A client that has reset the stream misses nothing.
    let _ = respond.send_informational(head);
}

/// A stream with a complete request, or a promised one.
pub(super) struct H2Responder {
    pub(super) respond: Respond,
    /// A HEAD request: its reply's body is not sent.
    pub(super) head_only: bool,
    /// The client's bytes in the tunnel that it requested by `CONNECT`.
    pub(super) tunnel: Option<RequestBody>,
    /// The demand for a body that the client holds back until it gets 100 (Continue).
    pub(super) invites: Option<BodyWanted>,
}

/// A response's body being sent.
pub(super) struct H2BodySender {
    stream: SendStream<Bytes>,
    left: UnsentBody,
    /// The source of the rest.
    source: Option<CheckedBody>,
    /// The reset code if the source ends early.
    break_off: Reason,
    is_broken: bool,
}

impl H2Responder {
    /// An exchange whose body, if any, comes without 100 (Continue).
    pub(super) fn new(respond: Respond, head_only: bool) -> H2Responder {
        H2Responder { respond, head_only, tunnel: None, invites: None }
    }

    /// Sends 100 (Continue) to a waiting client once its body is wanted (RFC 9110 section 10.1.1).
    pub(super) fn invite(&mut self) {
        if self.invites.take_if(|demand| demand.get()).is_some()
            && let Respond::Asked(respond) = &mut self.respond
        {
            send_continue(respond);
        }
    }

    /// Returns true if the client has reset the request's stream.
    pub(super) fn is_given_up(&mut self, cx: &mut Context<'_>) -> bool {
        match &mut self.respond {
            Respond::Asked(respond) => respond.poll_reset(cx).is_ready(),
            Respond::Pushed(_) => false,
        }
    }

    /// Sends an interim response.
    pub(super) fn inform(&mut self, head: Head<()>) {
        if let (Respond::Asked(respond), Some(head)) = (&mut self.respond, interim(head)) {
            // A client that has reset the stream misses nothing.
            let _ = respond.send_informational(head);
        }
    }

    /// Sends the head of `reply`; returns the rest to send, if any. Nothing is sent on a stream that the client has reset.
    pub(super) fn answer(mut self, reply: Reply, backlog: &Rc<H2Backlog>) -> Option<H2BodySender> {
        if self.tunnel.take().is_some() && reply.head.parts.status().is_success() {
            // The client would treat it as a tunnel.
            return self.answer(refusal(StatusCode::NOT_IMPLEMENTED), backlog);
        }
        let silent = self.head_only || reply.body.is_empty() || reply.head.is_bodiless();
        let stream = self.respond.send(reply.head.parts.clone(), silent).ok()?;
        (!silent).then(|| H2BodySender::new(stream, UnsentBody::new(reply.body, backlog), None))
    }

    /// The same with a response of any kind; the caller must carry the other direction of a tunnel.
    pub(super) fn respond(
        mut self,
        response: Response,
        backlog: &Rc<H2Backlog>,
    ) -> (Option<H2BodySender>, Option<Up>) {
        let nothing = UnsentBody::new(Bytes::new(), backlog);
        match (response, self.tunnel.take()) {
            (Response::Whole(reply), tunnel) => {
                (H2Responder { tunnel, ..self }.answer(reply, backlog), None)
            }
            (Response::Tunnel(far), Some(body)) => {
                // RFC 9113 section 8.5: any 2xx, and then DATA in both directions.
                let Ok(stream) = self.respond.send(Head::new(()), false) else {
                    return (None, None);
                };
                let (down, up) = directions(far, body);
                let source = CheckedBody::new(Box::new(down), None);
                let mut sending = H2BodySender::new(stream, nothing, Some(source));
                sending.break_off = Reason::CONNECT_ERROR;
                (Some(sending), Some(up))
            }
            (Response::Streamed { mut head, length, body }, tunnel)
                if tunnel.is_none() || !head.status().is_success() =>
            {
                strip_framing(&mut head);
                let is_bodiless = is_bodiless(head.status());
                if let Some(bytes) = length.filter(|_| !is_bodiless) {
                    head.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(bytes));
                }
                let silent = self.head_only || is_bodiless || length == Some(0);
                let Ok(stream) = self.respond.send(head, silent) else { return (None, None) };
                let source = CheckedBody::new(body, length);
                ((!silent).then(|| H2BodySender::new(stream, nothing, Some(source))), None)
            }
            _ => (self.answer(refusal(StatusCode::NOT_IMPLEMENTED), backlog), None),
        }
    }
}

impl H2BodySender {
    fn new(
        stream: SendStream<Bytes>,
        left: UnsentBody,
        source: Option<CheckedBody>,
    ) -> H2BodySender {
        H2BodySender { stream, left, source, break_off: Reason::INTERNAL_ERROR, is_broken: false }
    }

    pub(super) fn id(&self) -> u32 {
        self.stream.stream_id().as_u32()
    }

    /// Returns true if there is data that only the windows hold back.
    pub(super) fn has_data(&self) -> bool {
        !self.left.is_empty()
    }

    /// Returns true for a tunnel's stream.
    pub(super) fn is_tunnel(&self) -> bool {
        self.break_off == Reason::CONNECT_ERROR
    }

    /// Marks the body as ended early: the stream is reset at its turn.
    pub(super) fn break_off(&mut self) {
        self.is_broken = true;
    }

    /// Hands h2 at most `chunk` bytes.
    pub(super) fn send(&mut self, cx: &mut Context<'_>, chunk: usize) -> ServeOutcome {
        if let Some(served) = self.draw(cx) {
            return served;
        }
        let wanted = chunk.min(self.left.len());
        self.stream.reserve_capacity(wanted);
        let granted = self.stream.capacity().min(wanted);
        if granted == 0 {
            // An open reservation would be granted outside this stream's turn.
            self.stream.reserve_capacity(0);
            let given_up = self.stream.poll_reset(cx).is_ready();
            return if given_up { ServeOutcome::Done(0) } else { ServeOutcome::Blocked };
        }
        let piece = self.left.hand_over(granted);
        let last = self.left.is_empty() && self.source.as_ref().is_none_or(CheckedBody::has_ended);
        match self.stream.send_data(piece, last) {
            Ok(()) if !last => ServeOutcome::Chunk(granted),
            _ => ServeOutcome::Done(granted),
        }
    }

    /// Fetches data to hand over; if there is none, returns the outcome.
    fn draw(&mut self, cx: &mut Context<'_>) -> Option<ServeOutcome> {
        if self.is_broken {
            return Some(self.reset());
        }
        if !self.left.is_empty() {
            return None;
        }
        match self.source.as_mut()?.poll_next(cx) {
            Poll::Ready(Ok(Some(piece))) => {
                self.left.put(piece);
                None
            }
            Poll::Ready(Ok(None)) => {
                // An error means that the client has reset the stream.
                let _ = self.stream.send_data(Bytes::new(), true);
                Some(ServeOutcome::Done(0))
            }
            Poll::Ready(Err(_)) => Some(self.reset()),
            Poll::Pending => {
                let given_up = self.stream.poll_reset(cx).is_ready();
                Some(if given_up { ServeOutcome::Done(0) } else { ServeOutcome::Blocked })
            }
        }
    }

    /// Resets the stream, so that it never ends cleanly.
    fn reset(&mut self) -> ServeOutcome {
        self.stream.send_reset(self.break_off);
        ServeOutcome::Done(0)
    }
}
