//! Which connections there are, open or being opened, and who holds them. No I/O but that what is dropped is closed.

use std::collections::BTreeMap;
use std::time::Duration;

use http_stack::client::Connection;
use units::Time;

use super::pool::Key;
use super::settings::Settings;
use super::shares::{Peer, Shares};

/// The connections of a core.
#[derive(Default)]
pub(super) struct Connections {
    origins: BTreeMap<Key, Origin>,
    /// Connections, and those being opened.
    open: usize,
    /// Who holds them, wherever they lead.
    shares: Shares,
}

#[derive(Default)]
struct Origin {
    open: usize,
    /// The one that was used last comes last.
    idle: Vec<Idle>,
    shared: Option<Idle>,
    /// Whether a connection is being opened that may be shared.
    opening: bool,
    /// Whose requests are under way.
    shares: Shares,
}

/// A connection, and since when nobody has asked for it.
struct Idle {
    connection: Connection,
    since: Time,
}

impl Connections {
    /// All that are open, and those of them that nobody uses.
    pub(super) fn count(&self) -> (usize, usize) {
        (self.open, self.origins.values().map(|origin| origin.idle.len()).sum())
    }

    /// Whether there can be no more, wherever they lead.
    pub(super) fn is_full(&self, settings: &Settings) -> bool {
        self.open >= settings.connections
    }

    /// How many a client's address holds.
    pub(super) fn held_by(&self, client: Peer) -> usize {
        self.shares.held_by(client)
    }

    /// A connection, or the right to open one, and whether that counts as one more that is held.
    pub(super) fn take(
        &mut self,
        key: &Key,
        client: Peer,
        settings: &Settings,
    ) -> Option<(Option<Connection>, bool)> {
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

    /// Whether `client` has not got its share yet.
    fn has_room(&self, key: &Key, client: Peer, settings: &Settings) -> bool {
        let percent = settings.client_share;
        let in_all = || self.shares.has_room(client, settings.connections, percent);
        let Some(origin) = self.origins.get(key) else { return in_all() };
        match &origin.shared {
            Some(Idle { connection, .. }) => {
                let streams = connection.most_requests().unwrap_or(usize::MAX);
                origin.shares.has_room(client, streams, percent)
            }
            None => {
                origin.shares.has_room(client, settings.connections_per_origin, percent) && in_all()
            }
        }
    }

    /// Whether nobody can have a connection to `key` now.
    pub(super) fn has_none_for(&self, key: &Key, settings: &Settings) -> bool {
        let origin = self.origins.get(key);
        let has_idle = origin.is_some_and(|it| it.shared.is_some() || !it.idle.is_empty());
        let is_full = origin.is_some_and(|it| it.open >= settings.connections_per_origin);
        let none_idle = || self.origins.values().all(|origin| origin.idle.is_empty());
        !has_idle && (is_full || (self.is_full(settings) && none_idle()))
    }

    /// A connection that is there.
    fn reuse(&mut self, key: &Key) -> Option<Connection> {
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

    /// The right to open a connection, where there is room for it.
    fn reserve(&mut self, key: &Key, settings: &Settings) -> bool {
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

    /// A connection to `key` was opened for `client`; true if requests share it, so that it is nobody's.
    pub(super) fn opened(&mut self, key: &Key, client: Peer, connection: &Connection) -> bool {
        let Some(origin) = self.origins.get_mut(key) else { return false };
        origin.opening = false;
        let is_first = origin.shared.is_none();
        let Some(connection) = connection.share().filter(|_| is_first) else { return false };
        origin.shared = Some(Idle { connection, since: world::now() });
        self.shares.give_back(client);
        true
    }

    /// A connection that counted as `client`'s is idle, or closed if it is `None`.
    pub(super) fn give_back(&mut self, key: &Key, client: Peer, kept: Option<Connection>) {
        self.shares.give_back(client);
        if let Some(origin) = self.origins.get_mut(key) {
            match kept {
                Some(connection) => {
                    origin.idle.push(Idle { connection, since: world::now() });
                }
                None => {
                    origin.opening = false;
                    (origin.open, self.open) = (origin.open - 1, self.open - 1);
                }
            }
        }
        self.done(key, client);
    }

    /// A request of `client` to `key` is done with.
    pub(super) fn done(&mut self, key: &Key, client: Peer) {
        if let Some(origin) = self.origins.get_mut(key) {
            origin.shares.give_back(client);
        }
        self.forget_unused(key);
    }

    fn forget_unused(&mut self, key: &Key) {
        if self.origins.get(key).is_some_and(Origin::is_unused) {
            self.origins.remove(key);
        }
    }

    /// Closes what has been idle for `keep_alive`.
    pub(super) fn expire(&mut self, now: Time, keep_alive: Duration) {
        let is_old = |idle: &Idle| now.since(idle.since) >= keep_alive;
        let mut closed = 0;
        for origin in self.origins.values_mut() {
            let before = origin.idle.len();
            origin.idle.retain_mut(|idle| !is_old(idle) && idle.connection.is_reusable());
            let mut gone = before - origin.idle.len();
            // What is under way on a shared one goes on without this handle.
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

    /// Whether none is idle, shared ones included.
    pub(super) fn has_no_idle(&self) -> bool {
        self.origins.values().all(|origin| origin.idle.is_empty() && origin.shared.is_none())
    }
}

impl Origin {
    fn is_unused(&self) -> bool {
        self.open == 0 && self.shares.is_unheld()
    }
}
