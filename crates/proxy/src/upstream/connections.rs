//! Table of connections, open or being opened, and their holders. No I/O, except that dropped connections are closed.

use std::collections::BTreeMap;
use std::time::Duration;

use http_stack::client::ClientConnection;
use units::Time;

use super::UpstreamSettings;
use super::fairness::{ClientPeer, Shares};
use super::pool::PoolKey;

/// The connections of a core.
#[derive(Default)]
pub(super) struct ConnectionTable {
    origins: BTreeMap<PoolKey, OriginConnections>,
    /// Number of connections, including those being opened.
    open: usize,
    /// Shares of clients in all connections.
    shares: Shares,
}

#[derive(Default)]
struct OriginConnections {
    open: usize,
    /// Ordered by last use, the latest last.
    idle: Vec<IdleConnection>,
    shared: Option<IdleConnection>,
    /// True while a connection that may be shared is being opened.
    opening: bool,
    /// Shares of clients in the requests under way.
    shares: Shares,
}

/// A connection, and the time since which it is unused.
struct IdleConnection {
    connection: ClientConnection,
    since: Time,
}

impl ConnectionTable {
    /// Number of open connections, and of idle ones among them.
    pub(super) fn count(&self) -> (usize, usize) {
        (self.open, self.origins.values().map(|origin| origin.idle.len()).sum())
    }

    /// Returns true if the limit for all connections is reached.
    pub(super) fn is_full(&self, settings: &UpstreamSettings) -> bool {
        self.open >= settings.connections
    }

    /// Number held by a client's address.
    pub(super) fn held_by(&self, client: ClientPeer) -> usize {
        self.shares.held_by(client)
    }

    /// Takes a connection, or the right to open one; the flag is true if it counts as held by the client.
    pub(super) fn take(
        &mut self,
        key: &PoolKey,
        client: ClientPeer,
        settings: &UpstreamSettings,
    ) -> Option<(Option<ClientConnection>, bool)> {
        if !self.has_room(key, client, settings) {
            return None;
        }
        let connection = self.reuse(key);
        if connection.is_none() && !self.reserve(key, settings) {
            return None;
        }
        let counts = connection.as_ref().is_none_or(|connection| !connection.is_shared());
        if counts {
            self.shares.take(client);
        }
        self.origins.entry(key.clone()).or_default().shares.take(client);
        Some((connection, counts))
    }

    /// Returns true if `client` has not reached its share.
    fn has_room(&self, key: &PoolKey, client: ClientPeer, settings: &UpstreamSettings) -> bool {
        let percent = settings.client_share;
        let in_all = || self.shares.has_room(client, settings.connections, percent);
        let Some(origin) = self.origins.get(key) else { return in_all() };
        match &origin.shared {
            Some(IdleConnection { connection, .. }) => {
                let streams = connection.most_requests().unwrap_or(usize::MAX);
                origin.shares.has_room(client, streams, percent)
            }
            None => {
                origin.shares.has_room(client, settings.connections_per_origin, percent) && in_all()
            }
        }
    }

    /// Returns true if no client can have a connection to `key` now.
    pub(super) fn has_none_for(&self, key: &PoolKey, settings: &UpstreamSettings) -> bool {
        let origin = self.origins.get(key);
        let has_idle = origin.is_some_and(|it| it.shared.is_some() || !it.idle.is_empty());
        let is_full = origin.is_some_and(|it| it.open >= settings.connections_per_origin);
        let none_idle = || self.origins.values().all(|origin| origin.idle.is_empty());
        !has_idle && (is_full || (self.is_full(settings) && none_idle()))
    }

    /// Takes an existing connection.
    fn reuse(&mut self, key: &PoolKey) -> Option<ClientConnection> {
        let origin = self.origins.get_mut(key)?;
        if let Some(shared) = &mut origin.shared {
            if shared.connection.is_reusable() {
                shared.since = world::now();
                return shared.connection.share();
            }
            origin.shared = None;
            (origin.open, self.open) = (origin.open - 1, self.open - 1);
        }
        while let Some(mut idle) = origin.idle.pop() {
            if idle.connection.is_reusable() {
                return Some(idle.connection);
            }
            (origin.open, self.open) = (origin.open - 1, self.open - 1);
        }
        None
    }

