//! Estimated duration of the emulated part of a validation: available before it begins, because the simulation
//! has already predicted each page load.

use std::time::Duration;

use super::cell::Cell;
use super::suite::{PartPlan, Suite};
use crate::suite::MeasuredWorld;
use statistics::Sample;
use store::{Store, StoreError};
use testbed::tour::Library;

/// Overhead of an emulated load beyond the page load itself: namespaces, processes, links, and half a second of
/// start phase.
const AROUND_A_LOAD: Duration = Duration::from_millis(1_000);

/// Overhead of a load by Chromium beyond the page load: also a fresh browser context.
const AROUND_A_BROWSER_LOAD: Duration = Duration::from_millis(2_500);

/// Remaining wall time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Number of remaining loads.
    pub loads: u64,
    /// Their wall time, given the concurrency.
    pub wall: Duration,
}

/// The remaining work in the plans of `suite` that are not simulated, with `side_by_side` concurrent loads of
/// the loader; browsers load one at a time. Cells that are not simulated are estimated by the Lantern-like model.
///
/// # Errors
/// If the store cannot be read.
pub fn estimate(
    store: &Store,
    suite: &Suite,
    library: &Library,
    side_by_side: usize,
) -> Result<Estimate, StoreError> {
    let cells = super::gather_first(store, suite, library)?;
    let mut first_of_part = vec![0];
    for part in &suite.parts {
        first_of_part.push(first_of_part[first_of_part.len() - 1] + part.cells.len());
    }
    let mut estimate = Estimate::default();
    for plan in suite.plans().iter().filter(|plan| plan.way != MeasuredWorld::Sim) {
        let (around, at_once) = match plan.way {
            MeasuredWorld::Chromium => (AROUND_A_BROWSER_LOAD, 1),
            _ => (AROUND_A_LOAD, side_by_side),
        };
        for (loads, plt) in to_come(plan, &cells[first_of_part[plan.part]..]) {
            estimate.loads += loads;
            estimate.wall += (around + plt).mul_f64(loads as f64 / at_once.max(1) as f64);
        }
    }
    Ok(estimate)
}

/// Number of missing loads of each cell of a plan, with the duration of one.
fn to_come<'a>(plan: &'a PartPlan, part: &'a [Cell]) -> impl Iterator<Item = (u64, Duration)> + 'a {
    plan.cells.iter().map(move |cell| {
        let cell = &part[*cell];
        let missing = cell.measured.get(&plan.way).map_or(0, |measured| measured.missing);
        let plt_ms = cell.plt(MeasuredWorld::Sim).map_or(cell.lantern_ms, Sample::mean);
        (missing, Duration::from_secs_f64(plt_ms / 1e3))
    })
}
