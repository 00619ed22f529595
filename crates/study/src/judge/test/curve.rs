//! Tests of a curve's shape.

use std::ops::RangeInclusive;

use super::Reading;
use super::places::{At, share};
use crate::Direction;
use crate::judge::series::{self, Value};
use crate::judge::{Expression, Fault};
use statistics::crossing;

/// The x from which `a` stays below `b`.
pub fn crossover(
    at: &At<'_>,
    a: &Expression,
    b: &Expression,
    band: RangeInclusive<f64>,
) -> Result<Reading, Fault> {
    let points = at.value(b)?.zip(at.value(a)?, |b, a| b - a).points();
    if points.windows(2).any(|pair| pair[0].0.x >= pair[1].0.x) {
        return Err(Fault::Clause(format!("`{a}` has several curves: judge by case")));
    }
    let leads: Vec<(f64, f64)> = points.iter().map(|(place, lead)| (place.x, *lead)).collect();
    let found = crossing(&leads).map_or(f64::INFINITY, |crossing| crossing.at);
    Ok(Reading { holds: band.contains(&found), numbers: vec![("from", found)] })
}

/// Rising or falling: the rank correlation has the direction, and at least the size.
pub fn monotone(
    at: &At<'_>,
    quantity: &Expression,
    direction: Direction,
    least: Option<f64>,
) -> Result<Reading, Fault> {
    let found = series::rank_correlation(&at.value(quantity)?.points()).unwrap_or(0.0);
    let along = match direction {
        Direction::Up => found,
        Direction::Down => -found,
    };
    let holds = least.map_or(along > 0.0, |least| along >= least);
    Ok(Reading { holds, numbers: vec![("rank correlation", found)] })
}

/// Linear: a line with such a slope explains this share of the variance.
pub fn fit(
    at: &At<'_>,
    quantity: &Expression,
    least_r2: f64,
    slopes: RangeInclusive<f64>,
) -> Result<Reading, Fault> {
    let line = line(at, quantity)?;
    Ok(Reading {
        holds: line.r_squared >= least_r2 && slopes.contains(&line.slope),
        numbers: vec![("slope", line.slope), ("R2", line.r_squared)],
    })
}

/// Nearly level.
pub fn flat(at: &At<'_>, quantity: &Expression, most: f64) -> Result<Reading, Fault> {
    let slope = line(at, quantity)?.slope;
    Ok(Reading { holds: slope.abs() <= most, numbers: vec![("slope", slope)] })
}

/// Constant: beyond `from` within `tolerance` per cent of the number there, at a share of the places.
pub fn plateau(
    at: &At<'_>,
    quantity: &Expression,
    from: f64,
    tolerance: f64,
    least_share: f64,
) -> Result<Reading, Fault> {
    let points = at.value(quantity)?.points();
    let Some((_, there)) = points.iter().find(|(place, _)| place.x == from) else {
        return Err(Fault::Clause(format!("`{quantity}` has no place at {from}")));
    };
    let beyond = points.iter().filter(|(place, _)| place.x > from).copied().collect();
    let near = |number: f64| (number - there).abs() * 100.0 <= tolerance * there.abs();
    let mut reading = share(Value::Series(beyond), least_share, near);
    reading.numbers.insert(0, ("there", *there));
    Ok(reading)
}

fn line(at: &At<'_>, quantity: &Expression) -> Result<statistics::Line, Fault> {
    let points = at.value(quantity)?.points();
    series::line(&points)
        .ok_or_else(|| Fault::Clause(format!("no line goes through `{quantity}`: too few places")))
}
