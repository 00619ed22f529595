//! Connections that nobody uses, and their end: a browser closes what was idle for too long.

use std::rc::Rc;
use std::time::Duration;

use units::Time;

use super::{Lease, Origin, Pool};
use crate::policy::IdleTimeouts;

/// A connection that nobody uses and one request at a time can.
pub(super) struct Idle {
    pub(super) lease: Lease,
    since: Time,
    /// Whether it has carried a request.
    is_used: bool,
}

impl Idle {
    pub(super) fn new(lease: Lease, now: Time) -> Idle {
        let is_used = lease.opened.is_none();
        Idle { lease: Lease { opened: None, ..lease }, since: now, is_used }
    }

    /// When it will have been idle for too long.
    pub(super) fn expiry(&self, timeouts: &IdleTimeouts) -> Option<Time> {
        let limit = if self.is_used { timeouts.used_s } else { timeouts.unused_s };
        Some(self.since + Duration::from_secs(limit?))
    }
}

impl Pool {
    /// Sees to it that the connections to `origin` do not outlive their idleness. What sees to it does not keep the pool.
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

    /// Closes what has been idle for too long; gives when the next will have been.
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
