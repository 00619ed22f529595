//! Digests of received bodies: to check that two ways of carrying a page carried the same bytes.
//!
//! Nothing is digested by default ([`Browser::with_bodies`](crate::Browser::with_bodies)): it costs more than a
//! simulated load.

use std::cell::RefCell;

use units::Time;

/// One response's body as received by the loader, decoded from any transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// Navigation start of the visit that it belongs to.
    pub visit: Time,
    /// Index in the page.
    pub object: u32,
    /// Length of the body.
    pub bytes: u64,
    /// BLAKE3 digest of the body.
    pub digest: [u8; 32],
}

/// The bodies that arrived completely, in the order of their ends. Cache hits did not arrive.
#[derive(Debug, Default)]
pub struct Bodies(RefCell<Vec<Body>>);

impl Bodies {
    /// All so far.
    pub fn all(&self) -> Vec<Body> {
        self.0.borrow().clone()
    }

    pub(crate) fn keep(&self, body: Body) {
        self.0.borrow_mut().push(body);
    }
}