    /// Reserves the right to open a connection, if there is room.
    fn reserve(&mut self, key: &PoolKey, settings: &UpstreamSettings) -> bool {
        let may_share = settings.may_share(key.0.scheme);
        if let Some(origin) = self.origins.get(key)
            && (origin.open >= settings.connections_per_origin || (may_share && origin.opening))
        {
            return false;
        }
        if self.is_full(settings) && !self.evict() {
            return false;
        }
        let origin = self.origins.entry(key.clone()).or_default();
        origin.opening = may_share;
        (origin.open, self.open) = (origin.open + 1, self.open + 1);
        true
    }

    /// Closes the connection that has been idle longest.
    fn evict(&mut self) -> bool {
        let oldest =
            self.origins.iter().filter_map(|(key, origin)| Some((origin.idle.first()?.since, key)));
        let Some(key) = oldest.min().map(|(_, key)| key.clone()) else { return false };
        if let Some(origin) = self.origins.get_mut(&key) {
            drop(origin.idle.remove(0));
            (origin.open, self.open) = (origin.open - 1, self.open - 1);
        }
        self.forget_unused(&key);
        true
    }

    /// Records that a connection to `key` was opened for `client`; returns true if requests share it, so that
    /// it is held by no client.
    pub(super) fn opened(
        &mut self,
        key: &PoolKey,
        client: ClientPeer,
        connection: &ClientConnection,
    ) -> bool {
        let Some(origin) = self.origins.get_mut(key) else { return false };
        origin.opening = false;
        let is_first = origin.shared.is_none();
        let Some(connection) = connection.share().filter(|_| is_first) else { return false };
        origin.shared = Some(IdleConnection { connection, since: world::now() });
        self.shares.give_back(client);
        true
    }

    /// Takes back a connection held by `client`: `kept` becomes idle; `None` means that it is closed.
    pub(super) fn give_back(
        &mut self,
        key: &PoolKey,
        client: ClientPeer,
        kept: Option<ClientConnection>,
    ) {
        self.shares.give_back(client);
        if let Some(origin) = self.origins.get_mut(key) {
            match kept {
                Some(connection) => {
                    origin.idle.push(IdleConnection { connection, since: world::now() });
                }
                None => {
                    origin.opening = false;
                    (origin.open, self.open) = (origin.open - 1, self.open - 1);
                }
            }
        }
        self.done(key, client);
    }

    /// Records the end of `client`'s request to `key`.
    pub(super) fn done(&mut self, key: &PoolKey, client: ClientPeer) {
        if let Some(origin) = self.origins.get_mut(key) {
            origin.shares.give_back(client);
        }
        self.forget_unused(key);
    }

    fn forget_unused(&mut self, key: &PoolKey) {
        if self.origins.get(key).is_some_and(OriginConnections::is_unused) {
            self.origins.remove(key);
        }
    }

    /// Closes connections that have been idle for `keep_alive`.
    pub(super) fn expire(&mut self, now: Time, keep_alive: Duration) {
        let is_old = |idle: &IdleConnection| now.since(idle.since) >= keep_alive;
        let mut closed = 0;
        for origin in self.origins.values_mut() {
            let before = origin.idle.len();
            origin.idle.retain_mut(|idle| !is_old(idle) && idle.connection.is_reusable());
            let mut gone = before - origin.idle.len();
            // Requests under way on a shared one go on without this handle.
            if origin.shared.as_ref().is_some_and(is_old) {
                origin.shared = None;
                gone += 1;
            }
            origin.open -= gone;
            closed += gone;
        }
        self.open -= closed;
        self.origins.retain(|_, origin| !origin.is_unused());
    }

    /// Returns true if no connection is idle, shared ones included.
    pub(super) fn has_no_idle(&self) -> bool {
        self.origins.values().all(|origin| origin.idle.is_empty() && origin.shared.is_none())
    }
}

impl OriginConnections {
    fn is_unused(&self) -> bool {
        self.open == 0 && self.shares.is_unheld()
    }
}
