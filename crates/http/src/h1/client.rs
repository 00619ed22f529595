//! An HTTP/1 client's connection: one request at a time.
//!
//! A request whose version is HTTP/1.0 is the only one on its connection: it does not ask the server to keep that open
//! (RFC 9112 section 9.3), and an unrequested keep-alive is not used. Left out: `Expect: 100-continue` of
//! [`Connection::fetch`], whose bodies follow their heads at once.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use http::{Method, Request, Version};
use world::sim::HeldNotes;

use super::Buffer;
use super::codec::{BodyLength, CodecEvent, CodecLimits, Error, ResponseDecoder, encode};
use crate::{Priority, Progress, RequestError, Transport};

mod streamed;
mod tunnel;

pub use streamed::Incoming;
pub use tunnel::{led, through};

/// A client's policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Limits on a response's head.
    pub limits: CodecLimits,
    /// Bytes read at once, and so the largest piece of a body reported at once.
    pub read_bytes: usize,
}

impl Default for Settings {
    /// 16 KiB per read: the size of a TLS record, so that a piece is reported when it is decrypted.
    fn default() -> Settings {
        Settings { limits: CodecLimits::CLIENT, read_bytes: 16 * 1024 }
    }
}

/// A connection to a server, over plain TCP or TLS.
#[derive(Debug)]
pub struct Connection<S> {
    wire: ClientWire<S>,
    out: RequestOutput,
    reusable: bool,
}

impl<S: Transport> Connection<S> {
    /// Wraps a stream on which nothing has been sent.
    pub fn new(stream: S, settings: Settings) -> Connection<S> {
        Connection {
            wire: ClientWire::new(stream, settings),
            out: RequestOutput::default(),
            reusable: true,
        }
    }

    /// The stream below.
    pub fn stream(&self) -> &S {
        &self.wire.stream
    }

    /// The stream below, for another protocol, and the bytes received after the last response.
    fn into_stream(self) -> (S, Bytes) {
        let ClientWire { stream, input, .. } = self.wire;
        (stream, Bytes::copy_from_slice(input.filled()))
    }

    /// Returns true if another request may be sent: the last exchange left the connection open and in order, and the
    /// server has neither closed it since nor sent anything unasked (RFC 9112 section 9.5).
    pub fn is_reusable(&mut self) -> bool {
        if self.reusable && self.wire.input.is_empty() {
            let mut cx = Context::from_waker(Waker::noop());
            self.reusable = self.wire.poll_fill(&mut cx).is_pending();
        }
        self.reusable && self.wire.input.is_empty()
    }

    /// Sends `request` and reports its response to `progress`; interim responses are skipped. Head and body leave in
    /// one vectored write if the transport accepts them. HTTP/1 does not transmit the `priority`.
    ///
    /// # Errors
    /// See [`RequestError`]; the connection is not reusable then, nor if the future is dropped before its end.
    pub async fn fetch(
        &mut self,
        request: &Request<Bytes>,
        _priority: Priority,
        progress: &mut dyn Progress,
    ) -> Result<(), RequestError> {
        self.reusable = false;
        let sent = self.send(request, progress).await;
        // A server may answer, and close, before it has read the whole request: RFC 9112 section 9.5.
        let (wire, unsent) = (&mut self.wire, sent.as_ref().err());
        let mut reading = ResponseInput::default();
        let persistent =
            poll_fn(|cx| wire.poll_response(cx, request.method(), &mut reading, progress, unsent))
                .await?;
        self.reusable = persistent
            && request.version() != Version::HTTP_10
            && matches!(sent, Ok(SendOutcome::Whole))
            && self.wire.input.is_empty();
        Ok(())
    }

    async fn send(
        &mut self,
        request: &Request<Bytes>,
        progress: &mut dyn Progress,
    ) -> io::Result<SendOutcome> {
        let Connection { wire, out, .. } = self;
        out.fill(request);
        while !out.is_sent() {
            let step = poll_fn(|cx| {
                if let Poll::Ready(written) = wire.poll_write(cx, out) {
                    return Poll::Ready(written.map(|()| SendStep::Wrote));
                }
                // RFC 9112 section 9.5: watch for a response that makes the rest of the body pointless.
                wire.poll_fill(cx).map(|_| Ok(SendStep::Answered))
            });
            if let SendStep::Answered = step.await? {
                return Ok(SendOutcome::Part);
            }
        }
        poll_fn(|cx| wire.poll_flush(cx)).await?;
        progress.sent(out.head.len() as u64, out.body.len() as u64);
        Ok(SendOutcome::Whole)
    }
}

/// The part of a request that was sent.
enum SendOutcome {
    Whole,
    /// The server answered first.
    Part,
}

/// An event while sending.
enum SendStep {
    Wrote,
    /// The server sent something, or closed its direction.
    Answered,
}

// A client's side of a connection, step by step: bytes of requests out, responses in.
//
// Concurrency and ordering are up to the users: [`client`](super::client), [`pipeline`](super::pipeline).

