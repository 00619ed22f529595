//! HyStart: leaves slow start before the queue overflows.
//!
//! Ha and Rhee, "Taming the elephants: New TCP slow start" (2011), as in Linux 6.18 and 3.x
//! (`hystart_update` in `tcp_cubic.c`): either a train of closely spaced acknowledgements grows longer than
//! half the smallest round trip, or the round trips of one round rise above the smallest.
//!
//! Linux 3 reads a clock of whole milliseconds and keeps round trips in eighths of one; it tolerates a rise of a
//! sixteenth, not an eighth, and considers only the first eight round trips of a round.

use std::time::Duration;

use units::Time;

use crate::{Ack, ControllerSettings, Era};

/// Below this window an exit would cost more than an overshoot (`hystart_low_window`), segments.
const LOW_WINDOW: u32 = 16;
/// Acknowledgements this close belong to one train (`hystart_ack_delta_us`).
const TRAIN_SPACING: Duration = Duration::from_millis(2);
/// Cushion for aggregation in the sender (`hystart_ack_delay`): the time of four 64 KB bursts at the
/// pacing rate, at most 1 ms. The cap binds below 2 Gbit/s, so here it is the constant.
const TRAIN_CUSHION: Duration = Duration::from_millis(1);
/// Round trips sampled before a round's minimum is meaningful (`HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u32 = 8;
/// The tolerated rise lies between these (`HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
const MIN_RISE: Duration = Duration::from_millis(4);
const MAX_RISE: Duration = Duration::from_millis(16);
/// The resolution of round trips in Linux 3.
const EIGHTH: u64 = 125_000;

/// Watches the rounds of one slow start.
#[derive(Debug, Clone)]
pub(crate) struct Hystart {
    era: Era,
    /// Segments are paced: a train may last a whole round trip.
    paced: bool,
    found: bool,
    round_began: Time,
    round_ends: u64,
    train_end: Time,
    smallest: Option<Duration>,
    samples: u32,
}

impl Hystart {
    pub(crate) fn new(settings: &ControllerSettings) -> Hystart {
        Hystart {
            era: settings.era,
            paced: settings.paced,
            found: false,
            round_began: Time::ZERO,
            round_ends: 0,
            train_end: Time::ZERO,
            smallest: None,
            samples: 0,
        }
    }

