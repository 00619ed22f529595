//! The connections to one origin, and the requests that wait for one.

use std::collections::BTreeMap;

use page::Priority;
use tokio::sync::oneshot;

use super::Lease;
use crate::plan::Arm;

/// Where a waiting request is told of its connection.
pub(super) struct Waiter(pub(super) oneshot::Sender<Result<Lease, String>>);

pub(super) struct Group {
    pub(super) arm: Arm,
    /// Connections open or coming.
    pub(super) open: usize,
    /// Connections coming.
    pub(super) coming: usize,
    /// Connections that nobody uses, the latest used last.
    idle: Vec<Lease>,
    /// The shared connection of a multiplexing protocol.
    session: Option<Lease>,
    /// Requests on it.
    sharing: usize,
    /// Who waits, the most urgent and then the longest waiting first.
    pub(super) waiting: BTreeMap<(Priority, u64), Waiter>,
}

impl Group {
    pub(super) fn new(arm: Arm) -> Group {
        Group {
            arm,
            open: 0,
            coming: 0,
            idle: Vec::new(),
            session: None,
            sharing: 0,
            waiting: BTreeMap::new(),
        }
    }

    /// Whether more requests wait than connections are coming.
    pub(super) fn is_short(&self) -> bool {
        self.shortage().is_some()
    }

    /// A connection that can be used at once. Those that were found closed by their servers are put
    /// into `closed`.
    pub(super) fn ready(&mut self, closed: &mut Vec<u32>) -> Option<Lease> {
        if let Some(mut session) = self.session.take() {
            if session.connection.is_reusable() {
                let share = session.share();
                self.session = Some(session);
                self.sharing += 1;
                return share;
            }
            closed.push(session.id);
        }
        while let Some(mut lease) = self.idle.pop() {
            if lease.connection.is_reusable() {
                return Some(lease);
            }
            closed.push(lease.id);
        }
        None
    }

    /// Gives a connection to the most urgent that waits - a shared one to all - or keeps it.
    pub(super) fn hand_over(&mut self, lease: Lease) {
        let mut lease = lease;
        let mut sharing = 0;
        while let Some((_, Waiter(grant))) = self.waiting.pop_first() {
            if let Some(share) = lease.share() {
                // A waiter that has given up is passed over.
                if grant.send(Ok(share)).is_ok() {
                    lease.opened = None;
                    sharing += 1;
                }
            } else {
                match grant.send(Ok(lease)) {
                    Ok(()) => return,
                    Err(Ok(returned)) => lease = returned,
                    Err(Err(_)) => unreachable!("a lease was sent"),
                }
            }
        }
        lease.opened = None;
        if lease.connection.is_shared() {
            self.session = Some(lease);
            self.sharing = sharing;
        } else {
            self.idle.push(lease);
        }
    }

    /// A request on the shared connection `id` has ended.
    pub(super) fn release(&mut self, id: u32) {
        if self.session.as_ref().is_some_and(|session| session.id == id) {
            self.sharing -= 1;
        }
    }

    /// Forgets the shared connection if it is `id`; whether it was.
    pub(super) fn forget_session(&mut self, id: u32) -> bool {
        self.session.take_if(|session| session.id == id).is_some()
    }

    /// Gives up a connection that nobody uses, the longest idle first.
    pub(super) fn take_idle(&mut self) -> Option<Lease> {
        if self.idle.is_empty() {
            return self.session.take_if(|_| self.sharing == 0);
        }
        Some(self.idle.remove(0))
    }

    /// How urgent the most urgent is that no coming connection is for.
    pub(super) fn shortage(&self) -> Option<(Priority, u64)> {
        self.waiting.keys().nth(self.coming).copied()
    }

    /// Tells the most urgent that waits why there is no connection.
    pub(super) fn fail_one(&mut self, reason: String) {
        if let Some((_, Waiter(grant))) = self.waiting.pop_first() {
            let _ = grant.send(Err(reason));
        }
    }
}

impl Lease {
    /// Another lease of the same connection, if it can be shared.
    fn share(&self) -> Option<Lease> {
        let connection = self.connection.share()?;
        Some(Lease { connection, id: self.id, opened: self.opened })
    }
}
