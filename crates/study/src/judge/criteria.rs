//! The criteria that clauses put to measured series.
//!
//! Each criterion is read as measured and in [`RESAMPLES`] resamples of the repetitions: it holds or fails if the
//! answer is the same in nearly all of them, and is inconclusive otherwise. A criterion about a share of the
//! positions is read as the study reads it, from each position's mean or median, and the share is what varies.
//! Resamples without the events that a number is taken of say nothing and do not count.

mod describe;
mod reading;
mod sign;

use std::collections::BTreeSet;

use reading::{Others, Reading, band, has_sign_of, is_on_the_side_of, reading, share};
use serde::Deserialize;

use super::resample::{self, RESAMPLES, Resample, Resampled};
use super::value::{self, Value, leads, line, median, percent, rank_correlation};
use super::{ClauseError, Dataset, Expression, Finding, Leaf, NamedNumber, TestOutcome};
use statistics::crossing;

/// A criterion, with its bounds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "test", rename_all = "snake_case", deny_unknown_fields)]
pub enum Criterion {
    /// A number lies in a band, or numbers do at a share of the positions.
    Range { quantity: Expression, low: Option<f64>, high: Option<f64>, min_share_pct: Option<f64> },
    /// Two are about the same at a share of the positions.
    Similar { a: Expression, b: Expression, tol_pct: f64, min_share_pct: Option<f64> },
    /// Each of `less` is less than its partner of `more` at a share of the positions.
    Sign {
        less: Vec<Expression>,
        more: Vec<Expression>,
        min_share_pct: Option<f64>,
        min_gap_pct: Option<f64>,
        #[serde(default)]
        or_equal: bool,
    },
    /// The same at one position.
    Exists { less: Vec<Expression>, more: Vec<Expression> },
    /// `a` stays below `b` from an x in a band on.
    Crossover {
        a: Expression,
        b: Expression,
        low: f64,
        high: f64,
        tight_low: Option<f64>,
        tight_high: Option<f64>,
    },
    /// `a` is below `b` at few positions only.
    NoCrossover { a: Expression, b: Expression, max_wins_pct: f64, margin_pct: Option<f64> },
    /// A curve rises or falls.
    Monotone { quantity: Expression, direction: Direction, min_rank_corr: Option<f64> },
    /// A curve is a line.
    Fit {
        quantity: Expression,
        min_r2: Option<f64>,
        slope_low: Option<f64>,
        slope_high: Option<f64>,
    },
    /// A curve hardly rises or falls.
    Flat { quantity: Expression, max_abs_slope: f64 },
    /// A curve stays where it is from an x on.
    Plateau { quantity: Expression, from_x: f64, tol_pct: f64, min_share_pct: Option<f64> },
    /// A curve's number is the largest.
    Argmax { quantity: Expression, expect: String, slack: Option<f64> },
    /// A curve's number is the smallest.
    Argmin { quantity: Expression, expect: String, slack: Option<f64> },
    /// Numbers rise in this order.
    Order {
        expect: Vec<Expression>,
        #[serde(default)]
        or_equal: bool,
    },
    /// One of several holds.
    Any { of: Vec<Criterion> },
    /// All of several hold.
    All { of: Vec<Criterion> },
    /// A share of several hold.
    Most { of: Vec<Criterion>, min_share_pct: f64 },
    /// Nothing is decided: the number is shown.
    Report { quantity: Expression },
}

/// Direction of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// It rises.
    Up,
    /// It falls.
    Down,
}

type Findings = Vec<Result<Finding, ClauseError>>;

