//! `farlink runs`.

use store::RunRow;

use super::{output, stores};
use crate::args::Runs;
use crate::failure::{ExitCode, Failure};
use crate::show::table::Table;

/// Hexadecimal digits by which people tell digests apart; the store holds all 64.
const DIGEST_DIGITS: usize = 16;

pub fn run(runs: &Runs) -> Result<ExitCode, Failure> {
    let store = stores::open(&runs.store)?;
    let mut table =
        Table::new(&["run", "name", "state", "journeys", "reps", "seed", "started", "digest"]);
    for run in store.runs().map_err(stores::failed)? {
        let stored = store.stored_positions(run.id).map_err(stores::failed)?.len();
        table.row([
            run.id.0.to_string(),
            run.name.clone(),
            run.state.name().to_owned(),
            format!("{stored}/{}", run.journeys),
            run.repetitions.to_string(),
            run.seed.to_string(),
            run.started_at.clone(),
            short_digest(&run),
        ]);
    }
    table.left(1);
    table.left(2);
    output::line(table)?;
    Ok(ExitCode::Success)
}

/// The beginning of a complete run's digest; `-` for any other run.
pub fn short_digest(run: &RunRow) -> String {
    run.digest
        .as_deref()
        .map_or("-", |digest| &digest[..DIGEST_DIGITS.min(digest.len())])
        .to_owned()
}
