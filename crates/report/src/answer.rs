//! The answer to a comparison: the arms that load and render first, and their lead; for a run, one answer under each
//! condition and one over all of them.
//!
//! Terminal and report print the same [`Answer`]. It ranks all arms by load time and by first render, with ties: arms that the repetitions
//! cannot tell apart, or that differ by less than [`SMALL`], share a rank. An arm that did not load the whole page is named and not ranked.

use std::collections::BTreeMap;

use statistics::Comparison;

use super::cells::ReportCell;
use super::summary::ReportSummary;

mod conditions;
mod ranking;
mod words;

#[cfg(test)]
mod tests;

pub use conditions::{ArmStanding, OverConditions, sentences as over_conditions};
pub use ranking::{Gap, Incomplete, RankedArm, Ranking, Shortfall};
pub use words::span;

/// Medians that lie closer together than this fraction of the slower one count as the same, however certain the
/// difference is.
pub const SMALL: f64 = 0.03;

/// Identifies a load within its arm: repetition, client, turn. Loads of the same place are paired across arms.
pub type LoadKey = (u32, u32, u32);

/// Times of one load, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// To the load event.
    pub load_ns: f64,
    /// To the first render, where it is known.
    pub render_ns: Option<f64>,
    /// The floor of the load time, where it was computed.
    pub floor_ns: Option<f64>,
}

/// One way of loading the page.
#[derive(Clone, Debug, Default)]
pub struct RankedInput {
    /// Its name, for people.
    pub name: String,
    /// The loads that reached the load event.
    pub loads: BTreeMap<LoadKey, Times>,
    /// Objects and loads that it lost.
    pub shortfall: Shortfall,
    /// True if it was loaded by a browser that paints, so that its first render is measured.
    pub paints: bool,
}

/// A moment by which arms are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The load event.
    Load,
    /// The first render.
    Render,
}

/// The answer under one condition.
#[derive(Clone, Debug)]
pub struct Answer {
    names: Vec<String>,
    load: Ranking,
    render: Ranking,
    incomplete: Vec<Incomplete>,
    /// True if first renders were measured; otherwise they are estimated.
    paints: bool,
    /// True if any load of any arm reached the load event.
    is_loaded: bool,
    /// The median of load time over floor, of an arm that stands alone.
    over_floor: Option<f64>,
}

impl Answer {
    /// Ranks `arms`; `seed` is that of the intervals.
    pub fn of(arms: &[RankedInput], seed: u64) -> Answer {
        let complete = |arm: &RankedInput| arm.shortfall.is_nothing();
        let values = |moment: Moment| {
            let ranked = arms.iter().enumerate().filter(|(_, arm)| complete(arm));
            ranked.map(|(index, arm)| (index, arm.values(moment))).collect::<Vec<_>>()
        };
        Answer {
            names: arms.iter().map(|arm| arm.name.clone()).collect(),
            load: Ranking::of(&values(Moment::Load), seed),
            render: Ranking::of(&values(Moment::Render), seed),
            incomplete: arms.iter().filter_map(Incomplete::of).collect(),
            paints: arms.iter().any(|arm| arm.paints),
            is_loaded: arms.iter().any(|arm| !arm.loads.is_empty()),
            over_floor: arms.iter().find(|arm| complete(arm)).and_then(RankedInput::over_floor),
        }
    }

    /// The ranking by one moment.
    pub fn ranking(&self, moment: Moment) -> &Ranking {
        match moment {
            Moment::Load => &self.load,
            Moment::Render => &self.render,
        }
    }

    /// The arms that did not load the whole page.
    pub fn incomplete(&self) -> &[Incomplete] {
        &self.incomplete
    }

    /// True if no arm is first both in load time and in first render.
    pub fn disagrees(&self) -> bool {
        let (load, render) = (self.load.first(), self.render.first());
        let in_both = load.iter().any(|one| render.iter().any(|other| one.arm == other.arm));
        !load.is_empty() && !render.is_empty() && !in_both
    }
}

impl RankedInput {
    /// The times of its loads until `moment`.
    fn values(&self, moment: Moment) -> BTreeMap<LoadKey, f64> {
        let value = |times: &Times| match moment {
            Moment::Load => Some(times.load_ns),
            // A page out of the cache renders at once; a time of zero would have no ratio.
            Moment::Render => times.render_ns.map(|ns| ns.max(1.0)),
        };
        self.loads.iter().filter_map(|(place, times)| Some((*place, value(times)?))).collect()
    }

    fn over_floor(&self) -> Option<f64> {
        let ratio = |times: &Times| Some(times.load_ns / times.floor_ns.filter(|ns| *ns > 0.0)?);
        Some(statistics::Sample::new(self.loads.values().filter_map(ratio))?.median())
    }
}

/// The answers of a run.
#[derive(Clone, Debug)]
pub struct Answers {
    /// One per condition, in their order.
    pub answers: Vec<Answer>,
}

impl Answers {
    /// The answers of `summary`.
    pub fn of(summary: &ReportSummary) -> Answers {
        let answer = |condition| Answer::of(&arms(summary, condition), summary.run.seed);
        Answers { answers: (0..summary.conditions.len()).map(answer).collect() }
    }

    /// The sentences that a report begins with.
    pub fn sentences(&self) -> Vec<String> {
        match self.answers.as_slice() {
            [only] => only.sentences(),
            several => over_conditions(several),
        }
    }

    /// The arms over all conditions, by one moment.
    pub fn over_all(&self, moment: Moment) -> OverConditions {
        OverConditions::of(&self.answers, moment)
    }
}

/// Every arm against every other by load time, in the order of the ranking: their indices, and the comparisons.
pub fn pairwise(
    summary: &ReportSummary,
    answer: &Answer,
) -> (Vec<usize>, Vec<Vec<Option<Comparison>>>) {
    let arms = arms(summary, 0);
    let order: Vec<usize> =
        answer.ranking(Moment::Load).placed().map(|placed| placed.arm).collect();
    let loads = |arm: &usize| -> BTreeMap<LoadKey, f64> {
        arms[*arm].loads.iter().map(|(place, times)| (*place, times.load_ns)).collect()
    };
    let loads: Vec<_> = order.iter().map(loads).collect();
    let matrix = ranking::matrix(&loads, summary.run.seed);
    (order, matrix)
}

fn arms(summary: &ReportSummary, condition: usize) -> Vec<RankedInput> {
    let names = summary.arms.iter().enumerate();
    names
        .map(|(index, name)| {
            let arm = summary.cell(index, condition).map_or_else(RankedInput::default, arm);
            RankedInput { name: name.clone(), ..arm }
        })
        .collect()
}

/// The arm of a cell, without its name.
fn arm(cell: &ReportCell) -> RankedInput {
    let loads = cell.visits.iter().filter_map(|(load, visit)| {
        let times = Times {
            load_ns: visit.plt_ns? as f64,
            render_ns: visit.first_render_ns().map(|ns| ns as f64),
            floor_ns: visit.floors.map(|floors| floors.graph_ns as f64),
        };
        Some(((load.repetition, load.client, load.turn), times))
    });
    RankedInput {
        name: String::new(),
        loads: loads.collect(),
        shortfall: cell.shortfall.clone(),
        paints: cell.paints(),
    }
}
