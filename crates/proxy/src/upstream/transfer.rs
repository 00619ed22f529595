//! Responses on their way, each with a lease on its connection, which a client that does not read loses to a waiting one.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::time::Duration;

use http_stack::client::IncomingBody;
use units::Time;

use super::pool::{Key, Lease};
use super::shares::Peer;

/// Time for a client to take [`PACE_BYTES`], after which it may lose its connection to a waiting one.
const PATIENCE: Duration = Duration::from_secs(2);
const PACE_BYTES: u64 = 64 << 10;

/// A response's incoming body, and the lease on its connection.
pub(super) struct Transfer {
    /// `None` once it has ended, or was revoked.
    pub(super) coming: RefCell<Option<(IncomingBody, Lease)>>,
    key: Key,
    client: Peer,
    /// Time since which the client has [`PACE_BYTES`], or less, to take; `None` while waiting for the origin.
    since: Cell<Option<Time>>,
    given: Cell<u64>,
    is_revoked: Cell<bool>,
}

impl Transfer {
    pub(super) fn new(body: IncomingBody, lease: Lease) -> Transfer {
        let (key, client) = (lease.key().clone(), lease.client());
        let (since, given, is_revoked) = (Cell::default(), Cell::default(), Cell::default());
        Transfer {
            coming: RefCell::new(Some((body, lease))),
            key,
            client,
            since,
            given,
            is_revoked,
        }
    }

    /// Returns true if the connection was given to others.
    pub(super) fn is_revoked(&self) -> bool {
        self.is_revoked.get()
    }

    /// Records that the client asks for more.
    pub(super) fn asked(&self) {
        if self.given.get() >= PACE_BYTES {
            self.waits_for_origin();
        }
    }

    /// Records that the client was given a piece.
    pub(super) fn gave(&self, bytes: usize) {
        if self.since.get().is_none() {
            self.since.set(Some(world::now()));
        }
        self.given.set(self.given.get() + bytes as u64);
    }

    /// Records that the origin is waited for.
    pub(super) fn waits_for_origin(&self) {
        self.since.set(None);
        self.given.set(0);
    }
}

/// All transfers of a core.
#[derive(Default)]
pub(super) struct Transfers(RefCell<(u64, BTreeMap<u64, Weak<Transfer>>)>);

/// An entry in the list.
pub(super) struct Listed(Rc<Transfers>, u64);

impl Transfers {
    pub(super) fn list(self: &Rc<Transfers>, transfer: &Rc<Transfer>) -> Listed {
        let mut transfers = self.0.borrow_mut();
        transfers.0 += 1;
        let number = transfers.0;
        transfers.1.insert(number, Rc::downgrade(transfer));
        Listed(Rc::clone(self), number)
    }

    /// Ends the transfer to `key` - to any origin, if `None` - that its client has kept waiting longest, among those of the
    /// clients that hold the most by `held_by`.
    pub(super) fn revoke(&self, key: Option<&Key>, held_by: impl Fn(Peer) -> usize) {
        let now = world::now();
        let rank = |transfer: &Rc<Transfer>| {
            let since = transfer.since.get().filter(|since| now.since(*since) >= PATIENCE)?;
            let fits = key.is_none_or(|key| *key == transfer.key);
            fits.then(|| (usize::MAX - held_by(transfer.client), since))
        };
        let slowest = {
            let transfers = self.0.borrow();
            let all = transfers.1.values().filter_map(Weak::upgrade);
            all.filter_map(|one| Some((rank(&one)?, one))).min_by_key(|(rank, _)| *rank)
        };
        if let Some((_, transfer)) = slowest {
            transfer.is_revoked.set(true);
            transfer.waits_for_origin();
            // The connection is closed, and its place goes to a waiter.
            drop(transfer.coming.take());
        }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.0.0.borrow_mut().1.remove(&self.1);
    }
}
