//! Connection coalescing: one session for several hosts (RFC 9113 section 9.1.1, RFC 9114 section 3.3; Chromium's `spdy_session_pool.cc`, "IP pooling").
//!
//! A host whose name resolves to the address of an open session of the same protocol joins it, instead of opening a
//! separate connection. The server's certificate must cover the host; this is assumed: here all hosts at one
//! address have one certificate. It leaves out ORIGIN frames (RFC 8336) and 421 (Misdirected Request): a server at
//! one address serves all its hosts.

use std::net::SocketAddr;
use std::rc::Rc;

use super::group::Supply;
use super::{Inner, Origin, Pool};
use crate::plan::Arm;
use crate::policy::Coalescing;

impl Pool {
    /// Makes `origin`, whose address has just become known, join a session there; returns true if there was one.
    /// The connection `id` is not needed then.
    pub(super) fn join(&self, origin: &Rc<Origin>, id: u32, arm: Arm, at: SocketAddr) -> bool {
        let mut inner = self.inner.borrow_mut();
        inner.used[id as usize].address = Some(at);
        // All tunnels lead through the proxy's address, wherever they end.
        let is_alone = !arm.multiplexes() || origin.proxy.is_some();
        if self.browser.policy.coalescing == Coalescing::Never || is_alone {
            return false;
        }
        let Some(host) = inner.host_at(origin, arm, at) else { return false };
        inner.total -= 1;
        inner.used[id as usize].is_void = true;
        let group = inner.group(origin);
        group.joined = Some(Rc::clone(&host));
        for waiter in group.abandon(id) {
            match inner.find(&host, waiter.company) {
                // A waiter that has given up need not be told; the lease is returned as any other.
                Supply::Ready(lease) => {
                    if let Err(Ok(mut returned)) = waiter.grant.send(Ok(*lease)) {
                        inner.leave_share(&mut returned);
                    }
                }
                Supply::Bound(id) => inner.group(&host).wait(waiter, Some(id)),
                Supply::Nothing => inner.group(&host).wait(waiter, None),
            }
        }
        true
    }
}

impl Inner {
    /// Another host with a session at this address, with the same protocol and security.
    fn host_at(&self, origin: &Origin, arm: Arm, at: SocketAddr) -> Option<Rc<Origin>> {
        let is_there = |id: u32| self.used[id as usize].address == Some(at);
        let hosts = self.groups.iter().filter(|(other, group)| {
            ***other != *origin
                && other.secure == origin.secure
                && group.arm.protocol == arm.protocol
                && group.has_one_of(is_there)
        });
        hosts.map(|(host, _)| Rc::clone(host)).next()
    }

    /// The group whose connections serve `origin`: its own, or that of the host that it has joined, as long as that
    /// has any connections.
    pub(super) fn home(&mut self, origin: &Rc<Origin>) -> Rc<Origin> {
        let Some(host) = self.group(origin).joined.clone() else { return Rc::clone(origin) };
        if self.group(&host).has_session() {
            return host;
        }
        self.group(origin).joined = None;
        Rc::clone(origin)
    }
}
