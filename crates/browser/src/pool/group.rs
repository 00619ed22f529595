//! The connections to one origin, and the requests waiting for one.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use http_stack::Priority;
use tokio::sync::oneshot;
use units::Time;

use super::session::{IdleSession, PipelineSharing, PipeliningSupport, SharedConnection};
use super::{Lease, PoolOrigin};
use crate::Policy;
use crate::plan::HostStack;
use crate::policy::{Binding, IdleTimeouts};

/// Position of a waiting request: by priority, then by arrival.
pub(super) type QueuePosition = (Priority, u64);

/// A request waiting for a connection.
pub(super) struct Waiter {
    pub(super) turn: QueuePosition,
    /// Channel for the connection, or the error.
    pub(super) grant: oneshot::Sender<Result<Lease, String>>,
    pub(super) sharing_mode: PipelineSharing,
}

/// Result of looking for a connection.
pub(super) enum ConnectionSupply {
    /// A connection that is available at once.
    Ready(Box<Lease>),
    /// The request waits for this connection, which is being opened.
    Bound(u32),
    /// The request waits for any connection.
    Nothing,
}

pub(super) struct ConnectionGroup {
    pub(super) arm: HostStack,
    /// Maximum number of connections.
    pub(super) limit: usize,
    binding: Binding,
    idle_timeouts: IdleTimeouts,
    /// Maximum requests on a pipelined connection.
    pipeline_depth: usize,
    /// Connections open or being opened.
    pub(super) open: usize,
    /// Connections being opened.
    coming: BTreeSet<u32>,
    /// Idle connections of protocols with one request at a time, the most recently used last.
    idle: Vec<IdleSession>,
    /// Connections shared by requests: multiplexed or pipelined.
    sessions: Vec<SharedConnection>,
    /// Pipelining support of the server.
    pub(super) capability: PipeliningSupport,
    /// Requests waiting for any connection.
    waiting: BTreeMap<QueuePosition, Waiter>,
    /// Requests waiting for a particular new one, by its number.
    bound: BTreeMap<u32, Vec<Waiter>>,
    /// Requests distributed among connections.
    dealt: usize,
    /// True while a task watches idle connections.
    pub(super) is_watched: bool,
    /// Another host at the same address, whose connections are used instead.
    pub(super) joined: Option<Rc<PoolOrigin>>,
}

impl ConnectionGroup {
    pub(super) fn new(arm: HostStack, policy: &Policy) -> ConnectionGroup {
        let limit = match arm.multiplexes() {
            // Each of a proxy's ports has a group.
            true => policy.multiplexed_per_host.div_ceil(arm.ports()),
            false => policy.connections_per_host,
        };
        ConnectionGroup {
            arm,
            limit,
            binding: policy.binding,
            idle_timeouts: policy.idle,
            pipeline_depth: policy.pipeline_depth,
            open: 0,
            coming: BTreeSet::new(),
            idle: Vec::new(),
            sessions: Vec::new(),
            capability: PipeliningSupport::default(),
            waiting: BTreeMap::new(),
            bound: BTreeMap::new(),
            dealt: 0,
            is_watched: false,
            joined: None,
        }
    }

    /// Maximum concurrent requests on a shared connection; `None`: unlimited.
    fn depth(&self) -> Option<usize> {
        if !self.arm.multiplexes() {
            return Some(self.capability.depth(self.pipeline_depth));
        }
        // One each, as long as another connection is or can be on its way.
        let more = self.open < self.limit || !self.coming.is_empty();
        (self.limit > 1 && more).then_some(1)
    }

    /// Returns true if requests are distributed among connections, fast and slow alike.
    fn deals_out(&self) -> bool {
        self.binding == Binding::Early && self.arm.multiplexes() && self.limit > 1
    }

    /// Returns true if more requests wait than connections are being opened.
    pub(super) fn is_short(&self) -> bool {
        self.shortage().is_some()
    }

    /// Position of the most urgent request without a new connection underway.
    pub(super) fn shortage(&self) -> Option<QueuePosition> {
        self.waiting.keys().nth(self.coming.len() - self.bound.len()).copied()
    }

    /// Returns true if any request waits for any connection, or for the new one with this `id`.
    pub(super) fn is_wanted(&self, id: u32) -> bool {
        !self.waiting.is_empty() || self.bound.contains_key(&id)
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.bound.is_empty()
    }

