//! The kernel's tick ("jiffy"): the granularity of its timers and, in old kernels, of the round trip.
//!
//! In old kernels a timer expires on the first tick at or after its due time. Since Linux 4.8 timers lie in a wheel whose levels are coarser the
//! further away they are: a tick up to 63 ticks ahead, 8 ticks up to 504, 64 up to 4032 and so on, and one granule is added (`calc_index` in
//! `kernel/time/timer.c`). Ticks are counted from time zero; a real machine's ticks have an arbitrary phase to the simulation's clock.

use std::time::Duration;

use units::Time;

/// Resolution of the machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Ticks per second (`CONFIG_HZ`: 100, 250, 1000); zero: timers are exact.
    hz: u32,
    /// Round trips are counted in ticks, at least one (before Linux 3.15).
    rtt_in_ticks: bool,
}

/// The wheel's first level reaches this many ticks ahead, each further one eight times as far (`LVL_START`).
const FIRST_LEVEL_TICKS: u64 = 63;
/// Each level is eight times as coarse (`LVL_CLK_SHIFT`).
const LEVEL_SHIFT: u32 = 3;
/// The coarsest level (`LVL_DEPTH`).
const LAST_LEVEL: u32 = 8;

impl Clock {
    /// Exact: no granularity.
    pub(crate) const EXACT: Clock = Clock { hz: 0, rtt_in_ticks: false };

    /// Timers and round trips in ticks, `hz` per second.
    pub const fn ticks(hz: u32) -> Clock {
        Clock { hz, rtt_in_ticks: true }
    }

    /// Ticks per second, if there are any.
    pub const fn hz(self) -> Option<u32> {
        if self.hz == 0 { None } else { Some(self.hz) }
    }

    /// The same kind of clock with another tick; none: exact.
    #[must_use]
    pub(crate) const fn with_hz(self, hz: Option<u32>) -> Clock {
        let hz = match hz {
            Some(hz) => hz,
            None => 0,
        };
        Clock { hz, rtt_in_ticks: self.rtt_in_ticks }
    }

    /// Timers on a wheel of `hz` ticks per second, round trips exact (since Linux 4.8).
    pub const fn wheel(hz: u32) -> Clock {
        Clock { hz, rtt_in_ticks: false }
    }

    /// Expiry of a timer that is armed at `now` for `at`.
    pub(crate) fn expiry(self, now: Time, at: Time) -> Time {
        if self.hz == 0 || at == Time::NEVER {
            return at;
        }
        let tick = self.tick();
        if self.rtt_in_ticks {
            return Time::from_nanos(at.as_nanos().next_multiple_of(tick));
        }
        let ahead = (at.as_nanos().saturating_sub(now.as_nanos())).div_ceil(tick);
        let level = (0..LAST_LEVEL)
            .find(|level| ahead < FIRST_LEVEL_TICKS << (LEVEL_SHIFT * level))
            .unwrap_or(LAST_LEVEL);
        let grain = 1 << (LEVEL_SHIFT * level);
        let ticks = now.as_nanos() / tick + ahead;
        Time::from_nanos((ticks / grain + 1) * grain * tick)
    }

    /// Measured span from `sent` to `now`.
    pub(crate) fn span(self, sent: Time, now: Time) -> Duration {
        if self.hz == 0 || !self.rtt_in_ticks {
            return now - sent;
        }
        let ticks = (now.as_nanos() / self.tick()).saturating_sub(sent.as_nanos() / self.tick());
        // `tcp_rtt_estimator`: a round trip of zero ticks counts as one.
        Duration::from_nanos(ticks.max(1) * self.tick())
    }

    fn tick(self) -> u64 {
        1_000_000_000 / u64::from(self.hz)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_expire_on_the_next_tick() {
        let clock = Clock::ticks(250);
        let expiry = |at| clock.expiry(Time::ZERO, at);
        assert_eq!(expiry(Time::from_millis(201)), Time::from_millis(204));
        assert_eq!(expiry(Time::from_millis(204)), Time::from_millis(204));
        assert_eq!(expiry(Time::NEVER), Time::NEVER);
        let exact = Clock::EXACT.expiry(Time::ZERO, Time::from_millis(201));
        assert_eq!(exact, Time::from_millis(201));
    }

    #[test]
    fn a_wheel_is_coarser_the_further_away() {
        let expiry = |now, at| {
            Clock::wheel(250).expiry(Time::from_millis(now), Time::from_millis(at)).as_nanos()
                / 1_000_000
        };
        assert_eq!(expiry(1, 41), 44, "ten ticks after tick 0, and one");
        assert_eq!(expiry(1, 301), 320, "tick 75, in grains of 8: the grain of 72 and one more");
        assert_eq!(expiry(0, 3000), 3072, "tick 750, in grains of 64");
    }

    #[test]
    fn a_round_trip_is_the_difference_of_two_ticks() {
        let clock = Clock::ticks(250);
        let span = |from: u64, to: u64| clock.span(Time::from_millis(from), Time::from_millis(to));
        assert_eq!(span(3, 5), Duration::from_millis(4));
        assert_eq!(span(4, 7), Duration::from_millis(4), "no tick counts as one");
        assert_eq!(span(1, 152), Duration::from_millis(152));
        let exact = Clock::EXACT.span(Time::from_millis(1), Time::from_millis(152));
        assert_eq!(exact, Duration::from_millis(151));
    }
}
