//! Statistics that summarize a cell's repetitions.

use scenario::choice;
use statistics::{Sample, relative_interval_percent};

choice! {
    /// A statistic of a sample.
    pub enum Statistic, "statistic" {
        /// The arithmetic mean.
        Mean = "mean",
        /// The median.
        Median = "median",
        /// The 95th percentile, type 7.
        P95 = "p95",
        /// The least.
        Least = "least",
        /// The greatest.
        Most = "most",
        /// The greatest less the least.
        Spread = "spread",
        /// Standard deviation over mean, in per cent.
        Variation = "cv",
        /// Interquartile range over the median, in per cent.
        QuartileDistance = "iqr",
        /// Half of the 95 % interval, as bth2013 computed it, over the mean, in per cent; 0 without spread.
        RelativeInterval = "ci",
    }
    not_yet {}
}

impl Statistic {
    /// Its value; `None` if the sample is too small.
    pub fn of(self, sample: &Sample) -> Option<f64> {
        let values = sample.values();
        let (least, most) = (values[0], values[values.len() - 1]);
        match self {
            Statistic::Mean => Some(sample.mean()),
            Statistic::Median => Some(sample.median()),
            Statistic::P95 => Some(sample.quantile(0.95)),
            Statistic::Least => Some(least),
            Statistic::Most => Some(most),
            Statistic::Spread => Some(most - least),
            Statistic::Variation => Some(100.0 * sample.standard_deviation()? / sample.mean()),
            Statistic::QuartileDistance => {
                Some(100.0 * (sample.quantile(0.75) - sample.quantile(0.25)) / sample.median())
            }
            Statistic::RelativeInterval if !sample.has_spread() => Some(0.0),
            Statistic::RelativeInterval => relative_interval_percent(sample).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_sample_by_hand() {
        let sample = Sample::new([1.0, 2.0, 3.0, 4.0, 10.0]).unwrap();
        let near = |statistic: Statistic, expected: f64| {
            let value = statistic.of(&sample).unwrap();
            assert!((value - expected).abs() < 1e-6, "{statistic}: {value}");
        };
        near(Statistic::Mean, 4.0);
        near(Statistic::Median, 3.0);
        near(Statistic::Spread, 9.0);
        // s = sqrt((9 + 4 + 1 + 0 + 36) / 4) = 3.535534; 1.96 s / sqrt(5) / 4 = 77.4758 %.
        near(Statistic::Variation, 88.388_348);
        near(Statistic::QuartileDistance, 200.0 / 3.0);
        near(Statistic::RelativeInterval, 77.475_803);
        near(Statistic::P95, 8.8);
    }

    #[test]
    fn copies_and_single_values() {
        let single = Sample::new([2.0]).unwrap();
        assert_eq!(Statistic::Variation.of(&single), None);
        assert_eq!(Statistic::RelativeInterval.of(&Sample::new([2.0; 3]).unwrap()), Some(0.0));
    }
}
