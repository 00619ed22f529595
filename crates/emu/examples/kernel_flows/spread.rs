//! Flows that the kernel does not reproduce: minimum, median and maximum of several runs.

use std::time::Duration;

use farlink_emu::flow::FlowTrace;

/// The table's head.
pub const HEAD: &str = "\
| flow | kernel s | farlink s | | kernel sends again | farlink |
|---|---|---|---|---|---|
";

/// Outcome of a flow.
#[derive(Clone, Copy)]
pub struct Outcome {
    took: Duration,
    again: usize,
}

impl Outcome {
    /// Outcome of a flow of `total` bytes; none if it did not complete.
    pub fn of(trace: &FlowTrace, total: u64) -> Option<Outcome> {
        Some(Outcome { took: trace.completion(total)?, again: trace.retransmissions().len() })
    }
}

/// One flow's row: the kernel's runs and the simulated ones.
pub fn row(name: &str, kernel: &[Outcome], simulated: &[Outcome]) -> String {
    let times = |runs: &[Outcome]| sorted(runs.iter().map(|run| run.took.as_secs_f64()));
    let again = |runs: &[Outcome]| sorted(runs.iter().map(|run| run.again as f64));
    let (theirs, ours) = (times(kernel), times(simulated));
    format!(
        "| {name} | {} | {} | {} | {} | {} |\n",
        show(&theirs, 3),
        show(&ours, 3),
        verdict(&theirs, &ours),
        show(&again(kernel), 0),
        show(&again(simulated), 0),
    )
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

/// The only value, or minimum, median and maximum.
fn show(sorted: &[f64], digits: usize) -> String {
    let text = |value: f64| format!("{value:.digits$}");
    let (least, most) = (sorted[0], sorted[sorted.len() - 1]);
    if text(least) == text(most) {
        return text(least);
    }
    format!("{} ({}-{})", text(median(sorted)), text(least), text(most))
}

/// Distance between the two spreads.
fn verdict(theirs: &[f64], ours: &[f64]) -> String {
    let (least, most) = (theirs[0], theirs[theirs.len() - 1]);
    let (fastest, slowest) = (ours[0], ours[ours.len() - 1]);
    let apart = (fastest / most - 1.0).max(1.0 - slowest / least) * 100.0;
    if apart > 0.05 { format!("apart by {apart:.1} %") } else { "overlap".into() }
}
