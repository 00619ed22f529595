//! Answer of a run: the comparison that `load` prints, from the store's contents.

use scenario::{JourneyPlan, JourneyResult, MeasuredVisit, Plan};
use store::{RunId, Store, StoreError, VisitRow};

use super::report::not_made;
use super::{output, stores};
use crate::failure::Failure;
use crate::show::terminal::wrapped;
use crate::show::{answer, arms};

/// Larger runs are only summarised over all conditions: the tables need all visits in memory.
const MOST_VISITS: usize = 20_000;

/// Prints the answer over all conditions, and one for each of them.
pub fn print(store: &Store, run: RunId, plan: &Plan) -> Result<(), Failure> {
    for skipped in plan.skipped() {
        output::line(wrapped(&format!("note: {}", skipped.sentence())))?;
    }
    let visits = store.visits(run).map_err(stores::failed)?;
    if visits.len() > MOST_VISITS {
        return over_all(store, run);
    }
    let arms = arms::group(plan, results(store, run, visits).map_err(stores::failed)?);
    if arms::by_condition(&arms).count() > 1 {
        over_all(store, run)?;
    }
    for arms in arms::by_condition(&arms) {
        let condition = arms[0].condition();
        if !condition.is_empty() {
            output::line(format!("\n{condition}"))?;
        }
        for sentence in answer::answer(arms, plan.seed()) {
            output::line(sentence)?;
        }
        output::line(arms::table(arms))?;
    }
    output::line(arms::legend(&arms))?;
    output::line("")
}

/// Prints the answer at the report's beginning.
fn over_all(store: &Store, run: RunId) -> Result<(), Failure> {
    for sentence in report::sentences(store, run).map_err(not_made)? {
        output::line(wrapped(&sentence))?;
    }
    Ok(())
}

/// The stored journeys as results, as if just measured.
fn results(
    store: &Store,
    run: RunId,
    visits: Vec<VisitRow>,
) -> Result<Vec<(JourneyPlan, JourneyResult)>, StoreError> {
    let mut visits = visits.into_iter().peekable();
    let mut results = Vec::new();
    for row in store.journeys(run)? {
        let mut result =
            JourneyResult { notes: row.notes, failure: row.failure, ..JourneyResult::default() };
        while let Some(visit) = visits.next_if(|visit| visit.key.journey == row.position) {
            let record = store.record(visit.key)?;
            result.visits.push(MeasuredVisit { record, floors: visit.floors });
        }
        let journey = JourneyPlan {
            position: row.position,
            cell: row.cell,
            repetition: row.repetition,
            seed: row.seed,
            scenario: row.scenario.into(),
        };
        results.push((journey, result));
    }
    Ok(results)
}
