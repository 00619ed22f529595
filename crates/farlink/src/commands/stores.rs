//! Opening, locking and listing stores, and reporting their errors.

use std::fs::{File, TryLockError};
use std::path::Path;

use store::{RunRow, Store, StoreError};

use super::{output, stores};
use crate::args::Runs;
use crate::failure::{CliError, ExitCode};
use crate::show::table::Table;

/// Opens a store that must exist.
pub fn open(path: &Path) -> Result<Store, CliError> {
    Store::open(path).map_err(|error| not_opened(&error))
}

/// Opens a store, or creates it.
pub fn open_or_create(path: &Path) -> Result<Store, CliError> {
    Store::open_or_create(path).map_err(|error| not_opened(&error))
}

/// Marks the store as being run into, until the file is dropped - which must be after the store is: closing any
/// handle of a file releases SQLite's own locks on it (POSIX). If the process is killed, the mark is released, too.
///
/// A server has its own locks, and takes any number of runners.
pub fn hold(path: &Path) -> Result<Option<File>, CliError> {
    if store::server_url(path).is_some() {
        return Ok(None);
    }
    let failed = |error| CliError::machine(format!("cannot lock {}: {error}", path.display()));
    let file = File::open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => {
            let message = format!("another farlink process is using {}", path.display());
            Err(CliError::machine(message)
                .hint("wait for it to finish, or choose another file with --store".to_owned()))
        }
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// The failure to open a store: nothing has been done yet, and another file may work.
fn not_opened(error: &StoreError) -> CliError {
    match error {
        StoreError::Full { .. }
        | StoreError::Postgres(_)
        | StoreError::Busy { .. }
        | StoreError::Sqlite(_) => CliError::machine(error),
        _ => CliError::bad_input(error),
    }
}

/// The failure of a store in use: the request was valid.
pub fn failed(error: StoreError) -> CliError {
    match error {
        StoreError::NoSuchRun { .. } => CliError::bad_input(error),
        _ => CliError::machine(error),
    }
}

/// Hexadecimal digits by which people tell digests apart; the store holds all 64.
const DIGEST_DIGITS: usize = 16;

pub fn list_runs(runs: &Runs) -> Result<ExitCode, CliError> {
    let store = stores::open(&runs.store)?;
    let mut table =
        Table::new(&["run", "name", "state", "journeys", "reps", "seed", "started", "digest"]);
    for run in store.runs().map_err(stores::failed)? {
        let stored = store.stored_count(run.id).map_err(stores::failed)?;
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
