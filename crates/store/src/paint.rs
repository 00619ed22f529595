//! Table `paint`: columns have the names of [`Paint`]'s fields.

use record::Paint;
use rusqlite::{ToSql, Transaction};

use super::columns::{self, columns};
use super::{Store, StoreError, VisitKey};

columns! {
    Paint:
    dom_content_loaded_ns first_paint_ns first_contentful_paint_ns largest_contentful_paint_ns speed_index_ns
}

/// The columns as the digest names them.
pub(super) fn digested() -> String {
    format!("journey, visit{FIELDS}")
}

pub(super) fn insert(
    transaction: &Transaction<'_>,
    key: VisitKey,
    paint: &Paint,
) -> Result<(), StoreError> {
    let mut row: Vec<&dyn ToSql> = vec![&key.run.0, &key.journey, &key.visit];
    row.extend(values(paint));
    columns::insert(transaction, "paint", &format!("run_id, {}", digested()), &row)
}

impl Store {
    /// A visit's paints; `None` if it was not a real browser.
    pub fn paint(&self, key: VisitKey) -> Result<Option<Paint>, StoreError> {
        let sql = "SELECT * FROM paint WHERE run_id = ?1 AND journey = ?2 AND visit = ?3";
        Ok(self.rows(sql, key.params(), read)?.pop())
    }
}
