//! An expression's value in a draw.

use super::series::{self, Place, Value};
use super::{Draw, Expression, Fault, Frame, Function, Tree};
use statistics::{crossing, spearman};

/// The value of `expression` in a draw.
///
/// # Errors
/// If it uses several numbers where one is required, or nothing is left of a series.
pub fn value(expression: &Expression, frame: &Frame, draw: &Draw) -> Result<Value, Fault> {
    let value = tree(expression.tree(), frame, draw)?;
    match &value {
        Value::Series(points) if points.is_empty() => Err(Fault::Clause(format!(
            "`{expression}` is nowhere: its parts have no place in common"
        ))),
        _ => Ok(value),
    }
}

/// The value of an expression that is a single number.
///
/// # Errors
/// If it is several numbers.
pub fn number(expression: &Expression, frame: &Frame, draw: &Draw) -> Result<f64, Fault> {
    let value = value(expression, frame, draw)?;
    single(value).map_err(|count| {
        Fault::Clause(format!("`{expression}` has {count} numbers where one is needed: take its median, or judge by case"))
    })
}

fn single(value: Value) -> Result<f64, usize> {
    match value {
        Value::Number(number) => Ok(number),
        Value::Series(points) => match points.as_slice() {
            [(_, y)] => Ok(*y),
            several => Err(several.len()),
        },
    }
}

fn tree(it: &Tree, frame: &Frame, draw: &Draw) -> Result<Value, Fault> {
    match it {
        Tree::Number(number) => Ok(Value::Number(*number)),
        Tree::Leaf(leaf) => Ok(frame.value(leaf, draw)),
        Tree::Both(operator, a, b) => {
            let (a, b) = (tree(a, frame, draw)?, tree(b, frame, draw)?);
            Ok(a.zip(b, |a, b| operator.apply(a, b)))
        }
        Tree::Call(function, arguments) => {
            let values: Result<Vec<Value>, Fault> =
                arguments.iter().map(|argument| tree(argument, frame, draw)).collect();
            let values = values?;
            let is_empty =
                matches!(values.last(), Some(Value::Series(points)) if points.is_empty());
            call(*function, values, frame).ok_or_else(|| match is_empty {
                true => Fault::Nothing(function.to_string()),
                false => Fault::Clause(format!(
                    "`{function}` has too little to be taken of, or too much"
                )),
            })
        }
    }
}

/// The value of a function; `None` if there are too few points, or several where it needs one.
fn call(function: Function, mut arguments: Vec<Value>, frame: &Frame) -> Option<Value> {
    let last = arguments.pop()?;
    let mut first = arguments.into_iter();
    let mut next = || first.next();
    let number = |value: Value| single(value).ok();
    Some(match function {
        Function::Abs => last.map(f64::abs),
        Function::Ln => last.map(libm::log),
        Function::Median => Value::Number(series::median(&last.numbers())?),
        Function::Mean => Value::Number(mean(&last.numbers())?),
        Function::Min => Value::Number(last.numbers().into_iter().reduce(f64::min)?),
        Function::Max => Value::Number(last.numbers().into_iter().reduce(f64::max)?),
        Function::At => {
            let x = number(next()?)?;
            let mut points = last.points();
            points.retain(|(place, _)| place.x == x);
            Value::Number(number(Value::Series(points))?)
        }
        Function::From => {
            let (low, high) = (number(next()?)?, number(next()?)?);
            let mut points = last.points();
            points.retain(|(place, _)| (low..=high).contains(&place.x));
            Value::Series(points)
        }
        Function::Least => first.fold(last, |least, other| least.zip(other, f64::min)),
        Function::Slope => Value::Number(series::line(&last.points())?.slope),
        Function::RSquared => Value::Number(series::line(&last.points())?.r_squared),
        Function::RankCorrelation => {
            Value::Number(series::rank_correlation(&last.points()).unwrap_or(0.0))
        }
        Function::Correlation => {
            let first = next()?;
            // Both series at their common places.
            let (x, y) = (first.clone().zip(last.clone(), |x, _| x), first.zip(last, |_, y| y));
            Value::Number(spearman(&x.numbers(), &y.numbers()).unwrap_or(0.0))
        }
        Function::Above => {
            let limit = number(next()?)?;
            let above = last.numbers().into_iter().filter(|y| *y > limit).count();
            Value::Number(above as f64)
        }
        Function::Share => {
            let (low, high) = (number(next()?)?, number(next()?)?);
            let numbers = last.numbers();
            let within = numbers.iter().filter(|y| (low..=high).contains(*y)).count();
            Value::Number(series::percent(within, numbers.len()))
        }
        Function::Crossover => Value::Number(crossover(leads(next()?, last))?),
        Function::Crossovers => of_curves(leads(next()?, last), frame, crossover)?,
        Function::Medians => of_curves(last.points(), frame, |points| {
            series::median(&points.into_iter().map(|(_, y)| y).collect::<Vec<_>>())
        })?,
        Function::Means => of_curves(last.points(), frame, |points| {
            let numbers: Vec<f64> = points.into_iter().map(|(_, y)| y).collect();
            mean(&numbers)
        })?,
        Function::Across => Value::Series(across(last.points())),
        Function::AlongLog => {
            let log = |(Place { case, x }, y)| (Place { case, x: libm::log(x) }, y);
            Value::Series(last.points().into_iter().map(log).collect())
        }
    })
}

fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// The mean of all curves at each x, in its order.
fn across(mut points: Vec<(Place, f64)>) -> Vec<(Place, f64)> {
    points.sort_by(|(a, _), (b, _)| a.x.total_cmp(&b.x));
    let same_x = points.chunk_by(|(a, _), (b, _)| a.x == b.x);
    let middle = |points: &[(Place, f64)]| {
        let sum: f64 = points.iter().map(|(_, y)| y).sum();
        (Place { case: 0, x: points[0].0.x }, sum / points.len() as f64)
    };
    same_x.map(middle).collect()
}

/// The lead of the first over the second: second less first.
fn leads(first: Value, second: Value) -> Vec<(Place, f64)> {
    second.zip(first, |second, first| second - first).points()
}

/// A number for each curve, over the fact that tells curves apart: its number, or else the curve's index.
fn of_curves(
    points: Vec<(Place, f64)>,
    frame: &Frame,
    of: impl Fn(Vec<(Place, f64)>) -> Option<f64>,
) -> Option<Value> {
    let curve = |(case, label): (usize, &String)| {
        let own: Vec<(Place, f64)> =
            points.iter().filter(|(place, _)| place.case == case).copied().collect();
        let x = label.parse().unwrap_or(case as f64);
        Some((Place { case: 0, x }, of(own)?))
    };
    frame.cases().iter().enumerate().map(curve).collect::<Option<Vec<_>>>().map(Value::Series)
}

/// The x from which leads stay above 0, by the rule of [`crossing`]; infinite if there is none, `None` for
/// several curves.
fn crossover(leads: Vec<(Place, f64)>) -> Option<f64> {
    let is_one_curve = leads.windows(2).all(|pair| pair[0].0.x < pair[1].0.x);
    let leads: Vec<(f64, f64)> = leads.iter().map(|(Place { x, .. }, lead)| (*x, *lead)).collect();
    (is_one_curve && !leads.is_empty())
        .then(|| crossing(&leads).map_or(f64::INFINITY, |crossing| crossing.at))
}
