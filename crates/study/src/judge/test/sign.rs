//! The lesser of two series, place by place.
//!
//! One is less for certain if the interval of the gap excludes 0 **and** the gap is at least 2 %: a certain
//! lead without consequence does not count. If neither is less for certain, the place is open.

use crate::judge::draw::{self, Draw, Points};
use crate::judge::series::{Place, percent};
use crate::judge::{Expression, Fault, Figure, Finding, Frame, Outcome, evaluate};

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

/// Result at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Less.
    For,
    /// Not less.
    Against,
    /// Not certain.
    Open,
}

/// The places, each with its result and the gap in per cent of the larger value.
pub type Places = Vec<(Place, Side, f64)>;

/// The results of each of `less` against its partner of `more`, place by place, one pair after the other, for
/// each case.
pub fn places(
    less: &[Expression],
    more: &[Expression],
    rule: Rule,
    frame: &Frame,
    cases: &[Option<usize>],
    clause: &str,
) -> Vec<Result<Places, Fault>> {
    let mut all = vec![Ok(Places::new()); cases.len()];
    for (index, partner) in more.iter().enumerate() {
        let one = less.get(index).unwrap_or(&less[0]);
        let found = pair([one, partner], rule, frame, cases, clause);
        for (places, found) in all.iter_mut().zip(found) {
            match (places.as_mut(), found) {
                (Ok(places), Ok(found)) => places.extend(found),
                (Ok(_), Err(fault)) => *places = Err(fault),
                (Err(_), _) => {}
            }
        }
    }
    all
}

fn pair(
    [less, more]: [&Expression; 2],
    rule: Rule,
    frame: &Frame,
    cases: &[Option<usize>],
    clause: &str,
) -> Vec<Result<Places, Fault>> {
    let gaps = |draw: &Draw| {
        let less = evaluate::value(less, frame, draw)?;
        Ok(less.zip(evaluate::value(more, frame, draw)?, gap).points())
    };
    let least = frame.sizes().iter().min().copied().unwrap_or(0);
    let tail = draw::tail(least, least.saturating_sub(1));
    let of_case = |gaps: Result<Points, Fault>| {
        let gaps = gaps?;
        if gaps.measured.is_empty() {
            return Err(Fault::Clause(format!("`{less}` and `{more}` have no place in common")));
        }
        Ok(sides(&gaps, rule, tail))
    };
    draw::in_draws(frame.sizes(), cases, clause, gaps).into_iter().map(of_case).collect()
}

/// The results at places with these gaps.
fn sides(gaps: &Points, rule: Rule, tail: Option<f64>) -> Places {
    let side = |index: usize, gap: f64| {
        let interval = gaps.interval(index, tail?)?;
        Some(rule.side(gap, interval.low, interval.high))
    };
    let measured = gaps.measured.iter().enumerate();
    measured
        .map(|(index, &(place, gap))| (place, side(index, gap).unwrap_or(Side::Open), gap))
        .collect()
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
    fn side(self, gap: f64, low: f64, high: f64) -> Side {
        if let Some(least) = self.least_gap_percent {
            return match () {
                () if gap >= least && low > 0.0 => Side::For,
                () if gap < least && high < least => Side::Against,
                () => Side::Open,
            };
        }
        match () {
            () if gap >= LEAST_GAP && low > 0.0 => Side::For,
            () if gap <= -LEAST_GAP && high < 0.0 => Side::Against,
            () if self.or_equal && low > -LEAST_GAP => Side::For,
            () => Side::Open,
        }
    }
}

/// Holds if `less` is less at `least` per cent of the places.
pub fn at_share(places: &Places, least: f64) -> Finding {
    let count = |side| places.iter().filter(|(_, it, _)| *it == side).count();
    let all = places.len();
    let (sure, open) = (percent(count(Side::For), all), percent(count(Side::Open), all));
    let outcome = match () {
        () if sure >= least => Outcome::Holds,
        () if sure + open < least => Outcome::Fails,
        () => Outcome::Inconclusive,
    };
    let gaps: Vec<f64> = places.iter().map(|(_, _, gap)| *gap).collect();
    let median = crate::judge::series::median(&gaps).unwrap_or(f64::NAN);
    let figures = [("% of places less", sure), ("% open", open), ("median gap, %", median)];
    Finding { outcome, figures: figures.map(Figure::plain).to_vec(), note: None }
}

/// Holds if there is a place at which all pairs are less.
pub fn exists(places: &Places) -> Finding {
    let mut at: Vec<(Place, Side)> = Vec::new();
    for (place, side, _) in places {
        match at.iter_mut().find(|(there, _)| there == place) {
            Some((_, so_far)) => *so_far = both(*so_far, *side),
            None => at.push((*place, *side)),
        }
    }
    let count = |side| at.iter().filter(|(_, it)| *it == side).count();
    let outcome = match (count(Side::For), count(Side::Open)) {
        (0, 0) => Outcome::Fails,
        (0, _) => Outcome::Inconclusive,
        _ => Outcome::Holds,
    };
    let figure = Figure::plain(("places", count(Side::For) as f64));
    Finding { outcome, figures: vec![figure], note: None }
}

fn both(one: Side, other: Side) -> Side {
    match (one, other) {
        (Side::Against, _) | (_, Side::Against) => Side::Against,
        (Side::Open, _) | (_, Side::Open) => Side::Open,
        (Side::For, Side::For) => Side::For,
    }
}
