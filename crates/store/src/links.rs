//! Table `link`: columns have the names of [`LinkRecord`]'s fields.

use record::LinkRecord;
use rusqlite::{ToSql, Transaction};

use super::columns::{self, columns};
use super::{Store, StoreError, VisitKey};

columns! {
    LinkRecord:
    name configured_bit_per_s configured_delay_ns configured_loss_ppb offered_packets offered_bytes
    duplicated_packets delivered_packets delivered_bytes lost_packets queue_full_packets managed_packets
    too_big_packets marked_packets reordered_packets delivered_bit_per_s busy_ns waited_ns
    least_unqueued_ns mean_unqueued_ns most_one_way_ns max_queue_packets max_queue_bytes
}

/// The columns as the digest names them.
pub(super) fn digested() -> String {
    format!("journey, visit, link{FIELDS}")
}

pub(super) fn insert(
    transaction: &Transaction<'_>,
    key: VisitKey,
    index: usize,
    link: &LinkRecord,
) -> Result<(), StoreError> {
    let index = index as u64;
    let mut row: Vec<&dyn ToSql> = vec![&key.run.0, &key.journey, &key.visit, &index];
    row.extend(values(link));
    columns::insert(transaction, "link", &format!("run_id, {}", digested()), &row)
}

impl Store {
    /// The links of a visit: configured and delivered values. None in a store of before format 2.
    pub fn links(&self, key: VisitKey) -> Result<Vec<LinkRecord>, StoreError> {
        let sql = "SELECT * FROM link WHERE run_id = ?1 AND journey = ?2
                   AND visit = ?3 ORDER BY link";
        self.rows(sql, key.params(), read)
    }
}
