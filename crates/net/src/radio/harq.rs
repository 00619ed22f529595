//! Repetitions of LTE's transport blocks: hybrid ARQ (TS 36.321 section 5.3.2) and, after its last attempt, RLC's own
//! (TS 36.322).
//!
//! A block that cannot be decoded is sent again a round later, up to a maximum; then the receiver misses it until a
//! timer reports so, and the block starts over. Nothing is lost, and later blocks wait: RLC delivers in order. Not
//! modelled: repetitions take up a block's room, and are likelier to succeed than the block before, with which they
//! are combined.

use std::time::Duration;

use chance::Stream;

/// A cell's repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Harq {
    /// Probability that a transmission of a block must be repeated.
    pub failure: f64,
    /// Duration of each repetition: 8 ms with frequency division (TS 36.213 section 7).
    pub round: Duration,
    /// Maximum number of transmissions of a block before RLC sends it anew.
    pub most: u32,
    /// Time for which the receiver waits for a missing block before it reports the loss (t-Reordering).
    pub reordering: Duration,
}

/// Number of times that RLC sends a block before the connection is given up (maxRetxThreshold); here the block then
/// arrives.
const RLC_TRANSMISSIONS: u32 = 4;

impl Default for Harq {
    /// A tenth repeated, the usual target of schedulers; srsRAN's four transmissions and 35 ms.
    fn default() -> Harq {
        let ms = Duration::from_millis;
        Harq { failure: 0.1, round: ms(8), most: 4, reordering: ms(35) }
    }
}

impl Harq {
    /// Draws the time from the next block's first transmission to its arrival.
    pub(crate) fn lateness(&self, stream: &mut Stream) -> Duration {
        let mut late = Duration::ZERO;
        for _ in 0..RLC_TRANSMISSIONS {
            let failures = (0..self.most).take_while(|_| stream.happens(self.failure)).count();
            let failures = failures as u32;
            if failures < self.most {
                return late + self.round * failures;
            }
            late += self.anew();
        }
        late
    }

    /// Mean of that time: `n` failures in a row cost `n` rounds, and after the last one the block starts over.
    pub fn mean(&self) -> Duration {
        let p = self.failure;
        let rounds: f64 = (1..self.most).map(|n| p.powi(n as i32)).sum();
        let missed = p.powi(self.most as i32);
        let succeeds = rounds - f64::from(self.most.saturating_sub(1)) * missed;
        let attempt = self.round.mul_f64(succeeds.max(0.0)) + self.anew().mul_f64(missed);
        let attempts: f64 = (0..RLC_TRANSMISSIONS).map(|n| missed.powi(n as i32)).sum();
        attempt.mul_f64(attempts)
    }

    /// Time from a block's first transmission to that of its replacement: the receiver reports it missing, and the
    /// next one is a round later.
    fn anew(&self) -> Duration {
        self.reordering.max(self.round * self.most.saturating_sub(1)) + self.round
    }

    /// Maximum of that time.
    pub fn latest(&self) -> Duration {
        self.anew() * RLC_TRANSMISSIONS
    }
}

#[cfg(test)]
mod tests {
    use chance::Source;

    use super::*;

    fn latenesses(harq: Harq, count: usize) -> Vec<u128> {
        let mut stream = Source::new(1, 0).stream("blocks");
        (0..count).map(|_| harq.lateness(&mut stream).as_millis()).collect()
    }

    #[test]
    fn each_round_fails_as_often_as_the_one_before() {
        let late = latenesses(Harq::default(), 1_000_000);
        let share = |ms| late.iter().filter(|late| **late == ms).count() as f64 / 1e6;
        for (ms, expected) in [(0, 0.9), (8, 0.09), (16, 0.009), (24, 0.0009)] {
            assert!((share(ms) / expected - 1.0).abs() < 0.15, "{ms} ms: {}", share(ms));
        }
        // One in ten thousand fails four times: 35 ms until it is reported missing, and 8.
        let anew = late.iter().filter(|late| **late >= 43).count();
        assert!((70..130).contains(&anew), "{anew}");
    }

    #[test]
    fn the_mean_is_that_of_the_draws() {
        for failure in [0.0, 0.1, 0.5, 0.9, 1.0] {
            let harq = Harq { failure, ..Harq::default() };
            let mut stream = Source::new(1, 0).stream("blocks");
            let draws = (0..200_000).map(|_| harq.lateness(&mut stream).as_secs_f64());
            let (drawn, mean) = (draws.sum::<f64>() / 2e5, harq.mean().as_secs_f64());
            assert!((drawn - mean).abs() <= 0.02 * mean, "{failure}: {drawn} s drawn, {mean} s");
        }
    }

    #[test]
    fn what_never_succeeds_arrives_at_last() {
        let harq = Harq { failure: 1.0, ..Harq::default() };
        assert_eq!(latenesses(harq, 2), [4 * 43; 2]);
        assert_eq!(harq.latest().as_millis(), 4 * 43);
        assert_eq!(latenesses(Harq { failure: 0.0, ..harq }, 2), [0; 2]);
    }
}
