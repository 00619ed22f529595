//! Body length (RFC 9112 section 6.3) and body decoding.

use super::chunked::Chunked;
use super::{Error, Limits};

/// The delimitation of a message's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// No body: the head is the whole message.
    None,
    /// This many bytes; more than 0.
    Exactly(u64),
    /// By the chunked transfer coding.
    Chunked,
    /// All bytes until the connection's end. Responses only.
    UntilClose,
}

/// A body being decoded.
#[derive(Debug)]
pub(super) enum Body {
    Exactly(u64),
    Chunked(Chunked),
    UntilClose,
}

/// The output of one decoding step.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'b> {
    More,
    Data(&'b [u8]),
    End,
}

impl Body {
    /// The decoder of a body delimited by `length`; none if there is no body.
    pub(super) fn new(length: BodyLength) -> Option<Body> {
        match length {
            BodyLength::None | BodyLength::Exactly(0) => None,
            BodyLength::Exactly(bytes) => Some(Body::Exactly(bytes)),
            BodyLength::Chunked => Some(Body::Chunked(Chunked::default())),
            BodyLength::UntilClose => Some(Body::UntilClose),
        }
    }

    /// The same for a body that a server sends.
    pub(super) fn of_server(length: BodyLength) -> Option<Body> {
        match length {
            BodyLength::Chunked => Some(Body::Chunked(Chunked::of_server())),
            other => Body::new(other),
        }
    }

    /// Decodes from the front of `buffer`; returns the number of bytes consumed.
    pub(super) fn next<'b>(
        &mut self,
        buffer: &'b [u8],
        limits: &Limits,
    ) -> Result<(usize, Piece<'b>), Error> {
        let window = match self {
            Body::Chunked(chunked) => return chunked.next(buffer, limits),
            Body::Exactly(0) => return Ok((0, Piece::End)),
            Body::Exactly(left) => {
                let most = usize::try_from(*left).unwrap_or(usize::MAX);
                let window = &buffer[..buffer.len().min(most)];
                *left -= window.len() as u64;
                window
            }
            Body::UntilClose => buffer,
        };
        let piece = if window.is_empty() { Piece::More } else { Piece::Data(window) };
        Ok((window.len(), piece))
    }
}
