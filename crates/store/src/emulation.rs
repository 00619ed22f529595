//! Table `emulation`: columns have the names of [`EmulationRecord`]'s fields.

use record::EmulationRecord;
use rusqlite::{ToSql, Transaction};

use super::columns::{self, columns};
use super::{Store, StoreError, VisitKey};

columns! {
    EmulationRecord:
    delivered_packets late_p50_ns late_p99_ns late_max_ns realtime attempts kernel
}

/// The columns as the digest names them.
pub(super) fn digested() -> String {
    format!("journey, visit{FIELDS}")
}

pub(super) fn insert(
    transaction: &Transaction<'_>,
    key: VisitKey,
    emulation: &EmulationRecord,
) -> Result<(), StoreError> {
    let mut row: Vec<&dyn ToSql> = vec![&key.run.0, &key.journey, &key.visit];
    row.extend(values(emulation));
    columns::insert(transaction, "emulation", &format!("run_id, {}", digested()), &row)
}

impl Store {
    /// Punctuality of a visit's emulator; `None` if the visit was not emulated.
    pub fn emulation(&self, key: VisitKey) -> Result<Option<EmulationRecord>, StoreError> {
        let sql = "SELECT * FROM emulation WHERE run_id = ?1 AND journey = ?2 AND visit = ?3";
        Ok(self.rows(sql, key.params(), read)?.pop())
    }
}
