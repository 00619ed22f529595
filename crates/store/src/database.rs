//! Opening and creating the file; the schema and its migrations.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::postgres::{self, Session};
use super::sql::{Database, values};
use super::{StoreError, proxied, series, shared};

/// An open store. A SQLite file allows one writing process at a time, a server any number.
#[derive(Debug)]
pub struct Store {
    pub(super) database: Database,
    pub(super) path: PathBuf,
}

impl Store {
    /// Creates a store where there is no file.
    pub fn create(path: &Path) -> Result<Store, StoreError> {
        if path.exists() {
            return Err(StoreError::Exists { path: path.to_owned() });
        }
        connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens the store at `path`, a file or the URL of a PostgreSQL server (`postgres://...`); an older format is migrated,
    /// a newer one rejected.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        if let Some(url) = server_url(path) {
            return Store::of_server(url, false);
        }
        if !path.exists() {
            return Err(StoreError::Absent { path: path.to_owned() });
        }
        connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// Opens the store at `path`, or creates it.
    pub fn open_or_create(path: &Path) -> Result<Store, StoreError> {
        if let Some(url) = server_url(path) {
            return Store::of_server(url, true);
        }
        if path.exists() { Store::open(path) } else { Store::create(path) }
    }

    /// A store without a file, which lasts until it is dropped.
    pub fn in_memory() -> Result<Store, StoreError> {
        let path = PathBuf::from("the memory");
        let prepared = Connection::open_in_memory().map_err(StoreError::from);
        match prepared.and_then(|connection| prepare(connection, &path)) {
            Ok(connection) => Ok(Store { database: Database::Sqlite(connection), path }),
            Err(error) => Err(error.at(&path)),
        }
    }

    fn of_server(url: &str, may_create: bool) -> Result<Store, StoreError> {
        let database = Database::Postgres(Box::new(Session::open(url, may_create)?));
        Ok(Store { database, path: postgres::without_password(url).into() })
    }

    /// Returns true if several processes may write to it at a time.
    pub fn is_shared(&self) -> bool {
        matches!(self.database, Database::Postgres(_))
    }

    /// Runs `work` while no other runner does so for the plan with this digest: of several that begin an experiment in one store, one
    /// begins its run and the others find it.
    pub fn one_by_one<T>(
        &mut self,
        plan_digest: &str,
        work: impl FnOnce(&mut Store) -> T,
    ) -> Result<T, StoreError> {
        if !self.is_shared() {
            // A file has one writer.
            return Ok(work(self));
        }
        let key = values![plan_digest];
        self.database.execute("SELECT pg_advisory_lock(hashtextextended(?1, 0))", key)?;
        let result = work(self);
        self.database.execute("SELECT pg_advisory_unlock(hashtextextended(?1, 0))", key)?;
        Ok(result)
    }

    #[cfg(test)]
    pub(super) fn sqlite(&self) -> &Connection {
        match &self.database {
            Database::Sqlite(connection) => connection,
            Database::Postgres(_) => panic!("the store is in a server"),
        }
    }

    /// Path of the file, or URL without a password.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `result` with its error classified by its meaning to this file's owner.
    pub(super) fn explain<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        result.map_err(|error| error.at(&self.path))
    }
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Store, StoreError> {
    let path = path.to_owned();
    let opened = Connection::open_with_flags(&path, flags).map_err(StoreError::from);
    match opened.and_then(|connection| prepare(connection, &path)) {
        Ok(connection) => Ok(Store { database: Database::Sqlite(connection), path }),
        Err(error) => Err(error.at(&path)),
    }
}

/// The path as the URL of a server, if it is one.
pub fn server_url(path: &Path) -> Option<&str> {
    path.to_str().filter(|path| postgres::is_url(path))
}

fn prepare(mut connection: Connection, path: &Path) -> Result<Connection, StoreError> {
    connection.busy_timeout(Duration::from_secs(5))?;
    let found = check_identity(&connection, path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // In WAL mode NORMAL loses no consistency: at worst the last transactions before a power failure,
    // which a resumed run measures again.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    proxied::register(&connection)?;
    series::register(&connection)?;
    shared::register(&connection)?;
    migrate(&mut connection, found)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}

/// The file's format: 0 if it is empty.
fn check_identity(connection: &Connection, path: &Path) -> Result<u32, StoreError> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get(0));
    let (application, found): (i32, u32) = (number("application_id")?, {
        connection.pragma_query_value(None, "user_version", |row| row.get(0))?
    });
    let tables: u32 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let is_empty = tables == 0 && found == 0 && application == 0;
    if application == UNRELEASED {
        return Err(StoreError::Unreleased { path: path.to_owned() });
    }
    if !is_empty && application != APPLICATION_ID {
        return Err(StoreError::NotAStore { path: path.to_owned() });
    }
    if found > FORMAT {
        return Err(StoreError::Newer { path: path.to_owned(), found, known: FORMAT });
    }
    Ok(found)
}

// The schema, and migrations from older ones.
//
// The format's number is SQLite's `user_version`. Each step below raises it by one; a new store goes through all
// of them, so there is one path to every format.

/// `application_id` of a farlink store: "farK".
pub const APPLICATION_ID: i32 = 0x6661_724b;

/// `application_id` of stores before the first release, whose formats are no longer supported.
pub const UNRELEASED: i32 = 0x6661_726c;

/// The steps from format n to n + 1.
const STEPS: &[&str] =
    &[include_str!("schema.sql"), include_str!("schema_2.sql"), include_str!("schema_3.sql")];

/// The format that this version writes.
pub const FORMAT: u32 = STEPS.len() as u32;

/// Takes a database of `found` format (0: empty) to [`FORMAT`], in one transaction.
pub fn migrate(connection: &mut Connection, found: u32) -> Result<(), StoreError> {
    apply(connection, found, STEPS)
}

fn apply(connection: &mut Connection, found: u32, steps: &[&str]) -> Result<(), StoreError> {
    if found as usize == steps.len() {
        return Ok(());
    }
    // Two processes may open a new store at once: the second finds what the first has made.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let now: u32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for step in &steps[(found.max(now) as usize).min(steps.len())..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", steps.len() as u32)?;
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_STEPS: &[&str] = &[
        "CREATE TABLE fruit (name TEXT); INSERT INTO fruit VALUES ('apple');",
        "ALTER TABLE fruit ADD COLUMN colour TEXT NOT NULL DEFAULT 'red';",
    ];

    #[test]
    fn an_older_format_goes_through_the_missing_steps_only() {
        let mut connection = Connection::open_in_memory().unwrap();
        apply(&mut connection, 0, &TWO_STEPS[..1]).unwrap();
        apply(&mut connection, 1, TWO_STEPS).unwrap();
        let row = |r: &rusqlite::Row<'_>| r.get::<_, String>(0);
        let colour: String =
            connection.query_row("SELECT colour FROM fruit", [], row).expect("one row");
        assert_eq!(colour, "red");
    }

    #[test]
    fn a_step_that_fails_leaves_the_old_format() {
        let mut connection = Connection::open_in_memory().unwrap();
        apply(&mut connection, 0, &TWO_STEPS[..1]).unwrap();
        apply(&mut connection, 1, &[TWO_STEPS[0], "ALTER TABLE vegetable ADD COLUMN x"])
            .unwrap_err();
        let version: u32 =
            connection.pragma_query_value(None, "user_version", |r| r.get(0)).unwrap();
        assert_eq!(version, 1);
    }
}
