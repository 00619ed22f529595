//! A store in a PostgreSQL server, for teams and for several runners at a time.
//!
//! The tables are those of the SQLite file (`postgres.sql`), and so are the digests. A server that restarts or is out of
//! reach for a while interrupts no run: what was not committed is stored again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use postgres::fallible_iterator::FallibleIterator;
use postgres::row::RowIndex;
use postgres::types::{FromSql, IsNull, ToSql, Type, private::BytesMut, to_sql_checked};
use postgres::{Client, Config, NoTls, Statement};

use super::sql::{Row, Value};
use super::{FORMAT, StoreError};

/// Schema of a new store.
const SCHEMA: &str = include_str!("postgres.sql");

/// Key of the advisory lock under which the schema is made.
const SCHEMA_LOCK: i64 = 0x0066_6172_6c69_6e6b;

/// Attempts to reach a server that was lost, a second apart.
const MOST_ATTEMPTS: u32 = 300;

/// A connection to a server.
pub(super) struct Session {
    client: RefCell<Client>,
    statements: RefCell<HashMap<String, Statement>>,
    config: Config,
    shown: String,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session({})", self.shown)
    }
}

/// Returns true if a store's path is the URL of a server.
pub(super) fn is_url(path: &str) -> bool {
    path.starts_with("postgres://") || path.starts_with("postgresql://")
}

/// A URL without its password.
pub fn without_password(url: &str) -> String {
    let hidden = || {
        let (scheme, rest) = url.split_once("://")?;
        let (user, rest) = rest.split_once('@')?;
        let (user, _) = user.split_once(':')?;
        Some(format!("{scheme}://{user}:***@{rest}"))
    };
    hidden().unwrap_or_else(|| url.to_owned())
}

impl Session {
    /// Connects to the store at `url`; it is created if `may_create` says so.
    pub(super) fn open(url: &str, may_create: bool) -> Result<Session, StoreError> {
        let shown = without_password(url);
        let unusable = |why: String| StoreError::Server { url: shown.clone(), why };
        let mut config: Config = url.parse().map_err(|error| unusable(told(&error)))?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(10));
        }
        config.application_name("farlink");
        let client = config.connect(NoTls).map_err(|error| unusable(told(&error)))?;
        let session = Session {
            client: RefCell::new(client),
            statements: RefCell::default(),
            config,
            shown: shown.clone(),
        };
        session.prepare_schema(may_create)?;
        Ok(session)
    }

    /// Checks the store's format; makes the tables where there are none.
    fn prepare_schema(&self, may_create: bool) -> Result<(), StoreError> {
        let mut client = self.client.borrow_mut();
        let mut transaction = client.transaction()?;
        transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&SCHEMA_LOCK])?;
        let there = transaction.query_one("SELECT to_regclass('store_format')::text", &[])?;
        if there.try_get::<_, Option<String>>(0)?.is_none() {
            if !may_create {
                return Err(StoreError::NoServerStore { url: self.shown.clone() });
            }
            transaction.batch_execute(SCHEMA)?;
        }
        let found: i64 =
            transaction.query_one("SELECT format FROM store_format", &[])?.try_get(0)?;
        transaction.commit()?;
        match found == i64::from(FORMAT) {
            true => Ok(()),
            false => Err(StoreError::Newer {
                path: (&self.shown).into(),
                found: u32::try_from(found).unwrap_or(u32::MAX),
                known: FORMAT,
            }),
        }
    }

    /// Connects again after the server was lost, as often as it takes for some minutes.
    pub(super) fn reconnect(&self) -> Result<(), StoreError> {
        let mut why = String::new();
        for _ in 0..MOST_ATTEMPTS {
            match self.config.connect(NoTls) {
                Ok(client) => {
                    self.statements.borrow_mut().clear();
                    *self.client.borrow_mut() = client;
                    return Ok(());
                }
                Err(error) => why = told(&error),
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "waits for a server, in no simulated world"
            )]
            std::thread::sleep(Duration::from_secs(1));
        }
        Err(StoreError::Lost { url: self.shown.clone(), why })
    }

    pub(super) fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let statement = self.prepared(sql)?;
        Ok(self.client.borrow_mut().execute(&statement, &parameters(values))?)
    }

    pub(super) fn batch(&self, sql: &str) -> Result<(), StoreError> {
        Ok(self.client.borrow_mut().batch_execute(sql)?)
    }

    pub(super) fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        take: &mut dyn FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let statement = self.prepared(sql)?;
        let mut client = self.client.borrow_mut();
        let mut rows = client.query_raw(&statement, parameters(values))?;
        while let Some(row) = rows.next()? {
            take(&Row::Postgres(&row))?;
        }
        Ok(())
    }

    /// The statement, prepared on first use.
    fn prepared(&self, sql: &str) -> Result<Statement, StoreError> {
        if let Some(statement) = self.statements.borrow().get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.borrow_mut().prepare(&with_dollars(sql))?;
        self.statements.borrow_mut().insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

/// The message of an error with those of its causes: its own says "db error".
pub(super) fn told(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", told(cause)),
        None => error.to_string(),
    }
}

