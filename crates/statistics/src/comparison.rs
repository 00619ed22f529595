//! Two arms of an experiment, repetition by repetition.
//!
//! Repetition r of either arm has the same seed, hence the same losses and noise, so pairs are drawn
//! together: effects common to both arms cancel.

use chance::RandomSource;

use super::bootstrap::{Resampled, enough, interval};
use super::{Interval, NoInterval};

/// One repetition's values in the two arms; less is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// In the first arm.
    pub first: f64,
    /// In the second arm.
    pub second: f64,
}

/// Result of comparing two arms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The arm that is certainly ahead, if any.
    pub verdict: ComparisonVerdict,
    /// Amount by which the median of the arm ahead lies below the other's, as a fraction of the other's.
    pub advantage: f64,
    /// True if the second arm is ahead in the median.
    pub second_ahead: bool,
    /// The interval of the advantage, or why there is none.
    pub interval: Result<Interval, NoInterval>,
}

/// The arm that is ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonVerdict {
    /// The first arm: the interval excludes zero, or nothing varies at all.
    First,
    /// The second arm, likewise.
    Second,
    /// Both take exactly the same time.
    Same,
    /// The interval includes zero, or the repetitions are too few to tell.
    Unclear,
}

/// Compares two arms; `None` without pairs or with values that are not positive and finite.
pub fn compare(pairs: &[Pair], seed: u64) -> Option<Comparison> {
    let is_sound = |v: f64| v.is_finite() && v > 0.0;
    if pairs.is_empty() || pairs.iter().any(|p| !is_sound(p.first) || !is_sound(p.second)) {
        return None;
    }
    let all: Vec<usize> = (0..pairs.len()).collect();
    let resampled = ResampledPairs::new(pairs);
    let second_ahead = resampled.reduction(&all, true) > 0.0;
    let advantage = resampled.reduction(&all, second_ahead);
    let interval = reduction_interval(pairs, second_ahead, seed);
    let is_clear = match interval {
        Ok(interval) => interval.low > 0.0,
        Err(NoInterval::NoSpread) => true,
        Err(NoInterval::TooFew { .. }) => false,
    };
    let verdict = match (is_clear, second_ahead) {
        _ if pairs.iter().all(|p| p.first == p.second) => ComparisonVerdict::Same,
        (false, _) => ComparisonVerdict::Unclear,
        (true, true) => ComparisonVerdict::Second,
        (true, false) if advantage > 0.0 => ComparisonVerdict::First,
        (true, false) => ComparisonVerdict::Unclear,
    };
    Some(Comparison { verdict, advantage, second_ahead, interval })
}

/// Pairs whose resamples' medians are wanted.
struct ResampledPairs {
    first: Resampled,
    second: Resampled,
}

impl ResampledPairs {
    fn new(pairs: &[Pair]) -> ResampledPairs {
        ResampledPairs {
            first: Resampled::new(pairs.iter().map(|pair| pair.first)),
            second: Resampled::new(pairs.iter().map(|pair| pair.second)),
        }
    }

    /// The ratio of medians of the pairs at `indices`.
    fn ratio(&self, indices: &[usize]) -> f64 {
        self.first.median(indices) / self.second.median(indices)
    }

    /// One less the ratio of medians: of the second arm to the first if `second_ahead`, else of the first to the second.
    fn reduction(&self, indices: &[usize], second_ahead: bool) -> f64 {
        let (first, second) = (self.first.median(indices), self.second.median(indices));
        if second_ahead { 1.0 - second / first } else { 1.0 - first / second }
    }
}

fn reduction_interval(
    pairs: &[Pair],
    second_ahead: bool,
    seed: u64,
) -> Result<Interval, NoInterval> {
    if pairs.len() > 1 && pairs.iter().all(|p| *p == pairs[0]) {
        return Err(NoInterval::NoSpread);
    }
    enough(pairs.len())?;
    let mut stream = RandomSource::new(seed, 0).stream("statistics/bootstrap/pairs");
    let resampled = ResampledPairs::new(pairs);
    Ok(interval(pairs.len(), &mut stream, |indices| resampled.reduction(indices, second_ahead)))
}

