//! Power: the number of paired loads that shows a difference of a given size.

use super::{Pair, gain};

/// Probability with which a difference of the given size shows, at least: the bootstrap's interval of a median of few values is too wide
/// rather than too narrow.
pub const POWER: f64 = 0.8;

/// Quantiles of the normal distribution: of 97.5 % (an interval of 95 %) and of [`POWER`].
const NORMAL_975: f64 = 1.959_963_985;
const NORMAL_POWER: f64 = 0.841_621_234;

/// Number of pairs with which the interval of a gain excludes zero with a probability of [`POWER`] if the medians differ by `difference`
/// (0.05: 5 %), from the width that the interval has for `pairs`: it shrinks with the root of their number. `None` if these have no
/// interval or no spread.
pub fn pairs_for(difference: f64, pairs: &[Pair], seed: u64) -> Option<u64> {
    let (_, ends) = gain(pairs, seed)?;
    let (low, high) = ends.ok()?;
    let error = (high.ratio() / low.ratio()).ln() / (2.0 * NORMAL_975);
    let wanted = (1.0 + difference).ln() / (NORMAL_975 + NORMAL_POWER);
    let needed = pairs.len() as f64 * (error / wanted).powi(2);
    Some((needed.ceil() as u64).max(super::FEWEST_FOR_MEDIAN as u64))
}

#[cfg(test)]
mod tests {
    use chance::RandomSource;

    use super::*;

    /// Pairs of load times with a common part and a tail; the second takes `factor` times as long.
    fn pairs(n: u64, factor: f64, trial: u64) -> Vec<Pair> {
        let mut stream = RandomSource::new(trial, 0).stream("statistics/power");
        let mut exponential = || -(1.0 - stream.unit()).ln();
        let pair = |_| {
            let common = 1.0 + 0.1 * exponential();
            let mut own = || common + 0.15 * exponential();
            Pair { first: own(), second: factor * own() }
        };
        (0..n).map(pair).collect()
    }

    #[test]
    fn at_least_four_of_five_experiments_of_that_size_show_the_difference() {
        let difference = 0.1;
        // The median of twenty estimates: a single one scatters.
        let mut estimates: Vec<u64> = (0..20)
            .map(|trial| pairs_for(difference, &pairs(40, 1.0, trial), 1).unwrap())
            .collect();
        estimates.sort_unstable();
        let needed = estimates[10];
        let trials = 200;
        let shown = (0..trials).filter(|trial| {
            let (_, ends) = gain(&pairs(needed, 1.0 + difference, 1000 + trial), 1).unwrap();
            ends.is_ok_and(|(_, high)| high.ratio() < 1.0)
        });
        let share = shown.count() as f64 / trials as f64;
        assert!((0.78..=0.95).contains(&share), "{needed} pairs: {share}");
    }

    #[test]
    fn half_the_difference_takes_four_times_the_pairs() {
        let pilot = pairs(40, 1.0, 7);
        let [large, small] = [0.1, 0.05].map(|it| pairs_for(it, &pilot, 1).unwrap() as f64);
        assert!((3.6..=4.1).contains(&(small / large)), "{small} {large}");
    }

    #[test]
    fn without_spread_or_interval_there_is_no_number() {
        assert_eq!(pairs_for(0.05, &[Pair { first: 1.0, second: 1.0 }; 10], 1), None);
        assert_eq!(pairs_for(0.05, &pairs(5, 1.0, 1), 1), None);
    }
}
