//! The answers of a run: one under each condition, and one over all of them.

use std::collections::BTreeMap;

use super::cells::Cell;
use super::summary::Summary;
use crate::answer::{self, Answer, Arm, Conditions, Moment, Place, Times};
use statistics::Comparison;

/// The answers of a run.
#[derive(Clone, Debug)]
pub struct Verdicts {
    /// One per condition, in their order.
    pub answers: Vec<Answer>,
}

impl Verdicts {
    /// The answers of `summary`.
    pub fn of(summary: &Summary) -> Verdicts {
        let answer = |condition| Answer::of(&arms(summary, condition), summary.run.seed);
        Verdicts { answers: (0..summary.conditions.len()).map(answer).collect() }
    }

    /// The sentences that a report begins with.
    pub fn sentences(&self) -> Vec<String> {
        match self.answers.as_slice() {
            [only] => only.sentences(),
            several => answer::over_conditions(several),
        }
    }

    /// The arms over all conditions, by one moment.
    pub fn over_all(&self, moment: Moment) -> Conditions {
        Conditions::of(&self.answers, moment)
    }
}

/// Every arm against every other by load time, in the order of the ranking: their indices, and the comparisons.
pub fn matrix(summary: &Summary, answer: &Answer) -> (Vec<usize>, Vec<Vec<Option<Comparison>>>) {
    let arms = arms(summary, 0);
    let order: Vec<usize> =
        answer.ranking(Moment::Load).placed().map(|placed| placed.arm).collect();
    let loads = |arm: &usize| -> BTreeMap<Place, f64> {
        arms[*arm].loads.iter().map(|(place, times)| (*place, times.load_ns)).collect()
    };
    let loads: Vec<_> = order.iter().map(loads).collect();
    let matrix = answer::matrix(&loads, summary.run.seed);
    (order, matrix)
}

fn arms(summary: &Summary, condition: usize) -> Vec<Arm> {
    let names = summary.arms.iter().enumerate();
    names
        .map(|(index, name)| {
            let arm = summary.cell(index, condition).map_or_else(Arm::default, arm);
            Arm { name: name.clone(), ..arm }
        })
        .collect()
}

/// The arm of a cell, without its name.
fn arm(cell: &Cell) -> Arm {
    let loads = cell.visits.iter().filter_map(|(load, visit)| {
        let times = Times {
            load_ns: visit.plt_ns? as f64,
            render_ns: visit.first_render_ns().map(|ns| ns as f64),
            floor_ns: visit.floors.map(|floors| floors.graph_ns as f64),
        };
        Some(((load.repetition, load.client, load.turn), times))
    });
    Arm {
        name: String::new(),
        loads: loads.collect(),
        shortfall: cell.shortfall.clone(),
        paints: cell.paints(),
    }
}
