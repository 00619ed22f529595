//! Loss independent of the queue: on the radio, in a bad cable; packet by packet or in bursts in time.
//!
//! Each direction has its own model and its own random stream. A packet is lost before the queue, as with dummynet's
//! `plr` and netem's `loss`: it takes neither room nor rate.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use chance::{RandomSource, RandomStream};
use units::Time;

mod drop_list;

pub use drop_list::{DropList, DropListError};

/// Loss model of a link.
#[derive(Clone, Debug, PartialEq)]
pub enum LossModel {
    /// Each packet with this probability, independently: dummynet's `plr`, netem's `loss random`.
    Random(f64),
    /// In bursts of packets: netem's `loss gemodel`.
    GilbertElliott(GilbertElliott),
    /// In bursts of time.
    TimedGilbertElliott(TimedGilbertElliott),
    /// Packets listed in a file.
    Listed(Arc<DropList>),
}

/// The Gilbert-Elliott model: a good and a bad state, each with a probability of loss (Elliott, "Estimates of Error
/// Rates for Codes on Burst-Noise Channels", 1963), with the parameters of netem's `loss gemodel P R 1-H 1-K`. The
/// states change per packet, not per second: see [`TimedGilbertElliott`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// Probability per packet of going from the good state to the bad one (`p`).
    pub to_bad: f64,
    /// Probability per packet of going back (`r`); bursts last `1 / r` packets on average.
    pub to_good: f64,
    /// Probability of loss in the bad state (`1-h`).
    pub loss_in_bad: f64,
    /// Probability of loss in the good state (`1-k`).
    pub loss_in_good: f64,
}

impl LossModel {
    /// No loss.
    pub const NONE: LossModel = LossModel::Random(0.0);

    /// Long-run share of packets lost; `None` for a list.
    pub fn mean(&self) -> Option<f64> {
        match self {
            LossModel::Random(probability) => Some(*probability),
            LossModel::GilbertElliott(model) => Some(model.mean()),
            LossModel::TimedGilbertElliott(model) => Some(model.mean()),
            LossModel::Listed(_) => None,
        }
    }

    /// Returns true if no packet is ever lost.
    pub fn is_none(&self) -> bool {
        self.mean() == Some(0.0)
    }
}

impl GilbertElliott {
    /// Long-run share of packets lost: each state's loss weighted by its share of the time.
    pub fn mean(&self) -> f64 {
        match self.to_bad + self.to_good {
            0.0 => self.loss_in_good,
            sum => (self.to_good * self.loss_in_good + self.to_bad * self.loss_in_bad) / sum,
        }
    }
}

impl fmt::Display for LossModel {
    /// Human-readable form: `1 %`, `1 % in bursts`, `1 % in bursts of 80ms`, `as losses.txt lists`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| format!("{} %", (share * 1e8).round() / 1e6);
        match self {
            LossModel::Random(probability) => f.write_str(&percent(*probability)),
            LossModel::GilbertElliott(model) => write!(f, "{} in bursts", percent(model.mean())),
            LossModel::TimedGilbertElliott(model) => {
                write!(f, "{} in bursts of {:?}", percent(model.mean()), model.bad)
            }
            LossModel::Listed(list) => write!(f, "as {} lists", list.origin()),
        }
    }
}

/// Decides for each packet whether it is lost.
pub(crate) struct LossProcess {
    model: LossModel,
    stream: RandomStream,
    is_bad: bool,
    timed: Option<Box<TimedState>>,
    offered: u64,
}

impl LossProcess {
    /// Losses of the link `name`, drawn per packet from `link/NAME/loss`, and bursts of time from `link/NAME/bursts`:
    /// two arms of a comparison meet the same bursts whatever they send.
    pub(crate) fn new(model: LossModel, source: &RandomSource, name: &str) -> LossProcess {
        let stream = |purpose: &str| source.stream(&format!("link/{name}/{purpose}"));
        let timed = match &model {
            LossModel::TimedGilbertElliott(timed) => {
                Some(Box::new(TimedState::new(*timed, stream("bursts"))))
            }
            _ => None,
        };
        LossProcess { model, stream: stream("loss"), is_bad: false, timed, offered: 0 }
    }

    /// Returns true if the next packet, which arrives at `now`, is lost. Makes the same number of draws whatever the
    /// probabilities are, so that networks which differ only in them see the same numbers.
    #[inline]
    pub(crate) fn drops_next(&mut self, now: Time) -> bool {
        match &self.model {
            LossModel::Random(probability) => self.stream.happens(*probability),
            _ => self.drops_by_model(now),
        }
    }

