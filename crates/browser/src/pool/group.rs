//! The connections to one origin, and the requests that wait for one.

use std::collections::BTreeMap;

use http_stack::Priority;
use http_stack::client::Protocol;
use tokio::sync::oneshot;

use super::Lease;
use super::capability::Capability;
use super::session::{Company, Session};
use crate::plan::Arm;

/// A request that waits for a connection.
pub(super) struct Waiter {
    /// Where it is told of it.
    pub(super) grant: oneshot::Sender<Result<Lease, String>>,
    pub(super) company: Company,
}

pub(super) struct Group {
    pub(super) arm: Arm,
    /// Requests on a connection with pipelining, at most.
    pipeline_depth: usize,
    /// Connections open or coming.
    pub(super) open: usize,
    /// Connections coming.
    pub(super) coming: usize,
    /// Connections that nobody uses and one request at a time can, the latest used last.
    idle: Vec<Lease>,
    /// Connections that requests share: one of a multiplexing protocol, or several with pipelining.
    sessions: Vec<Session>,
    /// Whether the server pipelines.
    pub(super) capability: Capability,
    /// Who waits, the most urgent and then the longest waiting first.
    pub(super) waiting: BTreeMap<(Priority, u64), Waiter>,
}

impl Group {
    pub(super) fn new(arm: Arm, pipeline_depth: usize) -> Group {
        Group {
            arm,
            pipeline_depth,
            open: 0,
            coming: 0,
            idle: Vec::new(),
            sessions: Vec::new(),
            capability: Capability::default(),
            waiting: BTreeMap::new(),
        }
    }

    /// How many requests a shared connection may have at once, if it does not multiplex.
    fn depth(&self) -> Option<usize> {
        (self.arm.protocol == Protocol::H1).then(|| self.capability.depth(self.pipeline_depth))
    }

    /// Whether more requests wait than connections are coming.
    pub(super) fn is_short(&self) -> bool {
        self.shortage().is_some()
    }

    /// A connection that can be used at once. Those that were found closed by their servers are put
    /// into `closed`.
    pub(super) fn ready(&mut self, company: Company, closed: &mut Vec<u32>) -> Option<Lease> {
        self.sessions.retain_mut(|session| {
            let usable = session.lease.connection.is_reusable();
            if !usable {
                closed.push(session.lease.id);
            }
            usable
        });
        if let Some(lease) = self.lend(company) {
            return Some(lease);
        }
        while let Some(mut lease) = self.idle.pop() {
            if lease.connection.is_reusable() {
                return Some(lease);
            }
            closed.push(lease.id);
        }
        None
    }

    /// Whether a connection is open that requests share.
    pub(super) fn has_session(&self) -> bool {
        !self.sessions.is_empty()
    }

    /// A lease of the shared connection with the fewest requests, of those that take one more.
    fn lend(&mut self, company: Company) -> Option<Lease> {
        let depth = self.depth();
        let takers = self.sessions.iter_mut().filter(|session| session.takes(company, depth));
        takers.min_by_key(|session| session.sharing)?.lend(company)
    }

    /// Gives a connection to the most urgent that waits - a shared one to as many as it takes - or keeps it.
    pub(super) fn hand_over(&mut self, lease: Lease) {
        if lease.connection.is_shared() {
            self.sessions.push(Session::new(lease));
            self.serve_waiting();
            // If nobody waited any more, nobody waited for its opening.
            self.sessions.iter_mut().for_each(|session| session.lease.opened = None);
            return;
        }
        let mut lease = lease;
        while let Some((_, waiter)) = self.waiting.pop_first() {
            match waiter.grant.send(Ok(lease)) {
                Ok(()) => return,
                // A waiter that has given up is passed over.
                Err(Ok(returned)) => lease = returned,
                Err(Err(_)) => unreachable!("a lease was sent"),
            }
        }
        lease.opened = None;
        self.idle.push(lease);
    }

    /// Lends shared connections to those that wait, as far as there is room.
    fn serve_waiting(&mut self) {
        let turns: Vec<_> = self.waiting.keys().copied().collect();
        for turn in turns {
            let Some(lease) = self.lend(self.waiting[&turn].company) else { continue };
            let (id, opened) = (lease.id, lease.opened);
            let waiter = self.waiting.remove(&turn).expect("nobody else serves them");
            // A waiter that has given up is passed over.
            if waiter.grant.send(Ok(lease)).is_err()
                && let Some(session) = self.session(id)
            {
                session.leave();
                session.lease.opened = opened;
            }
        }
    }

    /// A request on the shared connection `id` has ended: there is room for another.
    pub(super) fn release(&mut self, id: u32) {
        if let Some(session) = self.session(id) {
            session.leave();
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

    /// Gives up a connection that nobody uses, the longest idle first.
    pub(super) fn take_idle(&mut self) -> Option<Lease> {
        if self.idle.is_empty() {
            let place = self.sessions.iter().position(|session| session.sharing == 0)?;
            return Some(self.sessions.remove(place).lease);
        }
        Some(self.idle.remove(0))
    }

    /// How urgent the most urgent is that no coming connection is for.
    pub(super) fn shortage(&self) -> Option<(Priority, u64)> {
        self.waiting.keys().nth(self.coming).copied()
    }

    /// Tells the most urgent that waits why there is no connection.
    pub(super) fn fail_one(&mut self, reason: String) {
        if let Some((_, waiter)) = self.waiting.pop_first() {
            let _ = waiter.grant.send(Err(reason));
        }
    }
}
