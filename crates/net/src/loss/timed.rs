//! Bursts in time: a channel that fades and recovers independently of the traffic.
//!
//! In netem's model (`gemodel`) the state changes with packets, so a flow that has backed off to one packet in
//! minutes stays in the same burst. Here each state lasts for an exponentially distributed time: the Gilbert-Elliott
//! model in continuous time. The states are drawn from a stream of their own and do not depend on the traffic.

use std::ops::RangeInclusive;
use std::time::Duration;

use chance::Stream;
use units::Time;

/// The Gilbert-Elliott model in continuous time: two states that last for exponentially distributed times, each with a
/// probability of loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedGilbertElliott {
    /// Mean length of the good state.
    pub good: Duration,
    /// Mean length of the bad state: a burst.
    pub bad: Duration,
    /// Probability of loss in the bad state (`1-h`).
    pub loss_in_bad: f64,
    /// Probability of loss in the good state (`1-k`).
    pub loss_in_good: f64,
}

impl TimedGilbertElliott {
    /// Allowed mean lengths of a state.
    pub const LENGTHS: RangeInclusive<Duration> =
        Duration::from_micros(100)..=Duration::from_secs(3600);

    /// Long-run share of packets lost: each state's loss weighted by its share of the time.
    pub fn mean(&self) -> f64 {
        let in_bad = self.share_of_bad();
        in_bad * self.loss_in_bad + (1.0 - in_bad) * self.loss_in_good
    }

    /// The share of the time in which the state is bad.
    pub fn share_of_bad(&self) -> f64 {
        let (good, bad) = (self.good.as_secs_f64(), self.bad.as_secs_f64());
        bad / (good + bad)
    }
}

/// State of a channel, and when it ends.
pub(super) struct TimedState {
    model: TimedGilbertElliott,
    stream: Stream,
    is_bad: bool,
    until: Time,
}

impl TimedState {
    /// A channel in its steady state: it may begin within a burst.
    pub(super) fn new(model: TimedGilbertElliott, mut stream: Stream) -> TimedState {
        let is_bad = stream.happens(model.share_of_bad());
        let mut state = TimedState { model, stream, is_bad, until: Time::ZERO };
        state.until = Time::ZERO + state.length();
        state
    }

    /// The probability of loss at `now`, which never goes back.
    pub(super) fn loss_at(&mut self, now: Time) -> f64 {
        while self.until <= now {
            self.is_bad = !self.is_bad;
            let length = self.length();
            self.until += length;
        }
        match self.is_bad {
            true => self.model.loss_in_bad,
            false => self.model.loss_in_good,
        }
    }

    /// Draws a length for the present state; never zero, so that time advances.
    fn length(&mut self) -> Duration {
        let mean = if self.is_bad { self.model.bad } else { self.model.good };
        mean.mul_f64(self.stream.exponential()).max(Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use chance::Source;
    use proptest::prelude::*;

    use super::*;

    fn model(good_ms: u64, bad_ms: u64) -> TimedGilbertElliott {
        let (good, bad) = (Duration::from_millis(good_ms), Duration::from_millis(bad_ms));
        TimedGilbertElliott { good, bad, loss_in_bad: 1.0, loss_in_good: 0.0 }
    }

    fn state(model: TimedGilbertElliott, seed: u64) -> TimedState {
        TimedState::new(model, Source::new(seed, 0).stream("link/down/bursts"))
    }

    /// State of the channel, sampled once a millisecond.
    fn bursts(state: &mut TimedState, seconds: u64) -> Vec<bool> {
        (0..seconds * 1000).map(|ms| state.loss_at(Time::from_millis(ms)) == 1.0).collect()
    }

    #[test]
    fn bursts_have_their_share_of_the_time_and_their_length() {
        let model = model(2000, 80);
        let bad = bursts(&mut state(model, 1), 40_000);
        let share = bad.iter().filter(|bad| **bad).count() as f64 / bad.len() as f64;
        assert!((share / model.mean() - 1.0).abs() < 0.03, "{share}");
        assert!((model.mean() - 80.0 / 2080.0).abs() < 1e-12);
        let began = bad.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        let length = share * bad.len() as f64 / began;
        assert!((length / 80.0 - 1.0).abs() < 0.03, "bursts of {length} ms");
    }

    /// A lone packet two minutes later meets an independent state.
    #[test]
    fn a_burst_ends_while_nobody_sends() {
        let pairs: Vec<(bool, bool)> = (0..20_000)
            .map(|seed| {
                let mut state = state(model(2000, 80), seed);
                let mut is_bad =
                    |seconds: u64| state.loss_at(Time::from_millis(seconds * 1000)) == 1.0;
                (is_bad(10), is_bad(130))
            })
            .collect();
        let in_burst = pairs.iter().filter(|(first, _)| *first).count() as f64;
        let still = pairs.iter().filter(|(first, later)| *first && *later).count() as f64;
        assert!((600.0..950.0).contains(&in_burst), "{in_burst} of 20000 begin in a burst");
        assert!(still / in_burst < 0.07, "{still} of {in_burst} are in a burst again");
    }

    proptest! {
        /// The bursts do not depend on when, or how often, they are looked at.
        #[test]
        fn who_sends_changes_nothing(seed in any::<u64>(), asked in prop::collection::vec(0..60_000u64, 1..60)) {
            let (mut often, mut seldom) = (state(model(300, 40), seed), state(model(300, 40), seed));
            let all = bursts(&mut often, 60);
            let mut asked = asked;
            asked.sort_unstable();
            for ms in asked {
                prop_assert_eq!(seldom.loss_at(Time::from_millis(ms)) == 1.0, all[ms as usize]);
            }
        }
    }
}
