//! Values of expressions: one number, or numbers at the positions of a grid.

use super::{ClauseError, Dataset, Expression, Function, Resample, Tree};
use statistics::{RegressionLine, crossing, spearman};

/// A position on a grid: a curve, and an x on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridPosition {
    /// The curve: an index into [`Dataset::cases`].
    pub case: usize,
    /// The value on the grid's axis; 0 without an axis.
    pub x: f64,
}

/// Numbers at positions, in order.
pub type Series = Vec<(GridPosition, f64)>;

/// Value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A single number.
    Number(f64),
    /// Numbers at several positions.
    Series(Series),
}

impl Value {
    /// Applies `f` to every number.
    #[must_use]
    pub fn map(self, f: impl Fn(f64) -> f64) -> Value {
        match self {
            Value::Number(number) => Value::Number(f(number)),
            Value::Series(points) => {
                Value::Series(points.into_iter().map(|(at, y)| (at, f(y))).collect())
            }
        }
    }

    /// Applies `f` to both at their common positions; a single number applies everywhere.
    #[must_use]
    pub fn zip(self, other: Value, f: impl Fn(f64, f64) -> f64) -> Value {
        match (self, other) {
            (one, Value::Number(b)) => one.map(|a| f(a, b)),
            (Value::Number(a), other) => other.map(|b| f(a, b)),
            (Value::Series(one), Value::Series(other)) => {
                let at_both = one.into_iter().filter_map(|(at, a)| {
                    let (_, b) = other.iter().find(|(there, _)| *there == at)?;
                    Some((at, f(a, *b)))
                });
                Value::Series(at_both.collect())
            }
        }
    }

    /// Its points; a single number lies at the first position.
    pub fn points(self) -> Series {
        match self {
            Value::Series(points) => points,
            Value::Number(number) => vec![(GridPosition { case: 0, x: 0.0 }, number)],
        }
    }

    /// Its numbers.
    pub fn numbers(self) -> Vec<f64> {
        self.points().into_iter().map(|(_, y)| y).collect()
    }

    /// Its only number; the count of numbers if there are several.
    fn single(self) -> Result<f64, usize> {
        match &self.numbers()[..] {
            [number] => Ok(*number),
            several => Err(several.len()),
        }
    }
}

/// The value of `expression` in a resample.
pub fn value(
    expression: &Expression,
    dataset: &Dataset,
    resample: &Resample,
) -> Result<Value, ClauseError> {
    match tree(expression.tree(), dataset, resample)? {
        Value::Series(points) if points.is_empty() => Err(ClauseError::Invalid(format!(
            "`{expression}` is nowhere: its parts have no place in common"
        ))),
        value => Ok(value),
    }
}

/// The value of an expression that is a single number.
pub fn number(
    expression: &Expression,
    dataset: &Dataset,
    resample: &Resample,
) -> Result<f64, ClauseError> {
    value(expression, dataset, resample)?.single().map_err(|count| {
        ClauseError::Invalid(format!("`{expression}` has {count} numbers where one is needed: take its median, or judge by case"))
    })
}

fn tree(it: &Tree, dataset: &Dataset, resample: &Resample) -> Result<Value, ClauseError> {
    match it {
        Tree::Number(number) => Ok(Value::Number(*number)),
        Tree::Leaf(leaf) => Ok(dataset.value(leaf, resample)),
        Tree::Binary(operator, a, b) => {
            let (a, b) = (tree(a, dataset, resample)?, tree(b, dataset, resample)?);
            Ok(a.zip(b, |a, b| operator.apply(a, b)))
        }
        Tree::Call(function, arguments) => {
            let values = arguments.iter().map(|argument| tree(argument, dataset, resample));
            let values = values.collect::<Result<Vec<Value>, ClauseError>>()?;
            let is_empty = matches!(values.last(), Some(Value::Series(it)) if it.is_empty());
            call(*function, values, dataset).ok_or_else(|| match is_empty {
                true => ClauseError::TooFewLoads(function.to_string()),
                false => ClauseError::Invalid(format!(
                    "`{function}` has too little to be taken of, or too much"
                )),
            })
        }
    }
}

