//! Timers of the real world. They fire in the order of their deadlines, equal ones in the order in which they were set, as in virtual time:
//! tokio's own fire in any order within a millisecond, which would reorder the requests of objects that are discovered together.
//!
//! tokio's timers also count in milliseconds and round up. A device profile often charges a tenth of that for a piece of work, hundreds of
//! times per page, so the last stretch before a deadline is a kernel alarm, if available.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use units::Time;

use super::clock::now;
use super::recorder::AsyncAlarm;

/// The last stretch: longer than the error of tokio's timers.
const STRETCH: Duration = Duration::from_millis(4);

thread_local! {
    static TIMERS: RefCell<Timers> = RefCell::default();
}

/// The pending timers of this thread's world.
#[derive(Default)]
struct Timers {
    /// By deadline, then by the number of the timer.
    pending: BTreeMap<(Time, u64), Waker>,
    /// Number of timers set so far.
    set: u64,
    /// The waker of the [`Dispatcher`].
    dispatcher: Option<Waker>,
}

impl Timers {
    /// Sets a timer; returns its number.
    fn set(&mut self, deadline: Time, waker: &Waker) -> u64 {
        let number = self.set;
        self.set += 1;
        let is_first = self.first_deadline().is_none_or(|first| deadline < first);
        self.pending.insert((deadline, number), waker.clone());
        if is_first && let Some(dispatcher) = self.dispatcher.take() {
            dispatcher.wake();
        }
        number
    }

    fn first_deadline(&self) -> Option<Time> {
        self.pending.keys().next().map(|(deadline, _)| *deadline)
    }

    /// Removes the first timer if it is due by `now`.
    fn take_due(&mut self, now: Time) -> Option<Waker> {
        let first = self.pending.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}

/// Removes all timers, with the world's tasks.
pub(super) fn stop() {
    // Dropped after the borrow: a waker may own a task with timers.
    drop(TIMERS.take());
}

/// Completes at a deadline.
pub(crate) struct Sleep {
    deadline: Time,
    /// Number of its timer, once set.
    number: Option<u64>,
}

pub(crate) fn sleep_until(deadline: Time) -> Sleep {
    Sleep { deadline, number: None }
}

impl Sleep {
    fn unset(&mut self) {
        let Some(number) = self.number.take() else { return };
        let removed = TIMERS
            .with(|timers| timers.try_borrow_mut().ok()?.pending.remove(&(self.deadline, number)));
        drop(removed);
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if now() >= self.deadline {
            self.unset();
            return Poll::Ready(());
        }
        let deadline = self.deadline;
        TIMERS.with_borrow_mut(|timers| {
            let known = self.number.and_then(|number| timers.pending.get_mut(&(deadline, number)));
            match known {
                Some(waker) => waker.clone_from(cx.waker()),
                None => self.number = Some(timers.set(deadline, cx.waker())),
            }
        });
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.unset();
    }
}

/// Wakes the tasks whose timers are due, in order. Never completes.
#[derive(Default)]
pub(super) struct Dispatcher {
    /// The deadline that is waited for, and the wait.
    stage: Option<(Time, Stage)>,
}

enum Stage {
    Coarse(Pin<Box<tokio::time::Sleep>>),
    Fine(AsyncAlarm),
}

impl Stage {
    /// The stage for the remaining time.
    fn of(left: Duration) -> Stage {
        let coarse = |span: Duration| Stage::Coarse(Box::pin(tokio::time::sleep(span)));
        if left > STRETCH {
            return coarse(left - STRETCH);
        }
        // Without an alarm the last stretch takes as long as tokio's timers make it.
        AsyncAlarm::after(left).map_or_else(|_| coarse(left), Stage::Fine)
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self {
            Stage::Coarse(sleep) => sleep.as_mut().poll(cx),
            Stage::Fine(alarm) => alarm.poll_rung(cx),
        }
    }
}

impl Future for Dispatcher {
    type Output = std::convert::Infallible;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let now = now();
            while let Some(due) = TIMERS.with_borrow_mut(|timers| timers.take_due(now)) {
                due.wake();
            }
            let next = TIMERS.with_borrow_mut(|timers| {
                timers.dispatcher = Some(cx.waker().clone());
                timers.first_deadline()
            });
            let Some(deadline) = next else {
                self.stage = None;
                return Poll::Pending;
            };
            let kept = self.stage.take().filter(|(of, _)| *of == deadline);
            let (_, stage) = self
                .stage
                .insert(kept.unwrap_or_else(|| (deadline, Stage::of(deadline.since(now)))));
            ready!(stage.poll(cx));
            self.stage = None;
        }
    }
}