impl Criterion {
    /// Its expressions.
    pub fn expressions(&self) -> Vec<&Expression> {
        match self {
            Criterion::Range { quantity, .. }
            | Criterion::Monotone { quantity, .. }
            | Criterion::Fit { quantity, .. }
            | Criterion::Flat { quantity, .. }
            | Criterion::Plateau { quantity, .. }
            | Criterion::Argmax { quantity, .. }
            | Criterion::Argmin { quantity, .. }
            | Criterion::Report { quantity } => vec![quantity],
            Criterion::Similar { a, b, .. }
            | Criterion::Crossover { a, b, .. }
            | Criterion::NoCrossover { a, b, .. } => vec![a, b],
            Criterion::Sign { less, more, .. } | Criterion::Exists { less, more } => {
                less.iter().chain(more).collect()
            }
            Criterion::Order { expect, .. } => expect.iter().collect(),
            Criterion::Any { of } | Criterion::All { of } | Criterion::Most { of, .. } => {
                of.iter().flat_map(Criterion::expressions).collect()
            }
        }
    }

    /// Its measured and published quantities.
    pub fn leaves(&self) -> BTreeSet<&Leaf> {
        self.expressions().into_iter().flat_map(Expression::leaves).collect()
    }

    /// The mistake in it, if there is one.
    pub fn mistake(&self) -> Option<String> {
        match self {
            Criterion::Sign { less, more, .. } | Criterion::Exists { less, more }
                if less.is_empty() || (less.len() != 1 && less.len() != more.len()) =>
            {
                Some(format!("{} of `less` for {} of `more`", less.len(), more.len()))
            }
            Criterion::Range { low: Some(low), high: Some(high), .. }
            | Criterion::Crossover { low, high, .. }
                if low > high =>
            {
                Some(format!("`low`, {low}, is above `high`, {high}"))
            }
            Criterion::Range { low: None, high: None, .. } => {
                Some("a range needs `low` or `high`; `report` needs neither".to_owned())
            }
            Criterion::Any { of } | Criterion::All { of } => of.iter().find_map(Criterion::mistake),
            Criterion::Most { of, .. } => of.iter().find_map(|it| match it {
                Criterion::Any { .. } | Criterion::All { .. } | Criterion::Exists { .. } => {
                    Some("`most` counts simple tests: no `any`, `all` or `exists`".to_owned())
                }
                simple => simple.mistake(),
            }),
            _ => None,
        }
    }

    /// The finding on all curves together; `clause` names its random stream.
    pub fn judge(&self, dataset: &Dataset, clause: &str) -> Result<Finding, ClauseError> {
        self.judge_cases(dataset, &[None], clause).remove(0)
    }

    /// The findings on each of these curves by itself, in the same resamples.
    pub fn judge_cases(
        &self,
        dataset: &Dataset,
        cases: &[Option<usize>],
        clause: &str,
    ) -> Findings {
        match self {
            Criterion::Any { of } => together(of, dataset, cases, clause, TestOutcome::Holds),
            Criterion::All { of } => together(of, dataset, cases, clause, TestOutcome::Fails),
            Criterion::Exists { less, more } => {
                let tail = resample::tail_at_position(dataset);
                let read =
                    |resample: &Resample| sign::places_less(less, more, &At { dataset, resample });
                let readings = resample::resampled(dataset, cases, clause, read).into_iter();
                readings.map(|readings| Ok(sign::somewhere(&readings?, tail))).collect()
            }
            _ => {
                let tail = resample::tail_of_all(dataset);
                let read = |resample: &Resample| match self.read(&At { dataset, resample }) {
                    Err(ClauseError::TooFewLoads(_)) if resample.is_drawn() => {
                        Ok(Reading::default())
                    }
                    answer => answer,
                };
                let readings = resample::resampled(dataset, cases, clause, read).into_iter();
                readings.map(|readings| self.finding(readings?, tail)).collect()
            }
        }
    }

