//! The servers with which a client has a session.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// A client's sessions, by server. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sessions(Rc<RefCell<BTreeSet<String>>>);

impl Sessions {
    pub(super) fn holds(&self, host: &str) -> bool {
        self.0.borrow().contains(host)
    }

    pub(super) fn keep(&self, host: &str) {
        self.0.borrow_mut().insert(host.to_owned());
    }
}
