//! Opening connections: as many as are wanted and allowed, and a backup if the first is slow to connect.

use std::net::SocketAddr;
use std::rc::Rc;

use http_stack::client::{self, ClientConnection, ConnectStage, Opening, Protocol};
use tls::Security;

use super::group::{ConnectionGroup, ConnectionSupply};
use super::{Lease, Pool, PoolOrigin, PoolState, Used};
use crate::plan::HostStack;
use crate::policy::Coalescing;
use crate::timeline::ConnectionTimes;

impl Pool {
    /// Opens connections that are wanted and have become possible, for the most urgent requests first.
    pub(super) fn open_where_waiting(self: &Rc<Self>) {
        let mut waiting: Vec<_> = {
            let inner = self.inner.borrow();
            let short = |(origin, group): (&Rc<PoolOrigin>, &ConnectionGroup)| {
                Some((group.shortage()?, Rc::clone(origin)))
            };
            inner.groups.iter().filter_map(short).collect()
        };
        waiting.sort();
        for (_, origin) in waiting {
            self.open_more(&origin);
        }
    }

    /// Opens as many connections to `origin` as are wanted and allowed.
    pub(super) fn open_more(self: &Rc<Self>, origin: &Rc<PoolOrigin>) {
        loop {
            let (id, is_first) = {
                let mut inner = self.inner.borrow_mut();
                let group = inner.group(origin);
                if !group.is_short() || group.open >= group.limit {
                    return;
                }
                let arm = group.arm;
                if !inner.make_room(arm, &self.browser.policy) {
                    return;
                }
                let id = inner.begin(origin);
                let group = inner.group(origin);
                group.begin(id);
                (id, group.open == 1)
            };
            self.start(origin, id);
            if is_first {
                self.back_up(origin, id);
            }
        }
    }

    /// Starts opening the connection `id`.
    fn start(self: &Rc<Self>, origin: &Rc<PoolOrigin>, id: u32) {
        let (pool, origin) = (Rc::clone(self), Rc::clone(origin));
        world::spawn(async move { pool.open(origin, id).await });
    }

    /// Opens a backup connection if the first one of a group, `first`, has not reached its host, or the proxy on
    /// the path, in time: its SYN may be lost. The faster one is used; the other is kept, unless the protocol
    /// multiplexes and needs only one.
    ///
    /// Source: Chromium `net/socket/client_socket_pool_base.cc`, `Group::OnBackupJobTimerFired`: retried later if
    /// limits forbid it or the name is not resolved yet; not for QUIC. At this time it is not known yet if the
    /// protocol multiplexes, so the limit is that of HTTP/1.
    fn back_up(self: &Rc<Self>, origin: &Rc<PoolOrigin>, first: u32) {
        let Some(patience) = self.browser.policy.backup_after() else { return };
        if self.inner.borrow_mut().group(origin).arm.protocol == Protocol::H3 {
            return;
        }
        let (pool, origin) = (Rc::downgrade(self), Rc::clone(origin));
        world::spawn(async move {
            loop {
                world::sleep(patience).await;
                let Some(pool) = pool.upgrade() else { return };
                if pool.try_beside(&origin, first) == Beside::Settled {
                    return;
                }
            }
        });
    }

    fn try_beside(self: &Rc<Self>, origin: &Rc<PoolOrigin>, first: u32) -> Beside {
        let id = {
            let mut inner = self.inner.borrow_mut();
            if inner.has_reached(first) || !inner.group(origin).is_wanted(first) {
                return Beside::Settled;
            }
            if !inner.is_resolved(first) {
                return Beside::NotYet;
            }
            let policy = &self.browser.policy;
            let arm = inner.group(origin).arm;
            if inner.is_full(arm, policy) || inner.group(origin).open >= policy.connections_per_host
            {
                return Beside::NotYet;
            }
            let id = inner.begin(origin);
            inner.group(origin).begin_for_anybody(id);
            id
        };
        self.start(origin, id);
        Beside::Settled
    }

    /// Opens one connection and gives it to a waiting request.
    async fn open(self: Rc<Self>, origin: Rc<PoolOrigin>, id: u32) {
        let arm = self.inner.borrow_mut().group(&origin).arm;
        let mut opened = ConnectionTimes { started: world::now(), ..ConnectionTimes::default() };
        let address = match origin.proxy {
            Some(proxy) => Ok(proxy),
            None => {
                let address = self.names.address(&origin.host).await;
                address.map(|ip| SocketAddr::new(ip, arm.port))
            }
        };
        opened.resolved = world::now();
        if let Ok(address) = address
            && self.join(&origin, id, arm, address)
        {
            return;
        }
        let result = match address {
            Ok(address) => self.connect(&origin, arm, address, id, &mut opened).await,
            Err(reason) => Err(reason),
        };
        {
            let mut inner = self.inner.borrow_mut();
            match result {
                Ok(connection) => {
                    let used = &mut inner.used[id as usize];
                    used.local = connection.local_addr();
                    used.opened = opened;
                    let origin = Rc::clone(&origin);
                    let lease = Lease { connection, id, opened: Some(opened), origin };
                    inner.arrive(lease);
                }
                Err(reason) => {
                    inner.lose(&origin, id);
                    inner.group(&origin).fail(id, reason);
                }
            }
        }
        self.watch_idle(&origin);
        self.open_where_waiting();
    }

