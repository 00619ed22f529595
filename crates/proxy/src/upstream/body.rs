//! Bodies and tunnels from origins: each holds a lease on its connection, which a client that does not read its response loses to a
//! waiting one.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_stack::client::IncomingBody;
use http_stack::server::{Body, BodyError};
use http_stack::timer_wheel::Timer;
use tls::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use units::Time;

use super::fairness::ClientPeer;
use super::pool::{ConnectionLease, PoolKey};

/// A response's body. At its end the connection serves the next request; if it breaks or is dropped before, the connection
/// is closed.
pub struct ResponseBody {
    transfer: Rc<ResponseTransfer>,
    /// `None` once it is at its end.
    listed: Option<ListedTransfer>,
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
        lease: ConnectionLease,
        transfers: &Rc<ResponseTransfers>,
        (timer, idle_timeout): (Timer, Duration),
    ) -> ResponseBody {
        let is_ended = body.is_ended();
        let transfer = Rc::new(ResponseTransfer::new(body, lease));
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
        lease: ConnectionLease,
        (timer, idle_timeout): (Timer, Duration),
    ) -> ResponseBody {
        let transfer = Rc::new(ResponseTransfer::new(body, lease));
        let (listed, is_waiting, left) = (None, false, Some(0));
        ResponseBody { transfer, listed, timer, idle_timeout, is_waiting, left }
    }

    /// The connection, if the origin has switched protocols on it (101). It keeps its place among those to the origin.
    pub fn into_tunnel(self) -> Option<OriginTunnel> {
        let (body, lease) = self.transfer.coming.take()?;
        let stream = body.into_switched()?;
        Some(OriginTunnel::new(stream, self.timer, self.idle_timeout).keeping(lease))
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

/// Time for a client to take [`PACE_BYTES`], after which it may lose its connection to a waiting one.
const PATIENCE: Duration = Duration::from_secs(2);
const PACE_BYTES: u64 = 64 << 10;

/// A response's incoming body, and the lease on its connection.
struct ResponseTransfer {
    /// `None` once it has ended, or was revoked.
    coming: RefCell<Option<(IncomingBody, ConnectionLease)>>,
    key: PoolKey,
    client: ClientPeer,
    /// Time since which the client has [`PACE_BYTES`], or less, to take; `None` while waiting for the origin.
    since: Cell<Option<Time>>,
    given: Cell<u64>,
    is_revoked: Cell<bool>,
}

impl ResponseTransfer {
    fn new(body: IncomingBody, lease: ConnectionLease) -> ResponseTransfer {
        let (key, client) = (lease.key().clone(), lease.client());
        let (since, given, is_revoked) = (Cell::default(), Cell::default(), Cell::default());
        ResponseTransfer {
            coming: RefCell::new(Some((body, lease))),
            key,
            client,
            since,
            given,
            is_revoked,
        }
    }

    /// Returns true if the connection was given to others.
    fn is_revoked(&self) -> bool {
        self.is_revoked.get()
    }

    /// Records that the client asks for more.
    fn asked(&self) {
        if self.given.get() >= PACE_BYTES {
            self.waits_for_origin();
        }
    }

    /// Records that the client was given a piece.
    fn gave(&self, bytes: usize) {
        if self.since.get().is_none() {
            self.since.set(Some(world::now()));
        }
        self.given.set(self.given.get() + bytes as u64);
    }

    /// Records that the origin is waited for.
    fn waits_for_origin(&self) {
        self.since.set(None);
        self.given.set(0);
    }
}

/// All transfers of a core.
#[derive(Default)]
pub(super) struct ResponseTransfers(RefCell<(u64, BTreeMap<u64, Weak<ResponseTransfer>>)>);

/// An entry in the list.
struct ListedTransfer(Rc<ResponseTransfers>, u64);

impl ResponseTransfers {
    fn list(self: &Rc<ResponseTransfers>, transfer: &Rc<ResponseTransfer>) -> ListedTransfer {
        let mut transfers = self.0.borrow_mut();
        transfers.0 += 1;
        let number = transfers.0;
        transfers.1.insert(number, Rc::downgrade(transfer));
        ListedTransfer(Rc::clone(self), number)
    }

    /// Ends the transfer to `key` - to any origin, if `None` - that its client has kept waiting longest, among those of the
    /// clients that hold the most by `held_by`.
    pub(super) fn revoke(&self, key: Option<&PoolKey>, held_by: impl Fn(ClientPeer) -> usize) {
        let now = world::now();
        let rank = |transfer: &Rc<ResponseTransfer>| {
            let since = transfer.since.get().filter(|since| now.since(*since) >= PATIENCE)?;
            let fits = key.is_none_or(|key| *key == transfer.key);
            fits.then(|| (usize::MAX - held_by(transfer.client), since))
        };
        let slowest = {
            let transfers = self.0.borrow();
            let all = transfers.1.values().filter_map(Weak::upgrade);
            all.filter_map(|one| Some((rank(&one)?, one))).min_by_key(|(rank, _)| *rank)
        };
        if let Some((_, transfer)) = slowest {
            transfer.is_revoked.set(true);
            transfer.waits_for_origin();
            // The connection is closed, and its place goes to a waiter.
            drop(transfer.coming.take());
        }
    }
}

impl Drop for ListedTransfer {
    fn drop(&mut self) {
        self.0.0.borrow_mut().1.remove(&self.1);
    }
}

/// A connection through which bytes pass unread. It ends when nothing has passed for too long, in either direction.
pub struct OriginTunnel {
    stream: Stream,
    timer: Timer,
    idle_timeout: Duration,
    /// The lease on the connection's place among those to its origin, if it has one; released at the end.
    _lease: Option<ConnectionLease>,
}

impl OriginTunnel {
    pub(super) fn new(stream: Stream, timer: Timer, idle_timeout: Duration) -> OriginTunnel {
        timer.set(idle_timeout);
        OriginTunnel { stream, timer, idle_timeout, _lease: None }
    }

    /// The same tunnel, which keeps its place among the connections to its origin.
    pub(super) fn keeping(self, lease: ConnectionLease) -> OriginTunnel {
        OriginTunnel { _lease: Some(lease), ..self }
    }

    fn passed<T>(&self, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.timer.set(self.idle_timeout);
        }
        done
    }
}

impl AsyncRead for OriginTunnel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        match self.passed(read) {
            Poll::Pending => {
                self.timer.poll_expired(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
            }
            ready => ready,
        }
    }
}

impl AsyncWrite for OriginTunnel {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, data);
        self.passed(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.passed(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
