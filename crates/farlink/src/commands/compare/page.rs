//! Report of both sides of a comparison, as one run: what was before and what is after are arms or conditions of it.

use std::path::Path;
use std::sync::Arc;

use scenario::{JourneyPlan, Order, Plan, Scenario};
use testbed::worlds::Worlds;

use super::side::Side;
use crate::commands::load::TransientRun;
use crate::commands::watched::ObservedJourneys;
use crate::failure::CliError;
use crate::show::arms;

/// Checks that a report can tell both sides apart.
///
/// # Errors
/// If they have a scenario in common.
pub fn check(sides: &[Side; 2]) -> Result<(), CliError> {
    let [before, after] = sides;
    if before.cells().iter().any(|cell| after.cells().contains(cell)) {
        let message = "--report: both sides have the same page and settings, so that a report could not tell them apart";
        return Err(CliError::bad_input(message)
            .hint("`farlink report` writes the report of one run".to_owned()));
    }
    Ok(())
}

/// Writes the report of two sides, which [`check`] has passed, to `path`; `seed` is that of their loads.
pub fn write(
    path: &Path,
    name: &str,
    seed: u64,
    sides: &[Side; 2],
    worlds: &Worlds,
) -> Result<(), CliError> {
    let before = &sides[0];
    let cells: Vec<Scenario> =
        sides.iter().flat_map(Side::cells).map(|cell| Scenario::clone(cell)).collect();
    let journeys = || sides.iter().flat_map(|side| side.results()).map(|(journey, _)| journey);
    let repetitions = journeys().map(|journey| journey.repetition + 1).max().unwrap_or(1);
    let plan = Plan::new(name, seed, repetitions, Order::Blocked, cells);
    let firsts = [0, before.cells().len() as u32];
    let mut results = Vec::new();
    for (side, first) in sides.iter().zip(firsts) {
        for (journey, result) in side.results() {
            let cell = first + journey.cell;
            let position = plan.position(cell as usize, journey.repetition);
            let scenario = Arc::clone(&plan.cells()[cell as usize]);
            results.push((
                JourneyPlan { cell, position, scenario, ..journey.clone() },
                result.clone(),
            ));
        }
    }
    let facts = crate::commands::run::facts(None, 1);
    let run = TransientRun::new(&plan, &facts, &results)?;
    run.write(path, &arms::group(&plan, results), &ObservedJourneys::new(worlds))
}
