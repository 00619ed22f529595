//! Sensitivity of the answer to what a source leaves open: the queue's size (`--queue-sweep`) and guessed edges of the
//! page's graph.
//!
//! Many sources state no queue, and the queue often decides: a short one drops packets that a long one delays. For
//! guesses, the arms are loaded once more with all guessed causes moved to the document.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use report::answer::Moment;
use scenario::{Plan, Queue, Scenario, World};
use testbed::worlds::Worlds;

use super::json;
use crate::args::Load;
use crate::commands::{output, refused, workers};
use crate::failure::CliError;
use crate::show::arms::{self, Arm};
use crate::show::table::Table;
use crate::show::units::span_f64;
use crate::show::{answer, conditions};

/// Share of guessed edges from which another guess is tried.
const WORTH_A_TRIAL: f64 = 0.1;

/// Maximum loads per arm in a trial.
const TRIAL_LOADS: u32 = 5;

/// A lead below this share counts as no difference.
const DIFFERENCE: f64 = 0.02;

/// An answer depends on guesses if another guess moves the lead by at least this share.
const CHANGE: f64 = 0.05;

/// Remark on the guesses in the page that `load` names; none if nothing is guessed.
pub fn guesses_note(
    load: &Load,
    plan: &Plan,
    worlds: &Worlds,
    arms: &[Arm],
    cancel: &AtomicBool,
) -> Result<Option<String>, CliError> {
    let cells = plan.cells();
    let page = worlds.library().page_of(&cells[0]).map_err(CliError::bad_input)?;
    let edges = page.summary().edges;
    let guessed = edges.inferred + edges.defaulted;
    if guessed == 0 {
        return Ok(None);
    }
    let known = format!(
        "dependencies: {} of {} stated, {} found in bodies, {guessed} guessed (HARs saved by Chromium state them)",
        edges.measured,
        edges.total(),
        edges.read,
    );
    let is_tried = guessed as f64 >= WORTH_A_TRIAL * edges.total() as f64
        && cells.iter().all(|cell| cell.world == World::Sim && cell.page.pages.is_empty());
    let own = leads(arms);
    if own.is_empty() || !is_tried {
        return Ok(Some(known));
    }
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
    let other = leads(&arms::group(&trial, results));
    Ok(Some(match verdict(&own, &other) {
        Some(verdict) => format!("{known}; {verdict}"),
        None => known,
    }))
}

/// The fastest arm by a moment, and its lead over the next.
struct LeadChange {
    moment: Moment,
    first: String,
    share: f64,
}

/// The lead by each moment by which two arms are ranked. Arms that lost anything are not ranked.
fn leads(arms: &[Arm]) -> Vec<LeadChange> {
    let Some(view) = arms.first().map(Arm::view) else { return Vec::new() };
    let ranked: Vec<&Arm> = arms.iter().filter(|arm| arm.view() == view).collect();
    let answer = answer::of_view(arms, view, 0);
    let lead = |moment| {
        let mut placed = answer.ranking(moment).placed();
        let (first, second) = (placed.next()?, placed.next()?);
        let share = second.median_ns / first.median_ns - 1.0;
        Some(LeadChange { moment, first: ranked[first.arm].name().to_owned(), share })
    };
    [Moment::Load, Moment::Render].into_iter().filter_map(lead).collect()
}

impl LeadChange {
    fn is_tie(&self) -> bool {
        self.share < DIFFERENCE
    }

    fn in_words(&self) -> String {
        let by = match self.moment {
            Moment::Load => "load time",
            Moment::Render => "first render",
        };
        match self.is_tie() {
            true => format!("no arm would lead in {by}"),
            false => format!("{} would lead by {:.0} % in {by}", self.first, self.share * 100.0),
        }
    }

    /// Returns true if another guess gives another answer.
    fn turns_into(&self, other: &LeadChange) -> bool {
        let is_first = self.first == other.first;
        let moved = self.share - if is_first { other.share } else { -other.share };
        let is_other_answer = !is_first || self.is_tie() != other.is_tie();
        is_other_answer && moved.abs() >= CHANGE
    }
}

/// Effect of another guess on these leads.
fn verdict(own: &[LeadChange], other: &[LeadChange]) -> Option<String> {
    let pairs: Vec<(&LeadChange, &LeadChange)> = own
        .iter()
        .filter_map(|lead| Some((lead, other.iter().find(|it| it.moment == lead.moment)?)))
        .collect();
    if pairs.is_empty() {
        return None;
    }
    let verdict = match pairs.iter().any(|(own, other)| own.turns_into(other)) {
        false => "the answer does not depend on the guesses",
        true => "THE ANSWER DEPENDS ON THE GUESSES",
    };
    let otherwise: Vec<String> = pairs.iter().map(|(_, other)| other.in_words()).collect();
    Some(format!(
        "{verdict}: if the document named all guessed objects, {}",
        otherwise.join(" and ")
    ))
}

