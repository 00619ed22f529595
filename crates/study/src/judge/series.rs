//! Numbers at the places of a grid.

use statistics::{Line, spearman};

/// A place on a grid: a curve, and an x on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The curve: an index into [`Frame::cases`](super::Frame::cases).
    pub case: usize,
    /// The value on the grid's axis; 0 without an axis.
    pub x: f64,
}

/// One number, or a number at each of several places, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A single number.
    Number(f64),
    /// Numbers at several places.
    Series(Vec<(Place, f64)>),
}

impl Value {
    /// Applies `f` to every number.
    #[must_use]
    pub fn map(self, f: impl Fn(f64) -> f64) -> Value {
        match self {
            Value::Number(number) => Value::Number(f(number)),
            Value::Series(points) => {
                Value::Series(points.into_iter().map(|(place, y)| (place, f(y))).collect())
            }
        }
    }

    /// Applies `f` to both place by place, at their common places; a single number applies everywhere.
    #[must_use]
    pub fn zip(self, other: Value, f: impl Fn(f64, f64) -> f64) -> Value {
        match (self, other) {
            (one, Value::Number(b)) => one.map(|a| f(a, b)),
            (Value::Number(a), other) => other.map(|b| f(a, b)),
            (Value::Series(one), Value::Series(other)) => Value::Series(
                one.into_iter()
                    .filter_map(|(place, a)| {
                        let (_, b) = other.iter().find(|(there, _)| *there == place)?;
                        Some((place, f(a, *b)))
                    })
                    .collect(),
            ),
        }
    }

    /// Its points; a single number lies at the first place.
    pub fn points(self) -> Vec<(Place, f64)> {
        match self {
            Value::Series(points) => points,
            Value::Number(number) => vec![(Place { case: 0, x: 0.0 }, number)],
        }
    }

    /// Its numbers.
    pub fn numbers(self) -> Vec<f64> {
        self.points().into_iter().map(|(_, y)| y).collect()
    }
}

/// The line through points.
pub fn line(points: &[(Place, f64)]) -> Option<Line> {
    Line::fit(&points.iter().map(|(place, y)| (place.x, *y)).collect::<Vec<_>>())
}

/// The rank correlation of points with their x.
pub fn rank_correlation(points: &[(Place, f64)]) -> Option<f64> {
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().map(|(place, y)| (place.x, *y)).unzip();
    spearman(&x, &y)
}

/// The median of numbers, of which some may be infinite; `None` if one is NaN.
pub fn median(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        _ if sorted.iter().any(|number| number.is_nan()) => Some(f64::NAN),
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The share of `count` in `all`, in per cent.
pub fn percent(count: usize, all: usize) -> f64 {
    100.0 * count as f64 / all.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_with_crossovers_that_never_come() {
        let never = f64::INFINITY;
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[1.0, 2.0, never, 3.0]), Some(2.5));
        assert_eq!(median(&[never, 1.0, never]), Some(never));
        assert_eq!(median(&[]), None);
        assert!(median(&[1.0, f64::NAN]).unwrap().is_nan());
    }
}