/// The value of a function; `None` if there are too few points, or several where it needs one.
fn call(function: Function, mut arguments: Vec<Value>, dataset: &Dataset) -> Option<Value> {
    let last = arguments.pop()?;
    let mut first = arguments.into_iter();
    let mut next = || first.next();
    let mut next_number = || next()?.single().ok();
    let number = match function {
        Function::Abs => return Some(last.map(f64::abs)),
        Function::Ln => return Some(last.map(libm::log)),
        Function::From => {
            let (low, high) = (next_number()?, next_number()?);
            let mut points = last.points();
            points.retain(|(at, _)| (low..=high).contains(&at.x));
            return Some(Value::Series(points));
        }
        Function::Least => {
            return Some(first.fold(last, |least, other| least.zip(other, f64::min)));
        }
        Function::Across => return Some(Value::Series(across(last.points()))),
        Function::AlongLog => {
            let log = |(at, y): (GridPosition, f64)| (GridPosition { x: libm::log(at.x), ..at }, y);
            return Some(Value::Series(last.points().into_iter().map(log).collect()));
        }
        Function::Crossovers => return by_case(leads(next()?, last), dataset, crossover),
        Function::Medians => {
            return by_case(last.points(), dataset, |it| median(&Value::Series(it).numbers()));
        }
        Function::Means => {
            return by_case(last.points(), dataset, |it| mean(&Value::Series(it).numbers()));
        }
        Function::Median => median(&last.numbers())?,
        Function::Mean => mean(&last.numbers())?,
        Function::Min => last.numbers().into_iter().reduce(f64::min)?,
        Function::Max => last.numbers().into_iter().reduce(f64::max)?,
        Function::At => {
            let x = next_number()?;
            let mut points = last.points();
            points.retain(|(at, _)| at.x == x);
            Value::Series(points).single().ok()?
        }
        Function::Slope => line(&last.points())?.slope,
        Function::RSquared => line(&last.points())?.r_squared,
        Function::Correlation => {
            let first = next()?;
            // Both series at their common positions.
            let (x, y) = (first.clone().zip(last.clone(), |x, _| x), first.zip(last, |_, y| y));
            spearman(&x.numbers(), &y.numbers()).unwrap_or(0.0)
        }
        Function::Above => {
            let limit = next_number()?;
            last.numbers().into_iter().filter(|y| *y > limit).count() as f64
        }
        Function::Share => {
            let (low, high) = (next_number()?, next_number()?);
            let numbers = last.numbers();
            let within = numbers.iter().filter(|y| (low..=high).contains(*y)).count();
            percent(within, numbers.len())
        }
        Function::Crossover => crossover(leads(next()?, last))?,
    };
    Some(Value::Number(number))
}

/// The line through points.
pub fn line(points: &[(GridPosition, f64)]) -> Option<RegressionLine> {
    RegressionLine::fit(&points.iter().map(|(at, y)| (at.x, *y)).collect::<Vec<_>>())
}

/// The rank correlation of points with their x.
pub fn rank_correlation(points: &[(GridPosition, f64)]) -> Option<f64> {
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().map(|(at, y)| (at.x, *y)).unzip();
    spearman(&x, &y)
}

/// The median of numbers, of which some may be infinite; NaN if one is NaN.
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

fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// The share of `count` in `all`, in per cent.
pub fn percent(count: usize, all: usize) -> f64 {
    100.0 * count as f64 / all.max(1) as f64
}

/// The mean of all curves, position by position.
fn across(mut points: Series) -> Series {
    points.sort_by(|(a, _), (b, _)| a.x.total_cmp(&b.x));
    let same_x = points.chunk_by(|(a, _), (b, _)| a.x == b.x);
    let middle = |points: &[(GridPosition, f64)]| {
        let sum: f64 = points.iter().map(|(_, y)| y).sum();
        (GridPosition { case: 0, x: points[0].0.x }, sum / points.len() as f64)
    };
    same_x.map(middle).collect()
}

/// The amount by which the first lies below the second.
pub fn leads(first: Value, second: Value) -> Series {
    second.zip(first, |second, first| second - first).points()
}

/// A number for each curve, over the value that tells the curves apart, or over their numbers.
fn by_case(points: Series, dataset: &Dataset, of: impl Fn(Series) -> Option<f64>) -> Option<Value> {
    let curve = |(case, label): (usize, &String)| {
        let own = points.iter().filter(|(at, _)| at.case == case).copied().collect();
        let x = label.parse().unwrap_or(case as f64);
        Some((GridPosition { case: 0, x }, of(own)?))
    };
    dataset.cases().iter().enumerate().map(curve).collect::<Option<Series>>().map(Value::Series)
}

/// The x from which a lead stays positive, infinite if it never does; `None` for several curves or none.
pub fn crossover(leads: Series) -> Option<f64> {
    let is_one_curve = leads.windows(2).all(|pair| pair[0].0.x < pair[1].0.x);
    let leads: Vec<(f64, f64)> = leads.iter().map(|(at, lead)| (at.x, *lead)).collect();
    (is_one_curve && !leads.is_empty())
        .then(|| crossing(&leads).map_or(f64::INFINITY, |crossing| crossing.at))
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
