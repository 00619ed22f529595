//! The percentile bootstrap, seeded (Efron and Tibshirani, "An introduction to the bootstrap", chapter
//! 13): draw as many values as there are, with replacement, many times; the middle 95 % of the
//! statistic's values are its interval.

use chance::RandomStream;

use super::{FEWEST_FOR_MEDIAN, Interval, LEVEL, NoInterval, RESAMPLES, Sample};

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
    stream: &mut RandomStream,
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

/// Values whose resamples' medians are wanted: sorted once, so that a resample is counted, not sorted.
pub(super) struct Resampled {
    sorted: Vec<f64>,
    /// Place of each value among the sorted ones.
    places: Vec<usize>,
}

impl Resampled {
    /// At least one value, all finite.
    pub(super) fn new(values: impl Iterator<Item = f64>) -> Resampled {
        let values: Vec<f64> = values.collect();
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        let mut places = vec![0; values.len()];
        for (place, index) in order.iter().enumerate() {
            places[*index] = place;
        }
        Resampled { sorted: order.into_iter().map(|index| values[index]).collect(), places }
    }

    /// The median of the values at `indices`, which are at least one: the same as [`Sample::median`] of them.
    pub(super) fn median(&self, indices: &[usize]) -> f64 {
        let mut counts = vec![0_u32; self.sorted.len()];
        for index in indices {
            counts[self.places[*index]] += 1;
        }
        let middle = [(indices.len() - 1) / 2, indices.len() / 2];
        let (mut passed, mut place) = (0, 0);
        let [low, high] = middle.map(|wanted| {
            while passed + counts[place] as usize <= wanted {
                passed += counts[place] as usize;
                place += 1;
            }
            self.sorted[place]
        });
        low + (high - low) * 0.5
    }
}

// Intervals and percentiles as the studies computed them, regardless of their merit: to compare like with
// like. Our own conclusions come from [`Sample::mean_interval`] and the bootstrap.

/// The 97.5 % point of the normal distribution, as printed in bth2013, section 6.
const NORMAL_975: f64 = 1.96;

/// bth2013's "95 % confidence interval": mean ± 1.96 s / √N. With its N = 5 it covers the mean of normal
/// values with 87.8 % only (Student's factor would be 2.776).
pub fn normal_interval(sample: &Sample) -> Result<Interval, NoInterval> {
    let half = normal_half_width(sample)?;
    Ok(Interval { low: sample.mean() - half, high: sample.mean() + half })
}

/// bth2013's "relative confidence interval": half of that interval's width in per cent of the mean.
pub fn relative_interval_percent(sample: &Sample) -> Result<f64, NoInterval> {
    Ok(100.0 * normal_half_width(sample)? / sample.mean())
}

fn normal_half_width(sample: &Sample) -> Result<f64, NoInterval> {
    let n = sample.values().len();
    let deviation = sample.standard_deviation();
    let deviation = deviation.ok_or(NoInterval::TooFew { have: n, need: 2 })?;
    match sample.has_spread() {
        true => Ok(NORMAL_975 * deviation / (n as f64).sqrt()),
        false => Err(NoInterval::NoSpread),
    }
}

/// cardaci2015's page load time of a configuration: the 95th percentile of each site's loads, averaged
/// over the sites (section 5.1; which percentile of 20 loads is not stated: type 7). `None` without sites.
pub fn mean_of_95th_percentiles(sites: &[Sample]) -> Option<f64> {
    Sample::new(sites.iter().map(|loads| loads.quantile(0.95))).map(|sites| sites.mean())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_the_studys_table() {
        // Table C.3 at 50 ms: 3.51 s, s = 0.37 s, 9.24 %. Five values with that mean and deviation.
        let unit = 0.37 / 0.625_f64.sqrt();
        let five = Sample::new([-1.0, -0.5, 0.0, 0.5, 1.0].map(|v| 3.51 + v * unit)).unwrap();
        assert!((five.standard_deviation().unwrap() - 0.37).abs() < 1e-12);
        assert!((relative_interval_percent(&five).unwrap() - 9.24).abs() < 5e-3);
        let interval = normal_interval(&five).unwrap();
        assert!((interval.low - (3.51 - 0.3243)).abs() < 1e-4);
        assert!((interval.high - (3.51 + 0.3243)).abs() < 1e-4);
    }

    #[test]
    fn medians_of_resamples_are_those_of_samples() {
        let mut stream = chance::RandomSource::new(3, 0).stream("statistics/resampled");
        for n in [1, 2, 5, 6, 40] {
            let values: Vec<f64> = (0..n).map(|_| (stream.unit() * 10.0).floor() / 3.0).collect();
            let resampled = Resampled::new(values.iter().copied());
            for _ in 0..50 {
                let indices: Vec<usize> = (0..n).map(|_| stream.below(n as u64) as usize).collect();
                let sample = Sample::new(indices.iter().map(|index| values[*index])).unwrap();
                assert_eq!(resampled.median(&indices), sample.median(), "{values:?} {indices:?}");
            }
        }
    }

    #[test]
    fn percentiles_are_averaged_over_sites() {
        let site = |factor: f64| Sample::new((1..=20).map(|i| f64::from(i) * factor)).unwrap();
        let mean = mean_of_95th_percentiles(&[site(1.0), site(3.0)]).unwrap();
        assert!((mean - 2.0 * 19.05).abs() < 1e-9);
        assert_eq!(mean_of_95th_percentiles(&[]), None);
    }

    #[test]
    fn copies_and_single_values_have_none() {
        let sample = |values: &[f64]| Sample::new(values.iter().copied()).unwrap();
        assert_eq!(normal_interval(&sample(&[1.0; 5])), Err(NoInterval::NoSpread));
        let single = relative_interval_percent(&sample(&[1.0]));
        assert_eq!(single, Err(NoInterval::TooFew { have: 1, need: 2 }));
    }
}