    /// Looks for a connection for a request. Connections found closed by their servers are added to `closed`.
    pub(super) fn find(
        &mut self,
        sharing_mode: PipelineSharing,
        closed: &mut Vec<u32>,
    ) -> ConnectionSupply {
        self.sessions.retain_mut(|session| {
            let usable = session.lease.connection.is_reusable();
            if !usable {
                closed.push(session.lease.id);
            }
            usable
        });
        if self.deals_out() {
            return self.deal(sharing_mode, closed.len());
        }
        if let Some(lease) = self.lend(sharing_mode) {
            return ConnectionSupply::Ready(Box::new(lease));
        }
        while let Some(IdleSession { mut lease, .. }) = self.idle.pop() {
            if lease.connection.is_reusable() {
                return ConnectionSupply::Ready(Box::new(lease));
            }
            closed.push(lease.id);
        }
        ConnectionSupply::Nothing
    }

    /// The next connection in turn, open or being opened; none as long as there may be more of them.
    fn deal(&mut self, sharing_mode: PipelineSharing, closed: usize) -> ConnectionSupply {
        if self.open - closed < self.limit {
            return ConnectionSupply::Nothing;
        }
        let open = self.sessions.iter().map(|session| session.lease.id);
        let mut all: Vec<u32> = open.chain(self.coming.iter().copied()).collect();
        all.sort_unstable();
        let id = all[self.dealt % all.len()];
        self.dealt += 1;
        match self.session(id) {
            Some(session) => match session.lend(sharing_mode) {
                Some(lease) => ConnectionSupply::Ready(Box::new(lease)),
                None => ConnectionSupply::Nothing,
            },
            None => ConnectionSupply::Bound(id),
        }
    }

    /// Makes a request wait: for the new connection `id`, or for any.
    pub(super) fn wait(&mut self, waiter: Waiter, id: Option<u32>) {
        match id {
            Some(id) => self.bound.entry(id).or_default().push(waiter),
            None => drop(self.waiting.insert(waiter.turn, waiter)),
        }
    }

    /// A lease of the shared connection with the fewest requests, among those that accept one more.
    fn lend(&mut self, sharing_mode: PipelineSharing) -> Option<Lease> {
        let depth = self.depth();
        let takers = self.sessions.iter_mut().filter(|session| session.takes(sharing_mode, depth));
        takers.min_by_key(|session| session.sharing)?.lend(sharing_mode)
    }

    /// Counts a connection as being opened. With early binding it is for the most urgent request.
    pub(super) fn begin(&mut self, id: u32) {
        self.begin_for_anybody(id);
        if self.binding == Binding::Early
            && let Some((_, waiter)) = self.waiting.pop_first()
        {
            self.wait(waiter, Some(id));
        }
    }

    /// Counts a connection as being opened, for any request that waits when it is ready.
    pub(super) fn begin_for_anybody(&mut self, id: u32) {
        self.open += 1;
        self.coming.insert(id);
    }

    /// A connection is open; returned if it is one more than can be used.
    #[must_use]
    pub(super) fn arrive(&mut self, lease: Lease, now: Time) -> Option<Lease> {
        self.coming.remove(&lease.id);
        let bound = self.bound.remove(&lease.id).unwrap_or_default();
        if !lease.connection.is_shared() {
            bound.into_iter().for_each(|waiter| self.wait_first(waiter));
            self.hand_over(lease, now);
            return None;
        }
        let is_surplus = self.arm.multiplexes() && self.sessions.len() >= self.limit;
        let surplus = if is_surplus {
            bound.into_iter().for_each(|waiter| self.wait(waiter, None));
            Some(lease)
        } else {
            let mut session = SharedConnection::new(lease, now);
            for waiter in bound {
                let sharing_mode = waiter.sharing_mode;
                session.serve(waiter, sharing_mode);
            }
            self.sessions.push(session);
            None
        };
        self.serve_waiting();
        // If no request waited any more, none waited for its opening.
        self.sessions.iter_mut().for_each(|session| session.lease.opened = None);
        surplus
    }

    /// Puts a request before all others: the new connection is for it.
    fn wait_first(&mut self, waiter: Waiter) {
        self.waiting.insert((Priority::Highest, 0), waiter);
    }