    fn finding(
        &self,
        readings: Resampled<Reading>,
        tail: Option<f64>,
    ) -> Result<Finding, ClauseError> {
        let Resampled { measured, again } = readings;
        let Some(holds) = measured.holds else {
            let what = self.expressions().into_iter().map(ToString::to_string);
            return Err(ClauseError::TooFewLoads(what.collect::<Vec<_>>().join(", ")));
        };
        let others = Others::of(&measured, &again, holds);
        let interval = |index: usize| {
            let numbers = again.iter().filter_map(|reading| reading.numbers.get(index));
            let numbers = numbers.map(|(_, number)| *number).filter(|number| !number.is_nan());
            resample::interval(numbers.collect(), tail?)
        };
        let numbers = measured
            .numbers
            .iter()
            .enumerate()
            .map(|(index, &(name, value))| NamedNumber { name, value, interval: interval(index) });
        let is_sure =
            tail.is_some_and(|tail| 2 * others.decided >= RESAMPLES && others.share <= tail);
        let outcome = match (self, is_sure, holds) {
            (Criterion::Report { .. }, ..) => TestOutcome::Reported,
            (_, false, _) => TestOutcome::Inconclusive,
            (_, true, true) => TestOutcome::Holds,
            (_, true, false) => TestOutcome::Fails,
        };
        let numbers: Vec<NamedNumber> = numbers.collect();
        let note = match self {
            Criterion::Crossover { tight_low: Some(low), tight_high: Some(high), .. } => {
                let is_tight = numbers.iter().all(|it| (*low..=*high).contains(&it.value));
                let side = if is_tight { "within" } else { "not within" };
                Some(format!("{side} {low} to {high}"))
            }
            _ => None,
        };
        Ok(Finding { outcome, numbers, note, reproduces: measured.reproduces })
    }

