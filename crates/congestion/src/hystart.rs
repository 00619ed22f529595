//! HyStart: leaves slow start before the queue overflows.
//!
//! Ha and Rhee, "Taming the elephants: New TCP slow start" (2011), as Linux 6.18 has it
//! (`hystart_update` in `tcp_cubic.c`): either a train of closely spaced acknowledgements grows
//! longer than half the smallest round trip, or the round trips of one round rise above the smallest.
//!
//! Left out: the paced variant, which does not halve the train's threshold; nothing paces here.

use std::time::Duration;

use units::Time;

/// Below this window an exit would cost more than an overshoot (`hystart_low_window`), segments.
const LOW_WINDOW: u32 = 16;
/// Acknowledgements this close belong to one train (`hystart_ack_delta_us`).
const TRAIN_SPACING: Duration = Duration::from_millis(2);
/// Cushion for aggregation in the sender (`hystart_ack_delay`): the time of four 64 KB bursts at the
/// pacing rate, at most 1 ms. The cap binds below 2 Gbit/s, so here it is the constant.
const TRAIN_CUSHION: Duration = Duration::from_millis(1);
/// Round trips looked at before a round's minimum means something (`HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u32 = 8;
/// The tolerated rise, an eighth of the smallest round trip, lies between these
/// (`HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
const MIN_RISE: Duration = Duration::from_millis(4);
const MAX_RISE: Duration = Duration::from_millis(16);

/// Watches the rounds of one slow start.
#[derive(Debug, Clone)]
pub(crate) struct Hystart {
    found: bool,
    round_began: Time,
    round_ends: u64,
    train_end: Time,
    smallest: Option<Duration>,
    samples: u32,
}

impl Hystart {
    pub(crate) fn new() -> Hystart {
        Hystart {
            found: false,
            round_began: Time::ZERO,
            round_ends: 0,
            train_end: Time::ZERO,
            smallest: None,
            samples: 0,
        }
    }

    /// Starts afresh after a retransmission timeout.
    pub(crate) fn reset(&mut self, now: Time, next: u64) {
        self.found = false;
        self.begin_round(now, next);
    }

    fn begin_round(&mut self, now: Time, next: u64) {
        self.round_began = now;
        self.round_ends = next;
        self.train_end = now;
        self.smallest = None;
        self.samples = 0;
    }

    /// Takes the round trip of one acknowledgement in slow start; true when slow start should end.
    pub(crate) fn sample(
        &mut self,
        ack: &crate::Ack,
        rtt: Duration,
        base: Duration,
        cwnd: u32,
    ) -> bool {
        if self.found {
            return false;
        }
        if ack.acknowledged > self.round_ends {
            self.begin_round(ack.now, ack.next);
        }
        if cwnd < LOW_WINDOW {
            return false;
        }
        // Both run on each sample: either must see all of them.
        let train = self.train_is_long(ack.now, base);
        let rise = self.delay_rose(rtt, base);
        self.found = train || rise;
        self.found
    }

    fn train_is_long(&mut self, now: Time, base: Duration) -> bool {
        if now - self.train_end > TRAIN_SPACING {
            return false;
        }
        self.train_end = now;
        now - self.round_began > (base + TRAIN_CUSHION) / 2
    }

    fn delay_rose(&mut self, rtt: Duration, base: Duration) -> bool {
        let smallest = self.smallest.map_or(rtt, |smallest| smallest.min(rtt));
        self.smallest = Some(smallest);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        smallest > base + (base / 8).clamp(MIN_RISE, MAX_RISE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ack;

    const BASE: Duration = Duration::from_millis(100);

    fn ack(at: Time) -> Ack {
        Ack { now: at, rtt: Some(BASE), growth: 1, acknowledged: 1, next: 100 }
    }

    #[test]
    fn a_train_longer_than_half_the_round_trip_ends_slow_start() {
        let mut hystart = Hystart::new();
        let exit =
            (0..100).find(|ms| hystart.sample(&ack(Time::from_millis(1000 + ms)), BASE, BASE, 20));
        // (100 ms + 1 ms cushion) / 2, and strictly more.
        assert_eq!(exit, Some(51));
    }

    #[test]
    fn a_gap_breaks_the_train() {
        let mut hystart = Hystart::new();
        assert!(
            (0..100).all(|n| {
                !hystart.sample(&ack(Time::from_millis(1000 + 3 * n)), BASE, BASE, 20)
            })
        );
    }

    #[test]
    fn a_rise_by_an_eighth_ends_slow_start_after_eight_samples() {
        let mut hystart = Hystart::new();
        let risen = BASE + Duration::from_micros(12_501);
        let exit = (0..20)
            .find(|n| hystart.sample(&ack(Time::from_millis(1000 + 3 * n)), risen, BASE, 20));
        assert_eq!(exit, Some(8));
    }

    #[test]
    fn small_windows_are_left_alone() {
        let mut hystart = Hystart::new();
        assert!(
            (0..100).all(|n| {
                !hystart.sample(&ack(Time::from_millis(1000 + n)), BASE * 2, BASE, 15)
            })
        );
    }
}
