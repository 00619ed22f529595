//! BBR's model of the path beside its bandwidth: minimum round trip, full pipe, ACK aggregation.
//!
//! The minimum is that of the last ten seconds; a drained pipe refreshes it. Source: Linux 6.18 `bbr_update_min_rtt`.

use std::time::Duration;

use units::Time;

use super::bandwidth::{Bandwidth, Gain, micros};

/// Lifetime of a minimum (`bbr_min_rtt_win_sec`).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// Minimum duration of the small window, besides one round, while the queue drains (`bbr_probe_rtt_mode_ms`).
const DIP_SPAN: Duration = Duration::from_millis(200);

/// The estimate.
#[derive(Clone, Debug)]
pub(super) struct MinRtt {
    micros: Option<u64>,
    /// Time of its measurement, or of the end of the last dip.
    at: Time,
}

impl MinRtt {
    pub(super) fn new(now: Time, rtt: Option<Duration>) -> MinRtt {
        MinRtt { micros: rtt.map(micros), at: now }
    }

    /// The minimum in microseconds; none before the first sample.
    pub(super) fn micros(&self) -> Option<u64> {
        self.micros
    }

    /// Adds a sample; returns true if the estimate had expired.
    pub(super) fn observe(&mut self, now: Time, rtt: Option<Duration>, delayed: bool) -> bool {
        let expired = now > self.at + MIN_RTT_WINDOW;
        if let Some(rtt) = rtt.map(micros)
            && (self.micros.is_none_or(|least| rtt < least) || (expired && !delayed))
        {
            self.micros = Some(rtt);
            self.at = now;
        }
        expired
    }

    /// A dip ended: the estimate is valid for another ten seconds.
    pub(super) fn renew(&mut self, now: Time) {
        self.at = now;
    }
}

/// A window cut to a few segments so that the queue drains and the round trip shows (ProbeRTT).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Dip {
    /// Earliest end; none until few enough segments are in flight.
    until: Option<Time>,
    round_done: bool,
}

impl Dip {
    /// Few enough segments are in flight: the time counts from now. Returns false if it already did.
    pub(super) fn reach_bottom(&mut self, now: Time) -> bool {
        let first = self.until.is_none();
        if first {
            self.until = Some(now + DIP_SPAN);
        }
        first
    }

    pub(super) fn has_reached_bottom(&self) -> bool {
        self.until.is_some()
    }

    /// A round ended since the bottom was reached.
    pub(super) fn on_round(&mut self) {
        self.round_done = true;
    }

    /// True if a whole round has seen the small window.
    pub(super) fn round_is_done(&self) -> bool {
        self.round_done
    }

    /// True if its time is over.
    pub(super) fn is_over(&self, now: Time) -> bool {
        self.until.is_some_and(|until| now > until)
    }
}

// Detection of a full pipe in Startup: the bandwidth no longer grows.
//
// Source: Linux 6.18 `bbr_check_full_bw_reached`.

/// Growth below this means that the pipe may be full (`bbr_full_bw_thresh`).
const FULL_PIPE_GROWTH: Gain = Gain::ratio(5, 4);
/// Consecutive rounds without such growth that prove it (`bbr_full_bw_cnt`): the receiver's window may take one to grow and
/// one to be filled.
const FULL_PIPE_ROUNDS: u32 = 3;

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
        if bandwidth.reaches(self.best, FULL_PIPE_GROWTH) {
            self.best = bandwidth;
            self.rounds = 0;
        } else {
            self.rounds += 1;
            self.reached = self.rounds >= FULL_PIPE_ROUNDS;
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

// ACK aggregation: segments acknowledged in excess of the estimated bandwidth.
//
// Radio links and offloading receivers acknowledge in batches. The window must cover the silence between
// them, so the largest recent excess is added to it. Source: Linux 6.18 `bbr_update_ack_aggregation`,
// `bbr_ack_aggregation_cwnd`.

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
