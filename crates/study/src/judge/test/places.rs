//! Tests that are put place by place.

use std::ops::RangeInclusive;

use super::Reading;
use crate::judge::series::percent;
use crate::judge::{Draw, Expression, Fault, Frame, Value, evaluate};

/// The context in which a test is read.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    /// The series.
    pub frame: &'a Frame,
    /// The draw.
    pub draw: &'a Draw,
}

impl At<'_> {
    /// An expression's value here.
    pub fn value(&self, expression: &Expression) -> Result<Value, Fault> {
        evaluate::value(expression, self.frame, self.draw)
    }

    /// The value of an expression that is a single number.
    pub fn number(&self, expression: &Expression) -> Result<f64, Fault> {
        evaluate::number(expression, self.frame, self.draw)
    }
}

/// A number, or numbers at a share of the places, lie within a band.
pub fn range(
    at: &At<'_>,
    quantity: &Expression,
    band: &RangeInclusive<f64>,
    least_share: Option<f64>,
) -> Result<Reading, Fault> {
    match least_share {
        None => {
            let number = at.number(quantity)?;
            Ok(Reading { holds: band.contains(&number), numbers: vec![("value", number)] })
        }
        Some(least) => Ok(share(at.value(quantity)?, least, |number| band.contains(&number))),
    }
}

/// Two series are within `tolerance` per cent of the second at a share of the places. The median of their ratio
/// reveals a constant factor between them.
pub fn similar(
    at: &At<'_>,
    a: &Expression,
    b: &Expression,
    tolerance: f64,
    least_share: f64,
) -> Result<Reading, Fault> {
    let ratio = at.value(a)?.zip(at.value(b)?, |a, b| a / b);
    let median = crate::judge::series::median(&ratio.clone().numbers()).unwrap_or(f64::NAN);
    let near = |ratio: f64| (ratio - 1.0).abs() * 100.0 <= tolerance;
    let mut reading = share(ratio, least_share, near);
    reading.numbers.push(("median ratio", median));
    Ok(reading)
}

/// `a` is below `b` by more than `margin` per cent at no more than `most` per cent of the places.
pub fn no_crossover(
    at: &At<'_>,
    a: &Expression,
    b: &Expression,
    most: f64,
    margin: f64,
) -> Result<Reading, Fault> {
    let ratios = at.value(a)?.zip(at.value(b)?, |a, b| a / b).numbers();
    let wins = ratios.iter().filter(|ratio| **ratio < 1.0 - margin / 100.0).count();
    let wins = percent(wins, ratios.len());
    Ok(Reading { holds: wins <= most, numbers: vec![("% of places won", wins)] })
}

/// A condition holds at a share of the places.
pub fn share(value: Value, least: f64, is_so: impl Fn(f64) -> bool) -> Reading {
    let numbers = value.numbers();
    let share = percent(numbers.iter().filter(|number| is_so(**number)).count(), numbers.len());
    Reading { holds: share >= least, numbers: vec![("% of places", share)] }
}
