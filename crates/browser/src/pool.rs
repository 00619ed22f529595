//! Connection pool: limited by host and in total, with late binding, as in Chromium's socket pools.
//!
//! A request takes an idle connection if there is one. Else it queues by priority, and connections are opened while
//! more requests wait than connections are being opened and the limits allow. The first to become available - a new
//! one or a used one - goes to the most urgent request (late binding), unless the policy binds a request to the
//! connection that was opened for it.
//! HTTP/2, SPDY and HTTP/3 have one connection per host, shared by all requests, or by policy several. With late
//! binding a request then goes to one without requests, or to a new one, and shares one if there can be no more;
//! with early binding requests are distributed in turn. Hosts at one address may share a connection (`coalesce`).
//! With pipelining a request goes to the connection with the fewest requests that has room, and a new one is opened
//! only if none has (Chromium 26 `http_stream_factory_impl_job.cc`). At the total limit, an idle connection of
//! another host is closed to make room. It leaves out preconnects: on a fresh profile a browser has learnt of no
//! host to connect to.

mod discovery;
mod group;
mod opening;
mod session;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;

use http_stack::Priority;
use http_stack::client::ClientConnection;
use tokio::sync::oneshot;
use units::Time;

use self::discovery::Attempts;
pub(crate) use self::discovery::{ConnectionNeeds, FoundConnection, Transport};
use self::group::{ConnectionGroup, ConnectionSupply, Waiter};
pub(crate) use self::session::PipelineSharing;
use crate::Policy;
use crate::cache::BrowserCache;
use crate::device::Thread;
use crate::loader::Browser;
use crate::name_cache::NameCache;
use crate::plan::HostStack;
use crate::timeline::ConnectionTimes;

/// Key by which connections are grouped.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct PoolOrigin {
    /// The host of the requests; a proxy's name if all hosts' requests share the connections.
    pub(crate) host: String,
    /// The host's port; 0 if the proxy decides it.
    pub(crate) port: u16,
    /// Address of the proxy that they lead through, if there is one.
    pub(crate) proxy: Option<SocketAddr>,
    pub(crate) secure: bool,
    pub(crate) transport: Transport,
}

/// A connection opened by this browser, for the record.
#[derive(Clone, Debug)]
pub(crate) struct Used {
    pub(crate) host: String,
    pub(crate) arm: HostStack,
    pub(crate) local: Option<SocketAddr>,
    pub(crate) opened: ConnectionTimes,
    /// Remote address, once known.
    address: Option<SocketAddr>,
    /// True if it was given up before a packet left, because another could be used.
    pub(crate) is_void: bool,
    /// True once the host, or the proxy on the path to it, has answered.
    has_reached: bool,
    pub(crate) closed: Option<Time>,
    pub(crate) requests: u32,
}

/// A connection assigned to one request.
pub(crate) struct Lease {
    pub(crate) connection: ClientConnection,
    pub(crate) id: u32,
    /// Timing of its opening, if this request is the first on it.
    pub(crate) opened: Option<ConnectionTimes>,
    /// Group of the connection.
    origin: Rc<PoolOrigin>,
}

/// A browser's connections.
pub(crate) struct Pool {
    browser: Rc<Browser>,
    names: Rc<NameCache>,
    cache: Rc<BrowserCache>,
    network_thread: Rc<Thread>,
    inner: RefCell<PoolState>,
    attempts: Attempts,
}

#[derive(Default)]
struct PoolState {
    groups: BTreeMap<Rc<PoolOrigin>, ConnectionGroup>,
    /// Connections open or being opened, all groups together.
    total: usize,
    used: Vec<Used>,
    asked: u64,
    /// Requests distributed among a proxy's ports.
    dealt: usize,
}

impl Pool {
    pub(crate) fn new(
        browser: Rc<Browser>,
        names: Rc<NameCache>,
        cache: Rc<BrowserCache>,
        network_thread: Rc<Thread>,
    ) -> Pool {
        let (inner, attempts) = (RefCell::default(), Attempts::default());
        Pool { browser, names, cache, network_thread, inner, attempts }
    }

    /// A connection for one request; waits for one if necessary.
    ///
    /// # Errors
    /// One sentence, if none can be had.
    pub(crate) async fn lease(
        self: &Rc<Self>,
        origin: &Rc<PoolOrigin>,
        arm: HostStack,
        priority: Priority,
        sharing_mode: PipelineSharing,
    ) -> Result<Lease, String> {
        let (granted, origin) = {
            let mut inner = self.inner.borrow_mut();
            inner.asked += 1;
            let turn = (priority, inner.asked);
            inner.know(origin, || ConnectionGroup::new(arm, &self.browser.policy));
            let origin = inner.home(origin);
            let bound = match inner.find(&origin, sharing_mode) {
                ConnectionSupply::Ready(lease) => return Ok(inner.count(*lease)),
                ConnectionSupply::Bound(id) => Some(id),
                ConnectionSupply::Nothing => None,
            };
            let (grant, granted) = oneshot::channel();
            inner.group(&origin).wait(Waiter { turn, grant, sharing_mode }, bound);
            (granted, origin)
        };
        self.open_more(&origin);
        let lease = granted.await.unwrap_or_else(|_| Err("the pool was dropped".to_owned()))?;
        Ok(self.inner.borrow_mut().count(lease))
    }

