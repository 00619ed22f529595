//! How much of a page's graph is guessed, and whether the answer hangs on it: the arms are loaded once
//! more with all guessed causes moved to the document.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use scenario::Plan;
use scenario::{Scenario, World};
use testbed::worlds::Worlds;

use crate::args::Load;
use crate::commands::{refused, workers};
use crate::failure::Failure;
use crate::show::arms::{self, Arm};

/// From this share of guessed edges on, another guess is tried.
const WORTH_A_TRIAL: f64 = 0.1;

/// Loads of an arm that a trial takes at most.
const TRIAL_LOADS: u32 = 5;

/// A lead below this share is no difference.
const DIFFERENCE: f64 = 0.02;

/// An answer hangs on guesses if another guess moves the lead by this share at least.
const CHANGE: f64 = 0.05;

/// What a reader should know of the guesses in the page that `load` names; nothing where all is known.
pub fn sentence(
    load: &Load,
    plan: &Plan,
    worlds: &Worlds,
    arms: &[Arm],
    cancel: &AtomicBool,
) -> Result<Option<String>, Failure> {
    let cells = plan.cells();
    let page = worlds.library().page_of(&cells[0]).map_err(Failure::bad_input)?;
    let edges = page.summary().edges;
    let guessed = edges.inferred + edges.defaulted;
    if guessed == 0 {
        return Ok(None);
    }
    let known = format!(
        "what waits for what: {} of {} stated, {} read in bodies, {guessed} guessed (a HAR saved by a Chromium states it)",
        edges.measured,
        edges.total(),
        edges.read,
    );
    let is_tried = guessed as f64 >= WORTH_A_TRIAL * edges.total() as f64
        && cells.iter().all(|cell| cell.world == World::Sim && cell.page.pages.is_empty());
    let Some(lead) = Lead::of(arms).filter(|_| is_tried) else { return Ok(Some(known)) };
    let otherwise = |cell: &Arc<Scenario>| {
        let mut scenario = Scenario::clone(cell);
        scenario.page = testbed::tour::page_ref(&format!("{}~flat", load.page));
        scenario
    };
    let cells: Vec<Scenario> = cells.iter().map(otherwise).collect();
    for cell in &cells {
        worlds.prepare(cell).map_err(refused)?;
    }
    let loads = plan.repetitions().min(TRIAL_LOADS);
    let trial = Plan::new("load", plan.seed(), loads, plan.order(), cells);
    let results = store::batch::collect(&trial, worlds, workers(load.jobs, &trial), cancel);
    let other = Lead::of(&arms::group(&trial, results));
    Ok(Some(match other {
        Some(other) => format!("{known}; {}", lead.against(&other)),
        None => known,
    }))
}

/// The fastest arm and how far it is ahead of the next.
struct Lead {
    first: String,
    share: f64,
}

impl Lead {
    fn of(arms: &[Arm]) -> Option<Lead> {
        let median = |arm: &Arm| Some((arm.plt()?.median(), arm.name().to_owned()));
        let mut medians: Vec<(f64, String)> = arms.iter().filter_map(median).collect();
        medians.sort_by(|a, b| a.0.total_cmp(&b.0));
        match medians.as_slice() {
            [(first, name), (second, _), ..] => {
                Some(Lead { first: name.clone(), share: second / first - 1.0 })
            }
            _ => None,
        }
    }

    fn is_tie(&self) -> bool {
        self.share < DIFFERENCE
    }

    fn in_words(&self) -> String {
        match self.is_tie() {
            true => "no arm would lead".to_owned(),
            false => format!("{} would lead by {:.0} %", self.first, self.share * 100.0),
        }
    }

    /// What another guess makes of this lead.
    fn against(&self, other: &Lead) -> String {
        let is_first = self.first == other.first;
        let moved = self.share - if is_first { other.share } else { -other.share };
        let is_other_answer = !is_first || self.is_tie() != other.is_tie();
        let verdict = match is_other_answer && moved.abs() >= CHANGE {
            false => "the answer does not hang on the guesses",
            true => "THE ANSWER HANGS ON THE GUESSES",
        };
        let otherwise = other.in_words();
        format!("{verdict}: had the document named all of them, {otherwise}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lead(first: &str, share: f64) -> Lead {
        Lead { first: first.to_owned(), share }
    }

    #[test]
    fn an_answer_hangs_on_guesses_if_another_guess_changes_it() {
        let own = lead("h2", 0.12);
        let hangs = |own: &Lead, other: Lead| own.against(&other).starts_with("THE ANSWER HANGS");
        assert!(own.against(&lead("h2", 0.05)).ends_with("h2 would lead by 5 %"));
        assert!(!hangs(&own, lead("h2", 0.05)));
        assert!(hangs(&own, lead("h1", 0.05)));
        assert!(hangs(&own, lead("h2", 0.001)));
        assert!(!hangs(&lead("h2", 0.01), lead("h1", 0.01)));
        assert!(!hangs(&lead("h2", 0.021), lead("h2", 0.019)));
    }
}
