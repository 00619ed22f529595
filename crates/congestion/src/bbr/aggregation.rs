//! ACK aggregation: segments acknowledged in excess of the estimated bandwidth.
//!
//! Radio links and offloading receivers acknowledge in batches. The window must cover the silence between
//! them, so the largest recent excess is added to it. Source: Linux 6.18 `bbr_update_ack_aggregation`,
//! `bbr_ack_aggregation_cwnd`.

use units::Time;

use super::bandwidth::{Bandwidth, micros};

/// Span in rounds; a maximum is kept for one to two spans (`bbr_extra_acked_win_rtts`).
const SPAN_ROUNDS: u32 = 5;
/// Maximum number of segments in a sampling epoch (`bbr_ack_epoch_acked_reset_thresh`).
const LONGEST_EPOCH: u64 = 1 << 20;
/// Maximum of the excess: the bandwidth's delivery in 100 ms (`bbr_extra_acked_max_us`).
const MOST_MICROS: u64 = 100_000;

/// The estimator.
#[derive(Clone, Debug)]
pub(super) struct Aggregation {
    epoch_began: Time,
    epoch_acked: u64,
    /// The maxima of this span of rounds and of the one before.
    excess: [u32; 2],
    current: usize,
    rounds: u32,
}

impl Aggregation {
    pub(super) fn new(now: Time) -> Aggregation {
        Aggregation { epoch_began: now, epoch_acked: 0, excess: [0; 2], current: 0, rounds: 0 }
    }

    /// Starts a sampling epoch: idle time explains no excess.
    pub(super) fn restart(&mut self, now: Time) {
        self.epoch_began = now;
        self.epoch_acked = 0;
    }

    pub(super) fn on_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= SPAN_ROUNDS {
            self.rounds = 0;
            self.current = 1 - self.current;
            self.excess[self.current] = 0;
        }
    }

    /// `acked` segments were reported delivered at `now`.
    pub(super) fn on_delivered(&mut self, now: Time, acked: u32, bandwidth: Bandwidth, cwnd: u32) {
        let acked = u64::from(acked);
        let mut expected = bandwidth.segments_in(micros(now - self.epoch_began));
        if self.epoch_acked <= expected || self.epoch_acked + acked >= LONGEST_EPOCH {
            self.restart(now);
            expected = 0;
        }
        self.epoch_acked = (self.epoch_acked + acked).min(LONGEST_EPOCH - 1);
        let excess = u32::try_from(self.epoch_acked - expected).unwrap_or(u32::MAX).min(cwnd);
        let most = &mut self.excess[self.current];
        *most = (*most).max(excess);
    }

    /// Segments to add to the window.
    pub(super) fn allowance(&self, bandwidth: Bandwidth) -> u32 {
        let most = u32::try_from(bandwidth.segments_in(MOST_MICROS)).unwrap_or(u32::MAX);
        self.excess[0].max(self.excess[1]).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One segment per millisecond.
    fn bandwidth() -> Bandwidth {
        Bandwidth::of(1, 1000)
    }

    #[test]
    fn lumps_of_20_allow_20_more() {
        let mut aggregation = Aggregation::new(Time::ZERO);
        for n in 1..10 {
            aggregation.on_delivered(Time::from_millis(20 * n), 20, bandwidth(), 1000);
        }
        assert_eq!(aggregation.allowance(bandwidth()), 21, "20 and what rounding down leaves");
    }

    #[test]
    fn steady_acknowledgements_allow_their_own_size() {
        let mut aggregation = Aggregation::new(Time::ZERO);
        for n in 1..1000 {
            aggregation.on_delivered(Time::from_millis(2 * n), 2, bandwidth(), 1000);
        }
        assert!(aggregation.allowance(bandwidth()) <= 4);
    }

    #[test]
    fn an_excess_is_forgotten_after_five_to_ten_rounds_and_is_bounded() {
        let mut aggregation = Aggregation::new(Time::ZERO);
        aggregation.on_delivered(Time::from_millis(1), 500, bandwidth(), 1000);
        assert_eq!(aggregation.allowance(bandwidth()), 99, "what 100 ms deliver, rounded down");
        for _ in 0..9 {
            aggregation.on_round();
        }
        assert_eq!(aggregation.allowance(bandwidth()), 99);
        aggregation.on_round();
        assert_eq!(aggregation.allowance(bandwidth()), 0);
    }
}
