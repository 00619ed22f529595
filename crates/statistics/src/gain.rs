//! Gain from a change of times, as speed-up and as reduction.
//!
//! "60 % faster" may mean that 16 s became 10 s (a speed-up: 16 / 10 - 1) or that 10 s became 4 s (a reduction:
//! 1 - 4 / 10). Studies use either and do not always say which; here both are always available, from one ratio.
//! Their order is the same, so an interval of the ratio is one of both.

use chance::Source;

use super::bootstrap::{enough, interval, median};
use super::{Interval, NoInterval, Pair};

/// Time before over time after, above 1 if the change was an improvement.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Gain {
    ratio: f64,
}

impl Gain {
    /// The gain from `before` to `after`; `None` unless both are positive and finite.
    pub fn new(before: f64, after: f64) -> Option<Gain> {
        let is_sound = |v: f64| v.is_finite() && v > 0.0;
        (is_sound(before) && is_sound(after)).then(|| Gain { ratio: before / after })
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
pub type Ends = Result<(Gain, Gain), NoInterval>;

/// The gain from the first arm's median to the second's, and the ends of its interval, by a bootstrap of
/// the pairs; `None` without pairs or with times that are not positive and finite.
pub fn gain(pairs: &[Pair], seed: u64) -> Option<(Gain, Ends)> {
    let all: Vec<usize> = (0..pairs.len()).collect();
    if pairs.is_empty() || pairs.iter().any(|pair| Gain::new(pair.first, pair.second).is_none()) {
        return None;
    }
    let ends = ratio_interval(pairs, seed)
        .map(|Interval { low, high }| (Gain { ratio: low }, Gain { ratio: high }));
    Some((Gain { ratio: ratio(pairs, &all) }, ends))
}

fn ratio_interval(pairs: &[Pair], seed: u64) -> Result<Interval, NoInterval> {
    if pairs.len() > 1 && pairs.iter().all(|pair| *pair == pairs[0]) {
        return Err(NoInterval::NoSpread);
    }
    enough(pairs.len())?;
    let mut stream = Source::new(seed, 0).stream("statistics/bootstrap/gain");
    Ok(interval(pairs.len(), &mut stream, |indices| ratio(pairs, indices)))
}

/// The ratio of medians of the pairs at `indices`.
fn ratio(pairs: &[Pair], indices: &[usize]) -> f64 {
    let before = median(indices.iter().map(|index| pairs[*index].first));
    let after = median(indices.iter().map(|index| pairs[*index].second));
    before / after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ways_to_count() {
        let gain = Gain::new(16.0, 10.0).unwrap();
        assert!((gain.speed_up() - 0.6).abs() < 1e-12);
        assert!((gain.reduction() - 0.375).abs() < 1e-12);
        let fourfold = Gain::new(8.0, 2.0).unwrap();
        assert_eq!((fourfold.speed_up(), fourfold.reduction()), (3.0, 0.75));
        let slower = Gain::new(10.0, 16.0).unwrap();
        assert!((slower.speed_up() + 0.375).abs() < 1e-12);
        assert!((slower.reduction() + 0.6).abs() < 1e-12);
        assert_eq!(Gain::new(0.0, 1.0), None);
        assert_eq!(Gain::new(1.0, f64::INFINITY), None);
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
