//! Delayed answers: the request's body arrives while the response is awaited and sent.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use super::connection::{Ended, ServerConnection};
use super::exchange::Outbox;
use super::exchange::{AnswerContext, BodyUpload, Method, Persistence};
use crate::h1::codec::{CodecEvent, Version, encode};
use crate::server::{
    Body, BodyError, CheckedBody, FeedDemand, Later, interim, is_bodiless, refusal, strip_framing,
};
use crate::{Answer, Response, Transport};

/// A delayed answer, or one whose request has not all arrived.
pub(super) struct DelayedAnswer {
    pub(super) answer: Answer,
    pub(super) exchange: AnswerContext,
    pub(super) upload: Option<BodyUpload>,
}

/// The reason that an answer was cut off.
pub(super) enum AbortedAnswer {
    /// The client made an error or timed out, and the response has not begun.
    Refusable(Ended),
    /// The response has begun, or the client is gone.
    Ended(Ended),
}

impl<S: Transport> ServerConnection<'_, S> {
    /// Awaits and sends an answer.
    pub(super) async fn finish(
        &mut self,
        late: DelayedAnswer,
    ) -> Result<Persistence, AbortedAnswer> {
        self.send().await.map_err(AbortedAnswer::Ended)?;
        let DelayedAnswer { answer, mut exchange, mut upload } = late;
        let response = match answer {
            Answer::Ready(reply) => Response::Whole(reply),
            Answer::Later(answer) => self.awaited(answer, exchange, &mut upload).await?,
        };
        let is_connect = exchange.method == Method::Connect;
        match response {
            Response::Tunnel(far) if is_connect => {
                Err(AbortedAnswer::Ended(self.tunnel(far).await))
            }
            Response::Switched { head, far } if exchange.switches && upload.is_none() => {
                Err(AbortedAnswer::Ended(self.switch(&head, far).await))
            }
            Response::Tunnel(_) | Response::Switched { .. } | Response::Interim { .. } => {
                exchange.persistent &= self.has_all_of(&mut upload);
                Ok(self.respond(&refusal(StatusCode::NOT_IMPLEMENTED), exchange))
            }
            Response::Whole(reply) => {
                exchange.persistent &= self.has_all_of(&mut upload);
                Ok(self.respond(&reply, exchange))
            }
            Response::Streamed { head, .. } if is_connect && head.status().is_success() => {
                Ok(self.respond(&refusal(StatusCode::NOT_IMPLEMENTED), exchange))
            }
            Response::Streamed { mut head, length, body } => {
                strip_framing(&mut head);
                let framing = EndFraming::of(&head, length, exchange);
                exchange.persistent &=
                    framing != EndFraming::UntilClose && !self.is_unread(&mut upload);
                let persistence = self.begin(&head, length, framing, exchange);
                self.stream(StreamedAnswer::new(body, length, framing), &mut upload).await?;
                let is_clean = self.has_all_of(&mut upload);
                Ok(Persistence::of(is_clean && persistence == Persistence::Persists))
            }
        }
    }

    /// Awaits an answer, and sends the interim responses before it.
    async fn awaited(
        &mut self,
        mut answer: Later,
        exchange: AnswerContext,
        upload: &mut Option<BodyUpload>,
    ) -> Result<Response, AbortedAnswer> {
        loop {
            let response = poll_fn(|cx| match self.poll_upload(upload, cx) {
                Poll::Ready(cut) => Poll::Ready(Err(cut)),
                Poll::Pending => match answer.as_mut().poll(cx) {
                    Poll::Ready(response) => Poll::Ready(Ok(response)),
                    Poll::Pending => self.poll_gone(upload, cx).map(Err),
                },
            });
            let head = match response.await? {
                Response::Interim { head, then } => {
                    answer = then;
                    head
                }
                proper => return Ok(proper),
            };
            // RFC 9110 section 15.2: never to an HTTP/1.0 client.
            if let Some(head) = interim(head).filter(|_| exchange.version == Version::V11) {
                self.outbox.with_text(|text| {
                    encode::open_head(text, head.status(), head.headers());
                    text.extend_from_slice(b"\r\n");
                });
                self.send().await.map_err(AbortedAnswer::Ended)?;
            }
        }
    }

    /// Sends a body to its end.
    async fn stream(
        &mut self,
        mut streaming: StreamedAnswer,
        upload: &mut Option<BodyUpload>,
    ) -> Result<(), AbortedAnswer> {
        let sent = poll_fn(|cx| {
            if let Poll::Ready(cut) = self.poll_upload(upload, cx) {
                return Poll::Ready(Err(cut));
            }
            match self.poll_stream(&mut streaming, cx) {
                Poll::Ready(sent) => Poll::Ready(sent.map_err(AbortedAnswer::Ended)),
                Poll::Pending => self.poll_gone(upload, cx).map(Err),
            }
        });
        let sent = sent.await;
        if sent.is_err() && streaming.ends_with_connection() {
            // An orderly close would look like the body's end.
            self.stream.abort();
        }
        // The response has begun: another is impossible.
        sent.map_err(|(AbortedAnswer::Refusable(ended) | AbortedAnswer::Ended(ended))| {
            AbortedAnswer::Ended(ended)
        })
    }

    fn poll_stream(
        &mut self,
        streaming: &mut StreamedAnswer,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Ended>> {
        loop {
            let filled = streaming.fill(&mut self.outbox, cx);
            self.begin_sending();
            ready!(self.poll_send_any(cx))?;
            match (filled, streaming.take_broken()) {
                (_, Some(error)) => return Poll::Ready(Err(Ended::BrokeOff(error))),
                (OutboxFill::Ended, None) => return Poll::Ready(Ok(())),
                (OutboxFill::Waits, None) => return Poll::Pending,
                (OutboxFill::Full, None) => {}
            }
        }
    }

    /// Receives the request's body, as far as its reader wants it. Ready if that cannot go on.
    fn poll_upload(
        &mut self,
        upload: &mut Option<BodyUpload>,
        cx: &mut Context<'_>,
    ) -> Poll<AbortedAnswer> {
        let Some(upload) = upload.as_mut().filter(|upload| !upload.is_over) else {
            return Poll::Pending;
        };
        loop {
            let demand = upload.feed.demand(cx);
            if matches!(demand, FeedDemand::Full | FeedDemand::Gone) {
                return Poll::Pending;
            }
            match self.take_in(upload) {
                Ok(true) => return Poll::Pending,
                Ok(false) => {}
                Err(error) => {
                    upload.feed.end(Err(BodyError::Malformed(error.to_string())));
                    return Poll::Ready(AbortedAnswer::Refusable(Ended::Refused(error)));
                }
            }
            if upload.feed.demand(cx) == FeedDemand::Waiting && self.awaits_continue(upload) {
                // RFC 9110 section 10.1.1: once the body is wanted, and not if it is already coming.
                self.outbox.text(b"HTTP/1.1 100 Continue\r\n\r\n");
                self.begin_sending();
            }
            if let Poll::Ready(Err(ended)) = self.poll_send_any(cx) {
                return Poll::Ready(AbortedAnswer::Ended(ended));
            }
            upload.wait(&self.core.settings);
            match self.poll_fill(cx) {
                Poll::Ready(Ok(1..)) => upload.end_wait(),
                Poll::Ready(Ok(0)) => {
                    let error = io::Error::from(io::ErrorKind::UnexpectedEof);
                    return Poll::Ready(AbortedAnswer::Ended(Ended::Broken(error)));
                }
                Poll::Ready(Err(error)) => {
                    return Poll::Ready(AbortedAnswer::Ended(Ended::Broken(error)));
                }
                Poll::Pending if upload.timer.poll_expired(cx).is_ready() => {
                    upload.feed.end(Err(BodyError::Stalled));
                    return Poll::Ready(AbortedAnswer::Refusable(Ended::Stalled));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Ready if the client leaves while the server's answer is due. Bytes that it sends ahead wait, up to one buffer.
    fn poll_gone(
        &mut self,
        upload: &Option<BodyUpload>,
        cx: &mut Context<'_>,
    ) -> Poll<AbortedAnswer> {
        let settings = &self.core.settings;
        if settings.half_closed_clients || upload.as_ref().is_some_and(|upload| !upload.is_over) {
            return Poll::Pending;
        }
        while self.input.as_ref().is_none_or(|input| input.filled().len() < settings.read_bytes) {
            let error = match ready!(self.poll_fill(cx)) {
                Ok(1..) => continue,
                Ok(0) => io::ErrorKind::UnexpectedEof.into(),
                Err(error) => error,
            };
            return Poll::Ready(AbortedAnswer::Ended(Ended::Broken(error)));
        }
        Poll::Pending
    }

    /// Returns true, once, if 100 (Continue) must be sent.
    fn awaits_continue(&self, upload: &mut BodyUpload) -> bool {
        std::mem::take(&mut upload.expects_continue) && self.input.is_none()
    }

    /// Hands over the input; returns true at the body's end.
    fn take_in(&mut self, upload: &mut BodyUpload) -> Result<bool, crate::h1::codec::Error> {
        let Some(mut input) = self.input.take() else { return Ok(false) };
        let whole = loop {
            match self.decoder.next(input.filled()) {
                Err(error) => return Err(error),
                Ok((used, event)) => {
                    let ended = match event {
                        CodecEvent::Data(data) => {
                            upload.patience.took(world::now(), data.len());
                            upload.feed.push(Bytes::copy_from_slice(data));
                            None
                        }
                        CodecEvent::End => Some(true),
                        _ => Some(false),
                    };
                    input.consume(used);
                    if let Some(ended) = ended {
                        break ended;
                    }
                }
            }
        };
        self.keep(input);
        if whole {
            upload.is_over = true;
            upload.feed.end(Ok(()));
        }
        Ok(whole)
    }

    /// Returns true if the request's body has all arrived, unwanted input included.
    fn has_all_of(&mut self, upload: &mut Option<BodyUpload>) -> bool {
        upload.as_mut().is_none_or(|upload| upload.is_over || self.take_in(upload).unwrap_or(false))
    }

    /// Returns true if more of the request's body is due and will not be read.
    fn is_unread(&mut self, upload: &mut Option<BodyUpload>) -> bool {
        upload.as_ref().is_some_and(|upload| upload.feed.is_gone()) && !self.has_all_of(upload)
    }
}

/// Framing of the body's end (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndFraming {
    /// No body.
    Bodiless,
    /// By its length.
    Counted,
    /// By the chunked transfer coding.
    Chunked,
    /// By the connection's close.
    UntilClose,
}

impl EndFraming {
    /// The framing of a response to the request of `exchange`.
    pub(super) fn of(
        head: &http::Response<()>,
        length: Option<u64>,
        exchange: AnswerContext,
    ) -> EndFraming {
        match length {
            _ if exchange.method == Method::Head || is_bodiless(head.status()) => {
                EndFraming::Bodiless
            }
            Some(_) => EndFraming::Counted,
            None if exchange.version == Version::V11 => EndFraming::Chunked,
            None => EndFraming::UntilClose,
        }
    }
}

/// Progress of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutboxFill {
    /// All of it is in the outbox.
    Ended,
    /// The next piece is not available.
    Waits,
    /// The outbox is full, or the body ended early: see [`StreamedAnswer::take_broken`].
    Full,
}

/// A body being sent.
pub(super) struct StreamedAnswer {
    source: CheckedBody,
    framing: EndFraming,
    /// The error that ended it early.
    broken: Option<BodyError>,
}

impl StreamedAnswer {
    pub(super) fn new(
        body: Box<dyn Body>,
        length: Option<u64>,
        framing: EndFraming,
    ) -> StreamedAnswer {
        StreamedAnswer { source: CheckedBody::new(body, length), framing, broken: None }
    }

    /// Returns true if the connection's close delimits the body, so that an early end looks like a complete body.
    pub(super) fn ends_with_connection(&self) -> bool {
        self.framing == EndFraming::UntilClose
    }

    /// The error that ended it early, if any.
    pub(super) fn take_broken(&mut self) -> Option<BodyError> {
        self.broken.take()
    }

    /// Puts available pieces into `outbox`.
    pub(super) fn fill(&mut self, outbox: &mut Outbox, cx: &mut Context<'_>) -> OutboxFill {
        if self.framing == EndFraming::Bodiless {
            return OutboxFill::Ended;
        }
        while !outbox.is_full() && self.broken.is_none() {
            match self.source.poll_next(cx) {
                Poll::Pending => return OutboxFill::Waits,
                Poll::Ready(Ok(Some(piece))) => self.put(&piece, outbox),
                Poll::Ready(Ok(None)) => {
                    self.end(outbox);
                    return OutboxFill::Ended;
                }
                Poll::Ready(Err(error)) => self.broken = Some(error),
            }
        }
        OutboxFill::Full
    }

    /// Appends a non-empty piece: an empty chunk would be the last.
    fn put(&self, piece: &Bytes, outbox: &mut Outbox) {
        if self.framing == EndFraming::Chunked {
            outbox.with_text(|text| encode::chunk_size(text, piece.len()));
            outbox.body(piece);
            outbox.text(encode::CHUNK_END);
        } else {
            outbox.body(piece);
        }
    }

    fn end(&self, outbox: &mut Outbox) {
        if self.framing == EndFraming::Chunked {
            outbox.with_text(|text| encode::last_chunk(text, &HeaderMap::new()));
        }
    }
}
