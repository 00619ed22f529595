//! Intervals of measured times, for tests that assert on them.

use pyo3::prelude::*;
use statistics::{ComparisonVerdict, NoInterval, Pair, Sample};

use crate::failure::Failure;

/// Compares paired times: which is ahead ("first", "second", "same" or "unclear"), the lead of its median as a fraction
/// of the other's, and the lead's 95 % interval; or why there is none.
#[pyfunction]
#[pyo3(signature = (first, second, seed = 1))]
#[allow(clippy::type_complexity)] // a tuple in Python
pub fn compare(
    first: Vec<f64>,
    second: Vec<f64>,
    seed: u64,
) -> Result<(&'static str, f64, Option<(f64, f64)>, Option<String>), Failure> {
    if first.len() != second.len() {
        let message = format!("{} times cannot be paired with {}", first.len(), second.len());
        return Err(Failure::with_hint(message, "measure both equally often"));
    }
    let pairs = first.into_iter().zip(second).map(|(first, second)| Pair { first, second });
    let pairs: Vec<Pair> = pairs.collect();
    let Some(compared) = statistics::compare(&pairs, seed) else {
        return Err(Failure::refused("times are positive and finite, and there is at least one"));
    };
    let verdict = match compared.verdict {
        ComparisonVerdict::First => "first",
        ComparisonVerdict::Second => "second",
        ComparisonVerdict::Same => "same",
        ComparisonVerdict::Unclear => "unclear",
    };
    let (interval, reason) = match compared.interval {
        Ok(interval) => (Some((interval.low, interval.high)), None),
        Err(reason) => (None, Some(reason.to_string())),
    };
    Ok((verdict, compared.advantage, interval, reason))
}

/// The median of times with its 95 % interval. Equal times have an interval of no width, fewer than six none.
#[pyfunction]
pub fn median_interval(times: Vec<f64>) -> Result<(f64, Option<(f64, f64)>), Failure> {
    let sample =
        Sample::new(times).ok_or_else(|| Failure::refused("times are finite, and there is one"))?;
    let median = sample.median();
    let interval = match statistics::median_interval(&sample) {
        Ok(interval) => Some((interval.low, interval.high)),
        Err(NoInterval::NoSpread) => Some((median, median)),
        Err(NoInterval::TooFew { .. }) => None,
    };
    Ok((median, interval))
}
