//! What a proxy did for each request, as its journal tells it.

use std::cell::RefCell;
use std::rc::Rc;

use proxy::journal::{Entry, Journal};
use record::Proxied;
use units::Time;

/// The steps of all requests that are done with. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct StepLog(Rc<RefCell<Vec<Proxied>>>);

impl StepLog {
    /// All of them, in the order in which they ended.
    pub(crate) fn all(&self) -> Vec<Proxied> {
        self.0.borrow().clone()
    }
}

impl Journal for StepLog {
    fn done(&self, entry: &Entry) {
        let times = &entry.times;
        let nanos = |at: Option<Time>| at.map(Time::as_nanos);
        self.0.borrow_mut().push(Proxied {
            client: entry.client.map(|client| client.ip()),
            // Whose request it is in the end is seen when a visit's events are told.
            behind: 0,
            url: entry.url.clone(),
            asked_at_ns: times.request.as_nanos(),
            origin_first_ns: nanos(times.origin_first),
            origin_last_ns: nanos(times.origin_last),
            client_first_ns: nanos(times.client_first),
            client_last_ns: nanos(times.client_last),
            outcome: entry.outcome.name().to_owned(),
        });
    }
}