    /// Returns a connection, to be reused if possible.
    pub(crate) fn give_back(self: &Rc<Self>, mut lease: Lease) {
        let origin = Rc::clone(&lease.origin);
        {
            let mut inner = self.inner.borrow_mut();
            if lease.connection.is_shared() {
                inner.give_back_share(&mut lease);
            } else if lease.connection.is_reusable() {
                let lease = Lease { opened: None, ..lease };
                inner.group(&origin).hand_over(lease, world::now());
            } else {
                inner.lose(&origin, lease.id);
            }
        }
        self.watch_idle(&origin);
        self.open_where_waiting();
    }

    /// Drops a connection on which a request failed. A shared one that is still good stays: only that request was
    /// refused.
    pub(crate) fn discard(self: &Rc<Self>, mut lease: Lease) {
        let origin = Rc::clone(&lease.origin);
        {
            let mut inner = self.inner.borrow_mut();
            if lease.connection.is_shared() {
                let group = inner.group(&origin);
                if lease.opened.is_none() || !group.is_alone_on(lease.id) {
                    group.capability.note_failure();
                }
                inner.leave_share(&mut lease);
            } else {
                inner.lose(&origin, lease.id);
            }
        }
        drop(lease);
        self.watch_idle(&origin);
        self.open_where_waiting();
    }

    /// All connections opened so far.
    pub(crate) fn used(&self) -> Vec<Used> {
        self.inner.borrow().used.clone()
    }
}

impl PoolState {
    fn know(&mut self, origin: &Rc<PoolOrigin>, group: impl FnOnce() -> ConnectionGroup) {
        if !self.groups.contains_key(origin) {
            self.groups.insert(Rc::clone(origin), group());
        }
    }

    fn group(&mut self, origin: &PoolOrigin) -> &mut ConnectionGroup {
        self.groups.get_mut(origin).expect("a group lives as long as the pool")
    }

    /// Looks for a connection for a request to `origin`.
    fn find(&mut self, origin: &PoolOrigin, sharing_mode: PipelineSharing) -> ConnectionSupply {
        let mut closed = Vec::new();
        let found = self.group(origin).find(sharing_mode, &mut closed);
        for id in closed {
            self.lose(origin, id);
        }
        found
    }

    /// Ends a successful request on a shared connection.
    fn give_back_share(&mut self, lease: &mut Lease) {
        let is_reusable = lease.connection.is_reusable();
        let capability = &mut self.group(&lease.origin).capability;
        match is_reusable {
            true => capability.note_success(),
            false => capability.note_failure(),
        }
        self.leave_share(lease);
    }

    /// Ends a request on a shared connection. A connection that is no longer good is removed for all.
    fn leave_share(&mut self, lease: &mut Lease) {
        let group = self.group(&lease.origin);
        let is_lost = !lease.connection.is_reusable() && group.forget_session(lease.id);
        group.release(lease.id, world::now());
        if is_lost {
            self.lose(&lease.origin, lease.id);
        }
    }

    /// Counts a connection as closed.
    fn lose(&mut self, origin: &PoolOrigin, id: u32) {
        self.total -= 1;
        self.group(origin).open -= 1;
        self.used[id as usize].closed = Some(world::now());
    }

    fn count(&mut self, lease: Lease) -> Lease {
        self.used[lease.id as usize].requests += 1;
        lease
    }

    /// Returns true if a limit forbids one more connection of this arm.
    fn is_full(&self, arm: HostStack, policy: &Policy) -> bool {
        self.total >= policy.connections_total || self.is_proxy_full(arm, policy)
    }

    /// Returns true if the proxy's limit forbids it. Connections that bypass the proxy are not counted.
    fn is_proxy_full(&self, arm: HostStack, policy: &Policy) -> bool {
        let through = self.groups.iter().filter(|(origin, _)| origin.proxy.is_some());
        let limit = arm.proxy().and(policy.connections_per_proxy);
        limit.is_some_and(|limit| through.map(|(_, group)| group.open).sum::<usize>() >= limit)
    }

    /// Makes room for one more connection of this arm; false if all others are in use.
    fn make_room(&mut self, arm: HostStack, policy: &Policy) -> bool {
        let is_through = |origin: &PoolOrigin| origin.proxy.is_some();
        (!self.is_proxy_full(arm, policy) || self.close_an_idle_one(is_through))
            && (self.total < policy.connections_total || self.close_an_idle_one(|_| true))
    }

    /// Closes an unused connection of the selected groups; false if there is none.
    fn close_an_idle_one(&mut self, is_meant: impl Fn(&PoolOrigin) -> bool) -> bool {
        let mut idle = self
            .groups
            .iter_mut()
            .filter(|(origin, group)| is_meant(origin) && !group.has_waiting());
        let Some((origin, lease)) =
            idle.find_map(|(origin, group)| Some((Rc::clone(origin), group.take_idle()?)))
        else {
            return false;
        };
        self.lose(&origin, lease.id);
        true
    }
}