impl Interval {
    /// Its ends as percentages: "28-34 %", "-2 to 5 %".
    pub fn percent(&self) -> String {
        let [low, high] = [self.low, self.high].map(percent);
        let separator = if low.starts_with('-') { " to " } else { "-" };
        format!("{}{separator}{high}", low.trim_end_matches(" %"))
    }
}

/// A fraction as a percentage: whole from 10 % on, else with one decimal.
pub fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    match percent.abs() {
        size if size >= 9.95 => format!("{percent:.0} %"),
        // No negative zero.
        size if size < 0.05 => "0.0 %".to_owned(),
        _ => format!("{percent:.1} %"),
    }
}

// Gain from a change of times, as speed-up and as reduction.
//
// "60 % faster" may mean that 16 s became 10 s (a speed-up: 16 / 10 - 1) or that 10 s became 4 s (a reduction:
// 1 - 4 / 10). Studies use either and do not always say which; here both are always available, from one ratio.
// Their order is the same, so an interval of the ratio is one of both.

/// Time before over time after, above 1 if the change was an improvement.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct RelativeGain {
    ratio: f64,
}

impl RelativeGain {
    /// The gain from `before` to `after`; `None` unless both are positive and finite.
    pub fn new(before: f64, after: f64) -> Option<RelativeGain> {
        let is_sound = |v: f64| v.is_finite() && v > 0.0;
        (is_sound(before) && is_sound(after)).then(|| RelativeGain { ratio: before / after })
    }

    /// Before over after.
    pub fn ratio(self) -> f64 {
        self.ratio
    }

    /// Fractional increase in speed: 0.6 is "60 % faster", 3 is "300 %"; below 0 if it has decreased.
    pub fn speed_up(self) -> f64 {
        self.ratio - 1.0
    }

    /// Fractional decrease in time: 0.6 is "60 % less"; never 1, below 0 if it has increased.
    pub fn reduction(self) -> f64 {
        1.0 - 1.0 / self.ratio
    }
}

/// The ends of a gain's interval, or why there is none.
pub type Ends = Result<(RelativeGain, RelativeGain), NoInterval>;

/// The gain from the first arm's median to the second's, and the ends of its interval, by a bootstrap of
/// the pairs; `None` without pairs or with times that are not positive and finite.
pub fn gain(pairs: &[Pair], seed: u64) -> Option<(RelativeGain, Ends)> {
    let all: Vec<usize> = (0..pairs.len()).collect();
    if pairs.is_empty()
        || pairs.iter().any(|pair| RelativeGain::new(pair.first, pair.second).is_none())
    {
        return None;
    }
    let ends = ratio_interval(pairs, seed)
        .map(|Interval { low, high }| (RelativeGain { ratio: low }, RelativeGain { ratio: high }));
    Some((RelativeGain { ratio: ResampledPairs::new(pairs).ratio(&all) }, ends))
}

