//! A coarse timer wheel: one for all connections of a core.
//!
//! A server's timeouts are seconds long, almost never expire and are postponed with every request. So a timer here is
//! postponed by writing one number, without a clock read or a registration; the wheel looks at a timer only when its
//! slot comes round, and moves it on if its deadline has moved. Deadlines are late by up to two ticks, never early.
//! (Varghese and Lauck, "Hashed and hierarchical timing wheels", 1987, scheme 6, with lazy moves.)
//!
//! One task of the world turns the wheel while any timer is in it.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use units::Time;

/// Time between two ticks: an error of 0.2 s is insignificant for a timeout of seconds, as are ten wake-ups a second for a core.
pub(crate) const TICK: Duration = Duration::from_nanos(1_000_000_000 / TICKS_A_SECOND);

const TICKS_A_SECOND: u64 = 10;

/// Number of slots: timers up to 51 s ahead are looked at once.
const SLOTS: usize = 512;

/// A tick that never comes.
const NEVER: u64 = u64::MAX;

/// The wheel. Clones share it.
#[derive(Clone)]
pub struct Wheel(Rc<WheelInner>);

struct WheelInner {
    /// Ticks since the wheel was created, as far as it was turned.
    now: Cell<u64>,
    slots: RefCell<Vec<Vec<Rc<TimerEntry>>>>,
    /// Number of entries in slots.
    linked: Cell<usize>,
    turning: Cell<bool>,
}

struct TimerEntry {
    /// Its expiry, in ticks.
    deadline: Cell<u64>,
    /// The tick of its slot; [`NEVER`] if in none.
    due: Cell<u64>,
    /// Its index in that slot.
    index: Cell<usize>,
    expired: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Default for Wheel {
    fn default() -> Wheel {
        Wheel::new()
    }
}

impl Wheel {
    /// A wheel without timers.
    pub fn new() -> Wheel {
        Wheel(Rc::new(WheelInner {
            now: Cell::new(0),
            slots: RefCell::new((0..SLOTS).map(|_| Vec::new()).collect()),
            linked: Cell::new(0),
            turning: Cell::new(false),
        }))
    }

    /// A timer that is not set.
    pub fn timer(&self) -> Timer {
        let entry = TimerEntry {
            deadline: Cell::new(NEVER),
            due: Cell::new(NEVER),
            index: Cell::new(0),
            expired: Cell::new(false),
            waker: RefCell::new(None),
        };
        Timer { wheel: Rc::clone(&self.0), entry: Rc::new(entry) }
    }
}

/// A reusable timeout.
pub struct Timer {
    wheel: Rc<WheelInner>,
    entry: Rc<TimerEntry>,
}

impl Timer {
    /// Sets the timer to expire after `span` (and up to two ticks), replacing any earlier deadline.
    ///
    /// # Panics
    /// Outside any world, if it is the wheel's first timer.
    pub fn set(&self, span: Duration) {
        // The running tick is partly over: it does not count.
        let deadline = (self.wheel.now.get() + 1).saturating_add(ticks(span));
        self.entry.deadline.set(deadline);
        self.entry.expired.set(false);
        if deadline < self.entry.due.get() {
            WheelInner::unlink(&self.wheel, &self.entry);
            WheelInner::link(&self.wheel, Rc::clone(&self.entry));
        }
    }

    /// Clears the deadline.
    pub fn clear(&self) {
        self.entry.deadline.set(NEVER);
        self.entry.expired.set(false);
    }

    /// Ready once the timer has expired, until it is set or cleared. Remembers one waker, the last.
    pub fn poll_expired(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.entry.expired.get() {
            return Poll::Ready(());
        }
        let mut waker = self.entry.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        WheelInner::unlink(&self.wheel, &self.entry);
    }
}

impl WheelInner {
    fn link(self: &Rc<Self>, entry: Rc<TimerEntry>) {
        let due = entry.deadline.get().min(self.now.get() + SLOTS as u64 - 1);
        let mut slots = self.slots.borrow_mut();
        let slot = &mut slots[slot_of(due)];
        entry.due.set(due);
        entry.index.set(slot.len());
        slot.push(entry);
        self.linked.set(self.linked.get() + 1);
        if !self.turning.replace(true) {
            drop(world::spawn(turn(Rc::downgrade(self))));
        }
    }

