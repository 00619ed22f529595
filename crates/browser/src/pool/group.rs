//! The connections to one origin, and the requests that wait for one.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use http_stack::Priority;
use tokio::sync::oneshot;
use units::Time;

use super::capability::Capability;
use super::idle::Idle;
use super::session::{Company, Session};
use super::{Lease, Origin};
use crate::Policy;
use crate::plan::Arm;
use crate::policy::{Binding, IdleTimeouts};

/// A request's place among those that wait: the most urgent and then the longest waiting first.
pub(super) type Turn = (Priority, u64);

/// A request that waits for a connection.
pub(super) struct Waiter {
    pub(super) turn: Turn,
    /// Where it is told of it.
    pub(super) grant: oneshot::Sender<Result<Lease, String>>,
    pub(super) company: Company,
}

/// What there is for a request.
pub(super) enum Supply {
    /// A connection that can be used at once.
    Ready(Box<Lease>),
    /// It is to wait for this connection, which is coming.
    Bound(u32),
    /// It is to wait for any.
    Nothing,
}

pub(super) struct Group {
    pub(super) arm: Arm,
    /// Connections at a time.
    pub(super) limit: usize,
    binding: Binding,
    idle_timeouts: IdleTimeouts,
    /// Requests on a connection with pipelining, at most.
    pipeline_depth: usize,
    /// Connections open or coming.
    pub(super) open: usize,
    /// Connections coming.
    coming: BTreeSet<u32>,
    /// Connections that nobody uses and one request at a time can, the latest used last.
    idle: Vec<Idle>,
    /// Connections that requests share: of a multiplexing protocol, or with pipelining.
    sessions: Vec<Session>,
    /// Whether the server pipelines.
    pub(super) capability: Capability,
    /// Who waits for any connection.
    waiting: BTreeMap<Turn, Waiter>,
    /// Who waits for one that is coming, by its number.
    bound: BTreeMap<u32, Vec<Waiter>>,
    /// Requests that were dealt out among connections.
    dealt: usize,
    /// Whether somebody looks after idle connections.
    pub(super) is_watched: bool,
    /// Another host at the same address, over whose connections requests go instead.
    pub(super) joined: Option<Rc<Origin>>,
}

impl Group {
    pub(super) fn new(arm: Arm, policy: &Policy) -> Group {
        let limit = match arm.multiplexes() {
            // A proxy's ports have a group each.
            true => policy.multiplexed_per_host.div_ceil(arm.ports()),
            false => policy.connections_per_host,
        };
        Group {
            arm,
            limit,
            binding: policy.binding,
            idle_timeouts: policy.idle,
            pipeline_depth: policy.pipeline_depth,
            open: 0,
            coming: BTreeSet::new(),
            idle: Vec::new(),
            sessions: Vec::new(),
            capability: Capability::default(),
            waiting: BTreeMap::new(),
            bound: BTreeMap::new(),
            dealt: 0,
            is_watched: false,
            joined: None,
        }
    }

    /// How many requests a shared connection may have at once; `None`: any number.
    fn depth(&self) -> Option<usize> {
        if !self.arm.multiplexes() {
            return Some(self.capability.depth(self.pipeline_depth));
        }
        // One each, as long as a further connection is or can be on its way.
        let more = self.open < self.limit || !self.coming.is_empty();
        (self.limit > 1 && more).then_some(1)
    }

    /// Whether requests are dealt out among connections, fast and slow alike.
    fn deals_out(&self) -> bool {
        self.binding == Binding::Early && self.arm.multiplexes() && self.limit > 1
    }

    /// Whether more requests wait than connections are coming.
    pub(super) fn is_short(&self) -> bool {
        self.shortage().is_some()
    }

    /// How urgent the most urgent is that no coming connection is for.
    pub(super) fn shortage(&self) -> Option<Turn> {
        self.waiting.keys().nth(self.coming.len() - self.bound.len()).copied()
    }

    /// Whether anybody waits for any connection, or for the one that is coming as `id`.
    pub(super) fn is_wanted(&self, id: u32) -> bool {
        !self.waiting.is_empty() || self.bound.contains_key(&id)
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.bound.is_empty()
    }

    /// What there is for a request. Connections that were found closed by their servers are put into `closed`.
    pub(super) fn find(&mut self, company: Company, closed: &mut Vec<u32>) -> Supply {
        self.sessions.retain_mut(|session| {
            let usable = session.lease.connection.is_reusable();
            if !usable {
                closed.push(session.lease.id);
            }
            usable
        });
        if self.deals_out() {
            return self.deal(company, closed.len());
        }
        if let Some(lease) = self.lend(company) {
            return Supply::Ready(Box::new(lease));
        }
        while let Some(Idle { mut lease, .. }) = self.idle.pop() {
            if lease.connection.is_reusable() {
                return Supply::Ready(Box::new(lease));
            }
            closed.push(lease.id);
        }
        Supply::Nothing
    }

    /// The next connection in turn, open or coming; none as long as there may be more of them.
    fn deal(&mut self, company: Company, closed: usize) -> Supply {
        if self.open - closed < self.limit {
            return Supply::Nothing;
        }
        let open = self.sessions.iter().map(|session| session.lease.id);
        let mut all: Vec<u32> = open.chain(self.coming.iter().copied()).collect();
        all.sort_unstable();
        let id = all[self.dealt % all.len()];
        self.dealt += 1;
        match self.session(id) {
            Some(session) => match session.lend(company) {
                Some(lease) => Supply::Ready(Box::new(lease)),
                None => Supply::Nothing,
            },
            None => Supply::Bound(id),
        }
    }

