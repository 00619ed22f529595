//! A response's body on its way through.

use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_stack::client::IncomingBody;
use http_stack::server::{Body, BodyError};
use http_stack::wheel::Timer;

use super::pool::Lease;

/// A response's body. At its end the connection serves the next request; dropped before, or broken, it ends the connection.
pub struct ResponseBody {
    /// `None` once it is at its end.
    coming: Option<(IncomingBody, Lease)>,
    timer: Timer,
    idle_timeout: Duration,
    /// Whether the timer runs.
    is_waiting: bool,
    /// How much is still to come, if that was told.
    left: Option<u64>,
}

impl ResponseBody {
    pub(super) fn new(
        body: IncomingBody,
        left: Option<u64>,
        lease: Lease,
        timer: Timer,
        idle_timeout: Duration,
    ) -> ResponseBody {
        let is_ended = body.is_ended();
        let coming = Some((body, lease));
        let mut body = ResponseBody { coming, timer, idle_timeout, is_waiting: false, left };
        if is_ended {
            body.end();
        }
        body
    }

    /// Whether all of it has been handed out.
    pub fn is_ended(&self) -> bool {
        self.coming.is_none()
    }

    fn end(&mut self) {
        self.stop_waiting();
        if let Some((body, lease)) = self.coming.take()
            && let Some(connection) = body.into_connection()
        {
            lease.give_back(connection);
        }
    }
}

impl Body for ResponseBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let Some((body, _)) = &mut self.coming else { return Poll::Ready(None) };
        let next = body.poll_next(cx);
        match next {
            Poll::Ready(None) => {
                self.end();
                Poll::Ready(None)
            }
            Poll::Ready(Some(Ok(piece))) => {
                // Only waiting for the origin counts: a client may be as slow as its own timeout lets it.
                self.left = self.left.map(|left| left.saturating_sub(piece.len() as u64));
                // Who knows the length asks no further: the end is taken in now, and the connection is free.
                if self.left == Some(0) && matches!(body.poll_next(cx), Poll::Ready(None)) {
                    self.end();
                }
                self.stop_waiting();
                Poll::Ready(Some(Ok(piece)))
            }
            Poll::Ready(Some(Err(error))) => {
                self.coming = None;
                Poll::Ready(Some(Err(error)))
            }
            Poll::Pending => self.poll_stalled(cx),
        }
    }
}

impl ResponseBody {
    fn stop_waiting(&mut self) {
        if std::mem::take(&mut self.is_waiting) {
            self.timer.clear();
        }
    }

    fn poll_stalled(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if !self.is_waiting {
            self.is_waiting = true;
            self.timer.set(self.idle_timeout);
        }
        self.timer.poll_expired(cx).map(|()| {
            self.coming = None;
            Some(Err(BodyError::Stalled))
        })
    }
}
