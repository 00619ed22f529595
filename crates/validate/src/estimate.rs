//! How long the emulated part of a validation will take: known before it begins, because the simulation
//! has already said how long each page load is.

use std::time::Duration;

use super::cell::Cell;
use super::suite::{PartPlan, Suite};
use super::way::Way;
use statistics::Sample;
use store::{Store, StoreError};
use testbed::tour::Library;

/// What an emulated load takes beside the page load itself: namespaces, processes, links, and half a second of
/// start phase.
const AROUND_A_LOAD: Duration = Duration::from_millis(1_000);

/// What a load by Chromium takes beside the page load: also a fresh browser context.
const AROUND_A_BROWSER_LOAD: Duration = Duration::from_millis(2_500);

/// Wall time that is still to come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Loads to come.
    pub loads: u64,
    /// Their time, side by side as they are.
    pub wall: Duration,
}

/// What the plans of `suite` that are not simulated have still to do, with `side_by_side` loads of the loader at
/// once; browsers load one at a time. Cells that are not simulated count as the toy model has them.
///
/// # Errors
/// If the store cannot be read.
pub fn estimate(
    store: &Store,
    suite: &Suite,
    library: &Library,
    side_by_side: usize,
) -> Result<Estimate, StoreError> {
    let cells = super::gather(store, suite, library)?;
    let mut first_of_part = vec![0];
    for part in &suite.parts {
        first_of_part.push(first_of_part[first_of_part.len() - 1] + part.cells.len());
    }
    let mut estimate = Estimate::default();
    for plan in suite.plans().iter().filter(|plan| plan.way != Way::Sim) {
        let (around, at_once) = match plan.way {
            Way::Chromium => (AROUND_A_BROWSER_LOAD, 1),
            _ => (AROUND_A_LOAD, side_by_side),
        };
        for (loads, plt) in to_come(plan, &cells[first_of_part[plan.part]..]) {
            estimate.loads += loads;
            estimate.wall += (around + plt).mul_f64(loads as f64 / at_once.max(1) as f64);
        }
    }
    Ok(estimate)
}

/// Missing loads of each cell of a plan, and how long one is.
fn to_come<'a>(plan: &'a PartPlan, part: &'a [Cell]) -> impl Iterator<Item = (u64, Duration)> + 'a {
    plan.cells.iter().map(move |cell| {
        let cell = &part[*cell];
        let missing = cell.measured.get(&plan.way).map_or(0, |measured| measured.missing);
        let plt_ms = cell.plt(Way::Sim).map_or(cell.toy_ms, Sample::mean);
        (missing, Duration::from_secs_f64(plt_ms / 1e3))
    })
}
