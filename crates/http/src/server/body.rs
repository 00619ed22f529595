//! Bodies that arrive while they are used, and tunnels.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};

/// A body that comes piece by piece. Nobody makes the next piece before it is asked for.
///
/// Trailers are left out: a client must be able to do without them (RFC 9110 section 6.5.1).
pub trait Body {
    /// The next piece, `None` at the end. Nothing follows an error: the body broke off.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>>;
}

/// Why a body ended before its time.
#[derive(Debug, Error)]
pub enum BodyError {
    /// What it came by failed or closed.
    #[error("the body broke off: {0}")]
    Broken(#[from] io::Error),
    /// Its sender gave it up (RST_STREAM, RESET_STREAM), or its receiver is gone.
    #[error("the body was given up: {0}")]
    GivenUp(String),
    /// Its sender was too slow.
    #[error("the body stalled")]
    Stalled,
    /// It is malformed, longer or shorter than was announced.
    #[error("the body is malformed: {0}")]
    Malformed(String),
}

/// A request's body, as its client sends it. Who drops it before its end tells the client, as far as the protocol can, that the
/// rest is not wanted.
pub struct RequestBody {
    source: Box<dyn Body>,
    length: Option<u64>,
}

impl RequestBody {
    /// A body of the `length` that the request's head tells, if it does.
    pub fn new(source: Box<dyn Body>, length: Option<u64>) -> RequestBody {
        RequestBody { source, length }
    }

    /// The size that the client announced. What comes is as long, or ends in an error.
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

/// The far end of a tunnel: what is read from it goes to the client, what the client sends is written to it.
pub trait Duplex: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Duplex for S {}
