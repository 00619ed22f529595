//! Limit of open streams: excess requests queue here, the most urgent first.
//!
//! Chromium does the same (`SpdySession`'s queues of pending streams, one per priority). No I/O.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::Priority;

/// A place in the queue: urgency, then arrival.
type Ticket = (Priority, u64);

#[derive(Debug)]
struct Inner {
    /// The server's limit of streams.
    limit: usize,
    open: usize,
    arrived: u64,
    waiting: BTreeMap<Ticket, Option<Waker>>,
    closed: bool,
}

/// The gate of one connection. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Gate(Rc<RefCell<Inner>>);

/// The connection ended while a request waited for a stream.
#[derive(Debug)]
pub(crate) struct Closed;

/// The right to one stream, given back when dropped.
#[derive(Debug)]
pub(crate) struct Pass(Gate);

impl Gate {
    pub(crate) fn new(limit: usize) -> Gate {
        let (waiting, closed) = (BTreeMap::new(), false);
        Gate(Rc::new(RefCell::new(Inner { limit, open: 0, arrived: 0, waiting, closed })))
    }

    /// Waits for the right to open a stream.
    pub(crate) async fn pass(&self, priority: Priority) -> Result<Pass, Closed> {
        let place = Place::take(self, priority);
        poll_fn(|cx| place.poll(cx)).await
    }

    /// Sets the server's stream limit.
    pub(crate) fn set_limit(&self, limit: usize) {
        let mut inner = self.0.borrow_mut();
        if std::mem::replace(&mut inner.limit, limit) < limit {
            inner.wake_first();
        }
    }

    /// The server's stream limit.
    pub(crate) fn limit(&self) -> usize {
        self.0.borrow().limit
    }

    /// Closes the gate: no stream can be opened any more.
    pub(crate) fn close(&self) {
        let mut inner = self.0.borrow_mut();
        inner.closed = true;
        inner.waiting.values_mut().filter_map(Option::take).for_each(Waker::wake);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.borrow().closed
    }
}

impl Inner {
    fn has_room(&self) -> bool {
        self.open < self.limit
    }

    fn wake_first(&mut self) {
        if self.has_room()
            && let Some(mut first) = self.waiting.first_entry()
            && let Some(waker) = first.get_mut().take()
        {
            waker.wake();
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut inner = self.0.0.borrow_mut();
        inner.open -= 1;
        inner.wake_first();
    }
}

/// A place in the queue, given up when dropped.
struct Place<'a> {
    gate: &'a Gate,
    ticket: Ticket,
}

impl Place<'_> {
    fn take(gate: &Gate, priority: Priority) -> Place<'_> {
        let mut inner = gate.0.borrow_mut();
        inner.arrived += 1;
        let ticket = (priority, inner.arrived);
        inner.waiting.insert(ticket, None);
        Place { gate, ticket }
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<Result<Pass, Closed>> {
        let mut inner = self.gate.0.borrow_mut();
        if inner.closed {
            return Poll::Ready(Err(Closed));
        }
        let is_first = inner.waiting.first_key_value().is_some_and(|(t, _)| *t == self.ticket);
        if is_first && inner.has_room() {
            inner.open += 1;
            return Poll::Ready(Ok(Pass(self.gate.clone())));
        }
        inner.waiting.insert(self.ticket, Some(cx.waker().clone()));
        Poll::Pending
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut inner = self.gate.0.borrow_mut();
        inner.waiting.remove(&self.ticket);
        inner.wake_first();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    fn now<T>(future: impl Future<Output = T>) -> Option<T> {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    fn poll<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    #[test]
    fn the_most_urgent_goes_first_when_there_is_room_again() {
        let gate = Gate::new(1);
        let held = now(gate.pass(Priority::Low)).expect("room").expect("open");
        let mut low = pin!(gate.pass(Priority::Low));
        let mut high = pin!(gate.pass(Priority::High));
        assert!(poll(low.as_mut()).is_none() && poll(high.as_mut()).is_none());
        drop(held);
        assert!(poll(low.as_mut()).is_none(), "a less urgent request must not overtake");
        let high = poll(high.as_mut()).expect("room").expect("open");
        assert!(poll(low.as_mut()).is_none());
        drop(high);
        assert!(poll(low.as_mut()).is_some());
    }

    #[test]
    fn who_gives_up_lets_the_next_go() {
        let gate = Gate::new(0);
        let mut first = Box::pin(gate.pass(Priority::High));
        let mut second = pin!(gate.pass(Priority::Low));
        assert!(poll(first.as_mut()).is_none() && poll(second.as_mut()).is_none());
        gate.set_limit(1);
        drop(first);
        assert!(poll(second.as_mut()).is_some());
    }

    #[test]
    fn a_closed_gate_turns_everybody_away() {
        let gate = Gate::new(0);
        let mut waiting = pin!(gate.pass(Priority::High));
        assert!(poll(waiting.as_mut()).is_none());
        gate.close();
        assert!(matches!(poll(waiting.as_mut()), Some(Err(Closed))));
        assert!(matches!(now(gate.pass(Priority::High)), Some(Err(Closed))));
    }
}
