//! A connection that requests share.

use super::Lease;

/// Whether a request bears others beside it on a pipelined connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Company {
    /// It may be sent before those in front are answered, and others behind it.
    Welcome,
    /// It has side effects, or too much depends on it.
    Unwelcome,
}

pub(super) struct Session {
    pub(super) lease: Lease,
    /// Requests on it.
    pub(super) sharing: usize,
    /// One of them must be alone.
    is_taken: bool,
}

impl Session {
    pub(super) fn new(lease: Lease) -> Session {
        Session { lease, sharing: 0, is_taken: false }
    }

    /// Whether a request may go on it: any request if it multiplexes, else up to `depth` at once.
    pub(super) fn takes(&self, company: Company, depth: Option<usize>) -> bool {
        match (depth, company) {
            (None, _) => true,
            (Some(depth), Company::Welcome) => !self.is_taken && self.sharing < depth,
            (Some(_), Company::Unwelcome) => self.sharing == 0,
        }
    }

    /// A lease for one more request. Only the first has waited for the connection to open.
    pub(super) fn lend(&mut self, company: Company) -> Option<Lease> {
        let connection = self.lease.connection.share()?;
        self.sharing += 1;
        self.is_taken = company == Company::Unwelcome;
        Some(Lease { connection, id: self.lease.id, opened: self.lease.opened.take() })
    }

    /// A request on it has ended.
    pub(super) fn leave(&mut self) {
        self.sharing -= 1;
        self.is_taken = false;
    }
}
