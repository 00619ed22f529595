//! A sample, its descriptive statistics, and percentiles by the definitions of various programs.

use statrs::distribution::{ContinuousCDF, StudentsT};
use thiserror::Error;

use super::LEVEL;

/// One or more finite values, sorted.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    sorted: Vec<f64>,
}

/// A range that covers the quantity at the level of [`LEVEL`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Reason why there is no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoInterval {
    /// All values are the same.
    #[error("no spread: every repetition is the same")]
    NoSpread,
    /// Too few values.
    #[error("needs at least {need} repetitions; you ran {have}")]
    TooFew {
        /// Number of values.
        have: usize,
        /// Minimum number.
        need: usize,
    },
}

impl Sample {
    /// The sample of `values`; `None` if there are none or one is not finite.
    pub fn new(values: impl IntoIterator<Item = f64>) -> Option<Sample> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        if sorted.is_empty() || sorted.iter().any(|v| !v.is_finite()) {
            return None;
        }
        sorted.sort_by(f64::total_cmp);
        Some(Sample { sorted })
    }

    /// The values, the smallest first.
    pub fn values(&self) -> &[f64] {
        &self.sorted
    }

    /// Returns true if the values differ at all.
    pub fn has_spread(&self) -> bool {
        self.sorted.first() != self.sorted.last()
    }

    /// The arithmetic mean.
    pub fn mean(&self) -> f64 {
        self.sorted.iter().sum::<f64>() / self.sorted.len() as f64
    }

    /// The sample standard deviation (divided by n - 1); `None` for a single value.
    pub fn standard_deviation(&self) -> Option<f64> {
        let n = self.sorted.len();
        let mean = self.mean();
        let squares: f64 = self.sorted.iter().map(|v| (v - mean) * (v - mean)).sum();
        (n > 1).then(|| (squares / (n - 1) as f64).sqrt())
    }

    /// The `q`-quantile, `q` in 0..=1, interpolated between the two nearest values (type 7 of Hyndman and Fan,
    /// "Sample quantiles in statistical packages", 1996: the default of R, NumPy and Excel).
    pub fn quantile(&self, q: f64) -> f64 {
        let place = q.clamp(0.0, 1.0) * (self.sorted.len() - 1) as f64;
        let below = place.floor() as usize;
        let above = place.ceil() as usize;
        let (low, high) = (self.sorted[below], self.sorted[above]);
        low + (high - low) * (place - below as f64)
    }

    /// The median.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Student's t interval of the mean.
    pub fn mean_interval(&self) -> Result<Interval, NoInterval> {
        let n = self.sorted.len();
        let deviation = self.standard_deviation().ok_or(NoInterval::TooFew { have: n, need: 2 })?;
        if !self.has_spread() {
            return Err(NoInterval::NoSpread);
        }
        let t = StudentsT::new(0.0, 1.0, (n - 1) as f64)
            .expect("the degrees of freedom are at least 1")
            .inverse_cdf(0.5 + LEVEL / 2.0);
        let half = t * deviation / (n as f64).sqrt();
        Ok(Interval { low: self.mean() - half, high: self.mean() + half })
    }
}

// Percentiles, by the definitions of various programs.
//
// "The 95th percentile of 20 loads" is the largest load, the second largest or something between, depending on
// the definition; studies seldom say which. The rules are numbered as in Hyndman and Fan, "Sample quantiles in
// statistical packages" (1996).

/// Definition of a percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PercentileRule {
    /// Type 1: the smallest value that at least this share of the values do not exceed (SQL's
    /// `percentile_disc`).
    NearestRank,
    /// Type 6: interpolated at `q (n + 1)` (Weibull; Minitab, SPSS, Excel's `PERCENTILE.EXC`).
    Weibull,
    /// Type 7: interpolated at `q (n - 1) + 1`, as in [`Sample::quantile`] (R, NumPy, Excel's `PERCENTILE`,
    /// SQL's `percentile_cont`).
    Linear,
    /// Type 8: interpolated at `q (n + 1/3) + 1/3`, approximately unbiased for the median of the
    /// quantile, whatever the distribution; the authors' own advice.
    MedianUnbiased,
}

