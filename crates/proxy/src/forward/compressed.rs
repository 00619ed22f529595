//! Compressed answers: a body from an origin that passes through an encoder on its way to the client.

use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_stack::server::{Body, BodyError};

use super::entrance::Proxy;
use crate::compression::{Choice, Encoder, mark, mark_confirmed, vary};
use crate::upstream::{Fetched, ResponseBody};

impl Proxy {
    /// Changes the head of an answer to `request` that is to be compressed. Returns the encoder for its body.
    pub(super) fn compress(&self, fetched: &mut Fetched, request: &Request<()>) -> Option<Encoder> {
        let settings = self.settings.compression.as_ref()?;
        if fetched.head.status() == StatusCode::NOT_MODIFIED {
            mark_confirmed(fetched.head.headers_mut(), request.headers());
            return None;
        }
        let coding = match settings.choose(request, &fetched.head, fetched.length) {
            Choice::Compressed(coding) => coding,
            // Stored, it must not be what other clients get.
            Choice::Unaccepted => {
                vary(fetched.head.headers_mut());
                return None;
            }
            Choice::Unsuitable => return None,
        };
        // Without memory for an encoder the body stays as it is.
        let encoder = Encoder::new(coding, fetched.length).ok()?;
        mark(fetched.head.headers_mut(), coding);
        fetched.length = None;
        // The body of an answer to HEAD is empty whatever its head says.
        (request.method() != Method::HEAD).then_some(encoder)
    }
}

/// A body from an origin, as it is or compressed.
pub(super) enum OutgoingBody {
    /// As it is.
    Plain(ResponseBody),
    /// Compressed.
    Compressed(Box<CompressedBody>),
}

/// A body on its way through an encoder.
pub(super) struct CompressedBody {
    body: ResponseBody,
    /// `None` once the body has ended.
    encoder: Option<Encoder>,
    /// True if the encoder may hold back something.
    holds_back: bool,
    taken_bytes: u64,
}

impl OutgoingBody {
    /// The body of an answer, compressed if there is an encoder.
    pub(super) fn new(body: ResponseBody, encoder: Option<Encoder>) -> OutgoingBody {
        match encoder {
            None => OutgoingBody::Plain(body),
            encoder => OutgoingBody::Compressed(Box::new(CompressedBody {
                body,
                encoder,
                holds_back: false,
                taken_bytes: 0,
            })),
        }
    }

    /// Returns true if all of it has been handed out.
    pub(super) fn is_ended(&self) -> bool {
        match self {
            OutgoingBody::Plain(body) => body.is_ended(),
            OutgoingBody::Compressed(body) => body.encoder.is_none(),
        }
    }

    /// Bytes before compression, if it is compressed.
    pub(super) fn uncompressed_bytes(&self) -> Option<u64> {
        match self {
            OutgoingBody::Plain(_) => None,
            OutgoingBody::Compressed(body) => Some(body.taken_bytes),
        }
    }
}

impl Body for OutgoingBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        match self {
            OutgoingBody::Plain(body) => body.poll_next(cx),
            OutgoingBody::Compressed(body) => body.poll_next(cx),
        }
    }
}

impl Body for CompressedBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            let Some(encoder) = &mut self.encoder else {
                return Poll::Ready(None);
            };
            match self.body.poll_next(cx) {
                Poll::Ready(Some(Ok(piece))) => {
                    encoder.write(&piece)?;
                    self.taken_bytes += piece.len() as u64;
                    self.holds_back = true;
                    let ready = encoder.ready();
                    if !ready.is_empty() {
                        return Poll::Ready(Some(Ok(ready)));
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    self.encoder = None;
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Ready(None) => {
                    let last = self.encoder.take().map(Encoder::finish).transpose()?;
                    return Poll::Ready(last.filter(|last| !last.is_empty()).map(Ok));
                }
                // The client gets what has come so far: the origin may take its time.
                Poll::Pending if std::mem::take(&mut self.holds_back) => {
                    let flushed = encoder.flush()?;
                    if !flushed.is_empty() {
                        return Poll::Ready(Some(Ok(flushed)));
                    }
                    return Poll::Pending;
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
