//! Tests of order.

use super::Reading;
use super::places::At;
use crate::judge::{Expression, Fault, evaluate};

/// A number is largest on the curve `expect`, or at most `slack` below the largest; with `sign` -1, smallest.
pub fn largest(
    at: &At<'_>,
    quantity: &Expression,
    expect: &str,
    slack: f64,
    sign: f64,
) -> Result<Reading, Fault> {
    let cases = at.frame.cases();
    let of = |case: usize| evaluate::number(quantity, at.frame, &at.draw.of_case(case));
    let numbers: Result<Vec<f64>, Fault> = (0..cases.len()).map(of).collect();
    let numbers = numbers?;
    let expected = cases.iter().position(|case| case == expect).ok_or_else(|| {
        Fault::Clause(format!("no curve is `{expect}`; there are {}", cases.join(", ")))
    })?;
    let best = numbers.iter().map(|number| sign * number).fold(f64::NEG_INFINITY, f64::max);
    Ok(Reading {
        holds: sign * numbers[expected] >= best - slack,
        numbers: vec![("there", numbers[expected]), ("best", sign * best)],
    })
}

/// Numbers rise in the given order, or at least never fall.
pub fn order(at: &At<'_>, expect: &[Expression], or_equal: bool) -> Result<Reading, Fault> {
    const WHAT: [&str; 6] = ["first", "second", "third", "fourth", "fifth", "sixth"];
    let numbers: Result<Vec<f64>, Fault> = expect.iter().map(|it| at.number(it)).collect();
    let numbers = numbers?;
    let rises = |pair: &[f64]| pair[0] < pair[1] || (or_equal && pair[0] == pair[1]);
    Ok(Reading {
        holds: numbers.windows(2).all(rises),
        numbers: WHAT.into_iter().zip(numbers).collect(),
    })
}
