//! The tests that clauses put to measured series.
//!
//! Each test except the sign tests is read as measured and in [`DRAWS`] draws of the repetitions: it holds or
//! fails if the answer is the same in nearly all of them, and is inconclusive otherwise. A sign test has an
//! interval at each place.

mod curve;
mod describe;
mod places;
mod rank;
mod sign;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use serde::Deserialize;

use self::places::At;
use super::draw::{self, DRAWS, Draw, InDraws};
use super::{Expression, Fault, Figure, Finding, Frame, Leaf, Outcome, evaluate};
use crate::Direction;

/// A test. `low` and `high` are included.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "test", rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are the keys that studies/README.md explains")]
pub enum Test {
    /// A number lies in a band, or numbers at some share of the places do.
    Range { quantity: Expression, low: Option<f64>, high: Option<f64>, min_share_pct: Option<f64> },
    /// Two series differ little at some share of the places.
    Similar { a: Expression, b: Expression, tol_pct: f64, min_share_pct: Option<f64> },
    /// Each of `less` lies below its partner of `more` at some share of the places.
    Sign {
        less: Vec<Expression>,
        more: Vec<Expression>,
        min_share_pct: Option<f64>,
        min_gap_pct: Option<f64>,
        #[serde(default)]
        or_equal: bool,
    },
    /// There is a place at which each of `less` lies below its partner of `more`.
    Exists { less: Vec<Expression>, more: Vec<Expression> },
    /// The x from which `a` stays below `b` lies in a band; a note says if it also lies in a tighter one.
    Crossover {
        a: Expression,
        b: Expression,
        low: f64,
        high: f64,
        tight_low: Option<f64>,
        tight_high: Option<f64>,
    },
    /// `a` is below `b`, by more than a margin, at few places only.
    NoCrossover { a: Expression, b: Expression, max_wins_pct: f64, margin_pct: Option<f64> },
    /// A series rises or falls along its axis.
    Monotone { quantity: Expression, direction: Direction, min_rank_corr: Option<f64> },
    /// A series is a line, perhaps of a certain slope.
    Fit {
        quantity: Expression,
        min_r2: Option<f64>,
        slope_low: Option<f64>,
        slope_high: Option<f64>,
    },
    /// The line through a series hardly rises or falls.
    Flat { quantity: Expression, max_abs_slope: f64 },
    /// A series stays near its number at some x from there on.
    Plateau { quantity: Expression, from_x: f64, tol_pct: f64, min_share_pct: Option<f64> },
    /// A number is largest on the expected curve, or at most `slack` below the largest.
    Argmax { quantity: Expression, expect: String, slack: Option<f64> },
    /// A number is smallest on the expected curve, or at most `slack` above the smallest.
    Argmin { quantity: Expression, expect: String, slack: Option<f64> },
    /// Numbers rise in this order.
    Order {
        expect: Vec<Expression>,
        #[serde(default)]
        or_equal: bool,
    },
    /// One of these holds.
    Any { of: Vec<Test> },
    /// All of these hold; for use as an alternative of `any`.
    All { of: Vec<Test> },
    /// A number is shown; nothing is tested.
    Report { quantity: Expression },
}

/// A test's answer in one draw, with the numbers behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The answer.
    pub holds: bool,
    /// The numbers, each with its label.
    pub numbers: Vec<(&'static str, f64)>,
}

impl Test {
    /// Its expressions.
    pub fn expressions(&self) -> Vec<&Expression> {
        match self {
            Test::Range { quantity, .. }
            | Test::Monotone { quantity, .. }
            | Test::Fit { quantity, .. }
            | Test::Flat { quantity, .. }
            | Test::Plateau { quantity, .. }
            | Test::Argmax { quantity, .. }
            | Test::Argmin { quantity, .. }
            | Test::Report { quantity } => vec![quantity],
            Test::Similar { a, b, .. }
            | Test::Crossover { a, b, .. }
            | Test::NoCrossover { a, b, .. } => vec![a, b],
            Test::Sign { less, more, .. } | Test::Exists { less, more } => {
                less.iter().chain(more).collect()
            }
            Test::Order { expect, .. } => expect.iter().collect(),
            Test::Any { of } | Test::All { of } => of.iter().flat_map(Test::expressions).collect(),
        }
    }

    /// The series that it uses.
    pub fn leaves(&self) -> BTreeSet<&Leaf> {
        self.expressions().into_iter().flat_map(Expression::leaves).collect()
    }

