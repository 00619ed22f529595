//! Pool of connections to origins: lent fairly, with a queue.
//!
//! A [`ConnectionLease`] is the right to one connection, already open or yet to be opened. Dropping it passes that right to the next
//! waiter that can use it. No client holds more than its [share](super::fairness); a client that does not read its response loses
//! its connection to waiting ones. An idle connection to one origin makes room for a new one to another. An HTTP/2 connection is
//! lent to many requests at once; while the first is being opened others wait for it rather than open their own.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::time::Duration;

use http_stack::client::ClientConnection;
use tls::Protocol;
use tokio::sync::oneshot;

use super::UpstreamSettings;
use super::body::ResponseTransfers;
use super::connect::OriginAddress;
use super::connections::ConnectionTable;
use super::fairness::ClientPeer;
use super::fairness::FairQueue;
use super::fetch::FetchError;
use crate::target::Scheme;

/// Identity of connections: the origin, and true if the operator chose it.
pub(super) type PoolKey = (OriginAddress, bool);

/// Interval at which a waiter checks for clients that do not read.
const REVOKE_INTERVAL: Duration = Duration::from_millis(500);

/// All connections of a core, within its share of the limits.
pub(super) struct ConnectionPool {
    settings: UpstreamSettings,
    state: RefCell<PoolState>,
    transfers: Rc<ResponseTransfers>,
    /// Itself, for its leases.
    this: Weak<ConnectionPool>,
}

#[derive(Default)]
struct PoolState {
    connections: ConnectionTable,
    /// No queue is empty.
    waiting: BTreeMap<PoolKey, FairQueue<LeaseWaiter>>,
    /// Key of the last waiter served.
    served: Option<PoolKey>,
    sweeping: bool,
}

type LeaseWaiter = oneshot::Sender<ConnectionLease>;

/// The right to a connection.
pub(super) struct ConnectionLease {
    pool: Rc<ConnectionPool>,
    key: PoolKey,
    client: ClientPeer,
    /// The connection, if there is one already.
    pub(super) connection: Option<ClientConnection>,
    /// True if the connection is held by the client, and ends with this lease.
    counts: bool,
    /// The connection, once it is idle again.
    kept: Option<ClientConnection>,
}

/// Numbers of connections and waiters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCount {
    /// Open connections, including those being opened.
    pub open: usize,
    /// Idle connections.
    pub idle: usize,
    /// Requests waiting for a connection.
    pub waiting: usize,
}

impl ConnectionPool {
    pub(super) fn new(settings: UpstreamSettings) -> Rc<ConnectionPool> {
        let (state, transfers) = (RefCell::default(), Rc::default());
        Rc::new_cyclic(|this| ConnectionPool {
            settings,
            state,
            transfers,
            this: Weak::clone(this),
        })
    }

    pub(super) fn count(&self) -> PoolCount {
        let state = self.state.borrow();
        let (open, idle) = state.connections.count();
        PoolCount { open, idle, waiting: state.waiting() }
    }

    /// Responses on their way.
    pub(super) fn transfers(&self) -> &Rc<ResponseTransfers> {
        &self.transfers
    }

    /// Waits for a connection, or for the right to open one.
    pub(super) async fn acquire(
        &self,
        key: &PoolKey,
        client: ClientPeer,
    ) -> Result<ConnectionLease, FetchError> {
        if let Some(lease) = self.take(&mut self.state.borrow_mut(), key, client) {
            return Ok(lease);
        }
        let mut turn = self.wait(key, client)?;
        let deadline = world::now() + self.settings.queue_timeout;
        loop {
            self.revoke(key);
            let left = deadline.since(world::now());
            match world::timeout(left.min(REVOKE_INTERVAL), &mut turn).await {
                Ok(Ok(lease)) => return Ok(lease),
                // Displaced by a client with fewer waiting requests.
                Ok(Err(_)) => return Err(FetchError::Crowded),
                Err(_) if left <= REVOKE_INTERVAL => return Err(FetchError::QueueTimeout),
                // A server over HTTP/2 may have raised its limit.
                Err(_) => self.serve_waiting(),
            }
        }
    }

    /// Joins the queue. If it is full, the client with the most waiting requests loses one.
    fn wait(
        &self,
        key: &PoolKey,
        client: ClientPeer,
    ) -> Result<oneshot::Receiver<ConnectionLease>, FetchError> {
        let mut state = self.state.borrow_mut();
        state.retain(|waiter| !waiter.is_closed());
        if state.waiting() >= self.settings.waiting && !state.crowd_out(client) {
            return Err(FetchError::Crowded);
        }
        let (turn, mine) = oneshot::channel();
        state.waiting.entry(key.clone()).or_default().push(client, turn);
        Ok(mine)
    }

    /// Takes a connection, or the right to open one, if there is one and `client` has not reached its share.
    fn take(
        &self,
        state: &mut PoolState,
        key: &PoolKey,
        client: ClientPeer,
    ) -> Option<ConnectionLease> {
        let (connection, counts) = state.connections.take(key, client, &self.settings)?;
        let pool = self.this.upgrade().expect("a caller holds the pool");
        Some(ConnectionLease { pool, key: key.clone(), client, connection, counts, kept: None })
    }

