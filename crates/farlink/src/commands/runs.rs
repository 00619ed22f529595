//! `farlink runs`.

use std::path::Path;

use lab::store::{Store, StoreError};

use crate::args::Runs;
use crate::failure::{ExitCode, Failure};
use crate::show::table::Table;

pub fn run(runs: &Runs) -> Result<ExitCode, Failure> {
    let store = open(&runs.store)?;
    let mut table =
        Table::new(&["run", "name", "state", "journeys", "repetitions", "seed", "started"]);
    for run in store.runs().map_err(|error| failure(&error))? {
        table.row([
            run.id.0.to_string(),
            run.name,
            run.state.name().to_owned(),
            run.journeys.to_string(),
            run.repetitions.to_string(),
            run.seed.to_string(),
            run.started_at,
        ]);
    }
    table.left(1);
    anstream::println!("{table}");
    Ok(ExitCode::Success)
}

/// Opens a store that must be there.
pub fn open(path: &Path) -> Result<Store, Failure> {
    Store::open(path).map_err(|error| failure(&error))
}

/// What the store says, as a failure: the disk's and the machine's own apart from what was typed.
pub fn failure(error: &StoreError) -> Failure {
    match error {
        StoreError::Full { .. } | StoreError::Sqlite { .. } => Failure::machine(error),
        _ => Failure::bad_input(error),
    }
}