    /// Gives a connection to the most urgent request, or keeps it.
    pub(super) fn hand_over(&mut self, lease: Lease, now: Time) {
        let mut lease = lease;
        while let Some((_, waiter)) = self.waiting.pop_first() {
            match waiter.grant.send(Ok(lease)) {
                Ok(()) => return,
                // A waiter that has given up is passed over.
                Err(Ok(returned)) => lease = returned,
                Err(Err(_)) => unreachable!("a lease was sent"),
            }
        }
        self.idle.push(IdleSession::new(lease, now));
    }

    /// Lends shared connections to waiting requests, as far as there is room.
    fn serve_waiting(&mut self) {
        let turns: Vec<_> = self.waiting.keys().copied().collect();
        for turn in turns {
            let (sharing_mode, depth) = (self.waiting[&turn].sharing_mode, self.depth());
            let takers =
                self.sessions.iter_mut().filter(|session| session.takes(sharing_mode, depth));
            let Some(session) = takers.min_by_key(|session| session.sharing) else { continue };
            let waiter = self.waiting.remove(&turn).expect("nobody else serves them");
            session.serve(waiter, sharing_mode);
        }
    }

    /// Ends a request on the shared connection `id`: there is room for another.
    pub(super) fn release(&mut self, id: u32, now: Time) {
        if let Some(session) = self.session(id) {
            session.leave(now);
            self.serve_waiting();
        }
    }

    /// Forgets the shared connection `id`; returns true if there was one.
    pub(super) fn forget_session(&mut self, id: u32) -> bool {
        let place = self.sessions.iter().position(|session| session.lease.id == id);
        place.map(|place| self.sessions.remove(place)).is_some()
    }

    fn session(&mut self, id: u32) -> Option<&mut SharedConnection> {
        self.sessions.iter_mut().find(|session| session.lease.id == id)
    }

    /// Returns true if there is only one request on the shared connection `id`.
    pub(super) fn is_alone_on(&self, id: u32) -> bool {
        self.sessions.iter().any(|session| session.lease.id == id && session.sharing == 1)
    }

    /// Removes an idle connection, the longest idle first.
    pub(super) fn take_idle(&mut self) -> Option<Lease> {
        if self.idle.is_empty() {
            let place = self.sessions.iter().position(|session| session.sharing == 0)?;
            return Some(self.sessions.remove(place).lease);
        }
        Some(self.idle.remove(0).lease)
    }

    /// Returns true if there is an open shared connection.
    pub(super) fn has_session(&self) -> bool {
        !self.sessions.is_empty()
    }

    /// Returns true if one of the selected shared connections is open.
    pub(super) fn has_one_of(&self, is_meant: impl Fn(u32) -> bool) -> bool {
        self.sessions.iter().any(|session| is_meant(session.lease.id))
    }

    /// The new connection `id` is not wanted any more. Returns the requests left without a connection, in order.
    pub(super) fn abandon(&mut self, id: u32) -> Vec<Waiter> {
        self.open -= 1;
        self.coming.remove(&id);
        let bound = self.bound.remove(&id).unwrap_or_default();
        bound.into_iter().for_each(|waiter| self.wait(waiter, None));
        std::mem::take(&mut self.waiting).into_values().collect()
    }

    /// Time at which the first idle connection expires.
    pub(super) fn next_expiry(&self) -> Option<Time> {
        let sessions =
            self.sessions.iter().filter_map(|session| session.expiry(&self.idle_timeouts));
        let idle = self.idle.iter().filter_map(|idle| idle.expiry(&self.idle_timeouts));
        idle.chain(sessions).min()
    }

    /// Removes an expired connection.
    pub(super) fn take_expired(&mut self, now: Time) -> Option<Lease> {
        let timeouts = self.idle_timeouts;
        let is_due = |expiry: Option<Time>| expiry.is_some_and(|at| at <= now);
        if let Some(place) = self.idle.iter().position(|idle| is_due(idle.expiry(&timeouts))) {
            return Some(self.idle.remove(place).lease);
        }
        let place = self.sessions.iter().position(|session| is_due(session.expiry(&timeouts)))?;
        Some(self.sessions.remove(place).lease)
    }

    /// A connection failed to open: tells the reason to one request that waited for it. The others wait for another.
    pub(super) fn fail(&mut self, id: u32, reason: String) {
        self.coming.remove(&id);
        let mut bound = self.bound.remove(&id).unwrap_or_default().into_iter();
        let told = bound.next().or_else(|| Some(self.waiting.pop_first()?.1));
        bound.for_each(|waiter| self.wait(waiter, None));
        if let Some(waiter) = told {
            let _ = waiter.grant.send(Err(reason));
        }
    }
}
