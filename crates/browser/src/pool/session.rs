//! A connection shared by several requests.

use std::time::Duration;

use units::Time;

use super::Lease;
use super::group::Waiter;
use crate::policy::IdleTimeouts;

/// Compatibility of a request with others on a pipelined connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Company {
    /// It may be sent before earlier responses have arrived, and others behind it.
    Welcome,
    /// It has side effects, or too much depends on it.
    Unwelcome,
}

pub(super) struct Session {
    pub(super) lease: Lease,
    /// Requests on it.
    pub(super) sharing: usize,
    /// True if one of them must be alone.
    is_taken: bool,
    /// Time since which it has been without requests.
    since: Time,
}

impl Session {
    pub(super) fn new(lease: Lease, now: Time) -> Session {
        Session { lease, sharing: 0, is_taken: false, since: now }
    }

    /// Returns true if it accepts the request: any request if it multiplexes, else up to `depth` at once.
    pub(super) fn takes(&self, company: Company, depth: Option<usize>) -> bool {
        match (depth, company) {
            (None, _) => true,
            (Some(depth), Company::Welcome) => !self.is_taken && self.sharing < depth,
            (Some(_), Company::Unwelcome) => self.sharing == 0,
        }
    }

    /// A lease for one more request. Only the first request waited for the connection to open.
    pub(super) fn lend(&mut self, company: Company) -> Option<Lease> {
        let connection = self.lease.connection.share()?;
        self.sharing += 1;
        self.is_taken = company == Company::Unwelcome;
        let origin = self.lease.origin.clone();
        Some(Lease { connection, id: self.lease.id, opened: self.lease.opened.take(), origin })
    }

    /// Lends it to a waiting request. A request that has given up is skipped.
    pub(super) fn serve(&mut self, waiter: Waiter, company: Company) {
        let (opened, since) = (self.lease.opened, self.since);
        let Some(lease) = self.lend(company) else { return };
        if waiter.grant.send(Ok(lease)).is_err() {
            self.leave(since);
            self.lease.opened = opened;
        }
    }

    /// A request on it has ended.
    pub(super) fn leave(&mut self, now: Time) {
        self.sharing -= 1;
        self.is_taken = false;
        self.since = now;
    }

    /// Time of its idle timeout, if it has no requests.
    pub(super) fn expiry(&self, timeouts: &IdleTimeouts) -> Option<Time> {
        let limit = timeouts.multiplexed_s.filter(|_| self.sharing == 0)?;
        Some(self.since + Duration::from_secs(limit))
    }
}
