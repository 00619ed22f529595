//! BBR's bandwidth: fixed-point arithmetic, gains, and the maximum of recent samples.
//!
//! Source: Linux 6.18 `tcp_bbr.c` (`BW_SCALE`, `BBR_SCALE`, `bbr_rate_bytes_per_sec`, `bbr_bdp`).

use std::time::Duration;

/// Fractional bits of a bandwidth.
const SCALE: u32 = 24;
/// Fractional bits of a gain.
const GAIN_SCALE: u32 = 8;
/// Pacing stays this much below the estimate, in percent, so that queues drain
/// (`bbr_pacing_margin_percent`).
const MARGIN_PERCENT: u64 = 1;

/// A rate in segments per microsecond, with 24 fractional bits; 715 bit/s is the smallest step at 1500 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Bandwidth(pub(super) u32);

/// A factor with 8 fractional bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Gain(pub(super) u32);

impl Gain {
    /// One.
    pub(super) const UNIT: Gain = Gain(1 << GAIN_SCALE);

    /// `numerator / denominator`, rounded down.
    pub(super) const fn ratio(numerator: u32, denominator: u32) -> Gain {
        Gain((numerator << GAIN_SCALE) / denominator)
    }
}

/// Whole microseconds: the resolution of the kernel's timestamps.
pub(super) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

impl Bandwidth {
    pub(super) const ZERO: Bandwidth = Bandwidth(0);

    /// `segments` in `micros` microseconds, which must not be zero.
    pub(super) fn of(segments: u64, micros: u64) -> Bandwidth {
        let scaled = segments.saturating_mul(1 << SCALE) / micros;
        Bandwidth(u32::try_from(scaled).unwrap_or(u32::MAX))
    }

    /// True if this is at least `gain` times `base`.
    pub(super) fn reaches(self, base: Bandwidth, gain: Gain) -> bool {
        u64::from(self.0) >= (u64::from(base.0) * u64::from(gain.0)) >> GAIN_SCALE
    }

    /// The mean of both.
    pub(super) fn mean(self, other: Bandwidth) -> Bandwidth {
        Bandwidth(((u64::from(self.0) + u64::from(other.0)) / 2) as u32)
    }

    /// The difference of both.
    pub(super) fn difference(self, other: Bandwidth) -> Bandwidth {
        Bandwidth(self.0.abs_diff(other.0))
    }

    /// True if this is at most `gain` times `base`.
    pub(super) fn is_within(self, gain: Gain, base: Bandwidth) -> bool {
        u64::from(self.0) << GAIN_SCALE <= u64::from(gain.0) * u64::from(base.0)
    }

    /// Bytes per second for segments of `segment_bytes`, less the margin.
    pub(super) fn bytes_per_sec(self, segment_bytes: u32, gain: Gain) -> u64 {
        let scaled =
            (u128::from(self.0) * u128::from(segment_bytes) * u128::from(gain.0)) >> GAIN_SCALE;
        let per_second = scaled * u128::from(1_000_000 / 100 * (100 - MARGIN_PERCENT));
        u64::try_from(per_second >> SCALE).unwrap_or(u64::MAX)
    }

    /// Whole segments in `micros` microseconds.
    pub(super) fn segments_in(self, micros: u64) -> u64 {
        u64::from(self.0).saturating_mul(micros) >> SCALE
    }

    /// `gain` times the bandwidth-delay product: the segments in flight when a path of this bandwidth and round trip is full and
    /// has no queue; rounded up.
    pub(super) fn product(self, rtt_micros: u64, gain: Gain) -> u32 {
        let scaled =
            (u128::from(self.0) * u128::from(rtt_micros) * u128::from(gain.0)) >> GAIN_SCALE;
        u32::try_from((scaled + (1 << SCALE) - 1) >> SCALE).unwrap_or(u32::MAX)
    }
}

