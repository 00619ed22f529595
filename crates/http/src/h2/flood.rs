//! Rate limits on frames that cost their sender nothing: buckets that refill.
//!
//! h2 bounds the memory that a client can claim; the work that it can cause is bounded here. A request that is reset as
//! soon as it was passed on has cost an upstream its work (CVE-2023-44487); PING and SETTINGS each cost an answer,
//! PRIORITY and PRIORITY_UPDATE a new order of the responses.

use std::time::Duration;

use units::Time;

use super::observer::Controls;

/// Time in which an empty bucket refills.
const REFILL: Duration = Duration::from_secs(4);

/// A burst of a bucket's size, then at its refill rate (the generic cell rate algorithm).
#[derive(Clone, Copy, Debug)]
struct Bucket {
    interval: Duration,
    full_at: Time,
}

impl Bucket {
    const fn new(limit: u32) -> Bucket {
        Bucket {
            interval: REFILL.checked_div(limit).expect("a limit is not 0"),
            full_at: Time::ZERO,
        }
    }

    /// Takes `count`; returns false if there are too few.
    fn draw(&mut self, now: Time, count: u32) -> bool {
        self.full_at = self.full_at.max(now) + self.interval * count;
        self.full_at <= now + REFILL
    }
}

/// The buckets of one connection, with SPDY's sizes: see `spdy::Limits::SERVER`.
#[derive(Debug)]
pub(super) struct Floods {
    /// A browser that leaves a page resets its open streams: up to 100.
    resets: Bucket,
    pings: Bucket,
    settings: Bucket,
    /// Chromium sends one or two for each picture that the user scrolls to, Firefox five with each connection.
    priorities: Bucket,
    counted: Controls,
}

impl Default for Floods {
    fn default() -> Floods {
        Floods {
            resets: Bucket::new(200),
            pings: Bucket::new(100),
            settings: Bucket::new(40),
            priorities: Bucket::new(1_000),
            counted: Controls::default(),
        }
    }
}

impl Floods {
    /// Returns true if the frames received so far exceed any legitimate use.
    pub(super) fn is_flood(&mut self, received: Controls, now: impl FnOnce() -> Time) -> bool {
        let before = std::mem::replace(&mut self.counted, received);
        if before == received {
            return false;
        }
        let now = now();
        let is_taken = self.resets.draw(now, received.resets - before.resets)
            & self.pings.draw(now, received.pings - before.pings)
            & self.settings.draw(now, received.settings - before.settings)
            & self.priorities.draw(now, received.priorities - before.priorities);
        !is_taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_takes_its_limit_at_once_and_a_quarter_a_second() {
        let mut floods = Floods::default();
        let resets = |resets| Controls { resets, ..Controls::default() };
        let at = Time::from_millis;
        assert!(!floods.is_flood(resets(200), || at(10_000)));
        assert!(!floods.is_flood(resets(250), || at(11_000)));
        assert!(!floods.is_flood(resets(250), || at(11_100)));
        assert!(floods.is_flood(resets(260), || at(11_100)));
        let mut floods = Floods::default();
        let full = Controls { pings: 100, settings: 40, resets: 0, priorities: 1_000 };
        assert!(!floods.is_flood(full, || at(0)));
        assert!(floods.is_flood(Controls { settings: 41, ..full }, || at(0)));
        let mut floods = Floods::default();
        assert!(!floods.is_flood(full, || at(0)));
        assert!(floods.is_flood(Controls { priorities: 1_001, ..full }, || at(0)));
    }
}