/// Parameters as PostgreSQL writes them: `$1` for `?1`.
fn with_dollars(sql: &str) -> String {
    sql.replace('?', "$")
}

fn parameters<'a>(values: &'a [Value<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// The value of a column.
pub(super) fn value<'a>(
    row: &'a postgres::Row,
    column: impl RowIndex + std::fmt::Display,
) -> Result<Value<'a>, StoreError> {
    Ok(row.try_get::<_, Read<'a>>(column)?.0)
}

/// A value as it is read.
struct Read<'a>(Value<'a>);

impl<'a> FromSql<'a> for Read<'a> {
    fn from_sql(of: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Read(match *of {
            Type::INT8 => Value::Integer(i64::from_sql(of, raw)?),
            Type::INT4 => Value::Integer(i32::from_sql(of, raw)?.into()),
            Type::BYTEA => Value::Blob(raw),
            _ => Value::Text(<&str>::from_sql(of, raw)?),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Read(Value::Null))
    }

    fn accepts(of: &Type) -> bool {
        [Type::INT8, Type::INT4, Type::BYTEA, Type::TEXT, Type::VARCHAR].contains(of)
    }
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        of: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(number) if *of == Type::INT4 => i32::try_from(*number)?.to_sql(of, out),
            Value::Integer(number) => number.to_sql(of, out),
            Value::Text(text) => text.to_sql(of, out),
            Value::Blob(bytes) => bytes.to_sql(of, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // A value of another type than its column is an error of this crate, and the server says so.
        true
    }

    to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::Store;

    #[test]
    fn passwords_are_not_shown() {
        let shown = without_password("postgres://me:secret@db.example:5432/farlink");
        assert_eq!(shown, "postgres://me:***@db.example:5432/farlink");
        assert_eq!(without_password("postgres://db.example/x"), "postgres://db.example/x");
    }

    /// The columns of each table of an SQL file; views are left out.
    fn columns_of(schema: &str) -> BTreeMap<String, BTreeSet<String>> {
        let tables = schema.split("CREATE TABLE ").skip(1).filter_map(|rest| {
            let (name, body) = rest.split_once(" (")?;
            let lines = body.split("\n);").next()?.lines().map(str::trim);
            let of = lines.filter_map(|line| line.split_whitespace().next());
            let is_column = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
            Some((name.to_owned(), of.filter(is_column).map(str::to_owned).collect()))
        });
        tables.filter(|(name, _)| name != "store_format").collect()
    }

    #[test]
    fn a_server_has_the_columns_of_a_file() {
        let store = Store::in_memory().unwrap();
        let mut statement = store.sqlite().prepare("SELECT m.name, c.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let mut file: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (table, column) in rows.map(Result::unwrap) {
            file.entry(table).or_default().insert(column);
        }
        assert!(file.len() > 10, "{file:?}");
        assert_eq!(columns_of(SCHEMA), file);
    }

    #[test]
    fn parameters_are_numbered_as_the_server_wants_them() {
        assert_eq!(with_dollars("SELECT ?1, ?12"), "SELECT $1, $12");
    }
}
