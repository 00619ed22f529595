//! Percentiles, by the definitions of various programs.
//!
//! "The 95th percentile of 20 loads" is the largest load, the second largest or something between, depending on
//! the definition; studies seldom say which. The rules are numbered as in Hyndman and Fan, "Sample quantiles in
//! statistical packages" (1996).

use super::Sample;

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