    /// A mistake in the test.
    pub fn mistake(&self) -> Option<String> {
        match self {
            Test::Sign { less, more, .. } | Test::Exists { less, more }
                if less.is_empty() || (less.len() != 1 && less.len() != more.len()) =>
            {
                Some(format!("{} of `less` for {} of `more`", less.len(), more.len()))
            }
            Test::Range { low: Some(low), high: Some(high), .. }
            | Test::Crossover { low, high, .. }
                if low > high =>
            {
                Some(format!("`low`, {low}, is above `high`, {high}"))
            }
            Test::Range { low: None, high: None, .. } => {
                Some("a range needs `low` or `high`; `report` needs neither".to_owned())
            }
            Test::Any { of } | Test::All { of } => of.iter().find_map(Test::mistake),
            _ => None,
        }
    }

    /// Its answer over `frame`, for one curve or for all; `clause` names the random stream of its draws.
    ///
    /// # Errors
    /// A clause that cannot be read.
    pub fn judge(
        &self,
        frame: &Frame,
        case: Option<usize>,
        clause: &str,
    ) -> Result<Finding, Fault> {
        self.judge_cases(frame, &[case], clause).remove(0)
    }

    /// Its answers case by case, in the same draws: drawing takes longer than reading one curve.
    pub fn judge_cases(
        &self,
        frame: &Frame,
        cases: &[Option<usize>],
        clause: &str,
    ) -> Vec<Result<Finding, Fault>> {
        match self {
            Test::Any { of } => several(of, frame, cases, clause, any),
            Test::All { of } => several(of, frame, cases, clause, all),
            Test::Sign { less, more, min_share_pct, min_gap_pct, or_equal } => {
                let rule = sign::Rule { least_gap_percent: *min_gap_pct, or_equal: *or_equal };
                let least = min_share_pct.unwrap_or(100.0);
                let places = sign::places(less, more, rule, frame, cases, clause);
                places.into_iter().map(|it| Ok(sign::at_share(&it?, least))).collect()
            }
            Test::Exists { less, more } => {
                let rule = sign::Rule::default();
                let places = sign::places(less, more, rule, frame, cases, clause);
                places.into_iter().map(|it| Ok(sign::exists(&it?))).collect()
            }
            Test::Crossover { tight_low: Some(low), tight_high: Some(high), .. } => {
                let findings = self.in_draws(frame, cases, clause).into_iter();
                findings.map(|it| Ok(tightly(it?, *low..=*high))).collect()
            }
            _ => self.in_draws(frame, cases, clause),
        }
    }

    fn in_draws(
        &self,
        frame: &Frame,
        cases: &[Option<usize>],
        clause: &str,
    ) -> Vec<Result<Finding, Fault>> {
        let read = |draw: &Draw| self.read(&At { frame, draw });
        let tail = tail(frame);
        let drawn = draw::in_draws(frame.sizes(), cases, clause, read).into_iter();
        drawn.map(|readings| Ok(self.finding(readings?, tail))).collect()
    }

    fn finding(&self, readings: InDraws<Reading>, tail: Option<f64>) -> Finding {
        let InDraws { measured, again } = readings;
        let same = again.iter().filter(|reading| reading.holds == measured.holds).count();
        let interval = |index: usize| {
            let numbers = again.iter().filter_map(|reading| reading.numbers.get(index));
            draw::interval(numbers.map(|(_, number)| *number).collect(), tail?)
        };
        let figures = measured.numbers.iter().enumerate();
        let figures = figures.map(|(index, &(what, value))| Figure {
            what,
            value,
            interval: interval(index),
        });
        let is_sure = tail.is_some_and(|tail| same as f64 >= (1.0 - tail) * DRAWS as f64);
        let outcome = match (self, is_sure, measured.holds) {
            (Test::Report { .. }, ..) => Outcome::Reported,
            (_, false, _) => Outcome::Inconclusive,
            (_, true, true) => Outcome::Holds,
            (_, true, false) => Outcome::Fails,
        };
        Finding { outcome, figures: figures.collect(), note: None }
    }

