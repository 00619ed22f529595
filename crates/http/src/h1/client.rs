//! An HTTP/1 client's connection: one request at a time.
//!
//! A request whose version is HTTP/1.0 is the only one on its connection: it does not ask the server to keep that open
//! (RFC 9112 section 9.3), and an unrequested keep-alive is not used. Left out: `Expect: 100-continue` of
//! [`Connection::fetch`], whose bodies follow their heads at once.

mod streamed;
mod tunnel;

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Request, Version};

use super::codec::Limits;
use super::exchange::{Outgoing, Reading, Wire};
use crate::{Failure, Priority, Progress, Transport};

pub use self::streamed::Incoming;
pub use self::tunnel::{led, through};

/// A client's policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Limits on a response's head.
    pub limits: Limits,
    /// Bytes read at once, and so the largest piece of a body reported at once.
    pub read_bytes: usize,
}

impl Default for Settings {
    /// 16 KiB per read: the size of a TLS record, so that a piece is reported when it is decrypted.
    fn default() -> Settings {
        Settings { limits: Limits::CLIENT, read_bytes: 16 * 1024 }
    }
}

/// A connection to a server, over plain TCP or TLS.
#[derive(Debug)]
pub struct Connection<S> {
    wire: Wire<S>,
    out: Outgoing,
    reusable: bool,
}

impl<S: Transport> Connection<S> {
    /// Wraps a stream on which nothing has been sent.
    pub fn new(stream: S, settings: Settings) -> Connection<S> {
        Connection { wire: Wire::new(stream, settings), out: Outgoing::default(), reusable: true }
    }

    /// The stream below.
    pub fn stream(&self) -> &S {
        &self.wire.stream
    }

    /// The stream below, for another protocol, and the bytes received after the last response.
    fn into_stream(self) -> (S, Bytes) {
        let Wire { stream, input, .. } = self.wire;
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
    /// See [`Failure`]; the connection is not reusable then, nor if the future is dropped before its end.
    pub async fn fetch(
        &mut self,
        request: &Request<Bytes>,
        _priority: Priority,
        progress: &mut dyn Progress,
    ) -> Result<(), Failure> {
        self.reusable = false;
        let sent = self.send(request, progress).await;
        // A server may answer, and close, before it has read the whole request: RFC 9112 section 9.5.
        let (wire, unsent) = (&mut self.wire, sent.as_ref().err());
        let mut reading = Reading::default();
        let persistent =
            poll_fn(|cx| wire.poll_response(cx, request.method(), &mut reading, progress, unsent))
                .await?;
        self.reusable = persistent
            && request.version() != Version::HTTP_10
            && matches!(sent, Ok(Sent::Whole))
            && self.wire.input.is_empty();
        Ok(())
    }

    async fn send(
        &mut self,
        request: &Request<Bytes>,
        progress: &mut dyn Progress,
    ) -> io::Result<Sent> {
        let Connection { wire, out, .. } = self;
        out.fill(request);
        while !out.is_sent() {
            let step = poll_fn(|cx| {
                if let Poll::Ready(written) = wire.poll_write(cx, out) {
                    return Poll::Ready(written.map(|()| Step::Wrote));
                }
                // RFC 9112 section 9.5: watch for a response that makes the rest of the body pointless.
                wire.poll_fill(cx).map(|_| Ok(Step::Answered))
            });
            if let Step::Answered = step.await? {
                return Ok(Sent::Part);
            }
        }
        poll_fn(|cx| wire.poll_flush(cx)).await?;
        progress.sent(out.head.len() as u64, out.body.len() as u64);
        Ok(Sent::Whole)
    }
}

/// The part of a request that was sent.
enum Sent {
    Whole,
    /// The server answered first.
    Part,
}

/// An event while sending.
enum Step {
    Wrote,
    /// The server sent something, or closed its direction.
    Answered,
}
