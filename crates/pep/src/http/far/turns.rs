//! Who sends next: of those who wait, the most urgent, and of equals the first to come.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use tokio::sync::oneshot;

use crate::http::discover::Kind;

/// One sends at a time.
#[derive(Clone, Default)]
pub(super) struct Turns(Rc<RefCell<Queue>>);

#[derive(Default)]
struct Queue {
    is_taken: bool,
    came: u64,
    waiting: BTreeMap<(Kind, u64), oneshot::Sender<Turn>>,
}

/// The right to send, until it is dropped.
pub(super) struct Turn(Rc<RefCell<Queue>>);

impl Turns {
    /// Waits for its turn.
    pub(super) async fn take(&self, urgency: Kind) -> Turn {
        let waiting = {
            let mut queue = self.0.borrow_mut();
            if !queue.is_taken {
                queue.is_taken = true;
                return Turn(Rc::clone(&self.0));
            }
            let (tell, told) = oneshot::channel();
            queue.came += 1;
            let place = (urgency, queue.came);
            queue.waiting.insert(place, tell);
            told
        };
        waiting.await.expect("turns are handed on as long as there is a queue")
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = {
            let mut queue = self.0.borrow_mut();
            let next = queue.waiting.pop_first();
            queue.is_taken = next.is_some();
            next
        };
        if let Some((_, tell)) = next {
            // Who does not wait any more drops the turn, and so hands it on.
            drop(tell.send(Turn(Rc::clone(&self.0))));
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
        let turns = Turns::default();
        let mut cx = Context::from_waker(Waker::noop());
        let Poll::Ready(first) = pin!(turns.take(Kind::Image)).poll(&mut cx) else {
            panic!("nobody else is there");
        };
        let mut image = pin!(turns.take(Kind::Image));
        let mut style = Box::pin(turns.take(Kind::Style));
        let mut script = pin!(turns.take(Kind::Script));
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
}