    fn read(&self, at: &At<'_>) -> Result<Reading, Fault> {
        match self {
            Test::Range { quantity, low, high, min_share_pct } => {
                let band = low.unwrap_or(f64::NEG_INFINITY)..=high.unwrap_or(f64::INFINITY);
                places::range(at, quantity, &band, *min_share_pct)
            }
            Test::Similar { a, b, tol_pct, min_share_pct } => {
                places::similar(at, a, b, *tol_pct, min_share_pct.unwrap_or(100.0))
            }
            Test::NoCrossover { a, b, max_wins_pct, margin_pct } => {
                places::no_crossover(at, a, b, *max_wins_pct, margin_pct.unwrap_or(0.0))
            }
            Test::Crossover { a, b, low, high, .. } => curve::crossover(at, a, b, *low..=*high),
            Test::Monotone { quantity, direction, min_rank_corr } => {
                curve::monotone(at, quantity, *direction, *min_rank_corr)
            }
            Test::Fit { quantity, min_r2, slope_low, slope_high } => {
                let slopes =
                    slope_low.unwrap_or(f64::NEG_INFINITY)..=slope_high.unwrap_or(f64::INFINITY);
                curve::fit(at, quantity, min_r2.unwrap_or(0.0), slopes)
            }
            Test::Flat { quantity, max_abs_slope } => curve::flat(at, quantity, *max_abs_slope),
            Test::Plateau { quantity, from_x, tol_pct, min_share_pct } => {
                curve::plateau(at, quantity, *from_x, *tol_pct, min_share_pct.unwrap_or(100.0))
            }
            Test::Argmax { quantity, expect, slack } => {
                rank::largest(at, quantity, expect, slack.unwrap_or(0.0), 1.0)
            }
            Test::Argmin { quantity, expect, slack } => {
                rank::largest(at, quantity, expect, slack.unwrap_or(0.0), -1.0)
            }
            Test::Order { expect, or_equal } => rank::order(at, expect, *or_equal),
            Test::Report { quantity } => {
                let value = evaluate::number(quantity, at.frame, at.draw)?;
                Ok(Reading { holds: true, numbers: vec![("value", value)] })
            }
            Test::Sign { .. } | Test::Exists { .. } | Test::Any { .. } | Test::All { .. } => {
                unreachable!("they are judged as a whole, not draw by draw")
            }
        }
    }
}

/// The size of the tails that a clause over all of a frame's places leaves out.
fn tail(frame: &Frame) -> Option<f64> {
    let sizes = frame.sizes();
    let freedom = sizes.iter().map(|size| size.saturating_sub(1)).sum();
    draw::tail(*sizes.iter().min()?, freedom)
}

/// Notes if its figures lie in the tight band, too.
fn tightly(mut finding: Finding, band: RangeInclusive<f64>) -> Finding {
    let is_tight = finding.figures.iter().all(|figure| band.contains(&figure.value));
    let side = if is_tight { "within" } else { "not within" };
    finding.note = Some(format!("{side} {} to {}", band.start(), band.end()));
    finding
}

/// Several tests, with their outcomes combined.
fn several(
    of: &[Test],
    frame: &Frame,
    cases: &[Option<usize>],
    clause: &str,
    together: fn(&[Outcome]) -> Outcome,
) -> Vec<Result<Finding, Fault>> {
    let mut each: Vec<_> =
        of.iter().map(|test| test.judge_cases(frame, cases, clause).into_iter()).collect();
    let of_case = |_| -> Result<Finding, Fault> {
        // One from each, whatever the results of the previous ones.
        let findings: Vec<_> = each.iter_mut().filter_map(Iterator::next).collect();
        let findings = findings.into_iter().collect::<Result<Vec<Finding>, Fault>>()?;
        let outcomes: Vec<Outcome> = findings.iter().map(|finding| finding.outcome).collect();
        let figures = findings.into_iter().flat_map(|finding| finding.figures).collect();
        Ok(Finding { outcome: together(&outcomes), figures, note: None })
    };
    cases.iter().map(of_case).collect()
}

fn any(outcomes: &[Outcome]) -> Outcome {
    match (outcomes.contains(&Outcome::Holds), outcomes.contains(&Outcome::Inconclusive)) {
        (true, _) => Outcome::Holds,
        (false, true) => Outcome::Inconclusive,
        (false, false) => Outcome::Fails,
    }
}

fn all(outcomes: &[Outcome]) -> Outcome {
    match (outcomes.contains(&Outcome::Fails), outcomes.contains(&Outcome::Inconclusive)) {
        (true, _) => Outcome::Fails,
        (false, true) => Outcome::Inconclusive,
        (false, false) => Outcome::Holds,
    }
}

#[cfg(test)]
mod tests;