fn ratio_interval(pairs: &[Pair], seed: u64) -> Result<Interval, NoInterval> {
    if pairs.len() > 1 && pairs.iter().all(|pair| *pair == pairs[0]) {
        return Err(NoInterval::NoSpread);
    }
    enough(pairs.len())?;
    let mut stream = RandomSource::new(seed, 0).stream("statistics/bootstrap/gain");
    let resampled = ResampledPairs::new(pairs);
    Ok(interval(pairs.len(), &mut stream, |indices| resampled.ratio(indices)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(first: &[f64], second: &[f64]) -> Vec<Pair> {
        first.iter().zip(second).map(|(f, s)| Pair { first: *f, second: *s }).collect()
    }

    #[test]
    fn a_clear_winner_with_its_interval() {
        // The second arm takes 0.69 of the first in every pair, so every resample does.
        let first: Vec<f64> = (0..10).map(|i| 100.0 + f64::from(i)).collect();
        let second: Vec<f64> = first.iter().map(|v| v * 0.69).collect();
        let comparison = compare(&pairs(&first, &second), 1).unwrap();
        assert_eq!(comparison.verdict, ComparisonVerdict::Second);
        assert!((comparison.advantage - 0.31).abs() < 1e-12);
        assert_eq!(comparison.interval.unwrap().percent(), "31-31 %");
        let mirrored = compare(&pairs(&second, &first), 1).unwrap();
        assert_eq!(
            (mirrored.verdict, mirrored.advantage),
            (ComparisonVerdict::First, comparison.advantage)
        );
    }

    #[test]
    fn noise_is_not_a_difference() {
        let first = [100.0, 90.0, 110.0, 95.0, 105.0, 100.0, 98.0, 102.0];
        let second = [98.0, 109.0, 92.0, 104.0, 97.0, 99.0, 103.0, 96.0];
        let comparison = compare(&pairs(&first, &second), 1).unwrap();
        assert_eq!(comparison.verdict, ComparisonVerdict::Unclear);
    }

    #[test]
    fn copies_and_single_repetitions_have_no_interval() {
        let copies = compare(&pairs(&[100.0; 10], &[96.0; 10]), 1).unwrap();
        assert_eq!(
            (copies.verdict, copies.interval),
            (ComparisonVerdict::Second, Err(NoInterval::NoSpread))
        );
        let single = compare(&pairs(&[100.0], &[50.0]), 1).unwrap();
        assert_eq!((single.verdict, single.advantage), (ComparisonVerdict::Unclear, 0.5));
        let few = single.interval.unwrap_err().to_string();
        assert_eq!(few, "needs at least 6 repetitions; you ran 1");
        let same = compare(&pairs(&[100.0; 2], &[100.0; 2]), 1).unwrap();
        assert_eq!(same.verdict, ComparisonVerdict::Same);
    }

    #[test]
    fn percentages_have_no_negative_zero() {
        assert_eq!(Interval { low: -0.0004, high: 0.059 }.percent(), "0.0-5.9 %");
        assert_eq!(Interval { low: -0.02, high: 0.345 }.percent(), "-2.0 to 34 %");
    }

    #[test]
    fn nothing_to_compare() {
        assert_eq!(compare(&[], 1), None);
        assert_eq!(compare(&pairs(&[0.0], &[1.0]), 1), None);
    }

    #[test]
    fn two_ways_to_count() {
        let gain = RelativeGain::new(16.0, 10.0).unwrap();
        assert!((gain.speed_up() - 0.6).abs() < 1e-12);
        assert!((gain.reduction() - 0.375).abs() < 1e-12);
        let fourfold = RelativeGain::new(8.0, 2.0).unwrap();
        assert_eq!((fourfold.speed_up(), fourfold.reduction()), (3.0, 0.75));
        let slower = RelativeGain::new(10.0, 16.0).unwrap();
        assert!((slower.speed_up() + 0.375).abs() < 1e-12);
        assert!((slower.reduction() + 0.6).abs() < 1e-12);
        assert_eq!(RelativeGain::new(0.0, 1.0), None);
        assert_eq!(RelativeGain::new(1.0, f64::INFINITY), None);
    }

    #[test]
    fn what_is_common_to_pairs_does_not_widen_the_interval() {
        let pairs: Vec<Pair> = (0..20)
            .map(f64::from)
            .map(|i| Pair { first: 200.0 + 10.0 * i, second: 100.0 + 5.0 * i })
            .collect();
        let (gain, ends) = gain(&pairs, 1).unwrap();
        let (low, high) = ends.unwrap();
        assert_eq!((low.ratio(), gain.ratio(), high.ratio()), (2.0, 2.0, 2.0));
    }

    #[test]
    fn without_pairs_or_spread() {
        assert_eq!(gain(&[], 1), None);
        let copies = [Pair { first: 2.0, second: 1.0 }; 8];
        assert_eq!(gain(&copies, 1).unwrap().1, Err(NoInterval::NoSpread));
        assert_eq!(gain(&copies[..1], 1).unwrap().1, Err(NoInterval::TooFew { have: 1, need: 6 }));
    }
}
