//! A thread of the client: a serial resource, first come, first served.

use std::cell::Cell;
use std::time::Duration;

use units::Time;

/// One thread. Work is queued in order of submission and never preempted, so the completion time of each piece is
/// known when it is queued.
#[derive(Default)]
pub(crate) struct Thread {
    free_at: Cell<Time>,
}

impl Thread {
    /// Queues work that takes `cost`, at `now`; returns its completion time.
    pub(crate) fn queue(&self, now: Time, cost: Duration) -> Time {
        if cost.is_zero() && self.free_at.get() <= now {
            return now;
        }
        let done = self.free_at.get().max(now) + cost;
        self.free_at.set(done);
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_one_after_another() {
        let thread = Thread::default();
        let ms = Time::from_millis;
        assert_eq!(thread.queue(ms(0), Duration::from_millis(10)), ms(10));
        assert_eq!(thread.queue(ms(5), Duration::from_millis(10)), ms(20));
        assert_eq!(thread.queue(ms(5), Duration::ZERO), ms(20));
        assert_eq!(thread.queue(ms(30), Duration::ZERO), ms(30));
    }
}
