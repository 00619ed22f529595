//! A response's body, streamed into the outbox.

use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Response};

use super::exchange::{Exchange, Method};
use super::outbox::Outbox;
use crate::h1::codec::{Version, encode};
use crate::server::{Body, BodyError, Source, is_bodiless};

/// Framing of the body's end (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// No body.
    Bodiless,
    /// By its length.
    Counted,
    /// By the chunked transfer coding.
    Chunked,
    /// By the connection's close.
    UntilClose,
}

impl Framing {
    /// The framing of a response to the request of `exchange`.
    pub(super) fn of(head: &Response<()>, length: Option<u64>, exchange: Exchange) -> Framing {
        match length {
            _ if exchange.method == Method::Head || is_bodiless(head.status()) => Framing::Bodiless,
            Some(_) => Framing::Counted,
            None if exchange.version == Version::V11 => Framing::Chunked,
            None => Framing::UntilClose,
        }
    }
}

/// Progress of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filled {
    /// All of it is in the outbox.
    Ended,
    /// The next piece is not available.
    Waits,
    /// The outbox is full, or the body ended early: see [`Streaming::take_broken`].
    Full,
}

/// A body being sent.
pub(super) struct Streaming {
    source: Source,
    framing: Framing,
    /// The error that ended it early.
    broken: Option<BodyError>,
}

impl Streaming {
    pub(super) fn new(body: Box<dyn Body>, length: Option<u64>, framing: Framing) -> Streaming {
        Streaming { source: Source::new(body, length), framing, broken: None }
    }

    /// Returns true if the connection's close delimits the body, so that an early end looks like a complete body.
    pub(super) fn ends_with_connection(&self) -> bool {
        self.framing == Framing::UntilClose
    }

    /// The error that ended it early, if any.
    pub(super) fn take_broken(&mut self) -> Option<BodyError> {
        self.broken.take()
    }

    /// Puts available pieces into `outbox`.
    pub(super) fn fill(&mut self, outbox: &mut Outbox, cx: &mut Context<'_>) -> Filled {
        if self.framing == Framing::Bodiless {
            return Filled::Ended;
        }
        while !outbox.is_full() && self.broken.is_none() {
            match self.source.poll_next(cx) {
                Poll::Pending => return Filled::Waits,
                Poll::Ready(Ok(Some(piece))) => self.put(&piece, outbox),
                Poll::Ready(Ok(None)) => {
                    self.end(outbox);
                    return Filled::Ended;
                }
                Poll::Ready(Err(error)) => self.broken = Some(error),
            }
        }
        Filled::Full
    }

    /// Appends a non-empty piece: an empty chunk would be the last.
    fn put(&self, piece: &Bytes, outbox: &mut Outbox) {
        if self.framing == Framing::Chunked {
            outbox.with_text(|text| encode::chunk_size(text, piece.len()));
            outbox.body(piece);
            outbox.text(encode::CHUNK_END);
        } else {
            outbox.body(piece);
        }
    }

    fn end(&self, outbox: &mut Outbox) {
        if self.framing == Framing::Chunked {
            outbox.with_text(|text| encode::last_chunk(text, &HeaderMap::new()));
        }
    }
}
