//! Correlation of two lists of values, ranks, and a straight line through points.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{Interval, LEVEL, Sample};

/// Pearson's product-moment correlation; `None` with fewer than three pairs or where one list is constant.
///
/// # Panics
/// If the lists differ in length: their values are pairs.
pub fn pearson(first: &[f64], second: &[f64]) -> Option<f64> {
    assert_eq!(first.len(), second.len(), "correlated values come in pairs");
    if first.len() < FEWEST {
        return None;
    }
    let centred = |values: &[f64]| -> Option<Vec<f64>> {
        let mean = Sample::new(values.iter().copied())?.mean();
        Some(values.iter().map(|v| v - mean).collect())
    };
    let (first, second) = (centred(first)?, centred(second)?);
    let products = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let scale = (products(&first, &first) * products(&second, &second)).sqrt();
    (scale > 0.0).then(|| (products(&first, &second) / scale).clamp(-1.0, 1.0))
}

/// Spearman's rank correlation: Pearson's of the ranks, equal values sharing the mean of theirs.
///
/// # Panics
/// If the lists differ in length.
pub fn spearman(first: &[f64], second: &[f64]) -> Option<f64> {
    pearson(&ranks(first), &ranks(second))
}

/// With two pairs either correlation is 1 or -1, whatever the values.
const FEWEST: usize = 3;

// A straight line through points, by least squares, with Student's t intervals of its parameters
// (Draper and Smith, "Applied regression analysis", chapter 1).

/// A straight line, with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RegressionLine {
    /// Increase of y per unit of x.
    pub slope: f64,
    /// y at x = 0.
    pub intercept: f64,
    /// The share of y's variance that the line explains; 1 where y does not vary.
    pub r_squared: f64,
    /// Interval of the slope at the level of [`LEVEL`].
    pub slope_interval: Interval,
    /// Interval of the intercept, likewise.
    pub intercept_interval: Interval,
}

impl RegressionLine {
    /// The line through `points` (x, y); `None` with fewer than three, where all lie at one x, or with
    /// values that are not finite.
    pub fn fit(points: &[(f64, f64)]) -> Option<RegressionLine> {
        let n = points.len() as f64;
        if points.len() < 3 || points.iter().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
            return None;
        }
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (x_mean, y_mean) = (mean(|p| p.0), mean(|p| p.1));
        let sum = |term: &dyn Fn(f64, f64) -> f64| {
            points.iter().map(|(x, y)| term(x - x_mean, y - y_mean)).sum::<f64>()
        };
        let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
        if xx == 0.0 {
            return None;
        }
        let slope = xy / xx;
        let left = sum(&|x, y| (y - slope * x) * (y - slope * x));
        let slope_error = (left / (n - 2.0) / xx).sqrt();
        let intercept = y_mean - slope * x_mean;
        let intercept_error = slope_error * (xx / n + x_mean * x_mean).sqrt();
        let t = StudentsT::new(0.0, 1.0, n - 2.0)
            .expect("three points leave a degree of freedom")
            .inverse_cdf(0.5 + LEVEL / 2.0);
        let around =
            |value: f64, error: f64| Interval { low: value - t * error, high: value + t * error };
        Some(RegressionLine {
            slope,
            intercept,
            r_squared: if yy == 0.0 { 1.0 } else { 1.0 - left / yy },
            slope_interval: around(slope, slope_error),
            intercept_interval: around(intercept, intercept_error),
        })
    }

    /// y at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}

/// The rank of each value, from 1; equal values share the mean of their ranks ("midranks").
pub(super) fn ranks(values: &[f64]) -> Vec<f64> {
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equals in ordered(values).chunk_by(|a, b| values[*a] == values[*b]) {
        let shared = before as f64 + (equals.len() + 1) as f64 / 2.0;
        equals.iter().for_each(|index| ranks[*index] = shared);
        before += equals.len();
    }
    ranks
}

/// The size of each group of equal values, in order; a single value is a group of 1.
pub(super) fn ties(values: &[f64]) -> Vec<usize> {
    ordered(values).chunk_by(|a, b| values[*a] == values[*b]).map(<[usize]>::len).collect()
}

/// The indices of the values in ascending order of value.
fn ordered(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlations_by_hand() {
        // Means 2 and 3, so -1 0 1 and -2 -1 3: products 2 + 0 + 3 = 5,
        // squares 2 and 14: 5 / sqrt(28) = 0.944911.
        let (x, y) = ([1.0, 2.0, 3.0], [1.0, 2.0, 6.0]);
        assert!((pearson(&x, &y).unwrap() - 0.944_911_183).abs() < 1e-9);
        assert_eq!(spearman(&x, &y), Some(1.0));
        // Ranks 1 2 3 4 and 2 1 4 3: 1 - 6 * (1 + 1 + 1 + 1) / (4 * 15) = 0.6.
        let (x, y) = ([1.0, 2.0, 3.0, 4.0], [20.0, 10.0, 40.0, 30.0]);
        assert!((spearman(&x, &y).unwrap() - 0.6).abs() < 1e-12);
    }

    #[test]
    fn too_little_to_tell() {
        assert_eq!(pearson(&[1.0, 2.0], &[1.0, 2.0]), None);
        assert_eq!(pearson(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(spearman(&[], &[]), None);
    }

    #[test]
    fn a_line_by_hand() {
        // Means 2 and 2; xx = 2, xy = 1, so 0.5 and 1; residuals 0.5, -1, 0.5: 1.5 of yy = 2.
        let line = RegressionLine::fit(&[(1.0, 2.0), (2.0, 1.0), (3.0, 3.0)]).unwrap();
        assert!((line.slope - 0.5).abs() < 1e-12 && (line.intercept - 1.0).abs() < 1e-12);
        assert!((line.r_squared - 0.25).abs() < 1e-12);
        assert!((line.at(4.0) - 3.0).abs() < 1e-12);
        // Error sqrt(1.5 / 1 / 2) = 0.866025; t(0.975, 1) = 12.7062.
        assert!((line.slope_interval.high - (0.5 + 12.7062 * 0.866_025)).abs() < 1e-3);
    }

    #[test]
    fn points_on_a_line_leave_nothing() {
        let line = RegressionLine::fit(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0), (3.0, 7.0)]).unwrap();
        assert_eq!((line.slope, line.intercept, line.r_squared), (2.0, 1.0, 1.0));
        assert_eq!(line.slope_interval, Interval { low: 2.0, high: 2.0 });
        let flat = RegressionLine::fit(&[(0.0, 4.0), (1.0, 4.0), (2.0, 4.0)]).unwrap();
        assert_eq!((flat.slope, flat.r_squared), (0.0, 1.0));
    }

    #[test]
    fn what_is_no_line() {
        assert_eq!(RegressionLine::fit(&[(0.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(RegressionLine::fit(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(RegressionLine::fit(&[(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0)]), None);
    }

    #[test]
    fn ranks_of_equals_are_shared() {
        assert_eq!(ranks(&[10.0, 30.0, 20.0, 30.0]), [1.0, 3.5, 2.0, 3.5]);
        assert_eq!(ties(&[10.0, 30.0, 20.0, 30.0]), [1, 1, 2]);
        assert!(ranks(&[]).is_empty() && ties(&[]).is_empty());
    }
}
