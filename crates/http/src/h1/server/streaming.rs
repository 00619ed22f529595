//! A response whose body comes piece by piece, on its way into the outbox.

use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Response};

use super::exchange::{Exchange, Method};
use super::outbox::Outbox;
use crate::h1::codec::{Version, encode};
use crate::server::{Body, BodyError, Source, is_bodiless};

/// How the body's end is told (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is none.
    Bodiless,
    /// By its length.
    Counted,
    /// By the chunked transfer coding.
    Chunked,
    /// By the connection's.
    UntilClose,
}

impl Framing {
    /// That of a response to the request of `exchange`.
    pub(super) fn of(head: &Response<()>, length: Option<u64>, exchange: Exchange) -> Framing {
        match length {
            _ if exchange.method == Method::Head || is_bodiless(head.status()) => Framing::Bodiless,
            Some(_) => Framing::Counted,
            None if exchange.version == Version::V11 => Framing::Chunked,
            None => Framing::UntilClose,
        }
    }
}

/// How far a body has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filled {
    /// All of it is in the outbox.
    Ended,
    /// The next piece is not there.
    Waits,
    /// The outbox is full, or the body broke off: see [`Streaming::take_broken`].
    Full,
}

/// A body on its way.
pub(super) struct Streaming {
    source: Source,
    framing: Framing,
    /// Why it broke off.
    broken: Option<BodyError>,
}

impl Streaming {
    pub(super) fn new(body: Box<dyn Body>, length: Option<u64>, framing: Framing) -> Streaming {
        Streaming { source: Source::new(body, length), framing, broken: None }
    }

    /// Whether the connection's end alone tells a body that broke off from a whole one.
    pub(super) fn ends_with_connection(&self) -> bool {
        self.framing == Framing::UntilClose
    }

    /// Why it broke off, if it did.
    pub(super) fn take_broken(&mut self) -> Option<BodyError> {
        self.broken.take()
    }

    /// Puts into `outbox` what there is.
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

    /// Puts in a piece, which is not empty: as a chunk that would be the last.
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