/// A stream to a server, and the bytes read of its responses.
#[derive(Debug)]
pub(super) struct ClientWire<S> {
    pub(super) stream: S,
    pub(super) decoder: ResponseDecoder,
    pub(super) input: Buffer,
    /// Receiver of notes on the unsent bytes of a request, if any.
    held: Option<HeldNotes>,
}

/// A request's outgoing bytes.
#[derive(Debug, Default)]
pub(super) struct RequestOutput {
    pub(super) head: Vec<u8>,
    pub(super) body: Bytes,
    at: usize,
    /// True if an earlier chunk has not been ended yet.
    pub(super) is_within: bool,
}

/// Progress of reading one response.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResponseInput {
    /// True if a byte of it has arrived.
    begun: bool,
    persistent: bool,
}

impl RequestOutput {
    /// Sets the bytes of `request`, none of them sent, reusing the memory.
    pub(super) fn fill(&mut self, request: &Request<Bytes>) {
        self.head.clear();
        encode::request_head(&mut self.head, request);
        self.body = request.body().clone();
        self.at = 0;
    }

    /// Clears it; the memory is kept.
    pub(super) fn restart(&mut self) {
        self.head.clear();
        self.body = Bytes::new();
        self.at = 0;
    }

    fn left(&self) -> usize {
        self.head.len() + self.body.len() - self.at
    }

    pub(super) fn is_sent(&self) -> bool {
        self.left() == 0
    }
}

impl<S: Transport> ClientWire<S> {
    pub(super) fn new(stream: S, settings: Settings) -> ClientWire<S> {
        ClientWire {
            held: stream.held(),
            stream,
            decoder: ResponseDecoder::new(settings.limits),
            input: Buffer::new(settings.read_bytes),
        }
    }

    /// Writes once. Head and body leave in one vectored write if the transport accepts them.
    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut RequestOutput,
    ) -> Poll<io::Result<()>> {
        let RequestOutput { head, body, at, .. } = &*out;
        let parts = [
            IoSlice::new(&head[(*at).min(head.len())..]),
            IoSlice::new(&body[at.saturating_sub(head.len())..]),
        ];
        let parts = if body.is_empty() { &parts[..1] } else { &parts[..] };
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        if let Poll::Ready(Ok(taken)) = &written {
            out.at += taken;
        }
        if let Some(held) = &self.held {
            held.application(out.left() as u64);
        }
        match ready!(written)? {
            0 => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            _ => Poll::Ready(Ok(())),
        }
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// Reads once; 0 at the stream's end.
    pub(super) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.input.poll_fill(&mut self.stream, cx)
    }

    /// Reads one response to its end; returns true if the server keeps the connection. Interim responses are skipped.
    /// `unsent` is the reason that the request could not be sent, which explains a missing response best.
    pub(super) fn poll_response(
        &mut self,
        cx: &mut Context<'_>,
        method: &Method,
        reading: &mut ResponseInput,
        progress: &mut dyn Progress,
        unsent: Option<&io::Error>,
    ) -> Poll<Result<bool, RequestError>> {
        loop {
            reading.begun |= !self.input.is_empty();
            let (used, event) =
                self.decoder.next(self.input.filled_mut(), method).map_err(protocol)?;
            let done = match event {
                CodecEvent::Head(head) if head.is_interim() => false,
                CodecEvent::Head(head) => {
                    reading.persistent = head.persistent;
                    if let Some(coding) = head.fields.get("content-encoding") {
                        progress.content_coding(coding);
                    }
                    progress.head(head.status, used as u64);
                    head.body == BodyLength::None
                }
                CodecEvent::Data(piece) => {
                    progress.data(piece);
                    false
                }
                CodecEvent::End => true,
                CodecEvent::More => {
                    self.input.consume(used);
                    match ready!(self.poll_fill(cx)) {
                        Ok(0) => return Poll::Ready(self.ended(*reading, unsent).map(|()| false)),
                        Ok(_) => continue,
                        Err(error) if reading.begun => {
                            return Poll::Ready(Err(RequestError::Broken(error)));
                        }
                        Err(error) => return Poll::Ready(Err(RequestError::Unanswered(error))),
                    }
                }
            };
            self.input.consume(used);
            if done {
                return Poll::Ready(Ok(reading.persistent));
            }
        }
    }

    /// Handles the server's close: the end of a body delimited by it, or a premature end.
    fn ended(
        &mut self,
        reading: ResponseInput,
        unsent: Option<&io::Error>,
    ) -> Result<(), RequestError> {
        match self.decoder.end() {
            Ok(()) => Ok(()),
            Err(error) if reading.begun => {
                Err(RequestError::Broken(io::Error::new(io::ErrorKind::UnexpectedEof, error)))
            }
            Err(_) => Err(RequestError::Unanswered(match unsent {
                Some(error) => io::Error::new(error.kind(), error.to_string()),
                None => io::ErrorKind::UnexpectedEof.into(),
            })),
        }
    }
}

fn protocol(error: Error) -> RequestError {
    RequestError::Protocol(error.to_string())
}
