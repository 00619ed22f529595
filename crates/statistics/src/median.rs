//! The interval of a median from order statistics: it holds for every continuous distribution, with ten values as with a thousand.
//!
//! The `d`-th value from either end bounds the median with a probability that the binomial distribution gives; between two such pairs the ends
//! are interpolated (Hettmansperger and Sheather, "Confidence intervals based on interpolated order statistics", Statistics & Probability
//! Letters 4, 1986).

use statrs::distribution::{Binomial, DiscreteCDF};

use super::{FEWEST_FOR_MEDIAN, Interval, LEVEL, NoInterval, Sample};

/// The interval of a sample's median at the level of [`LEVEL`].
pub fn median_interval(sample: &Sample) -> Result<Interval, NoInterval> {
    median_interval_at(LEVEL, sample)
}

/// The interval of a sample's median at a level of at most 96.8 %, which six values reach.
pub(super) fn median_interval_at(level: f64, sample: &Sample) -> Result<Interval, NoInterval> {
    let (values, n) = (sample.values(), sample.values().len());
    if !sample.has_spread() && n > 1 {
        return Err(NoInterval::NoSpread);
    }
    if n < FEWEST_FOR_MEDIAN {
        return Err(NoInterval::TooFew { have: n, need: FEWEST_FOR_MEDIAN });
    }
    let OrderStatistics { depth, inwards } = OrderStatistics::of(n, level);
    let between = |outer: f64, inner: f64| outer + inwards * (inner - outer);
    Ok(Interval {
        low: between(values[depth - 1], values[depth]),
        high: between(values[n - depth], values[n - depth - 1]),
    })
}

/// The places of an interval's ends in a sorted sample.
struct OrderStatistics {
    /// Place of the outer value, counted from 1 from either end: the deepest that still reaches the level.
    depth: usize,
    /// Share of the way from there to the next value inwards.
    inwards: f64,
}

impl OrderStatistics {
    fn of(n: usize, level: f64) -> OrderStatistics {
        let below = Binomial::new(0.5, n as u64).expect("one half is a probability");
        // The probability that the values at this depth lie on either side of the median.
        let level_at = |depth: usize| 1.0 - 2.0 * below.cdf(depth as u64 - 1);
        let mut depth = 1;
        while level_at(depth + 1) >= level {
            depth += 1;
        }
        let (outer, inner) = (level_at(depth), level_at(depth + 1));
        let share = (outer - level) / (outer - inner);
        let (n, d) = (n as f64, depth as f64);
        OrderStatistics { depth, inwards: (n - d) * share / (d + (n - 2.0 * d) * share) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_a_hundred_and_one_values() {
        // Binomial: the 41st value from either end reaches 95.4 %, the 42nd 92.8 %.
        let sample = Sample::new((1..=101).map(f64::from)).unwrap();
        let interval = median_interval(&sample).unwrap();
        assert!((41.0..41.5).contains(&interval.low), "{interval:?}");
        assert!((interval.low + interval.high - 102.0).abs() < 1e-9, "{interval:?}");
    }

    #[test]
    fn few_values_or_copies_have_none() {
        let of = |values: &[f64]| median_interval(&Sample::new(values.iter().copied()).unwrap());
        assert_eq!(of(&[1.0; 10]), Err(NoInterval::NoSpread));
        assert_eq!(of(&[1.0, 2.0]), Err(NoInterval::TooFew { have: 2, need: 6 }));
        assert_eq!(of(&[1.0]), Err(NoInterval::TooFew { have: 1, need: 6 }));
    }
}
