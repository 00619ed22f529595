//! `farlink load --report`: all loads as one HTML file, as `farlink report` writes it for a run.

use std::path::Path;

use scenario::{JourneyPlan, JourneyResult, Plan};
use store::{RunFacts, RunId, Store, VisitKey};

use crate::commands::report::not_made;
use crate::commands::watched::Watched;
use crate::commands::{files, run, stores};
use crate::failure::Failure;
use crate::show::arms::Arm;

/// The loads as a run, in a store that lasts only until the report is written.
pub struct Kept {
    store: Store,
    run: RunId,
}

impl Kept {
    /// Stores the results of the journeys of `plan`.
    pub fn new(
        plan: &Plan,
        facts: &RunFacts,
        results: &[(JourneyPlan, JourneyResult)],
    ) -> Result<Kept, Failure> {
        let mut store = Store::in_memory().map_err(stores::failed)?;
        let run = store.begin_run(plan, facts).map_err(stores::failed)?;
        for (journey, result) in results {
            store.put_journey(run, journey, result).map_err(stores::failed)?;
        }
        store.finish_run(run, &run::now()).map_err(stores::failed)?;
        Ok(Kept { store, run })
    }

    /// Writes the report with the waterfall of each arm's median load.
    pub fn write(&self, path: &Path, arms: &[Arm], watched: &Watched<'_>) -> Result<(), Failure> {
        let medians = arms.iter().filter_map(|arm| arm.median_load().or(arm.loads().first()));
        let keys = medians.map(|load| VisitKey {
            run: self.run,
            journey: load.position,
            visit: load.visit.record.index,
        });
        let observe = |scenario: &_, seed| watched.observe(scenario, seed);
        let keys: Vec<VisitKey> = keys.collect();
        let html = report::html(&self.store, self.run, &keys, &observe).map_err(not_made)?;
        files::write_whole(path, html.as_bytes())
    }
}