// Maximum of recent bandwidths, in constant space.
//
// Kathleen Nichols' algorithm as in Linux `lib/win_minmax.c`: the best value of the window and the best two
// later ones are kept, spread over the window, so that when the best grows too old a good
// successor is available. Time is counted in round trips.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Best {
    round: u64,
    value: Bandwidth,
}

/// A running maximum over a window of rounds.
#[derive(Clone, Debug)]
pub(super) struct MaxFilter {
    window: u64,
    /// The best, the best later one, and the best after that.
    best: [Best; 3],
}

impl MaxFilter {
    pub(super) fn new(window: u64) -> MaxFilter {
        MaxFilter { window, best: [Best { round: 0, value: Bandwidth::ZERO }; 3] }
    }

    /// The largest value of the window.
    pub(super) fn get(&self) -> Bandwidth {
        self.best[0].value
    }

    /// Adds the value of `round`; rounds never go back.
    pub(super) fn update(&mut self, round: u64, value: Bandwidth) {
        let new = Best { round, value };
        if value >= self.best[0].value || round - self.best[2].round > self.window {
            self.best = [new; 3];
            return;
        }
        if value >= self.best[1].value {
            self.best[1] = new;
            self.best[2] = new;
        } else if value >= self.best[2].value {
            self.best[2] = new;
        }
        self.age(new);
    }

    /// Drops expired values and, as time passes without a new maximum, takes successors from the second and the
    /// last part of the window.
    fn age(&mut self, new: Best) {
        let [first, second, third] = self.best;
        let age = new.round - first.round;
        if age > self.window {
            self.best = [second, third, new];
            if new.round - second.round > self.window {
                self.best = [third, new, new];
            }
        } else if second.round == first.round && age > self.window / 4 {
            self.best = [first, new, new];
        } else if third.round == second.round && age > self.window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_megabits_over_100_ms_are_84_segments() {
        // 10 Mbit/s in packets of 1500 bytes: 833.3 per second.
        let bandwidth = Bandwidth::of(8333, 10_000_000);
        assert_eq!(bandwidth.product(100_000, Gain::UNIT), 84);
        assert_eq!(bandwidth.product(100_000, Gain(512)), 167);
        assert_eq!(bandwidth.segments_in(100_000), 83);
        let rate = bandwidth.bytes_per_sec(1448, Gain::UNIT) as f64 / (833.3 * 1448.0 * 0.99);
        assert!((rate - 1.0).abs() < 1e-3, "1 % below the estimate, not {rate}");
    }

    #[test]
    fn nothing_overflows() {
        let most = Bandwidth::of(u64::MAX, 1);
        assert_eq!(most, Bandwidth(u32::MAX));
        assert!(most.bytes_per_sec(65_535, Gain(739)) > 1 << 40);
        assert_eq!(most.product(u64::MAX, Gain(739)), u32::MAX);
    }

    fn bandwidth(n: u64) -> Bandwidth {
        Bandwidth::of(n, 1000)
    }

    #[test]
    fn a_maximum_is_kept_for_the_window_and_no_longer() {
        let mut filter = MaxFilter::new(10);
        filter.update(1, bandwidth(100));
        for round in 2..=11 {
            filter.update(round, bandwidth(50));
            assert_eq!(filter.get(), bandwidth(100), "round {round}");
        }
        filter.update(12, bandwidth(50));
        assert_eq!(filter.get(), bandwidth(50));
    }

    #[test]
    fn a_larger_value_takes_over_at_once() {
        let mut filter = MaxFilter::new(10);
        filter.update(1, bandwidth(100));
        filter.update(1, bandwidth(120));
        assert_eq!(filter.get(), bandwidth(120));
    }

    #[test]
    fn a_falling_series_leaves_its_recent_best() {
        let mut filter = MaxFilter::new(10);
        for round in 0..40 {
            filter.update(round, bandwidth(1000 - 10 * round));
            let exact = bandwidth(1000 - 10 * round.saturating_sub(10));
            assert!(filter.get() <= exact, "nothing older than the window");
            assert!(filter.get() >= bandwidth(1000 - 10 * round));
        }
    }
}