    /// A round trip as kept by Linux 3: in eighths of a millisecond, at least one.
    pub(crate) fn in_eighths(rtt: Duration) -> Duration {
        let nanos = u64::try_from(rtt.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos((nanos / EIGHTH).max(1) * EIGHTH)
    }

    /// The clock that measures trains (`bictcp_clock`).
    fn clock(&self, now: Time) -> Time {
        match self.era {
            Era::Linux6 => now,
            _ => Time::from_millis(now.as_nanos() / 1_000_000),
        }
    }

    /// Starts afresh after a retransmission timeout.
    pub(crate) fn reset(&mut self, now: Time, next: u64) {
        self.found = false;
        self.begin_round(now, next);
    }

    fn begin_round(&mut self, now: Time, next: u64) {
        self.round_began = self.clock(now);
        self.round_ends = next;
        self.train_end = self.round_began;
        self.smallest = None;
        self.samples = 0;
    }

    fn end_round(&mut self, ack: &Ack) {
        if ack.acknowledged > self.round_ends {
            self.begin_round(ack.now, ack.next);
        }
    }

    /// The window grows in slow start: Linux 3 ends rounds here, after the round trip was sampled.
    pub(crate) fn note_growth(&mut self, ack: &Ack) {
        self.end_round(ack);
    }

    /// Adds the round trip of one acknowledgement in slow start; returns true when slow start should end.
    pub(crate) fn sample(&mut self, ack: &Ack, rtt: Duration, base: Duration, cwnd: u32) -> bool {
        if self.found {
            return false;
        }
        if self.era == Era::Linux6 {
            self.end_round(ack);
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
        let now = self.clock(now);
        if now - self.train_end > TRAIN_SPACING {
            return false;
        }
        self.train_end = now;
        let limit = match self.era {
            Era::Linux6 if self.paced => base + TRAIN_CUSHION,
            Era::Linux6 => (base + TRAIN_CUSHION) / 2,
            _ => Duration::from_millis((base / 2).as_millis() as u64),
        };
        now - self.round_began > limit
    }

    fn delay_rose(&mut self, rtt: Duration, base: Duration) -> bool {
        let measured = self.samples >= MIN_SAMPLES;
        if !measured || self.era == Era::Linux6 {
            self.smallest = Some(self.smallest.map_or(rtt, |smallest| smallest.min(rtt)));
        }
        if !measured {
            self.samples += 1;
            return false;
        }
        let share = if self.era == Era::Linux6 { base / 8 } else { base / 16 };
        self.smallest.is_some_and(|smallest| smallest > base + share.clamp(MIN_RISE, MAX_RISE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_millis(100);

    fn linux6() -> Hystart {
        Hystart::new(&ControllerSettings::default())
    }

    fn linux3() -> Hystart {
        Hystart::new(&ControllerSettings { era: Era::Linux3_10, ..ControllerSettings::default() })
    }

    fn ack(at: Time) -> Ack<'static> {
        Ack { rtt: Some(BASE), acknowledged: 1, next: 100, ..Ack::at(at) }
    }

    #[test]
    fn a_train_longer_than_half_the_round_trip_ends_slow_start() {
        let mut hystart = linux6();
        let exit =
            (0..100).find(|ms| hystart.sample(&ack(Time::from_millis(1000 + ms)), BASE, BASE, 20));
        // (100 ms + 1 ms cushion) / 2, and strictly more.
        assert_eq!(exit, Some(51));
    }

    #[test]
    fn a_gap_breaks_the_train() {
        let mut hystart = linux6();
        assert!(
            (0..100).all(|n| {
                !hystart.sample(&ack(Time::from_millis(1000 + 3 * n)), BASE, BASE, 20)
            })
        );
    }

    #[test]
    fn a_rise_by_an_eighth_ends_slow_start_after_eight_samples() {
        let mut hystart = linux6();
        let risen = BASE + Duration::from_micros(12_501);
        let exit = (0..20)
            .find(|n| hystart.sample(&ack(Time::from_millis(1000 + 3 * n)), risen, BASE, 20));
        assert_eq!(exit, Some(8));
    }

    #[test]
    fn small_windows_are_left_alone() {
        let mut hystart = linux6();
        assert!(
            (0..100).all(|n| {
                !hystart.sample(&ack(Time::from_millis(1000 + n)), BASE * 2, BASE, 15)
            })
        );
    }

    /// Time at which a train of acknowledgements 0.1 ms apart ends slow start, in tenths of a millisecond.
    fn train_ends(mut hystart: Hystart) -> Option<u64> {
        (0..2000).find(|tenth| {
            let now = Time::from_micros(1_000_000 + 100 * tenth);
            hystart.sample(&ack(now), BASE, BASE, 20)
        })
    }

    #[test]
    fn linux_3_counts_whole_milliseconds_and_has_no_cushion() {
        let growing = |mut hystart: Hystart| {
            hystart.reset(Time::from_millis(1000), 100);
            train_ends(hystart)
        };
        assert_eq!(growing(linux3()), Some(510), "past 50 ms by a whole millisecond");
        assert_eq!(growing(linux6()), Some(506), "past (100 + 1) / 2 ms");
        let paced =
            Hystart::new(&ControllerSettings { paced: true, ..ControllerSettings::default() });
        assert_eq!(growing(paced), Some(1011), "past 101 ms: pacing spreads the window");
    }

    #[test]
    fn linux_3_tolerates_half_the_rise_and_looks_at_eight_samples() {
        let (base, rise) = (Duration::from_millis(160), Duration::from_millis(12));
        let exit = |mut hystart: Hystart, rtt: fn(u64) -> Duration| {
            (0..20).find(|n| {
                let now = Time::from_millis(1000 + 3 * n);
                hystart.sample(&ack(now), Duration::from_millis(160) + rtt(*n), base, 20)
            })
        };
        assert!(base / 16 < rise && rise < base / 8);
        assert_eq!(exit(linux3(), |_| Duration::from_millis(12)), Some(8));
        assert_eq!(exit(linux6(), |_| Duration::from_millis(12)), None);
        // The ninth sample of the round is low again: only Linux 6 still considers it.
        let late = |n| Duration::from_millis(if n < 8 { 30 } else { 0 });
        assert_eq!(exit(linux3(), late), Some(8));
        assert_eq!(exit(linux6(), late), None);
    }

    #[test]
    fn linux_3_keeps_eighths_of_a_millisecond() {
        assert_eq!(Hystart::in_eighths(Duration::from_micros(100_090)), BASE);
        assert_eq!(Hystart::in_eighths(Duration::ZERO), Duration::from_micros(125));
    }
}
