//! Records whose fields are a table's columns, name by name.

/// Declares once the fields of a record that a row holds beside its key: their names as ` , a, b`, their values,
/// and the reading of them.
macro_rules! columns {
    ($record:ident: $($field:ident)+) => {
        /// The fields as an SQL statement lists them after the key.
        const FIELDS: &str = concat!($(", ", stringify!($field)),+);

        fn values(record: &$record) -> Vec<&dyn rusqlite::ToSql> {
            vec![$(&record.$field),+]
        }

        fn read(row: &rusqlite::Row<'_>) -> Result<$record, $crate::StoreError> {
            Ok($record { $($field: row.get(stringify!($field))?),+ })
        }
    };
}

pub(super) use columns;

use rusqlite::{ToSql, Transaction};

use super::StoreError;

/// Inserts a row into `table`: the columns of its key and others, with their values in order.
pub(super) fn insert(
    transaction: &Transaction<'_>,
    table: &str,
    columns: &str,
    row: &[&dyn ToSql],
) -> Result<(), StoreError> {
    let marks = vec!["?"; row.len()].join(", ");
    let sql = format!("INSERT INTO {table} ({columns}) VALUES ({marks})");
    transaction.prepare_cached(&sql)?.execute(row)?;
    Ok(())
}
