//! Errors of the store; each message says which data survive.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use thiserror::Error;

/// Failed to use the store.
#[derive(Debug, Error)]
pub enum StoreError {
    /// There is no file.
    #[error("there is no store at {}; `farlink run` creates one", .path.display())]
    Absent {
        /// Path of the missing file.
        path: PathBuf,
    },
    /// There is a file already.
    #[error("{} exists already; name another file", .path.display())]
    Exists {
        /// Its path.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{} is not a farlink store; nothing was changed in it", .path.display())]
    NotAStore {
        /// Its path.
        path: PathBuf,
    },
    /// The file was written before the first release.
    #[error(
        "{} was written by a farlink from before the first release and cannot be read; run the experiment again into another \
         file (this one is unchanged)", .path.display()
    )]
    Unreleased {
        /// Its path.
        path: PathBuf,
    },
    /// The file was written by a later version.
    #[error(
        "{} has store format {found}, and this version knows formats up to {known}; \
         use a newer farlink (nothing was changed in it)", .path.display()
    )]
    Newer {
        /// Its path.
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
        /// Its path.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
    /// No space is left.
    #[error(
        "the disk that holds {} is full; every journey stored so far is kept, the one in hand is \
         not: make room and run the same command again to do the rest", .path.display()
    )]
    Full {
        /// Its path.
        path: PathBuf,
    },
    /// Another process is writing.
    #[error("{} is in use by another program; wait for it or name another store", .path.display())]
    Busy {
        /// Its path.
        path: PathBuf,
    },
    /// A row's contents were not written by any farlink.
    #[error("the store is damaged: {what}")]
    Damaged {
        /// The row, and the reason.
        what: String,
    },
    /// Two stores have different measurements of one journey.
    #[error(
        "journey {journey} was measured differently in {}: a measurement of one farlink version, seed and scenario is the same \
         everywhere, except in real time", .path.display()
    )]
    Conflict {
        /// Its position in the plan.
        journey: u64,
        /// The store that differs.
        path: PathBuf,
    },
    /// There is no such run.
    #[error("the store holds no run {run}; `farlink runs` lists those it holds")]
    NoSuchRun {
        /// The requested run.
        run: i64,
    },
    /// A server cannot be used.
    #[error("{url} cannot be used: {why}")]
    Server {
        /// Its URL, without a password.
        url: String,
        /// The reason.
        why: String,
    },
    /// A database of a server has no store.
    #[error("there is no store at {url}; `farlink run` creates one")]
    NoServerStore {
        /// Its URL, without a password.
        url: String,
    },
    /// The server was lost and did not come back.
    #[error(
        "{url} was lost: {why} (what was stored before is kept); run the same command again to do the rest"
    )]
    Lost {
        /// Its URL, without a password.
        url: String,
        /// The reason.
        why: String,
    },
    /// Anything else that a server reports.
    #[error("the server failed: {}", crate::postgres::told(.0))]
    Postgres(#[from] postgres::Error),
    /// Anything else that SQLite reports.
    #[error("the store failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

impl StoreError {
    /// Returns true if a server was lost: it was stopped, killed or cannot be reached.
    pub(super) fn is_loss(&self) -> bool {
        use std::error::Error;

        use postgres::error::SqlState;
        let StoreError::Postgres(error) = self else { return false };
        let stopped =
            [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
        error.is_closed()
            || error.code().is_some_and(|code| stopped.contains(code))
            || error.source().is_some_and(|cause| cause.is::<std::io::Error>())
    }

    /// The same error, classified by the meaning of SQLite's code to the owner of the file at `path`.
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
