//! Statements over either of two databases: a SQLite file or a PostgreSQL server.
//!
//! The store's SQL is what both understand, with parameters as `?1`, `?2`. What they have of their own - opening, the schema,
//! transactions, errors - is in `database` (SQLite) and `postgres`.

mod value;

use rusqlite::Connection;

use super::StoreError;
use super::postgres::Session;

pub(super) use value::{Row, ToValue, Value};

/// An open database.
#[derive(Debug)]
pub(super) enum Database {
    /// A file, or memory.
    Sqlite(Connection),
    /// A server.
    Postgres(Box<Session>),
}

/// The values of a statement's parameters: `values![run, "text", None::<u64>]`.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$( $crate::sql::ToValue::to_value(&$value) ),*] };
}

/// Inserts a row, its values by column.
macro_rules! insert {
    ($database:expr, $table:literal, { $($column:literal: $value:expr),+ $(,)? }) => {
        $database.insert($table, &[$($column),+], $crate::sql::values![$($value),+])
    };
}

pub(super) use {insert, values};

impl Database {
    /// Runs a statement; returns the number of rows that it changed.
    pub(super) fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        match self {
            Database::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(sql)?;
                Ok(statement.execute(rusqlite::params_from_iter(values))? as u64)
            }
            Database::Postgres(session) => session.execute(sql, values),
        }
    }

    /// Inserts a row; returns false if there is one with its key in a store that others write to as well.
    pub(super) fn insert(
        &self,
        table: &str,
        columns: &[&str],
        values: &[Value<'_>],
    ) -> Result<bool, StoreError> {
        let conflict = match self {
            Database::Sqlite(_) => "",
            Database::Postgres(_) => " ON CONFLICT DO NOTHING",
        };
        let sql = format!("{}{conflict}", insertion(table, columns));
        Ok(self.execute(&sql, values)? > 0)
    }

    /// Inserts a row into a table that numbers its rows; returns its number.
    pub(super) fn insert_numbered(
        &self,
        table: &str,
        columns: &[&str],
        values: &[Value<'_>],
    ) -> Result<i64, StoreError> {
        let sql = format!("{} RETURNING id", insertion(table, columns));
        let numbers = self.rows(&sql, values, |row| row.at(0))?;
        numbers
            .into_iter()
            .next()
            .ok_or_else(|| StoreError::Damaged { what: format!("a row of {table} got no number") })
    }

    /// Every row of a query, read by `read`.
    pub(super) fn rows<T>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut all = Vec::new();
        self.each(sql, values, &mut |row| {
            all.push(read(row)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// Gives every row of a query to `take`, one after the other. `take` runs no statement on this database.
    pub(super) fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        take: &mut dyn FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match self {
            Database::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(sql)?;
                let mut rows = statement.query(rusqlite::params_from_iter(values))?;
                while let Some(row) = rows.next()? {
                    take(&Row::Sqlite(row))?;
                }
                Ok(())
            }
            Database::Postgres(session) => session.each(sql, values, take),
        }
    }

    /// Runs `work` as one transaction: all of it or nothing.
    pub(super) fn transaction<T>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.control(match self {
            Database::Sqlite(_) => "BEGIN IMMEDIATE",
            Database::Postgres(_) => "BEGIN",
        })?;
        match work(self) {
            Ok(done) => {
                self.control("COMMIT")?;
                Ok(done)
            }
            Err(error) => {
                // The first error is the one reported; after a lost connection there is nothing to roll back.
                let _ = self.control("ROLLBACK");
                Err(error)
            }
        }
    }

    /// Does `work`, again if the server was lost meanwhile.
    pub(super) fn persistently<T>(
        &self,
        work: impl Fn() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        loop {
            match (work(), self) {
                (Err(error), Database::Postgres(session)) if error.is_loss() => {
                    session.reconnect()?;
                }
                (result, _) => return result,
            }
        }
    }

    fn control(&self, sql: &str) -> Result<(), StoreError> {
        match self {
            Database::Sqlite(connection) => Ok(connection.execute_batch(sql)?),
            Database::Postgres(session) => session.batch(sql),
        }
    }
}

fn insertion(table: &str, columns: &[&str]) -> String {
    let marks: Vec<String> = (1..=columns.len()).map(|number| format!("?{number}")).collect();
    format!("INSERT INTO {table} ({}) VALUES ({})", columns.join(", "), marks.join(", "))
}
