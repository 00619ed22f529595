//! Expressions for display: each number with its interval due to chance.

use super::draw::{self, Draw};
use super::{Expression, Fault, Frame, Place, evaluate};
use statistics::Interval;

/// A number at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The place.
    pub place: Place,
    /// As it was measured.
    pub value: f64,
    /// The interval over draws of the repetitions; `None` for published values, without spread, and with too
    /// few repetitions.
    pub interval: Option<Interval>,
}

/// The values of an expression, place by place; `name` names the random stream of its draws. NaN values are
/// left out.
///
/// # Errors
/// An expression that cannot be read.
pub fn estimates(
    expression: &Expression,
    frame: &Frame,
    name: &str,
) -> Result<Vec<Estimate>, Fault> {
    let measured = evaluate::value(expression, frame, &Draw::as_measured(None))?.points();
    let least = frame.sizes().iter().min().copied().unwrap_or(0);
    let drawn = match draw::tail(least, least.saturating_sub(1)) {
        None => Vec::new(),
        Some(tail) => intervals(expression, frame, name, tail)?,
    };
    let of_place = |(index, (place, value)): (usize, (Place, f64))| {
        let interval: Option<Interval> = drawn.get(index).copied().flatten();
        Estimate { place, value, interval: interval.filter(|it| it.low < it.high) }
    };
    let finite = measured.into_iter().enumerate().filter(|(_, (_, value))| value.is_finite());
    Ok(finite.map(of_place).collect())
}

/// The intervals of the measured values, in their order.
fn intervals(
    expression: &Expression,
    frame: &Frame,
    name: &str,
    tail: f64,
) -> Result<Vec<Option<Interval>>, Fault> {
    let points = |draw: &Draw| Ok(evaluate::value(expression, frame, draw)?.points());
    let points = draw::in_draws(frame.sizes(), &[None], name, points).remove(0)?;
    Ok((0..points.measured.len()).map(|index| points.interval(index, tail)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::bench::Bench;
    use scenario::Protocol;

    #[test]
    fn a_number_lies_within_its_interval() {
        let bench = Bench::new().curve(Protocol::H1, "10", &[1.0, 2.0], 10.0);
        let found = bench.estimates("rtt", "plt(h1)").unwrap();
        let values: Vec<(f64, f64)> = found.iter().map(|it| (it.place.x, it.value)).collect();
        assert_eq!(values, [(50.0, 1.0), (100.0, 2.0)]);
        for Estimate { value, interval, .. } in found {
            let interval = interval.expect("eight repetitions have one");
            assert!(interval.low < value && value < interval.high, "{interval:?}");
            assert!(interval.high - interval.low < 0.3 * value);
        }
    }

    #[test]
    fn copies_and_what_is_published_have_none() {
        let bench = Bench::new().exact(Protocol::H1, &[1.0, 2.0]);
        let of = |text| bench.estimates("rtt", text).unwrap();
        assert!(of("plt(h1)").iter().all(|it| it.interval.is_none()));
        assert!(of("published(table)").iter().all(|it| it.interval.is_none()));
    }

    #[test]
    fn curves_are_averaged_place_by_place() {
        let bench = Bench::new().curve(Protocol::H1, "10", &[1.0, 2.0], 0.0).curve(
            Protocol::H1,
            "20",
            &[3.0, 6.0, 9.0],
            0.0,
        );
        let found = bench.estimates("rtt", "across(plt(h1))").unwrap();
        let values: Vec<(f64, f64)> = found.iter().map(|it| (it.place.x, it.value)).collect();
        assert_eq!(values, [(50.0, 2.0), (100.0, 4.0), (150.0, 9.0)]);
    }
}
