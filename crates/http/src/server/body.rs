//! Streamed bodies, and tunnels.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};

/// A streamed body. Pieces are produced only on demand.
///
/// Trailers are left out: clients must be able to do without them (RFC 9110 section 6.5.1).
pub trait Body {
    /// The next piece, `None` at the end. Nothing follows an error: the body ended early.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>>;
}

/// The reason that a body ended early.
#[derive(Debug, Error)]
pub enum BodyError {
    /// Its source failed or closed.
    #[error("the body broke off: {0}")]
    Broken(#[from] io::Error),
    /// Its sender reset it (RST_STREAM, RESET_STREAM), or its receiver is gone.
    #[error("the body was given up: {0}")]
    GivenUp(String),
    /// Its sender was too slow.
    #[error("the body stalled")]
    Stalled,
    /// It is malformed, or its length differs from the announced one.
    #[error("the body is malformed: {0}")]
    Malformed(String),
}

/// A request's body, streamed from its client. Dropping it before its end tells the client, as far as the protocol can,
/// that the rest is unwanted.
pub struct RequestBody {
    source: Box<dyn Body>,
    length: Option<u64>,
}

impl RequestBody {
    /// A body of the `length` that the request's head tells, if any.
    pub fn new(source: Box<dyn Body>, length: Option<u64>) -> RequestBody {
        RequestBody { source, length }
    }

    /// The size that the client announced. The body has this length, or ends in an error.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// The next piece, `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Bytes, BodyError>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }
}

impl Body for RequestBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.source.poll_next(cx)
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBody").field("length", &self.length).finish_non_exhaustive()
    }
}

/// The far end of a tunnel: data read from it goes to the client, the client's data is written to it.
pub trait Duplex: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Duplex for S {}