    /// The answer in a resample.
    fn read(&self, at: &At<'_>) -> Result<Reading, ClauseError> {
        Ok(match self {
            Criterion::Range { quantity, low, high, min_share_pct } => {
                let band = band(*low, *high);
                match min_share_pct {
                    None => {
                        let number = at.number(quantity)?;
                        let value = reading(band.contains(&number), [("value", number)]);
                        match quantity.is_ratio() {
                            true => value.reproducing(is_on_the_side_of(*low, *high, number)),
                            false => value,
                        }
                    }
                    Some(least) => share(at.value(quantity)?, *least, |it| band.contains(&it)),
                }
            }
            Criterion::Similar { a, b, tol_pct, min_share_pct } => {
                let ratio = at.value(a)?.zip(at.value(b)?, |a, b| a / b);
                let middle = median(&ratio.clone().numbers()).unwrap_or(f64::NAN);
                let near = |ratio: f64| (ratio - 1.0).abs() * 100.0 <= *tol_pct;
                let mut reading = share(ratio, min_share_pct.unwrap_or(100.0), near);
                reading.numbers.push(("median ratio", middle));
                Reading { reproduces: None, ..reading }
            }
            Criterion::Sign { less, more, min_share_pct, min_gap_pct, or_equal } => {
                let gaps = sign::gaps(less, more, at)?;
                let gaps: Vec<f64> = gaps.into_iter().map(|(_, gap)| gap).collect();
                let rule = sign::Rule { least_gap_percent: *min_gap_pct, or_equal: *or_equal };
                let count = |holds: &dyn Fn(f64) -> bool| {
                    percent(gaps.iter().filter(|gap| holds(**gap)).count(), gaps.len())
                };
                let share = count(&|gap| rule.is_less(gap));
                let middle = median(&gaps).unwrap_or(f64::NAN);
                let numbers = [("% of places less", share), ("median gap, %", middle)];
                reading(share >= min_share_pct.unwrap_or(100.0), numbers)
                    .deciding(share)
                    .reproducing(2.0 * count(&|gap| rule.has_sign(gap)) > 100.0)
            }
            Criterion::NoCrossover { a, b, max_wins_pct, margin_pct } => {
                let ratios = at.value(a)?.zip(at.value(b)?, |a, b| a / b).numbers();
                let limit = 1.0 - margin_pct.unwrap_or(0.0) / 100.0;
                let wins = ratios.iter().filter(|ratio| **ratio < limit).count();
                let wins = percent(wins, ratios.len());
                reading(wins <= *max_wins_pct, [("% of places won", wins)]).deciding(-wins)
            }
            Criterion::Crossover { a, b, low, high, .. } => {
                let second = at.value(b)?;
                let points = leads(at.value(a)?, second);
                if points.windows(2).any(|pair| pair[0].0.x >= pair[1].0.x) {
                    let why = format!("`{a}` has several curves: judge by case");
                    return Err(ClauseError::Invalid(why));
                }
                let points: Vec<(f64, f64)> =
                    points.iter().map(|(at, lead)| (at.x, *lead)).collect();
                let found = crossing(&points).map_or(f64::INFINITY, |crossing| crossing.at);
                reading((*low..=*high).contains(&found), [("from", found)])
                    .reproducing(found.is_finite() == low.is_finite())
            }
            Criterion::Monotone { quantity, direction, min_rank_corr } => {
                let found = rank_correlation(&at.value(quantity)?.points()).unwrap_or(0.0);
                let along = match direction {
                    Direction::Up => found,
                    Direction::Down => -found,
                };
                let holds = min_rank_corr.map_or(along > 0.0, |least| along >= least);
                reading(holds, [("rank correlation", found)])
                    .deciding(along)
                    .reproducing(along > 0.0)
            }
            Criterion::Fit { quantity, min_r2, slope_low, slope_high } => {
                let line = at.line(quantity)?;
                let is_line = line.r_squared >= min_r2.unwrap_or(0.0);
                let holds = is_line && band(*slope_low, *slope_high).contains(&line.slope);
                reading(holds, [("slope", line.slope), ("R2", line.r_squared)])
                    .reproducing(has_sign_of(*slope_low, *slope_high, line.slope))
            }
            Criterion::Flat { quantity, max_abs_slope } => {
                let slope = at.line(quantity)?.slope;
                reading(slope.abs() <= *max_abs_slope, [("slope", slope)])
            }
            Criterion::Plateau { quantity, from_x, tol_pct, min_share_pct } => {
                let points = at.value(quantity)?.points();
                let Some((_, there)) = points.iter().find(|(at, _)| at.x == *from_x) else {
                    let why = format!("`{quantity}` has no place at {from_x}");
                    return Err(ClauseError::Invalid(why));
                };
                let beyond = points.iter().filter(|(at, _)| at.x > *from_x).copied().collect();
                let near = |number: f64| (number - there).abs() * 100.0 <= tol_pct * there.abs();
                let least = min_share_pct.unwrap_or(100.0);
                let mut reading = share(Value::Series(beyond), least, near);
                reading.numbers.insert(0, ("there", *there));
                reading
            }
            Criterion::Argmax { quantity, expect, slack } => {
                at.largest(quantity, expect, slack.unwrap_or(0.0), 1.0)?
            }
            Criterion::Argmin { quantity, expect, slack } => {
                at.largest(quantity, expect, slack.unwrap_or(0.0), -1.0)?
            }
            Criterion::Order { expect, or_equal } => {
                const NAMES: [&str; 6] = ["first", "second", "third", "fourth", "fifth", "sixth"];
                let numbers: Result<Vec<f64>, _> = expect.iter().map(|it| at.number(it)).collect();
                let numbers = numbers?;
                let rises = |pair: &[f64]| pair[0] < pair[1] || (*or_equal && pair[0] == pair[1]);
                reading(numbers.windows(2).all(rises), NAMES.into_iter().zip(numbers))
            }
            Criterion::Most { of, min_share_pct } => {
                let read = of.iter().map(|it| it.read(at)).collect::<Result<Vec<Reading>, _>>()?;
                let all: Vec<bool> = read.iter().filter_map(|it| it.holds).collect();
                let share = match all.len() {
                    0 => f64::NAN,
                    count => percent(all.iter().filter(|holds| **holds).count(), count),
                };
                reading(share >= *min_share_pct, [("% of tests", share)])
                    .deciding(share)
                    .reproducing(share >= 50.0)
            }
            Criterion::Report { quantity } => reading(true, [("value", at.number(quantity)?)]),
            Criterion::Exists { .. } | Criterion::Any { .. } | Criterion::All { .. } => {
                unreachable!("they are judged as a whole")
            }
        })
    }
}

