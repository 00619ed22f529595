//! Opening and locking stores, and reporting their errors.

use std::fs::{File, TryLockError};
use std::path::Path;

use store::{Store, StoreError};

use crate::failure::Failure;

/// Opens a store that must exist.
pub fn open(path: &Path) -> Result<Store, Failure> {
    Store::open(path).map_err(|error| not_opened(&error))
}

/// Opens a store, or creates it.
pub fn open_or_create(path: &Path) -> Result<Store, Failure> {
    Store::open_or_create(path).map_err(|error| not_opened(&error))
}

/// Marks the store as being run into, until the file is dropped - which must be after the store is: closing any
/// handle of a file releases SQLite's own locks on it (POSIX). If the process is killed, the mark is released, too.
pub fn hold(path: &Path) -> Result<File, Failure> {
    let failed = |error| Failure::machine(format!("cannot lock {}: {error}", path.display()));
    let file = File::open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let message = format!("another farlink is running into {}", path.display());
            Err(Failure::machine(message)
                .hint("wait until it is done, or name another file with --store".to_owned()))
        }
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// The failure to open a store: nothing has been done yet, and another file may work.
fn not_opened(error: &StoreError) -> Failure {
    match error {
        StoreError::Full { .. } | StoreError::Busy { .. } | StoreError::Sqlite(_) => {
            Failure::machine(error)
        }
        _ => Failure::bad_input(error),
    }
}

/// The failure of a store in use: the request was valid.
pub fn failed(error: StoreError) -> Failure {
    match error {
        StoreError::NoSuchRun { .. } => Failure::bad_input(error),
        _ => Failure::machine(error),
    }
}
