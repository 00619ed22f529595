//! A response's body on its way through.

use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_stack::client::IncomingBody;
use http_stack::server::{Body, BodyError};
use http_stack::wheel::Timer;

use super::pool::Lease;
use super::transfer::{Listed, Transfer, Transfers};
use super::tunnel::Tunnel;

/// A response's body. At its end the connection serves the next request; if it breaks or is dropped before, the connection
/// is closed.
pub struct ResponseBody {
    transfer: Rc<Transfer>,
    /// `None` once it is at its end.
    listed: Option<Listed>,
    timer: Timer,
    idle_timeout: Duration,
    /// True while the timer runs.
    is_waiting: bool,
    /// Bytes still to come, if the length is known.
    left: Option<u64>,
}

impl ResponseBody {
    pub(super) fn new(
        body: IncomingBody,
        left: Option<u64>,
        lease: Lease,
        transfers: &Rc<Transfers>,
        (timer, idle_timeout): (Timer, Duration),
    ) -> ResponseBody {
        let is_ended = body.is_ended();
        let transfer = Rc::new(Transfer::new(body, lease));
        let listed = (!is_ended).then(|| transfers.list(&transfer));
        let is_waiting = false;
        let mut body = ResponseBody { transfer, listed, timer, idle_timeout, is_waiting, left };
        if is_ended {
            body.end();
        }
        body
    }

    /// For a response after which the origin switches protocols: see [`ResponseBody::into_tunnel`].
    pub(super) fn switched(
        body: IncomingBody,
        lease: Lease,
        (timer, idle_timeout): (Timer, Duration),
    ) -> ResponseBody {
        let transfer = Rc::new(Transfer::new(body, lease));
        let (listed, is_waiting, left) = (None, false, Some(0));
        ResponseBody { transfer, listed, timer, idle_timeout, is_waiting, left }
    }

    /// The connection, if the origin has switched protocols on it (101). It keeps its place among those to the origin.
    pub fn into_tunnel(self) -> Option<Tunnel> {
        let (body, lease) = self.transfer.coming.take()?;
        let stream = body.into_switched()?;
        Some(Tunnel::new(stream, self.timer, self.idle_timeout).keeping(lease))
    }

    /// Returns true if all of it has been handed out.
    pub fn is_ended(&self) -> bool {
        self.listed.is_none()
    }

    fn end(&mut self) {
        self.stop_waiting();
        self.listed = None;
        let coming = self.transfer.coming.take();
        if let Some((body, lease)) = coming
            && let Some(connection) = body.into_connection()
        {
            lease.give_back(connection);
        }
    }

    /// Polls the connection, without the timeout.
    fn poll_coming(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        match &mut *self.transfer.coming.borrow_mut() {
            Some((body, _)) => body.poll_next(cx),
            None if self.transfer.is_revoked() => {
                let why = "its client was slow, and others waited for the connection".to_owned();
                Poll::Ready(Some(Err(BodyError::GivenUp(why))))
            }
            None => Poll::Ready(None),
        }
    }
}

impl Body for ResponseBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if self.is_ended() {
            return Poll::Ready(None);
        }
        self.transfer.asked();
        match self.poll_coming(cx) {
            Poll::Ready(None) => {
                self.end();
                Poll::Ready(None)
            }
            Poll::Ready(Some(Ok(piece))) => {
                // Only waiting for the origin counts: a client may be as slow as its own timeout lets it.
                self.left = self.left.map(|left| left.saturating_sub(piece.len() as u64));
                self.transfer.gave(piece.len());
                // A caller that knows the length polls no further: take in the end now, so that the connection is free.
                if self.left == Some(0) && matches!(self.poll_coming(cx), Poll::Ready(None)) {
                    self.end();
                }
                self.stop_waiting();
                Poll::Ready(Some(Ok(piece)))
            }
            Poll::Ready(Some(Err(error))) => {
                self.give_up();
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

    /// Closes the connection.
    fn give_up(&mut self) {
        self.listed = None;
        drop(self.transfer.coming.take());
    }

    fn poll_stalled(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.transfer.waits_for_origin();
        if !self.is_waiting {
            self.is_waiting = true;
            self.timer.set(self.idle_timeout);
        }
        self.timer.poll_expired(cx).map(|()| {
            self.give_up();
            Some(Err(BodyError::Stalled))
        })
    }
}
