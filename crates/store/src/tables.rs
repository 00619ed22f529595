//! Tables `connection`, `link`, `emulation`, `paint`, `radio` and `radio_state`: one row type each, whose fields have the names of
//! the table's columns.

use record::{ConnectionRecord, EmulationRecord, LinkRecord, Paint, RadioRecord, RadioStateRecord};

use super::sql::{Database, Row, ToValue, Value};
use super::{Store, StoreError, VisitKey};

/// A record that is a row of a table.
pub(super) trait TableRow: Sized {
    /// The table.
    const TABLE: &'static str;
    /// The columns after `run_id`, as SQL lists them.
    const COLUMNS: &'static str;
    /// Values of the columns after the visit's key and the index.
    fn values(&self) -> Vec<Value<'_>>;
    /// Reads a row.
    fn read(row: &Row<'_>) -> Result<Self, StoreError>;
}

/// Declares a record's table, the columns of its key and its fields, which are further columns. A `rest` is no
/// column.
macro_rules! table_row {
    ($record:ident in $table:literal, $key:literal: $($field:ident)+ $(, $rest:ident: $empty:expr)?) => {
        impl TableRow for $record {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static str = concat!($key $(, ", ", stringify!($field))+);

            fn values(&self) -> Vec<Value<'_>> {
                vec![$(self.$field.to_value()),+]
            }

            fn read(row: &Row<'_>) -> Result<$record, StoreError> {
                Ok($record { $($field: row.get(stringify!($field))?,)+ $($rest: $empty)? })
            }
        }
    };
}

table_row! {
    ConnectionRecord in "connection", "journey, visit, connection":
    host protocol tls opened_at_ns connected_at_ns secured_at_ns closed_at_ns requests bytes_up bytes_down
    retransmits_down retransmits_up timeouts_down srtt_down_ns cwnd_down busy_ns flow_limited_ns
}

table_row! {
    LinkRecord in "link", "journey, visit, link":
    name configured_bit_per_s configured_delay_ns configured_loss_ppb offered_packets offered_bytes
    duplicated_packets delivered_packets delivered_bytes lost_packets queue_full_packets managed_packets
    too_big_packets marked_packets reordered_packets delivered_bit_per_s busy_ns waited_ns
    least_unqueued_ns mean_unqueued_ns most_one_way_ns max_queue_packets max_queue_bytes
}

table_row! {
    EmulationRecord in "emulation", "journey, visit":
    delivered_packets late_p50_ns late_p99_ns late_max_ns realtime attempts kernel
}

table_row! {
    Paint in "paint", "journey, visit":
    dom_content_loaded_ns first_paint_ns first_contentful_paint_ns largest_contentful_paint_ns speed_index_ns
}

table_row! {
    RadioRecord in "radio", "journey, visit":
    radio promotions energy_uj up_uj down_uj tail_uj, states: Vec::new()
}

table_row! {
    RadioStateRecord in "radio_state", "journey, visit":
    state span_ns energy_uj
}

/// Inserts a visit's row; `index` is its number where the key has one.
fn insert_row<R: TableRow>(
    database: &Database,
    key: VisitKey,
    index: Option<usize>,
    record: &R,
) -> Result<(), StoreError> {
    let columns: Vec<&str> = std::iter::once("run_id").chain(R::COLUMNS.split(", ")).collect();
    let index = index.map(|index| index as u64);
    let mut values = key.values().to_vec();
    values.extend(index.as_ref().map(ToValue::to_value));
    values.extend(record.values());
    database.insert(R::TABLE, &columns, &values)?;
    Ok(())
}

/// Inserts a row of a visit that has one such row.
pub(super) fn insert<R: TableRow>(
    database: &Database,
    key: VisitKey,
    record: &R,
) -> Result<(), StoreError> {
    insert_row(database, key, None, record)
}

/// Inserts numbered rows of a visit: its connections, its links.
pub(super) fn insert_numbered<R: TableRow>(
    database: &Database,
    key: VisitKey,
    records: &[R],
) -> Result<(), StoreError> {
    let mut numbered = records.iter().enumerate();
    numbered.try_for_each(|(index, record)| insert_row(database, key, Some(index), record))
}

/// Inserts the record of a visit's radio, and its states.
pub(super) fn insert_radio(
    database: &Database,
    key: VisitKey,
    radio: &RadioRecord,
) -> Result<(), StoreError> {
    insert(database, key, radio)?;
    radio.states.iter().try_for_each(|state| insert(database, key, state))
}

impl Store {
    /// The connections of a visit, in the order of their opening.
    pub fn connections(&self, key: VisitKey) -> Result<Vec<ConnectionRecord>, StoreError> {
        self.table_rows(key, "connection")
    }

    /// The links of a visit: configured and delivered values.
    pub fn links(&self, key: VisitKey) -> Result<Vec<LinkRecord>, StoreError> {
        self.table_rows(key, "link")
    }

    /// Punctuality of a visit's emulator; `None` if the visit was not emulated.
    pub fn emulation(&self, key: VisitKey) -> Result<Option<EmulationRecord>, StoreError> {
        Ok(self.table_rows(key, "visit")?.pop())
    }

    /// A visit's paints; `None` if it was not a real browser.
    pub fn paint(&self, key: VisitKey) -> Result<Option<Paint>, StoreError> {
        Ok(self.table_rows(key, "visit")?.pop())
    }

    /// The record of a visit's radio; `None` if the network has none.
    pub fn radio(&self, key: VisitKey) -> Result<Option<RadioRecord>, StoreError> {
        let radio: Option<RadioRecord> = self.table_rows(key, "visit")?.pop();
        radio
            .map(|radio| Ok(RadioRecord { states: self.table_rows(key, "state")?, ..radio }))
            .transpose()
    }

    /// A visit's rows of one table, in the order of a column.
    fn table_rows<R: TableRow>(&self, key: VisitKey, order: &str) -> Result<Vec<R>, StoreError> {
        let sql = format!(
            "SELECT * FROM {} WHERE run_id = ?1 AND journey = ?2 AND visit = ?3 ORDER BY {order}",
            R::TABLE
        );
        self.rows(&sql, &key.values(), R::read)
    }
}
