//! Idle connections, and their timeouts.

use std::rc::Rc;
use std::time::Duration;

use units::Time;

use super::{Lease, Origin, Pool};
use crate::policy::IdleTimeouts;

/// An idle connection of a protocol with one request at a time.
pub(super) struct Idle {
    pub(super) lease: Lease,
    since: Time,
    /// True if it has carried a request.
    is_used: bool,
}

impl Idle {
    pub(super) fn new(lease: Lease, now: Time) -> Idle {
        let is_used = lease.opened.is_none();
        Idle { lease: Lease { opened: None, ..lease }, since: now, is_used }
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
    pub(super) fn watch_idle(self: &Rc<Self>, origin: &Rc<Origin>) {
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
    fn close_expired(&self, origin: &Rc<Origin>) -> Option<Time> {
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
