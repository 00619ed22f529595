//! Opening stores, holding them, and telling what they say.

use std::fs::{File, TryLockError};
use std::path::Path;

use store::{Store, StoreError};

use crate::failure::Failure;

/// Opens a store that must be there.
pub fn open(path: &Path) -> Result<Store, Failure> {
    Store::open(path).map_err(|error| not_opened(&error))
}

/// Opens a store, or creates it.
pub fn open_or_create(path: &Path) -> Result<Store, Failure> {
    Store::open_or_create(path).map_err(|error| not_opened(&error))
}

/// Marks the store as being run into, until the file is dropped - which must be after the store is:
/// whoever closes any handle of a file gives up SQLite's own locks on it (POSIX). A process that is
/// killed gives the mark up, too.
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

/// A store that could not be opened: nothing has been done yet, and another file may do.
fn not_opened(error: &StoreError) -> Failure {
    match error {
        StoreError::Full { .. } | StoreError::Busy { .. } | StoreError::Sqlite(_) => {
            Failure::machine(error)
        }
        _ => Failure::bad_input(error),
    }
}

/// A store that failed in use: what was asked for was right.
pub fn failed(error: StoreError) -> Failure {
    match error {
        StoreError::NoSuchRun { .. } => Failure::bad_input(error),
        _ => Failure::machine(error),
    }
}
