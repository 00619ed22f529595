//! Connections as the pool keeps them: shared by several requests, idle until a timeout, capable of pipelining or not.

use std::rc::Rc;
use std::time::Duration;

use units::Time;

use super::group::Waiter;
use super::{Lease, Pool, PoolOrigin};
use crate::policy::IdleTimeouts;

/// Compatibility of a request with others on a pipelined connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PipelineSharing {
    /// It may be sent before earlier responses have arrived, and others behind it.
    Shared,
    /// It has side effects, or too much depends on it.
    Alone,
}

pub(super) struct SharedConnection {
    pub(super) lease: Lease,
    /// Requests on it.
    pub(super) sharing: usize,
    /// True if one of them must be alone.
    is_taken: bool,
    /// Time since which it has been without requests.
    since: Time,
}

impl SharedConnection {
    pub(super) fn new(lease: Lease, now: Time) -> SharedConnection {
        SharedConnection { lease, sharing: 0, is_taken: false, since: now }
    }

    /// Returns true if it accepts the request: any request if it multiplexes, else up to `depth` at once.
    pub(super) fn takes(&self, sharing_mode: PipelineSharing, depth: Option<usize>) -> bool {
        match (depth, sharing_mode) {
            (None, _) => true,
            (Some(depth), PipelineSharing::Shared) => !self.is_taken && self.sharing < depth,
            (Some(_), PipelineSharing::Alone) => self.sharing == 0,
        }
    }

    /// A lease for one more request. Only the first request waited for the connection to open.
    pub(super) fn lend(&mut self, sharing_mode: PipelineSharing) -> Option<Lease> {
        let connection = self.lease.connection.share()?;
        self.sharing += 1;
        self.is_taken = sharing_mode == PipelineSharing::Alone;
        let origin = self.lease.origin.clone();
        Some(Lease { connection, id: self.lease.id, opened: self.lease.opened.take(), origin })
    }

    /// Lends it to a waiting request. A request that has given up is skipped.
    pub(super) fn serve(&mut self, waiter: Waiter, sharing_mode: PipelineSharing) {
        let (opened, since) = (self.lease.opened, self.since);
        let Some(lease) = self.lend(sharing_mode) else { return };
        if waiter.grant.send(Ok(lease)).is_err() {
            self.leave(since);
            self.lease.opened = opened;
        }
    }

    /// A request on it has ended.
    pub(super) fn leave(&mut self, now: Time) {
        self.sharing -= 1;
        self.is_taken = false;
        self.since = now;
    }

    /// Time of its idle timeout, if it has no requests.
    pub(super) fn expiry(&self, timeouts: &IdleTimeouts) -> Option<Time> {
        let limit = timeouts.multiplexed_s.filter(|_| self.sharing == 0)?;
        Some(self.since + Duration::from_secs(limit))
    }
}

/// An idle connection of a protocol with one request at a time.
pub(super) struct IdleSession {
    pub(super) lease: Lease,
    since: Time,
    /// True if it has carried a request.
    is_used: bool,
}

impl IdleSession {
    pub(super) fn new(lease: Lease, now: Time) -> IdleSession {
        let is_used = lease.opened.is_none();
        IdleSession { lease: Lease { opened: None, ..lease }, since: now, is_used }
    }

    /// Time of its idle timeout.
    pub(super) fn expiry(&self, timeouts: &IdleTimeouts) -> Option<Time> {
        let limit = if self.is_used { timeouts.used_s } else { timeouts.unused_s };
        Some(self.since + Duration::from_secs(limit?))
    }
}

impl Pool {
    /// Starts a task that closes the connections to `origin` at their idle timeouts. The task does not keep the
    /// pool alive.
    pub(super) fn watch_idle(self: &Rc<Self>, origin: &Rc<PoolOrigin>) {
        {
            let mut inner = self.inner.borrow_mut();
            let group = inner.group(origin);
            if group.is_watched || group.next_expiry().is_none() {
                return;
            }
            group.is_watched = true;
        }
        let (pool, origin) = (Rc::downgrade(self), Rc::clone(origin));
        world::spawn(async move {
            while let Some(next) = pool.upgrade().and_then(|pool| pool.close_expired(&origin)) {
                world::sleep_until(next).await;
            }
        });
    }

    /// Closes expired connections; returns the time of the next expiry.
    fn close_expired(&self, origin: &Rc<PoolOrigin>) -> Option<Time> {
        let mut inner = self.inner.borrow_mut();
        while let Some(lease) = inner.group(origin).take_expired(world::now()) {
            inner.lose(origin, lease.id);
        }
        let group = inner.group(origin);
        let next = group.next_expiry();
        group.is_watched = next.is_some();
        next
    }
}

// Pipelining support of a server, learnt by host.
//
// Source: Chromium 26 `net/http/http_pipelined_host_impl.cc`: one request at a time until the first response shows
// HTTP/1.1 with a persistent connection; any failure on a pipelined connection, or a non-persistent one, marks the
// host as incapable for good. A failure of the first request of a connection, with nothing behind it, does not
// count.

/// Pipelining support of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PipeliningSupport {
    #[default]
    Unknown,
    Capable,
    Incapable,
}

impl PipeliningSupport {
    /// Maximum concurrent requests on a connection, if the policy allows `depth`.
    pub(super) fn depth(self, depth: usize) -> usize {
        match self {
            PipeliningSupport::Capable => depth,
            PipeliningSupport::Unknown | PipeliningSupport::Incapable => 1,
        }
    }

    /// A response arrived completely on a persistent connection.
    pub(super) fn note_success(&mut self) {
        if *self == PipeliningSupport::Unknown {
            *self = PipeliningSupport::Capable;
        }
    }

    /// A request was lost, or its connection ended with its response.
    pub(super) fn note_failure(&mut self) {
        *self = PipeliningSupport::Incapable;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_proves_itself_once_and_fails_for_good() {
        let mut host = PipeliningSupport::default();
        assert_eq!(host.depth(3), 1);
        host.note_success();
        assert_eq!(host.depth(3), 3);
        host.note_failure();
        host.note_success();
        assert_eq!(host.depth(3), 1);
    }
}
