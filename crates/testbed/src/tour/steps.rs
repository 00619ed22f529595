//! Steps of a proxy for each request, from its journal.

use std::cell::RefCell;
use std::rc::Rc;

use proxy::journal::{Entry, Journal};
use record::Proxied;
use units::Time;

/// The steps of all finished requests. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct StepLog(Rc<RefCell<Vec<Proxied>>>);

impl StepLog {
    /// All of them, in order of completion.
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
            // The request's client is determined when a visit's events are collected.
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