    fn unlink(&self, entry: &TimerEntry) {
        let due = entry.due.replace(NEVER);
        if due == NEVER {
            return;
        }
        let (slots, index) = (&mut self.slots.borrow_mut(), entry.index.get());
        let slot = &mut slots[slot_of(due)];
        slot.swap_remove(index);
        if let Some(moved) = slot.get(index) {
            moved.index.set(index);
        }
        self.linked.set(self.linked.get() - 1);
    }

    /// Turns the wheel by one tick.
    fn tick(self: &Rc<Self>) {
        let now = self.now.get() + 1;
        self.now.set(now);
        let mut slot = std::mem::take(&mut self.slots.borrow_mut()[slot_of(now)]);
        self.linked.set(self.linked.get() - slot.len());
        for entry in slot.drain(..) {
            entry.due.set(NEVER);
            match entry.deadline.get() {
                NEVER => {}
                deadline if deadline > now => self.link(entry),
                _ => expire(&entry),
            }
        }
        // Its memory is kept, unless a timer a whole turn ahead was put into the same slot.
        let place = &mut self.slots.borrow_mut()[slot_of(now)];
        if place.is_empty() {
            *place = slot;
        }
    }
}

fn expire(entry: &TimerEntry) {
    entry.expired.set(true);
    if let Some(waker) = entry.waker.borrow_mut().take() {
        waker.wake();
    }
}

/// `span` in ticks, rounded up, without a 128-bit division.
fn ticks(span: Duration) -> u64 {
    let part = u64::from(span.subsec_nanos()).div_ceil(1_000_000_000 / TICKS_A_SECOND);
    span.as_secs().saturating_mul(TICKS_A_SECOND).saturating_add(part)
}

fn slot_of(tick: u64) -> usize {
    (tick % SLOTS as u64) as usize
}

/// Turns the wheel by the world's clock, until it is empty or gone.
async fn turn(wheel: Weak<WheelInner>) {
    let mut next: Time = world::now() + TICK;
    loop {
        world::sleep_until(next).await;
        let Some(wheel) = wheel.upgrade() else { return };
        let now = world::now();
        while next <= now {
            wheel.tick();
            next += TICK;
        }
        if wheel.linked.get() == 0 {
            wheel.turning.set(false);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wheel that only the test turns.
    fn by_hand() -> Wheel {
        let wheel = Wheel::new();
        wheel.0.turning.set(true);
        wheel
    }

    /// The ticks until `timer` expires.
    fn ticks(wheel: &Wheel, timer: &Timer) -> u64 {
        let mut cx = Context::from_waker(Waker::noop());
        (0..5000)
            .find(|_| {
                let expired = timer.poll_expired(&mut cx).is_ready();
                if !expired {
                    wheel.0.tick();
                }
                expired
            })
            .expect("the timer expires")
    }

    #[test]
    fn timers_expire_after_their_span_never_before() {
        let wheel = by_hand();
        for (millis, expected) in
            [(0, 1), (1, 2), (100, 2), (250, 4), (51_100, 512), (120_000, 1201)]
        {
            let timer = wheel.timer();
            timer.set(Duration::from_millis(millis));
            assert_eq!(ticks(&wheel, &timer), expected, "{millis} ms");
        }
        assert_eq!(wheel.0.linked.get(), 0);
    }

    #[test]
    fn a_timer_can_be_put_off_brought_forward_and_cleared() {
        let wheel = by_hand();
        let (first, second) = (wheel.timer(), wheel.timer());
        first.set(Duration::from_secs(1));
        second.set(Duration::from_secs(1));
        for _ in 0..5 {
            wheel.0.tick();
        }
        first.set(Duration::from_secs(1));
        assert_eq!(ticks(&wheel, &second), 6);
        assert_eq!(ticks(&wheel, &first), 5);
        first.set(Duration::from_secs(60));
        first.set(Duration::from_millis(100));
        assert_eq!(ticks(&wheel, &first), 2);
        first.set(Duration::from_millis(100));
        first.clear();
        for _ in 0..600 {
            wheel.0.tick();
        }
        assert!(first.poll_expired(&mut Context::from_waker(Waker::noop())).is_pending());
    }

    #[test]
    fn dropped_timers_leave_the_wheel() {
        let wheel = by_hand();
        let mut timers: Vec<_> = (0..10).map(|_| wheel.timer()).collect();
        timers.iter().for_each(|timer| timer.set(Duration::from_secs(3)));
        timers.drain(2..7);
        assert_eq!(wheel.0.linked.get(), 5);
        timers.iter().for_each(|timer| assert_eq!(timer.entry.due.get(), 31));
        timers.drain(..);
        assert_eq!(wheel.0.linked.get(), 0);
    }
}
