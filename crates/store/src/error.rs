//! Why the store could not do what it was asked; each message says what survives.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use thiserror::Error;

/// Failed to use the store.
#[derive(Debug, Error)]
pub enum StoreError {
    /// There is no file.
    #[error("there is no store at {}; `farlink run` creates one", .path.display())]
    Absent {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// There is a file already.
    #[error("{} exists already; name another file", .path.display())]
    Exists {
        /// Where it lies.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{} is not a farlink store; nothing was changed in it", .path.display())]
    NotAStore {
        /// Where it lies.
        path: PathBuf,
    },
    /// The file was written before the first release.
    #[error(
        "{} was written by a farlink from before the first release, whose stores are read no more; run the experiment again \
         into another file (nothing was changed in it)", .path.display()
    )]
    Unreleased {
        /// Where it lies.
        path: PathBuf,
    },
    /// The file was written by a later version.
    #[error(
        "{} has store format {found}, and this version knows formats up to {known}; \
         use a newer farlink (nothing was changed in it)", .path.display()
    )]
    Newer {
        /// Where it lies.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest known here.
        known: u32,
    },
    /// The place cannot be written to.
    #[error(
        "{} cannot be written: {source}; check that its directory exists and that you may \
         write there (what was stored before is kept)", .path.display()
    )]
    Unwritable {
        /// Where it lies or was to lie.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// No space is left.
    #[error(
        "the disk that holds {} is full; every journey stored so far is kept, the one in hand is \
         not: make room and run the same command again to do the rest", .path.display()
    )]
    Full {
        /// Where it lies.
        path: PathBuf,
    },
    /// Somebody else is writing.
    #[error("{} is in use by another program; wait for it or name another store", .path.display())]
    Busy {
        /// Where it lies.
        path: PathBuf,
    },
    /// A row holds what no farlink wrote.
    #[error("the store is damaged: {what}")]
    Damaged {
        /// Which row and why.
        what: String,
    },
    /// There is no such run.
    #[error("the store holds no run {run}; `farlink runs` lists those it holds")]
    NoSuchRun {
        /// What was asked for.
        run: i64,
    },
    /// Anything else that SQLite reports.
    #[error("the store failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

impl StoreError {
    /// The same error, told apart by what SQLite's code means to whoever owns the file at `path`.
    pub(super) fn at(self, path: &Path) -> StoreError {
        let StoreError::Sqlite(source) = self else { return self };
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path },
            Some(ErrorCode::NotADatabase) => StoreError::NotAStore { path },
            Some(
                ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::SystemIoFailure,
            ) => StoreError::Unwritable { path, source },
            _ => StoreError::Sqlite(source),
        }
    }
}
