//! A straight line through points, by least squares, with Student's t intervals of its parameters
//! (Draper and Smith, "Applied regression analysis", chapter 1).

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{Interval, LEVEL};

/// A straight line, with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
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

impl Line {
    /// The line through `points` (x, y); `None` with fewer than three, where all lie at one x, or with
    /// values that are not finite.
    pub fn fit(points: &[(f64, f64)]) -> Option<Line> {
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
        Some(Line {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_by_hand() {
        // Means 2 and 2; xx = 2, xy = 1, so 0.5 and 1; residuals 0.5, -1, 0.5: 1.5 of yy = 2.
        let line = Line::fit(&[(1.0, 2.0), (2.0, 1.0), (3.0, 3.0)]).unwrap();
        assert!((line.slope - 0.5).abs() < 1e-12 && (line.intercept - 1.0).abs() < 1e-12);
        assert!((line.r_squared - 0.25).abs() < 1e-12);
        assert!((line.at(4.0) - 3.0).abs() < 1e-12);
        // Error sqrt(1.5 / 1 / 2) = 0.866025; t(0.975, 1) = 12.7062.
        assert!((line.slope_interval.high - (0.5 + 12.7062 * 0.866_025)).abs() < 1e-3);
    }

    #[test]
    fn points_on_a_line_leave_nothing() {
        let line = Line::fit(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0), (3.0, 7.0)]).unwrap();
        assert_eq!((line.slope, line.intercept, line.r_squared), (2.0, 1.0, 1.0));
        assert_eq!(line.slope_interval, Interval { low: 2.0, high: 2.0 });
        let flat = Line::fit(&[(0.0, 4.0), (1.0, 4.0), (2.0, 4.0)]).unwrap();
        assert_eq!((flat.slope, flat.r_squared), (0.0, 1.0));
    }

    #[test]
    fn what_is_no_line() {
        assert_eq!(Line::fit(&[(0.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(Line::fit(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(Line::fit(&[(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0)]), None);
    }
}
