//! Streamed bodies, and tunnels.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::{fmt, io};

use bytes::{Buf, Bytes, BytesMut};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

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
    #[error("the body ended early: {0}")]
    Broken(#[from] io::Error),
    /// Its sender reset it (RST_STREAM, RESET_STREAM), or its receiver is gone.
    #[error("the body was abandoned: {0}")]
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

/// A body checked against its announced length: a client never takes one of another length for complete.
pub(crate) struct CheckedBody {
    body: Box<dyn Body>,
    left: Option<u64>,
}

impl CheckedBody {
    pub(crate) fn new(body: Box<dyn Body>, length: Option<u64>) -> CheckedBody {
        CheckedBody { body, left: length }
    }

    /// Returns true if the end is known without polling.
    pub(crate) fn has_ended(&self) -> bool {
        self.left == Some(0)
    }

    /// The next piece, never an empty one; `None` at the end.
    pub(crate) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, BodyError>> {
        if self.has_ended() {
            return Poll::Ready(Ok(None));
        }
        loop {
            let next = ready!(self.body.poll_next(cx)).transpose()?;
            let other_length = |how| BodyError::Malformed(format!("it is {how} than announced"));
            let Some(piece) = next else {
                return Poll::Ready(match self.left {
                    None => Ok(None),
                    Some(_) => Err(other_length("shorter")),
                });
            };
            if let Some(left) = &mut self.left {
                let rest = left.checked_sub(piece.len() as u64);
                *left = rest.ok_or_else(|| other_length("longer"))?;
            }
            if !piece.is_empty() {
                return Poll::Ready(Ok(Some(piece)));
            }
        }
    }
}

impl Body for CheckedBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        CheckedBody::poll_next(self, cx).map(Result::transpose)
    }
}

// A tunnel over a stream: the `CONNECT` of HTTP/2, HTTP/3 and SPDY.
//
// The far end's data is the response's body, the client's data the request's (RFC 9113 section 8.5, RFC 9114 section
// 4.4). Over HTTP/1 the whole connection becomes the tunnel: see `h1::server`.

/// Bytes per read from the far end.
const READ_BYTES: usize = 16 << 10;

type Far = Rc<RefCell<Box<dyn Duplex>>>;

/// The far end's data, as a body.
pub(crate) struct Down {
    far: Far,
    buffer: BytesMut,
}

/// Carries the client's data to the far end.
pub(crate) struct Up {
    far: Far,
    body: RequestBody,
}

/// The two directions of a tunnel to `far`, whose client sends `body`.
pub(crate) fn directions(far: Box<dyn Duplex>, body: RequestBody) -> (Down, Up) {
    let far = Rc::new(RefCell::new(far));
    (Down { far: Rc::clone(&far), buffer: BytesMut::new() }, Up { far, body })
}

impl Body for Down {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        // Memory is held only while data comes.
        self.buffer.resize(READ_BYTES, 0);
        let mut space = ReadBuf::new(&mut self.buffer);
        let read = Pin::new(&mut **self.far.borrow_mut()).poll_read(cx, &mut space);
        let bytes = space.filled().len();
        if read.is_pending() {
            self.buffer = BytesMut::new();
        }
        Poll::Ready(match ready!(read) {
            Err(error) => Some(Err(error.into())),
            Ok(()) if bytes == 0 => None,
            Ok(()) => {
                let piece = self.buffer.split_to(bytes).freeze();
                self.buffer.clear();
                Some(Ok(piece))
            }
        })
    }
}

impl Up {
    /// Carries everything to the far end, and then closes that direction.
    ///
    /// # Errors
    /// If the client resets the tunnel or the far end fails: the tunnel is broken in both directions.
    pub(crate) async fn carry(mut self) -> Result<(), BodyError> {
        while let Some(mut piece) = self.body.next().await.transpose()? {
            while piece.has_remaining() {
                let written = self.with_far(|far, cx| far.poll_write(cx, &piece)).await?;
                if written == 0 {
                    return Err(io::Error::from(io::ErrorKind::WriteZero).into());
                }
                piece.advance(written);
            }
            self.with_far(|far, cx| far.poll_flush(cx)).await?;
        }
        Ok(self.with_far(|far, cx| far.poll_shutdown(cx)).await?)
    }

    async fn with_far<T>(
        &self,
        mut poll: impl FnMut(Pin<&mut dyn Duplex>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> io::Result<T> {
        poll_fn(|cx| poll(Pin::new(&mut **self.far.borrow_mut()), cx)).await
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// A body of this many bytes, one by one.
    struct Ones(u64);

    impl Body for Ones {
        fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
            let left = self.0.checked_sub(1);
            self.0 = left.unwrap_or(0);
            Poll::Ready(left.map(|_| Ok(Bytes::from_static(b"1"))))
        }
    }

    fn drawn(bytes: u64, length: Option<u64>) -> Result<u64, BodyError> {
        let mut source = CheckedBody::new(Box::new(Ones(bytes)), length);
        let mut cx = Context::from_waker(Waker::noop());
        let mut drawn = 0;
        loop {
            match CheckedBody::poll_next(&mut source, &mut cx) {
                Poll::Pending => panic!("it never waits"),
                Poll::Ready(Ok(None)) => return Ok(drawn),
                Poll::Ready(Ok(Some(piece))) => drawn += piece.len() as u64,
                Poll::Ready(Err(error)) => return Err(error),
            }
        }
    }

    #[test]
    fn a_body_is_as_long_as_was_announced_or_breaks_off() {
        assert_eq!(drawn(5, None).ok(), Some(5));
        assert_eq!(drawn(5, Some(5)).ok(), Some(5));
        assert_eq!(drawn(0, Some(0)).ok(), Some(0));
        assert!(drawn(4, Some(5)).is_err());
        // Bytes beyond the announced length are never passed on.
        assert_eq!(drawn(6, Some(5)).ok(), Some(5));
    }
}