    fn drops_by_model(&mut self, now: Time) -> bool {
        match &self.model {
            LossModel::Random(probability) => self.stream.happens(*probability),
            LossModel::GilbertElliott(model) => step(model, &mut self.is_bad, &mut self.stream),
            LossModel::TimedGilbertElliott(_) => {
                let loss = self.timed.as_mut().map_or(0.0, |state| state.loss_at(now));
                self.stream.happens(loss)
            }
            LossModel::Listed(list) => {
                self.offered += 1;
                list.contains(self.offered, now)
            }
        }
    }
}

/// `loss_gilb_ell` of Linux's `sch_netem.c`: the state changes first; the loss is drawn in the state that the packet
/// found.
fn step(model: &GilbertElliott, is_bad: &mut bool, stream: &mut RandomStream) -> bool {
    let (leave, loss) = match *is_bad {
        false => (model.to_bad, model.loss_in_good),
        true => (model.to_good, model.loss_in_bad),
    };
    *is_bad ^= stream.happens(leave);
    stream.happens(loss)
}

// Bursts in time: a channel that fades and recovers independently of the traffic.
//
// In netem's model (`gemodel`) the state changes with packets, so a flow that has backed off to one packet in
// minutes stays in the same burst. Here each state lasts for an exponentially distributed time: the Gilbert-Elliott
// model in continuous time. The states are drawn from a stream of their own and do not depend on the traffic.

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
struct TimedState {
    model: TimedGilbertElliott,
    stream: RandomStream,
    is_bad: bool,
    until: Time,
}

impl TimedState {
    /// A channel in its steady state: it may begin within a burst.
    fn new(model: TimedGilbertElliott, mut stream: RandomStream) -> TimedState {
        let is_bad = stream.happens(model.share_of_bad());
        let mut state = TimedState { model, stream, is_bad, until: Time::ZERO };
        state.until = Time::ZERO + state.length();
        state
    }

    /// The probability of loss at `now`, which never goes back.
    fn loss_at(&mut self, now: Time) -> f64 {
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
    use chance::RandomSource;
    use proptest::prelude::*;

    use super::*;

    fn losses(model: LossModel, packets: usize) -> Vec<bool> {
        let mut loss = LossProcess::new(model, &RandomSource::new(3, 0), "down");
        (0..packets).map(|_| loss.drops_next(Time::ZERO)).collect()
    }

    fn share(lost: &[bool]) -> f64 {
        lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
    }

    #[test]
    fn bursts_have_the_mean_and_the_length_of_the_chain() {
        let model =
            GilbertElliott { to_bad: 0.01, to_good: 0.25, loss_in_bad: 1.0, loss_in_good: 0.0 };
        let lost = losses(LossModel::GilbertElliott(model), 400_000);
        let mean = 0.01 / 0.26;
        assert!((model.mean() - mean).abs() < 1e-12);
        assert!((share(&lost) / mean - 1.0).abs() < 0.05, "{}", share(&lost));
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        let length = share(&lost) * lost.len() as f64 / bursts as f64;
        assert!(
            (length / 4.0 - 1.0).abs() < 0.05,
            "bursts of {length} packets, expected 1 / r = 4"
        );
    }

    /// With `r = 1 - p` the state has no memory: the Bernoulli model (tc-netem(8)).
    #[test]
    fn without_memory_it_is_random_loss() {
        let model =
            GilbertElliott { to_bad: 0.1, to_good: 0.9, loss_in_bad: 1.0, loss_in_good: 0.0 };
        let lost = losses(LossModel::GilbertElliott(model), 200_000);
        assert!((share(&lost) - 0.1).abs() < 0.004, "{}", share(&lost));
        let pairs = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / 200_000.0;
        assert!((pairs - 0.01).abs() < 0.002, "{pairs} of pairs are both lost");
    }

    #[test]
    fn a_list_loses_what_it_says() {
        let list = DropList::from_text("list", "2 4-5").expect("valid");
        let lost = losses(LossModel::Listed(Arc::new(list)), 6);
        assert_eq!(lost, [false, true, false, true, true, false]);
    }

    fn model(good_ms: u64, bad_ms: u64) -> TimedGilbertElliott {
        let (good, bad) = (Duration::from_millis(good_ms), Duration::from_millis(bad_ms));
        TimedGilbertElliott { good, bad, loss_in_bad: 1.0, loss_in_good: 0.0 }
    }

    fn state(model: TimedGilbertElliott, seed: u64) -> TimedState {
        TimedState::new(model, RandomSource::new(seed, 0).stream("link/down/bursts"))
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
