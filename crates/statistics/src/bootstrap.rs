//! The percentile bootstrap, seeded (Efron and Tibshirani, "An introduction to the bootstrap", chapter
//! 13): draw as many values as there are, with replacement, many times; the middle 95 % of the
//! statistic's values are its interval.

use chance::{Source, Stream};

use super::{FEWEST_FOR_MEDIAN, Interval, LEVEL, NoInterval, RESAMPLES, Sample};

/// The interval of a sample's median.
pub fn median_interval(sample: &Sample, seed: u64) -> Result<Interval, NoInterval> {
    let values = sample.values();
    if !sample.has_spread() && values.len() > 1 {
        return Err(NoInterval::NoSpread);
    }
    enough(values.len())?;
    let mut stream = Source::new(seed, 0).stream("statistics/bootstrap/median");
    Ok(interval(values.len(), &mut stream, |indices| median(indices.iter().map(|i| values[*i]))))
}

/// Refuses fewer values than a median's interval needs.
pub(super) fn enough(have: usize) -> Result<(), NoInterval> {
    match have < FEWEST_FOR_MEDIAN {
        true => Err(NoInterval::TooFew { have, need: FEWEST_FOR_MEDIAN }),
        false => Ok(()),
    }
}

/// The interval of `statistic` over samples of `n` indices.
pub(super) fn interval(
    n: usize,
    stream: &mut Stream,
    statistic: impl Fn(&[usize]) -> f64,
) -> Interval {
    let mut indices = vec![0; n];
    let drawn = (0..RESAMPLES).map(|_| {
        indices.fill_with(|| stream.below(n as u64) as usize);
        statistic(&indices)
    });
    let drawn = Sample::new(drawn).expect("finite values have finite statistics");
    let tail = (1.0 - LEVEL) / 2.0;
    Interval { low: drawn.quantile(tail), high: drawn.quantile(1.0 - tail) }
}

/// The median of one resample.
pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    Sample::new(values).expect("a resample has values, all finite").median()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_lies_around_the_median_and_repeats_itself() {
        let sample = Sample::new((0..101).map(f64::from)).unwrap();
        let interval = median_interval(&sample, 1).unwrap();
        assert_eq!(interval, median_interval(&sample, 1).unwrap());
        // The order statistics 41 and 61 of 101 bound the median at 95 % (binomial): 40 and 60 here.
        assert!((interval.low - 40.0).abs() <= 2.0, "{interval:?}");
        assert!((interval.high - 60.0).abs() <= 2.0, "{interval:?}");
    }

    #[test]
    fn few_values_or_copies_have_none() {
        let of = |values: &[f64]| median_interval(&Sample::new(values.iter().copied()).unwrap(), 1);
        assert_eq!(of(&[1.0; 10]), Err(NoInterval::NoSpread));
        assert_eq!(of(&[1.0, 2.0]), Err(NoInterval::TooFew { have: 2, need: 6 }));
        assert_eq!(of(&[1.0]), Err(NoInterval::TooFew { have: 1, need: 6 }));
    }
}
