//! A tunnel over a stream: the `CONNECT` of HTTP/2, HTTP/3 and SPDY.
//!
//! The far end's data is the response's body, the client's data the request's (RFC 9113 section 8.5, RFC 9114 section
//! 4.4). Over HTTP/1 the whole connection becomes the tunnel: see `h1::server`.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::ReadBuf;

use super::{Body, BodyError, Duplex, RequestBody};

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