impl Sample {
    /// The `q`-quantile, `q` in 0..=1, by `rule`.
    pub fn quantile_by(&self, rule: PercentileRule, q: f64) -> f64 {
        let n = self.values().len() as f64;
        let q = q.clamp(0.0, 1.0);
        match rule {
            PercentileRule::NearestRank => self.at_place((q * n).ceil()),
            PercentileRule::Weibull => self.at_place(q * (n + 1.0)),
            PercentileRule::Linear => self.at_place(q * (n - 1.0) + 1.0),
            PercentileRule::MedianUnbiased => self.at_place(q * (n + 1.0 / 3.0) + 1.0 / 3.0),
        }
    }

    /// The value at a position counted from 1, interpolated between two positions, clamped at the ends.
    fn at_place(&self, place: f64) -> f64 {
        let values = self.values();
        let place = place.clamp(1.0, values.len() as f64) - 1.0;
        let (low, high) = (values[place.floor() as usize], values[place.ceil() as usize]);
        low + (high - low) * (place - place.floor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.iter().copied()).unwrap()
    }

    #[test]
    fn quantiles_of_type_7() {
        // By hand: place = q (n - 1); 0.9 * 3 = 2.7, so 30 + 0.7 * 10.
        let four = sample(&[40.0, 10.0, 30.0, 20.0]);
        assert_eq!(four.median(), 25.0);
        assert!((four.quantile(0.9) - 37.0).abs() < 1e-12);
        assert_eq!((four.quantile(0.0), four.quantile(1.0)), (10.0, 40.0));
        assert_eq!(sample(&[5.0]).quantile(0.9), 5.0);
        assert_eq!(sample(&[1.0, 2.0, 9.0]).median(), 2.0);
    }

    #[test]
    fn mean_deviation_and_t_interval() {
        // By hand: mean 5, squares 9+1+1+1+0+0+4+16 = 32, sd = sqrt(32 / 7) = 2.13809.
        let eight = sample(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!(eight.mean(), 5.0);
        assert!((eight.standard_deviation().unwrap() - 2.138_089_935).abs() < 1e-9);
        // t(0.975, 7) = 2.364624 (tables); half = 2.364624 * 2.138090 / sqrt(8) = 1.787486.
        let interval = eight.mean_interval().unwrap();
        assert!((interval.low - 3.212_514).abs() < 1e-5, "{interval:?}");
        assert!((interval.high - 6.787_486).abs() < 1e-5, "{interval:?}");
    }

    #[test]
    fn copies_have_no_interval() {
        assert_eq!(sample(&[3.0; 10]).mean_interval(), Err(NoInterval::NoSpread));
        assert_eq!(sample(&[3.0]).mean_interval(), Err(NoInterval::TooFew { have: 1, need: 2 }));
        assert_eq!(Sample::new([]), None);
        assert_eq!(Sample::new([1.0, f64::NAN]), None);
    }

    #[test]
    fn the_95th_of_twenty_is_four_different_things() {
        let sample = Sample::new((1..=20).map(f64::from)).unwrap();
        let of = |rule| sample.quantile_by(rule, 0.95);
        assert_eq!(of(PercentileRule::NearestRank), 19.0);
        assert!((of(PercentileRule::Weibull) - 19.95).abs() < 1e-12);
        assert!((of(PercentileRule::Linear) - 19.05).abs() < 1e-12);
        assert!((of(PercentileRule::MedianUnbiased) - 19.65).abs() < 1e-12);
    }

    #[test]
    fn ends_are_ends_and_the_median_is_the_median() {
        let sample = Sample::new([4.0, 1.0, 9.0]).unwrap();
        for rule in [
            PercentileRule::NearestRank,
            PercentileRule::Weibull,
            PercentileRule::Linear,
            PercentileRule::MedianUnbiased,
        ] {
            assert_eq!(sample.quantile_by(rule, 0.0), 1.0);
            assert_eq!(sample.quantile_by(rule, 0.5), 4.0);
            assert_eq!(sample.quantile_by(rule, 1.0), 9.0);
        }
    }
}