    async fn connect(
        &self,
        origin: &PoolOrigin,
        arm: HostStack,
        address: SocketAddr,
        id: u32,
        opened: &mut ConnectionTimes,
    ) -> Result<ClientConnection, String> {
        let wanted = self.browser.wanted(&self.cache);
        let opening = self.browser.opening(address, &origin.host, arm);
        let opening = Opening { wanted, ..opening };
        let mut stage = |stage: ConnectStage| match stage {
            ConnectStage::Reached => self.inner.borrow_mut().used[id as usize].has_reached = true,
            ConnectStage::Connected => opened.connected = world::now(),
            ConnectStage::Secured => opened.secured = world::now(),
        };
        let connection = client::open(opening, &mut stage)
            .await
            .map_err(|error| format!("failed to connect to {}: {error}", arm.peer(&origin.host)))?;
        let cost = self.browser.device.connection(origin.secure);
        let done = self.network_thread.queue(world::now(), cost);
        if done > world::now() {
            world::sleep_until(done).await;
        }
        opened.secured = done;
        if arm.security == Security::None {
            opened.connected = done;
        }
        Ok(connection)
    }
}

/// Outcome of the attempt to open a backup connection.
#[derive(PartialEq, Eq)]
enum Beside {
    /// It is being opened, or no longer needed.
    Settled,
    /// It is too early, or a limit forbids it.
    NotYet,
}

impl PoolState {
    /// Counts a connection as being opened.
    fn begin(&mut self, origin: &Rc<PoolOrigin>) -> u32 {
        self.total += 1;
        let arm = self.group(origin).arm;
        let opened = ConnectionTimes { started: world::now(), ..ConnectionTimes::default() };
        self.used.push(Used {
            host: arm.peer(&origin.host).to_owned(),
            arm,
            local: None,
            opened,
            address: None,
            is_void: false,
            has_reached: false,
            closed: None,
            requests: 0,
        });
        (self.used.len() - 1) as u32
    }

    fn is_resolved(&self, id: u32) -> bool {
        self.used[id as usize].address.is_some()
    }

    fn has_reached(&self, id: u32) -> bool {
        let used = &self.used[id as usize];
        used.has_reached || used.closed.is_some() || used.is_void
    }

    /// Accepts a new connection. An unneeded one is closed.
    fn arrive(&mut self, lease: Lease) {
        let origin = Rc::clone(&lease.origin);
        if let Some(surplus) = self.group(&origin).arrive(lease, world::now()) {
            self.lose(&origin, surplus.id);
        }
    }
}

// Connection coalescing: one session for several hosts (RFC 9113 section 9.1.1, RFC 9114 section 3.3; Chromium's `spdy_session_pool.cc`, "IP pooling").
//
// A host whose name resolves to the address of an open session of the same protocol joins it, instead of opening a
// separate connection. The server's certificate must cover the host; this is assumed: here all hosts at one
// address have one certificate. It leaves out ORIGIN frames (RFC 8336) and 421 (Misdirected Request): a server at
// one address serves all its hosts.

impl Pool {
    /// Makes `origin`, whose address has just become known, join a session there; returns true if there was one.
    /// The connection `id` is not needed then.
    pub(super) fn join(
        &self,
        origin: &Rc<PoolOrigin>,
        id: u32,
        arm: HostStack,
        at: SocketAddr,
    ) -> bool {
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
            match inner.find(&host, waiter.sharing_mode) {
                // A waiter that has given up need not be told; the lease is returned as any other.
                ConnectionSupply::Ready(lease) => {
                    if let Err(Ok(mut returned)) = waiter.grant.send(Ok(*lease)) {
                        inner.leave_share(&mut returned);
                    }
                }
                ConnectionSupply::Bound(id) => inner.group(&host).wait(waiter, Some(id)),
                ConnectionSupply::Nothing => inner.group(&host).wait(waiter, None),
            }
        }
        true
    }
}

impl PoolState {
    /// Another host with a session at this address, with the same protocol and security.
    fn host_at(
        &self,
        origin: &PoolOrigin,
        arm: HostStack,
        at: SocketAddr,
    ) -> Option<Rc<PoolOrigin>> {
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
    pub(super) fn home(&mut self, origin: &Rc<PoolOrigin>) -> Rc<PoolOrigin> {
        let Some(host) = self.group(origin).joined.clone() else { return Rc::clone(origin) };
        if self.group(&host).has_session() {
            return host;
        }
        self.group(origin).joined = None;
        Rc::clone(origin)
    }
}
