//! Graceful shutdown.
//!
//! A connection that sees the signal takes no new requests and finishes the current ones: HTTP/1 sends `Connection:
//! close` with the next answer, the others send GOAWAY.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// The shutdown signal of a core's connections. Clones share it.
#[derive(Clone, Default)]
pub struct Drain(Rc<State>);

#[derive(Default)]
struct State {
    has_begun: Cell<bool>,
    next: Cell<u64>,
    waiting: RefCell<BTreeMap<u64, Waker>>,
}

impl Drain {
    /// Begins the shutdown: no new requests are taken.
    pub fn begin(&self) {
        self.0.has_begun.set(true);
        let waiting = std::mem::take(&mut *self.0.waiting.borrow_mut());
        waiting.into_values().for_each(Waker::wake);
    }

    /// Returns true once it has begun.
    pub fn has_begun(&self) -> bool {
        self.0.has_begun.get()
    }

    /// The signal for one connection.
    pub(crate) fn watch(&self) -> Watch {
        let number = self.0.next.get();
        self.0.next.set(number + 1);
        Watch { drain: self.clone(), number, is_told: false, waker: None }
    }
}

/// A connection's receiver of the signal.
pub(crate) struct Watch {
    drain: Drain,
    number: u64,
    is_told: bool,
    /// The registered waker, kept here too to avoid a lookup.
    waker: Option<Waker>,
}

impl Watch {
    /// Returns true once it has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.drain.has_begun()
    }

    /// Ready once, when it has begun.
    pub(crate) fn poll_begun(&mut self, cx: &Context<'_>) -> Poll<()> {
        if self.has_begun() {
            let is_news = !std::mem::replace(&mut self.is_told, true);
            return if is_news { Poll::Ready(()) } else { Poll::Pending };
        }
        if !self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            self.waker = Some(cx.waker().clone());
            self.drain.0.waiting.borrow_mut().insert(self.number, cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.waker.is_some() {
            self.drain.0.waiting.borrow_mut().remove(&self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_connection_is_told_once() {
        let drain = Drain::default();
        let (mut first, mut second) = (drain.watch(), drain.watch());
        let cx = Context::from_waker(Waker::noop());
        assert!(first.poll_begun(&cx).is_pending());
        drop(drain.watch());
        drain.clone().begin();
        assert!(first.poll_begun(&cx).is_ready() && first.poll_begun(&cx).is_pending());
        assert!(second.has_begun() && second.poll_begun(&cx).is_ready());
        drop((first, second));
        assert!(drain.0.waiting.borrow().is_empty());
    }
}
