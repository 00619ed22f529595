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
type QueueKey = (Priority, u64);

#[derive(Debug)]
struct LimitState {
    /// The server's limit of streams.
    limit: usize,
    open: usize,
    arrived: u64,
    waiting: BTreeMap<QueueKey, Option<Waker>>,
    closed: bool,
}

/// The limit of one connection, with its queue. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct StreamLimit(Rc<RefCell<LimitState>>);

/// The connection ended while a request waited for a stream.
#[derive(Debug)]
pub(crate) struct ConnectionClosed;

/// The right to one stream, given back when dropped.
#[derive(Debug)]
pub(crate) struct StreamPermit(StreamLimit);

impl StreamLimit {
    pub(crate) fn new(limit: usize) -> StreamLimit {
        let (waiting, closed) = (BTreeMap::new(), false);
        StreamLimit(Rc::new(RefCell::new(LimitState {
            limit,
            open: 0,
            arrived: 0,
            waiting,
            closed,
        })))
    }

    /// Waits for the right to open a stream.
    pub(crate) async fn acquire(
        &self,
        priority: Priority,
    ) -> Result<StreamPermit, ConnectionClosed> {
        let place = QueuePosition::take(self, priority);
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

    /// Ends waiting: no stream can be opened any more.
    pub(crate) fn close(&self) {
        let mut inner = self.0.borrow_mut();
        inner.closed = true;
        inner.waiting.values_mut().filter_map(Option::take).for_each(Waker::wake);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.borrow().closed
    }
}

impl LimitState {
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

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut inner = self.0.0.borrow_mut();
        inner.open -= 1;
        inner.wake_first();
    }
}

/// A place in the queue, given up when dropped.
struct QueuePosition<'a> {
    limit: &'a StreamLimit,
    key: QueueKey,
}

impl QueuePosition<'_> {
    fn take(limit: &StreamLimit, priority: Priority) -> QueuePosition<'_> {
        let mut inner = limit.0.borrow_mut();
        inner.arrived += 1;
        let key = (priority, inner.arrived);
        inner.waiting.insert(key, None);
        QueuePosition { limit, key }
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<Result<StreamPermit, ConnectionClosed>> {
        let mut inner = self.limit.0.borrow_mut();
        if inner.closed {
            return Poll::Ready(Err(ConnectionClosed));
        }
        let is_first = inner.waiting.first_key_value().is_some_and(|(t, _)| *t == self.key);
        if is_first && inner.has_room() {
            inner.open += 1;
            return Poll::Ready(Ok(StreamPermit(self.limit.clone())));
        }
        inner.waiting.insert(self.key, Some(cx.waker().clone()));
        Poll::Pending
    }
}

impl Drop for QueuePosition<'_> {
    fn drop(&mut self) {
        let mut inner = self.limit.0.borrow_mut();
        inner.waiting.remove(&self.key);
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
        let limit = StreamLimit::new(1);
        let held = now(limit.acquire(Priority::Low)).expect("room").expect("open");
        let mut low = pin!(limit.acquire(Priority::Low));
        let mut high = pin!(limit.acquire(Priority::High));
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
        let limit = StreamLimit::new(0);
        let mut first = Box::pin(limit.acquire(Priority::High));
        let mut second = pin!(limit.acquire(Priority::Low));
        assert!(poll(first.as_mut()).is_none() && poll(second.as_mut()).is_none());
        limit.set_limit(1);
        drop(first);
        assert!(poll(second.as_mut()).is_some());
    }

    #[test]
    fn a_closed_gate_turns_everybody_away() {
        let limit = StreamLimit::new(0);
        let mut waiting = pin!(limit.acquire(Priority::High));
        assert!(poll(waiting.as_mut()).is_none());
        limit.close();
        assert!(matches!(poll(waiting.as_mut()), Some(Err(ConnectionClosed))));
        assert!(matches!(now(limit.acquire(Priority::High)), Some(Err(ConnectionClosed))));
    }
}