    /// Has a request wait: for the connection `id` that is coming, or for any.
    pub(super) fn wait(&mut self, waiter: Waiter, id: Option<u32>) {
        match id {
            Some(id) => self.bound.entry(id).or_default().push(waiter),
            None => drop(self.waiting.insert(waiter.turn, waiter)),
        }
    }

    /// A lease of the shared connection with the fewest requests, of those that take one more.
    fn lend(&mut self, company: Company) -> Option<Lease> {
        let depth = self.depth();
        let takers = self.sessions.iter_mut().filter(|session| session.takes(company, depth));
        takers.min_by_key(|session| session.sharing)?.lend(company)
    }

    /// A connection is coming. With early binding it is for the most urgent that waits.
    pub(super) fn begin(&mut self, id: u32) {
        self.begin_for_anybody(id);
        if self.binding == Binding::Early
            && let Some((_, waiter)) = self.waiting.pop_first()
        {
            self.wait(waiter, Some(id));
        }
    }

    /// A connection is coming, which is for whoever waits when it has come.
    pub(super) fn begin_for_anybody(&mut self, id: u32) {
        self.open += 1;
        self.coming.insert(id);
    }

    /// A connection has come; gives it back if it is one more than can be used.
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
            let mut session = Session::new(lease, now);
            for waiter in bound {
                let company = waiter.company;
                session.serve(waiter, company);
            }
            self.sessions.push(session);
            None
        };
        self.serve_waiting();
        // If nobody waited any more, nobody waited for its opening.
        self.sessions.iter_mut().for_each(|session| session.lease.opened = None);
        surplus
    }

    /// Puts somebody before all others: the connection that has come is his.
    fn wait_first(&mut self, waiter: Waiter) {
        self.waiting.insert((Priority::Highest, 0), waiter);
    }

    /// Gives a connection to the most urgent that waits, or keeps it.
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
        self.idle.push(Idle::new(lease, now));
    }

    /// Lends shared connections to those that wait, as far as there is room.
    fn serve_waiting(&mut self) {
        let turns: Vec<_> = self.waiting.keys().copied().collect();
        for turn in turns {
            let (company, depth) = (self.waiting[&turn].company, self.depth());
            let takers = self.sessions.iter_mut().filter(|session| session.takes(company, depth));
            let Some(session) = takers.min_by_key(|session| session.sharing) else { continue };
            let waiter = self.waiting.remove(&turn).expect("nobody else serves them");
            session.serve(waiter, company);
        }
    }

    /// A request on the shared connection `id` has ended: there is room for another.
    pub(super) fn release(&mut self, id: u32, now: Time) {
        if let Some(session) = self.session(id) {
            session.leave(now);
            self.serve_waiting();
        }
    }

    /// Forgets the shared connection `id`; whether there was one.
    pub(super) fn forget_session(&mut self, id: u32) -> bool {
        let place = self.sessions.iter().position(|session| session.lease.id == id);
        place.map(|place| self.sessions.remove(place)).is_some()
    }

    fn session(&mut self, id: u32) -> Option<&mut Session> {
        self.sessions.iter_mut().find(|session| session.lease.id == id)
    }

    /// Whether there is but one request on the shared connection `id`.
    pub(super) fn is_alone_on(&self, id: u32) -> bool {
        self.sessions.iter().any(|session| session.lease.id == id && session.sharing == 1)
    }

    /// Gives up a connection that nobody uses, the longest idle first.
    pub(super) fn take_idle(&mut self) -> Option<Lease> {
        if self.idle.is_empty() {
            let place = self.sessions.iter().position(|session| session.sharing == 0)?;
            return Some(self.sessions.remove(place).lease);
        }
        Some(self.idle.remove(0).lease)
    }

    /// Whether there is an open connection that requests share.
    pub(super) fn has_session(&self) -> bool {
        !self.sessions.is_empty()
    }

    /// Whether one of these is.
    pub(super) fn has_one_of(&self, is_meant: impl Fn(u32) -> bool) -> bool {
        self.sessions.iter().any(|session| is_meant(session.lease.id))
    }

    /// The connection `id` that was coming is not wanted any more. Gives those who have no connection, in their order.
    pub(super) fn abandon(&mut self, id: u32) -> Vec<Waiter> {
        self.open -= 1;
        self.coming.remove(&id);
        let bound = self.bound.remove(&id).unwrap_or_default();
        bound.into_iter().for_each(|waiter| self.wait(waiter, None));
        std::mem::take(&mut self.waiting).into_values().collect()
    }

    /// When the first connection that nobody uses will have been kept long enough.
    pub(super) fn next_expiry(&self) -> Option<Time> {
        let sessions =
            self.sessions.iter().filter_map(|session| session.expiry(&self.idle_timeouts));
        let idle = self.idle.iter().filter_map(|idle| idle.expiry(&self.idle_timeouts));
        idle.chain(sessions).min()
    }

    /// Gives up a connection that nobody has used for too long.
    pub(super) fn take_expired(&mut self, now: Time) -> Option<Lease> {
        let timeouts = self.idle_timeouts;
        let is_due = |expiry: Option<Time>| expiry.is_some_and(|at| at <= now);
        if let Some(place) = self.idle.iter().position(|idle| is_due(idle.expiry(&timeouts))) {
            return Some(self.idle.remove(place).lease);
        }
        let place = self.sessions.iter().position(|session| is_due(session.expiry(&timeouts)))?;
        Some(self.sessions.remove(place).lease)
    }

    /// A connection will not come: tells one who waited for it why. The others wait for another.
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
