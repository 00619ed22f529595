//! Connections to origins: kept while idle, counted, and waited for in order.
//!
//! A [`Lease`] is the right to one connection, open already or yet to be opened. Whoever drops it gives that right to whoever has
//! waited longest and can use it. An idle connection to one origin makes room for a new one to another. A connection of HTTP/2
//! is lent to many at once; while the first is being opened others wait for it rather than open their own.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::{Rc, Weak};

use http_stack::client::Connection;
use http_stack::tls::Protocol;
use tokio::sync::oneshot;
use units::Time;

use super::destination::Destination;
use super::error::FetchError;
use super::settings::Settings;
use crate::target::Scheme;

/// What tells connections apart: the origin, and whether it was the operator who chose it.
pub(super) type Key = (Destination, bool);

/// All connections of a core, within its share of the limits.
pub(super) struct Pool {
    settings: Settings,
    state: RefCell<State>,
    /// Itself, for those to whom it lends.
    this: Weak<Pool>,
}

#[derive(Default)]
struct State {
    origins: BTreeMap<Key, Origin>,
    /// Connections, and those being opened.
    open: usize,
    waiting: VecDeque<Waiter>,
    sweeping: bool,
}

#[derive(Default)]
struct Origin {
    open: usize,
    /// The one that was used last comes last.
    idle: Vec<Idle>,
    shared: Option<Idle>,
    /// Whether a connection is being opened that may be shared.
    opening: bool,
}

/// A connection, and since when nobody has asked for it.
struct Idle {
    connection: Connection,
    since: Time,
}

struct Waiter {
    key: Key,
    turn: oneshot::Sender<Lease>,
}

/// The right to a connection.
pub(super) struct Lease {
    pool: Rc<Pool>,
    key: Key,
    /// The connection, if there is one already.
    pub(super) connection: Option<Connection>,
    /// Whether the connection counts, and ends with this.
    counts: bool,
}

/// How many connections a pool has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCount {
    /// All of them, and those being opened.
    pub open: usize,
    /// Those that nobody uses.
    pub idle: usize,
    /// Requests that wait for one.
    pub waiting: usize,
}

impl Pool {
    pub(super) fn new(settings: Settings) -> Rc<Pool> {
        Rc::new_cyclic(|this| Pool { settings, state: RefCell::default(), this: Weak::clone(this) })
    }

    pub(super) fn count(&self) -> PoolCount {
        let state = self.state.borrow();
        let idle = state.origins.values().map(|origin| origin.idle.len()).sum();
        PoolCount { open: state.open, idle, waiting: state.waiting.len() }
    }

    /// Waits for a connection, or for the right to open one.
    pub(super) async fn acquire(&self, key: &Key) -> Result<Lease, FetchError> {
        if let Some(lease) = self.take(key) {
            return Ok(lease);
        }
        let turn = {
            let mut state = self.state.borrow_mut();
            state.waiting.retain(|waiter| !waiter.turn.is_closed());
            if state.waiting.len() >= self.settings.waiting {
                return Err(FetchError::Crowded);
            }
            let (turn, mine) = oneshot::channel();
            state.waiting.push_back(Waiter { key: key.clone(), turn });
            mine
        };
        match world::timeout(self.settings.queue_timeout, turn).await {
            Ok(Ok(lease)) => Ok(lease),
            Ok(Err(_)) => {
                unreachable!("a pool outlives those who wait in it, and sends before it drops")
            }
            Err(_) => Err(FetchError::QueueTimeout),
        }
    }

    /// A connection, or the right to open one, if either is to be had.
    fn take(&self, key: &Key) -> Option<Lease> {
        let mut state = self.state.borrow_mut();
        let connection = state.reuse(key);
        if connection.is_none() && !state.reserve(key, &self.settings) {
            return None;
        }
        let counts = connection.as_ref().is_none_or(|connection| !connection.is_shared());
        let pool = self.this.upgrade().expect("who calls it holds it");
        Some(Lease { pool, key: key.clone(), connection, counts })
    }

    /// Gives what is free to those who have waited longest.
    fn serve_waiting(&self) {
        let mut index = 0;
        loop {
            let key = match self.state.borrow().waiting.get(index) {
                Some(waiter) => waiter.key.clone(),
                None => return,
            };
            match self.take(&key) {
                None => index += 1,
                Some(lease) => {
                    let waiter = self.state.borrow_mut().waiting.remove(index);
                    // Whoever has ceased to wait gives it back by dropping it, which may come back here.
                    if let Some(waiter) = waiter {
                        drop(waiter.turn.send(lease));
                    }
                }
            }
        }
    }

    /// Closes what nobody has used for long, until nothing is left to be used.
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
                state.expire(world::now(), keep_alive);
                if state.has_no_idle() {
                    state.sweeping = false;
                    return;
                }
            }
        }));
    }

    fn may_share(&self, key: &Key) -> bool {
        self.settings.protocol == Protocol::H2 && key.0.scheme == Scheme::Https
    }
}

impl State {
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
        let may_share = settings.protocol == Protocol::H2 && key.0.scheme == Scheme::Https;
        if let Some(origin) = self.origins.get(key)
            && (origin.open >= settings.connections_per_origin || (may_share && origin.opening))
        {
            return false;
        }
        if self.open >= settings.connections && !self.evict() {
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
        }
        self.forget(&key);
        true
    }

    /// A connection to `key` is no more.
    fn forget(&mut self, key: &Key) {
        self.open -= 1;
        if let Some(origin) = self.origins.get_mut(key) {
            origin.open -= 1;
            if origin.open == 0 {
                self.origins.remove(key);
            }
        }
    }

    fn expire(&mut self, now: Time, keep_alive: std::time::Duration) {
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
        self.origins.retain(|_, origin| origin.open > 0);
    }

    fn has_no_idle(&self) -> bool {
        self.origins.values().all(|origin| origin.idle.is_empty() && origin.shared.is_none())
    }
}

impl Lease {
    /// The connection was opened. If requests can share it others get it, too.
    pub(super) fn opened(&mut self, connection: &Connection) {
        let mut state = self.pool.state.borrow_mut();
        let Some(origin) = state.origins.get_mut(&self.key) else { return };
        origin.opening = false;
        let is_first = origin.shared.is_none();
        if let Some(connection) = connection.share().filter(|_| is_first) {
            origin.shared = Some(Idle { connection, since: world::now() });
            self.counts = false;
        }
        drop(state);
        if self.pool.may_share(&self.key) {
            self.pool.serve_waiting();
            self.pool.sweep();
        }
    }

    /// The connection is idle again.
    pub(super) fn give_back(mut self, connection: Connection) {
        if self.counts {
            self.counts = false;
            let idle = Idle { connection, since: world::now() };
            if let Some(origin) = self.pool.state.borrow_mut().origins.get_mut(&self.key) {
                origin.idle.push(idle);
            }
            self.pool.sweep();
        }
        self.pool.serve_waiting();
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.counts {
            let mut state = self.pool.state.borrow_mut();
            if let Some(origin) = state.origins.get_mut(&self.key) {
                origin.opening = false;
            }
            state.forget(&self.key);
            drop(state);
            drop(self.connection.take());
            self.pool.serve_waiting();
        }
    }
}
