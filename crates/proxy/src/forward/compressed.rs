//! Compressed answers: a body from an origin that passes through an encoder on its way to the client.

use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use http::header::CONTENT_ENCODING;
use http_stack::server::{Body, BodyError};

use super::entrance::Proxy;
use crate::compression::{Choice, Transcoder, is_gzip, mark, vary};
use crate::upstream::{Fetched, ResponseBody};

impl Proxy {
    /// Changes the head of an answer to `request` that is to be compressed. Returns the encoder for its body.
    pub(super) fn compress(
        &self,
        fetched: &mut Fetched,
        request: &Request<()>,
    ) -> Option<Transcoder> {
        let settings = self.settings.compression.as_ref()?;
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
        let from_gzip = fetched.head.headers().get(CONTENT_ENCODING).is_some_and(is_gzip);
        let encoder = Transcoder::new(coding, fetched.length, from_gzip).ok()?;
        mark(fetched.head.headers_mut(), coding);
        fetched.length = None;
        Some(encoder)
    }
}

/// A body on its way through an encoder.
pub(super) struct CompressedBody {
    body: ResponseBody,
    /// `None` once the body has ended.
    encoder: Option<Transcoder>,
    /// True if the encoder may hold back something.
    holds_back: bool,
    taken_bytes: u64,
}

impl CompressedBody {
    pub(super) fn new(body: ResponseBody, encoder: Transcoder) -> CompressedBody {
        CompressedBody { body, encoder: Some(encoder), holds_back: false, taken_bytes: 0 }
    }

    /// Returns true if all of it has been handed out.
    pub(super) fn is_ended(&self) -> bool {
        self.encoder.is_none()
    }

    /// Bytes before compression, so far.
    pub(super) fn uncompressed_bytes(&self) -> u64 {
        self.taken_bytes
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
                    let last = self.encoder.take().map(Transcoder::finish).transpose()?;
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