/// The arms with one queue.
pub struct QueueRow {
    name: String,
    arms: Vec<Arm>,
}

/// The queues beside the network's own, in thousandths of the bandwidth-delay product.
const QUEUES: [u64; 2] = [1000, 4000];

/// Loads the arms of `plan` with each of the other queues; prints the visits if JSON was requested.
pub fn queue_sweep(
    load: &Load,
    plan: &Plan,
    worlds: &Worlds,
    cancel: &AtomicBool,
) -> Result<Vec<QueueRow>, CliError> {
    let mut rows = Vec::new();
    for queue in QUEUES.map(Queue::BdpThousandths) {
        let with_queue = |cell: &Arc<Scenario>| {
            let mut scenario = Scenario::clone(cell);
            scenario.network.queue = Some(queue);
            scenario
        };
        let cells = plan.cells().iter().map(with_queue).collect();
        let plan = Plan::new("load", plan.seed(), plan.repetitions(), plan.order(), cells);
        let results = store::batch::collect(&plan, worlds, workers(load.jobs, &plan), cancel);
        if cancel.load(Ordering::Relaxed) {
            break;
        }
        if load.json {
            json::print(&results, worlds)?;
        }
        rows.push(QueueRow {
            name: queue.to_string().replace("bdp", " BDP"),
            arms: arms::group(&plan, results),
        });
    }
    Ok(rows)
}

/// Prints the medians of all arms with each queue, and whether the same arm is always fastest.
pub fn print_queue_sweep(own: &[Arm], rows: &[QueueRow], worlds: &Worlds) -> Result<(), CliError> {
    let Some(first) = own.first() else { return Ok(()) };
    let names: Vec<&str> = own.iter().map(Arm::name).collect();
    let mut columns = vec!["median PLT by queue", "queue down"];
    columns.extend(&names);
    columns.push("fastest");
    let mut table = Table::new(&columns);
    let mut winners = Vec::new();
    let own = ("the network's own", own);
    let others = rows.iter().map(|row| (row.name.as_str(), row.arms.as_slice()));
    for (name, arms) in std::iter::once(own).chain(others) {
        let scenario = arms.first().unwrap_or(first).scenario();
        let network = worlds.library().network_of(scenario).map_err(CliError::bad_input)?;
        let fastest = arms::fastest(arms).map_or("-", Arm::name);
        winners.push(fastest);
        let medians =
            arms.iter().map(|arm| arm.plt().map_or("-".to_owned(), |plt| span_f64(plt.median())));
        let cells = [name.to_owned(), conditions::queue(network.down.queue)];
        table.row(cells.into_iter().chain(medians).chain([fastest.to_owned()]));
    }
    output::line("")?;
    output::line(table)?;
    let same = winners.windows(2).all(|pair| pair[0] == pair[1]);
    output::line(match same {
        true => "The fastest arm is the same with every queue.",
        false => "The fastest arm depends on the queue.",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lead(moment: Moment, first: &str, share: f64) -> LeadChange {
        LeadChange { moment, first: first.to_owned(), share }
    }

    fn told(own: [(&str, f64); 2], other: [(&str, f64); 2]) -> String {
        let leads = |[load, render]: [(&str, f64); 2]| {
            [lead(Moment::Load, load.0, load.1), lead(Moment::Render, render.0, render.1)]
        };
        verdict(&leads(own), &leads(other)).unwrap()
    }

    #[test]
    fn an_answer_depends_on_guesses_if_another_guess_changes_it() {
        let own = [("h2", 0.12), ("h2", 0.12)];
        let hangs = |own, other| told(own, other).starts_with("THE ANSWER DEPENDS");
        let same = told(own, [("h2", 0.05), ("h2", 0.001)]);
        assert!(
            same.ends_with(
                "h2 would lead by 5 % in load time and no arm would lead in first render"
            )
        );
        assert!(!hangs(own, [("h2", 0.05), ("h2", 0.05)]));
        assert!(hangs(own, [("h1", 0.05), ("h2", 0.12)]));
        assert!(hangs(own, [("h2", 0.12), ("h1", 0.05)]), "a visitor sees the first render");
        assert!(hangs(own, [("h2", 0.001), ("h2", 0.12)]));
        assert!(!hangs([("h2", 0.01), ("h2", 0.1)], [("h1", 0.01), ("h2", 0.1)]));
        assert!(!hangs([("h2", 0.021), ("h2", 0.1)], [("h2", 0.019), ("h2", 0.1)]));
        assert_eq!(verdict(&[], &[]), None);
    }
}
