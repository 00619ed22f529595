//! Detection of a full pipe in Startup: the bandwidth no longer grows.
//!
//! Source: Linux 6.18 `bbr_check_full_bw_reached`.

use super::bandwidth::{Bandwidth, Gain};

/// Growth below this means that the pipe may be full (`bbr_full_bw_thresh`).
const GROWTH: Gain = Gain::ratio(5, 4);
/// Consecutive rounds without such growth that prove it (`bbr_full_bw_cnt`): the receiver's window may take one to grow and
/// one to be filled.
const ROUNDS: u32 = 3;

/// The detector.
#[derive(Clone, Debug, Default)]
pub(super) struct FullPipe {
    reached: bool,
    best: Bandwidth,
    rounds: u32,
}

impl FullPipe {
    pub(super) fn is_reached(&self) -> bool {
        self.reached
    }

    /// A round without application limit has ended with this estimate.
    pub(super) fn on_round(&mut self, bandwidth: Bandwidth) {
        if self.reached {
            return;
        }
        if bandwidth.reaches(self.best, GROWTH) {
            self.best = bandwidth;
            self.rounds = 0;
        } else {
            self.rounds += 1;
            self.reached = self.rounds >= ROUNDS;
        }
    }

    /// A timeout slowed the flow: growth counts from zero again.
    pub(super) fn on_timeout(&mut self) {
        self.best = Bandwidth::ZERO;
    }

    /// A slow-down was spurious: measurements during it do not count.
    pub(super) fn on_undo(&mut self) {
        self.best = Bandwidth::ZERO;
        self.rounds = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_rounds_without_a_quarter_more_fill_it() {
        let mut pipe = FullPipe::default();
        let bandwidth = |n| Bandwidth::of(n, 10_000);
        for n in [100, 200, 250, 300, 300] {
            pipe.on_round(bandwidth(n));
            assert!(!pipe.is_reached(), "at {n}");
        }
        pipe.on_round(bandwidth(312));
        assert!(pipe.is_reached(), "312 < 1.25 * 250, for the third time");
    }

    #[test]
    fn growth_starts_the_count_again() {
        let mut pipe = FullPipe::default();
        for n in [100, 100, 100, 125, 125, 125] {
            pipe.on_round(Bandwidth::of(n, 10_000));
        }
        assert!(!pipe.is_reached());
    }
}
