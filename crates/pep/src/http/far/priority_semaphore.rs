//! Priority queue of turns: the most urgent first, in order of arrival among equals.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use tokio::sync::oneshot;

use crate::http::discover::EmbeddedKind;

/// Urgency of an object, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ObjectUrgency {
    /// Rendering waits for it.
    Style,
    /// The client's parser waits for it.
    Script,
    /// The page itself.
    Page,
    /// Text waits for it.
    Font,
    /// An image, or anything else.
    Image,
}

impl From<EmbeddedKind> for ObjectUrgency {
    fn from(kind: EmbeddedKind) -> ObjectUrgency {
        match kind {
            EmbeddedKind::Style => ObjectUrgency::Style,
            EmbeddedKind::Script => ObjectUrgency::Script,
            EmbeddedKind::Font => ObjectUrgency::Font,
            EmbeddedKind::Image => ObjectUrgency::Image,
        }
    }
}

/// A semaphore with priorities.
#[derive(Clone)]
pub(super) struct PrioritySemaphore(Rc<RefCell<PriorityQueue>>);

struct PriorityQueue {
    free: usize,
    ranks: u64,
    waiting: BTreeMap<QueueRank, oneshot::Sender<PriorityPermit>>,
}

/// A place in the queue, for any number of turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct QueueRank(ObjectUrgency, u64);

/// A turn, until it is dropped.
pub(super) struct PriorityPermit(Rc<RefCell<PriorityQueue>>);

impl PrioritySemaphore {
    /// A queue with `at_once` turns at a time.
    pub(super) fn new(at_once: usize) -> PrioritySemaphore {
        let queue = PriorityQueue { free: at_once, ranks: 0, waiting: BTreeMap::new() };
        PrioritySemaphore(Rc::new(RefCell::new(queue)))
    }

    /// A new place of this urgency, behind the others.
    pub(super) fn rank(&self, urgency: ObjectUrgency) -> QueueRank {
        let mut queue = self.0.borrow_mut();
        queue.ranks += 1;
        QueueRank(urgency, queue.ranks)
    }

    /// Waits for a turn. A place is never waited at twice at the same time.
    pub(super) async fn take(&self, rank: QueueRank) -> PriorityPermit {
        let waiting = {
            let mut queue = self.0.borrow_mut();
            if queue.free > 0 {
                queue.free -= 1;
                return PriorityPermit(Rc::clone(&self.0));
            }
            let (tell, told) = oneshot::channel();
            queue.waiting.insert(rank, tell);
            told
        };
        waiting.await.expect("turns are handed on as long as there is a queue")
    }
}

impl Drop for PriorityPermit {
    fn drop(&mut self) {
        let next = {
            let mut queue = self.0.borrow_mut();
            let next = queue.waiting.pop_first();
            queue.free += usize::from(next.is_none());
            next
        };
        if let Some((_, tell)) = next {
            // A waiter that has given up drops the turn, and so hands it on.
            drop(tell.send(PriorityPermit(Rc::clone(&self.0))));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[test]
    fn the_most_urgent_is_next_and_who_left_is_passed_over() {
        let turns = PrioritySemaphore::new(1);
        let take = |urgency| {
            let turns = turns.clone();
            async move { turns.take(turns.rank(urgency)).await }
        };
        let mut cx = Context::from_waker(Waker::noop());
        let Poll::Ready(first) = pin!(take(ObjectUrgency::Image)).poll(&mut cx) else {
            panic!("nobody else is there");
        };
        let mut image = pin!(take(ObjectUrgency::Image));
        let mut style = Box::pin(take(ObjectUrgency::Style));
        let mut script = pin!(take(ObjectUrgency::Script));
        assert!(image.as_mut().poll(&mut cx).is_pending());
        assert!(style.as_mut().poll(&mut cx).is_pending());
        assert!(script.as_mut().poll(&mut cx).is_pending());
        drop(style);
        drop(first);
        let Poll::Ready(turn) = script.as_mut().poll(&mut cx) else {
            panic!("a script is more urgent than an image");
        };
        assert!(image.as_mut().poll(&mut cx).is_pending());
        drop(turn);
        assert!(image.as_mut().poll(&mut cx).is_ready());
    }

    #[test]
    fn places_are_kept_and_so_many_have_their_turn() {
        let turns = PrioritySemaphore::new(2);
        let mut cx = Context::from_waker(Waker::noop());
        let [first, second, third] = [(); 3].map(|()| turns.rank(ObjectUrgency::Image));
        let Poll::Ready(one) = pin!(turns.take(third)).poll(&mut cx) else { panic!("of two") };
        let Poll::Ready(_two) = pin!(turns.take(third)).poll(&mut cx) else { panic!("of two") };
        let mut second = pin!(turns.take(second));
        let mut first = pin!(turns.take(first));
        assert!(second.as_mut().poll(&mut cx).is_pending());
        assert!(first.as_mut().poll(&mut cx).is_pending());
        drop(one);
        assert!(second.as_mut().poll(&mut cx).is_pending(), "it came later");
        assert!(first.as_mut().poll(&mut cx).is_ready());
    }
}