    /// Takes a connection from a client that does not read its response.
    fn revoke(&self, key: &PoolKey) {
        let is_full = self.state.borrow().connections.is_full(&self.settings);
        let key = (!is_full).then_some(key);
        self.transfers.revoke(key, |client| self.state.borrow().connections.held_by(client));
    }

    /// Lends free connections to waiters in their turns.
    fn serve_waiting(&self) {
        while let Some((waiter, lease)) = self.serve_one() {
            // A waiter that has given up drops its lease, which may re-enter this function.
            drop(waiter.send(lease));
        }
    }

    /// Takes the next waiter to serve out of the queue.
    fn serve_one(&self) -> Option<(LeaseWaiter, ConnectionLease)> {
        let state = &mut *self.state.borrow_mut();
        let (before, after): (Vec<_>, Vec<_>) =
            state.waiting.keys().cloned().partition(|key| Some(key) <= state.served.as_ref());
        for key in after.into_iter().chain(before) {
            let clients: Vec<_> = state.waiting[&key].waiting().map(|(client, _)| client).collect();
            for client in clients {
                if let Some(lease) = self.take(state, &key, client) {
                    let waiter = state.waiting.get_mut(&key).and_then(|q| q.take(client));
                    state.waiting.retain(|_, queue| !queue.is_empty());
                    state.served = Some(key);
                    return Some((waiter.expect("a client in the queue has a waiter"), lease));
                }
                if state.connections.has_none_for(&key, &self.settings) {
                    break;
                }
            }
        }
        None
    }

    /// Closes connections past their keep-alive, until there are none left.
    fn sweep(&self) {
        if std::mem::replace(&mut self.state.borrow_mut().sweeping, true) {
            return;
        }
        let (this, keep_alive) = (Weak::clone(&self.this), self.settings.keep_alive);
        drop(world::spawn(async move {
            loop {
                world::sleep(keep_alive).await;
                let Some(pool) = this.upgrade() else { return };
                let mut state = pool.state.borrow_mut();
                state.connections.expire(world::now(), keep_alive);
                if state.connections.has_no_idle() {
                    state.sweeping = false;
                    return;
                }
            }
        }));
    }

    fn may_share(&self, key: &PoolKey) -> bool {
        self.settings.may_share(key.0.scheme)
    }
}

impl UpstreamSettings {
    /// Returns true if requests may share a connection to an origin of this scheme.
    pub(super) fn may_share(&self, scheme: Scheme) -> bool {
        self.protocol == Protocol::H2 && scheme == Scheme::Https
    }
}

impl PoolState {
    /// Number of waiters.
    fn waiting(&self) -> usize {
        self.waiting.values().map(FairQueue::len).sum()
    }

    fn retain(&mut self, keep: impl Fn(&LeaseWaiter) -> bool) {
        self.waiting.values_mut().for_each(|queue| queue.retain(&keep));
        self.waiting.retain(|_, queue| !queue.is_empty());
    }

    /// Drops a waiter of the client with the most, if it has more than `by`.
    fn crowd_out(&mut self, by: ClientPeer) -> bool {
        let (mut networks, mut clients) = (BTreeMap::new(), BTreeMap::new());
        for (client, waiters) in self.waiting.values().flat_map(FairQueue::waiting) {
            *networks.entry(client.network).or_insert(0) += waiters.len();
            *clients.entry(client).or_insert(0) += waiters.len();
        }
        let places = |client: &ClientPeer| {
            let of_network = networks.get(&client.network).copied().unwrap_or(0usize);
            (of_network, clients.get(client).copied().unwrap_or(0usize))
        };
        let Some(most) = clients.keys().max_by_key(|client| places(client)).copied() else {
            return false;
        };
        if places(&most) <= places(&by) {
            return false;
        }
        let queue = self
            .waiting
            .values_mut()
            .find(|queue| queue.waiting().any(|(client, _)| client == most));
        if let Some(queue) = queue {
            queue.drop_last(most);
        }
        self.waiting.retain(|_, queue| !queue.is_empty());
        true
    }
}

impl ConnectionLease {
    pub(super) fn key(&self) -> &PoolKey {
        &self.key
    }

    pub(super) fn client(&self) -> ClientPeer {
        self.client
    }

    /// Records that the connection was opened. If it can be shared, other requests get it, too.
    pub(super) fn opened(&mut self, connection: &ClientConnection) {
        let is_shared = {
            let connections = &mut self.pool.state.borrow_mut().connections;
            connections.opened(&self.key, self.client, connection)
        };
        self.counts &= !is_shared;
        if self.pool.may_share(&self.key) {
            self.pool.serve_waiting();
            self.pool.sweep();
        }
    }

    /// Returns the connection to the pool: it is idle again.
    pub(super) fn give_back(mut self, connection: ClientConnection) {
        self.kept = Some(connection).filter(|_| self.counts);
        self.pool.sweep();
    }
}

impl Drop for ConnectionLease {
    fn drop(&mut self) {
        let (key, kept) = (&self.key, self.kept.take());
        {
            let connections = &mut self.pool.state.borrow_mut().connections;
            match self.counts {
                true => connections.give_back(key, self.client, kept),
                false => connections.done(key, self.client),
            }
        }
        drop(self.connection.take());
        self.pool.serve_waiting();
    }
}