/// A resample of a dataset.
#[derive(Clone, Copy, Debug)]
struct At<'a> {
    dataset: &'a Dataset,
    resample: &'a Resample,
}

impl At<'_> {
    fn value(&self, expression: &Expression) -> Result<Value, ClauseError> {
        value::value(expression, self.dataset, self.resample)
    }

    fn number(&self, expression: &Expression) -> Result<f64, ClauseError> {
        value::number(expression, self.dataset, self.resample)
    }

    fn line(&self, quantity: &Expression) -> Result<statistics::RegressionLine, ClauseError> {
        line(&self.value(quantity)?.points()).ok_or_else(|| {
            ClauseError::Invalid(format!("no line goes through `{quantity}`: too few places"))
        })
    }

    /// Holds if the number of the curve `expect` is the largest, up to `slack`; the smallest if `sign` is -1.
    fn largest(
        &self,
        quantity: &Expression,
        expect: &str,
        slack: f64,
        sign: f64,
    ) -> Result<Reading, ClauseError> {
        let cases = self.dataset.cases();
        let of = |case| value::number(quantity, self.dataset, &self.resample.of_case(case));
        let numbers: Vec<f64> = (0..cases.len()).map(of).collect::<Result<_, ClauseError>>()?;
        let expected = cases.iter().position(|case| case == expect).ok_or_else(|| {
            let known = cases.join(", ");
            ClauseError::Invalid(format!("no curve is `{expect}`; there are {known}"))
        })?;
        let best = numbers.iter().map(|number| sign * number).fold(f64::NEG_INFINITY, f64::max);
        let holds = sign * numbers[expected] >= best - slack;
        Ok(reading(holds, [("there", numbers[expected]), ("best", sign * best)]))
    }
}

/// The finding of several criteria together, case by case: one with the outcome `decides` decides, else an
/// inconclusive one leaves it open.
fn together(
    of: &[Criterion],
    dataset: &Dataset,
    cases: &[Option<usize>],
    clause: &str,
    decides: TestOutcome,
) -> Findings {
    let mut each: Vec<_> =
        of.iter().map(|it| it.judge_cases(dataset, cases, clause).into_iter()).collect();
    let of_case = |_| -> Result<Finding, ClauseError> {
        // One from each, whatever the results of the previous ones.
        let findings: Vec<_> = each.iter_mut().filter_map(Iterator::next).collect();
        let findings = findings.into_iter().collect::<Result<Vec<Finding>, ClauseError>>()?;
        let has = |outcome| findings.iter().any(|finding| finding.outcome == outcome);
        let outcome = match decides {
            decides if has(decides) => decides,
            _ if has(TestOutcome::Inconclusive) => TestOutcome::Inconclusive,
            TestOutcome::Holds => TestOutcome::Fails,
            _ => TestOutcome::Holds,
        };
        let signs: Vec<bool> = findings.iter().filter_map(|finding| finding.reproduces).collect();
        let reproduces = (!signs.is_empty()).then(|| match decides {
            TestOutcome::Holds => signs.contains(&true),
            _ => !signs.contains(&false),
        });
        let numbers = findings.into_iter().flat_map(|finding| finding.numbers).collect();
        Ok(Finding { outcome, numbers, note: None, reproduces })
    };
    cases.iter().map(of_case).collect()
}

#[cfg(test)]
mod tests;
