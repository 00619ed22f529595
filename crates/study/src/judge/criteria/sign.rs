//! The lesser of two series, position by position.

use super::super::resample::Resampled;
use super::super::value::Series;
use super::super::{ClauseError, Expression, Finding, GridPosition, NamedNumber, TestOutcome};
use super::At;

/// The gap up to which two are about the same, in per cent.
const ABOUT_THE_SAME: f64 = 2.0;

/// Rule by which one counts as less.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rule {
    /// The claimed gap; `None` if the claim is only that there is one.
    pub least_gap_percent: Option<f64>,
    /// True if about the same is enough.
    pub or_equal: bool,
}

impl Rule {
    /// True if a gap is as claimed.
    pub fn is_less(self, gap: f64) -> bool {
        self.has_sign(gap) && self.least_gap_percent.is_none_or(|least| gap >= least)
    }

    /// True if a gap has the claimed sign.
    pub fn has_sign(self, gap: f64) -> bool {
        gap > if self.or_equal { -ABOUT_THE_SAME } else { 0.0 }
    }
}

/// The amount by which each of `less` lies below its partner of `more`, in per cent of the larger one: position by position, one pair
/// after the other.
pub fn gaps(less: &[Expression], more: &[Expression], at: &At<'_>) -> Result<Series, ClauseError> {
    let mut all = Series::new();
    for (index, more) in more.iter().enumerate() {
        let less = less.get(index).unwrap_or(&less[0]);
        let gaps = at.value(less)?.zip(at.value(more)?, gap).points();
        if gaps.is_empty() {
            let why = format!("`{less}` and `{more}` have no place in common");
            return Err(ClauseError::Invalid(why));
        }
        all.extend(gaps);
    }
    Ok(all)
}

fn gap(less: f64, more: f64) -> f64 {
    match less.abs().max(more.abs()) {
        0.0 => 0.0,
        larger => 100.0 * (more - less) / larger,
    }
}

/// The positions, each with true if all pairs are less there.
pub fn places_less(
    less: &[Expression],
    more: &[Expression],
    at: &At<'_>,
) -> Result<Vec<bool>, ClauseError> {
    let mut places: Vec<(GridPosition, bool)> = Vec::new();
    for (position, gap) in gaps(less, more, at)? {
        match places.iter_mut().find(|(there, _)| *there == position) {
            Some((_, so_far)) => *so_far &= gap > 0.0,
            None => places.push((position, gap > 0.0)),
        }
    }
    Ok(places.into_iter().map(|(_, is_less)| is_less).collect())
}

/// Holds if all pairs are less at one and the same position in nearly all resamples.
pub fn somewhere(readings: &Resampled<Vec<bool>>, tail: Option<f64>) -> Finding {
    let share = |place: usize| {
        let less = readings.again.iter().filter(|places| places.get(place) == Some(&true)).count();
        less as f64 / readings.again.len() as f64
    };
    let places = readings.measured.len();
    let count = |is_so: &dyn Fn(f64) -> bool| (0..places).filter(|it| is_so(share(*it))).count();
    let (sure, open) = match tail {
        Some(tail) => {
            let sure = count(&|share| share >= 1.0 - tail);
            (sure, count(&|share| share > tail) - sure)
        }
        None => (0, places),
    };
    let measured = readings.measured.contains(&true);
    Finding {
        outcome: TestOutcome::of_count(sure as f64, open as f64, 1.0),
        numbers: vec![NamedNumber::plain(("places", sure as f64))],
        note: None,
        reproduces: Some(measured),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_in_per_cent_of_the_larger() {
        assert_eq!([gap(1.0, 2.0), gap(2.0, 1.0), gap(0.0, 0.0)], [50.0, -50.0, 0.0]);
    }

    #[test]
    fn about_the_same_is_enough_only_where_the_claim_says_so() {
        let rule = Rule::default();
        assert!(rule.is_less(0.1) && !rule.is_less(0.0));
        let claimed = Rule { least_gap_percent: Some(10.0), ..rule };
        assert!(claimed.is_less(10.0) && !claimed.is_less(9.0) && claimed.has_sign(9.0));
        let or_equal = Rule { or_equal: true, ..rule };
        assert!(or_equal.is_less(-1.9) && !or_equal.is_less(-2.0));
    }
}
