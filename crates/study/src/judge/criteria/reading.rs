//! The answer of a criterion in one resample.

use std::ops::RangeInclusive;

use statrs::distribution::{ContinuousCDF, Normal};

use super::super::Value;
use super::super::value::percent;

/// An answer, with the numbers behind it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The answer; `None` if there was no event to take a number of.
    pub holds: Option<bool>,
    /// True if the sign, the order or the mechanism is as published, whatever the size; `None` for a criterion about size alone.
    pub reproduces: Option<bool>,
    /// A number that scatter alone makes smaller, the more of which the likelier the criterion holds: a share, a rank correlation.
    pub deciding: Option<f64>,
    pub numbers: Vec<(&'static str, f64)>,
}

impl Reading {
    /// The same answer, which this number decides.
    pub fn deciding(self, number: f64) -> Reading {
        Reading { deciding: Some(number), ..self }
    }

    /// The same answer with its own test of the sign.
    pub fn reproducing(self, is_so: bool) -> Reading {
        Reading { reproduces: self.holds.map(|_| is_so), ..self }
    }
}

/// An answer; without one if a number is not a number.
pub fn reading(holds: bool, numbers: impl IntoIterator<Item = (&'static str, f64)>) -> Reading {
    let numbers: Vec<_> = numbers.into_iter().collect();
    let is_decided = numbers.iter().all(|(_, number)| !number.is_nan());
    let holds = is_decided.then_some(holds);
    Reading { holds, reproduces: holds, deciding: None, numbers }
}

/// Holds if something is so at `least` per cent of the positions; those without a number do not count.
pub fn share(value: Value, least: f64, is_so: impl Fn(f64) -> bool) -> Reading {
    let mut numbers = value.numbers();
    numbers.retain(|number| !number.is_nan());
    let share = match numbers.len() {
        0 => f64::NAN,
        all => percent(numbers.iter().filter(|number| is_so(**number)).count(), all),
    };
    reading(share >= least, [("% of places", share)]).deciding(share).reproducing(share >= 50.0)
}

/// The resamples whose answer differs from the measured one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Others {
    /// Number of resamples with an answer.
    pub decided: usize,
    /// Share of them that answer otherwise, corrected for bias.
    pub share: f64,
}

impl Others {
    /// Counts the answers in `again` beside the measured one, `holds`.
    ///
    /// A resample scatters twice: once as measured, once as drawn. Scatter turns signs and ranks at random, so shares and rank
    /// correlations are smaller in resamples than as measured. Efron's bias correction of the percentile interval takes that back ("Better
    /// bootstrap confidence intervals", JASA 82, 1987, section 2): z0 is how far the measured number lies from the resamples' median.
    pub fn of(measured: &Reading, again: &[Reading], holds: bool) -> Others {
        let answers: Vec<bool> = again.iter().filter_map(|reading| reading.holds).collect();
        let decided = answers.len();
        let other = answers.iter().filter(|answer| **answer != holds).count();
        let share = other as f64 / decided.max(1) as f64;
        let bias = measured.deciding.map_or(0.0, |number| {
            let drawn: Vec<f64> = again.iter().filter_map(|reading| reading.deciding).collect();
            let below = drawn.iter().filter(|it| **it < number).count() as f64;
            let equal = drawn.iter().filter(|it| **it == number).count() as f64;
            let least = 1.0 / drawn.len().max(2) as f64;
            let rank = (below + equal / 2.0) / drawn.len().max(1) as f64;
            Normal::standard().inverse_cdf(rank.clamp(least, 1.0 - least))
        });
        if bias == 0.0 || share == 0.0 || share == 1.0 {
            return Others { decided, share };
        }
        let towards = if holds { -2.0 * bias } else { 2.0 * bias };
        let normal = Normal::standard();
        Others { decided, share: normal.cdf(normal.inverse_cdf(share) + towards) }
    }
}

pub fn band(low: Option<f64>, high: Option<f64>) -> RangeInclusive<f64> {
    low.unwrap_or(f64::NEG_INFINITY)..=high.unwrap_or(f64::INFINITY)
}

/// True if `number` lies on the side of 1 of a band above or below it: a ratio's sign. In any other band it must lie within.
pub fn is_on_the_side_of(low: Option<f64>, high: Option<f64>, number: f64) -> bool {
    match (low, high) {
        (Some(low), Some(_)) if low >= 1.0 => number > 1.0,
        (_, Some(high)) if high <= 1.0 && low.unwrap_or(0.0) >= 0.0 => number < 1.0,
        _ => band(low, high).contains(&number),
    }
}

/// True if `slope` has the sign of all slopes of a band; without one sign, it must lie within.
pub fn has_sign_of(low: Option<f64>, high: Option<f64>, slope: f64) -> bool {
    match (low, high) {
        (Some(low), _) if low > 0.0 => slope > 0.0,
        (_, Some(high)) if high < 0.0 => slope < 0.0,
        _ => band(low, high).contains(&slope),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_event_there_is_no_answer() {
        assert_eq!(reading(false, [("value", f64::NAN)]).holds, None);
        assert_eq!(reading(false, [("value", 1.0)]).reproducing(true).reproduces, Some(true));
        let none = Value::Number(f64::NAN);
        assert_eq!(share(none, 80.0, |_| true).holds, None);
    }

    #[test]
    fn what_scatter_takes_from_a_share_is_given_back() {
        let of = |share: f64| super::share(Value::Number(1.0), 80.0, |_| true).deciding(share);
        let drawn = |shares: &[f64]| -> Vec<Reading> {
            let one = |share: &f64| Reading { holds: Some(*share >= 80.0), ..of(*share) };
            shares.iter().map(one).collect()
        };
        // Measured 95 % of places; half of the resamples lie below 90 %, a tenth below 80 %.
        let again = drawn(&[75.0, 85.0, 85.0, 85.0, 85.0, 90.0, 90.0, 90.0, 95.0, 95.0]);
        let others = Others::of(&of(95.0), &again, true);
        // z0 = Phi^-1(0.9) = 1.2816; Phi(-1.2816 - 2.5631) = 0.00006.
        assert!((others.share - 0.000_06).abs() < 1e-5, "{others:?}");
        let unbiased = Others::of(&of(87.5), &again, true);
        assert!((unbiased.share - 0.1).abs() < 1e-9, "{unbiased:?}");
    }

    #[test]
    fn a_sign_is_told_from_a_size() {
        assert!(
            is_on_the_side_of(Some(1.1), Some(1.3), 2.0),
            "a ratio above 1, larger than published"
        );
        assert!(!is_on_the_side_of(Some(1.1), Some(1.3), 0.9));
        assert!(
            is_on_the_side_of(None, Some(0.25), 0.9) && !is_on_the_side_of(None, Some(0.25), 1.1)
        );
        assert!(!is_on_the_side_of(Some(70.0), None, 60.0), "a share has no side");
        assert!(has_sign_of(Some(13.0), Some(27.0), 2.0) && !has_sign_of(Some(13.0), None, -2.0));
    }
}
