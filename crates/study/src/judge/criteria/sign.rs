//! The lesser of two series, position by position.
//!
//! One is less for certain if the interval of the gap excludes 0 **and** the gap is at least 2 %: a certain
//! lead without consequence does not count. If neither is less for certain, the position is open.

use super::super::evaluate::{self, GridPosition, Series, median, percent};
use super::super::resample::{self, Resample, Resampled};
use super::super::{ClauseError, Dataset, Expression, Finding, NamedNumber, TestOutcome};

/// The least gap, in per cent.
const LEAST_GAP: f64 = 2.0;

/// Rule by which one counts as less.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rule {
    /// The claimed gap; `None` if the claim is only that there is one.
    pub least_gap_percent: Option<f64>,
    /// True if about the same is enough.
    pub or_equal: bool,
}

/// Result at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignResult {
    /// Less.
    Less,
    /// Not less.
    NotLess,
    /// Not certain.
    Open,
}

/// The positions, each with its result and the gap in per cent of the larger value.
pub type Compared = Vec<(GridPosition, SignResult, f64)>;

/// The results of each of `less` against its partner of `more`, position by position, one pair after the other,
/// for each case.
pub fn compared(
    less: &[Expression],
    more: &[Expression],
    rule: Rule,
    dataset: &Dataset,
    cases: &[Option<usize>],
    clause: &str,
) -> Vec<Result<Compared, ClauseError>> {
    let mut all = vec![Ok(Compared::new()); cases.len()];
    for (index, partner) in more.iter().enumerate() {
        let one = less.get(index).unwrap_or(&less[0]);
        let found = pair([one, partner], rule, dataset, cases, clause);
        for (so_far, found) in all.iter_mut().zip(found) {
            match (so_far.as_mut(), found) {
                (Ok(so_far), Ok(found)) => so_far.extend(found),
                (Ok(_), Err(error)) => *so_far = Err(error),
                (Err(_), _) => {}
            }
        }
    }
    all
}

fn pair(
    [less, more]: [&Expression; 2],
    rule: Rule,
    dataset: &Dataset,
    cases: &[Option<usize>],
    clause: &str,
) -> Vec<Result<Compared, ClauseError>> {
    let gaps = |resample: &Resample| {
        let less = evaluate::value(less, dataset, resample)?;
        Ok(less.zip(evaluate::value(more, dataset, resample)?, gap).points())
    };
    let tail = resample::tail_at_position(dataset);
    let of_case = |gaps: Result<Resampled<Series>, ClauseError>| {
        let gaps = gaps?;
        if gaps.measured.is_empty() {
            let why = format!("`{less}` and `{more}` have no place in common");
            return Err(ClauseError::Invalid(why));
        }
        let result = |(index, &(at, gap)): (usize, &(GridPosition, f64))| {
            let interval = tail.and_then(|tail| gaps.interval(index, tail));
            let found = interval.map(|interval| rule.result(gap, interval.low, interval.high));
            (at, found.unwrap_or(SignResult::Open), gap)
        };
        Ok(gaps.measured.iter().enumerate().map(result).collect())
    };
    resample::resampled(dataset, cases, clause, gaps).into_iter().map(of_case).collect()
}

/// The amount by which `less` lies below `more`, in per cent of the larger one.
fn gap(less: f64, more: f64) -> f64 {
    match less.abs().max(more.abs()) {
        0.0 => 0.0,
        larger => 100.0 * (more - less) / larger,
    }
}

impl Rule {
    /// The result for a gap with this interval.
    fn result(self, gap: f64, low: f64, high: f64) -> SignResult {
        let claimed = self.least_gap_percent;
        match () {
            () if gap >= claimed.unwrap_or(LEAST_GAP) && low > 0.0 => SignResult::Less,
            () if claimed.is_some_and(|it| gap < it && high < it) => SignResult::NotLess,
            () if claimed.is_some() => SignResult::Open,
            () if gap <= -LEAST_GAP && high < 0.0 => SignResult::NotLess,
            () if self.or_equal && low > -LEAST_GAP => SignResult::Less,
            () => SignResult::Open,
        }
    }
}

/// Holds if `less` is less at `least` per cent of the positions.
pub fn at_share(compared: &Compared, least: f64) -> Finding {
    let count = |wanted| compared.iter().filter(|(_, result, _)| *result == wanted).count();
    let share = |wanted| percent(count(wanted), compared.len());
    let (sure, open) = (share(SignResult::Less), share(SignResult::Open));
    let outcome = TestOutcome::of_count(sure, open, least);
    let gaps: Vec<f64> = compared.iter().map(|(_, _, gap)| *gap).collect();
    let middle = median(&gaps).unwrap_or(f64::NAN);
    let numbers = [("% of places less", sure), ("% open", open), ("median gap, %", middle)];
    Finding { outcome, numbers: numbers.map(NamedNumber::plain).to_vec(), note: None }
}

/// Holds if there is a position at which all pairs are less.
pub fn exists(compared: &Compared) -> Finding {
    use SignResult::{Less, NotLess, Open};
    let mut positions: Vec<(GridPosition, SignResult)> = Vec::new();
    for &(at, result, _) in compared {
        match positions.iter_mut().find(|(there, _)| *there == at) {
            Some((_, so_far)) => {
                *so_far = match (*so_far, result) {
                    (NotLess, _) | (_, NotLess) => NotLess,
                    (Open, _) | (_, Open) => Open,
                    (Less, Less) => Less,
                };
            }
            None => positions.push((at, result)),
        }
    }
    let count = |wanted| positions.iter().filter(|(_, result)| *result == wanted).count();
    let outcome = TestOutcome::of_count(count(Less) as f64, count(Open) as f64, 1.0);
    let number = NamedNumber::plain(("places", count(Less) as f64));
    Finding { outcome, numbers: vec![number], note: None }
}
