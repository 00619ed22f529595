//! Tables `radio` and `radio_state`: columns have the names of [`RadioRecord`]'s and [`RadioStateRecord`]'s fields.

use record::{RadioRecord, RadioStateRecord};
use rusqlite::{ToSql, Transaction};

use super::columns;
use super::{Store, StoreError, VisitKey};

/// The radio's own columns; its states are separate rows.
mod whole {
    use record::RadioRecord;

    use crate::columns::columns;

    /// All but the states.
    #[derive(Default)]
    pub(super) struct Whole {
        pub(super) radio: String,
        pub(super) promotions: u32,
        pub(super) energy_uj: u64,
        pub(super) up_uj: u64,
        pub(super) down_uj: u64,
        pub(super) tail_uj: u64,
    }

    columns! {
        Whole:
        radio promotions energy_uj up_uj down_uj tail_uj
    }

    pub(super) const COLUMNS: &str = FIELDS;

    impl Whole {
        pub(super) fn of(record: &RadioRecord) -> Whole {
            let RadioRecord { radio, promotions, energy_uj, up_uj, down_uj, tail_uj, .. } =
                record.clone();
            Whole { radio, promotions, energy_uj, up_uj, down_uj, tail_uj }
        }

        pub(super) fn values(&self) -> Vec<&dyn rusqlite::ToSql> {
            values(self)
        }

        pub(super) fn read(row: &rusqlite::Row<'_>) -> Result<Whole, crate::StoreError> {
            read(row)
        }
    }
}

mod state {
    use record::RadioStateRecord;

    use crate::columns::columns;

    columns! {
        RadioStateRecord:
        state span_ns energy_uj
    }

    pub(super) const COLUMNS: &str = FIELDS;

    pub(super) fn of(record: &RadioStateRecord) -> Vec<&dyn rusqlite::ToSql> {
        values(record)
    }

    pub(super) fn from(row: &rusqlite::Row<'_>) -> Result<RadioStateRecord, crate::StoreError> {
        read(row)
    }
}

use whole::Whole;

/// The radio's columns as the digest names them.
pub(super) fn digested() -> String {
    format!("journey, visit{}", whole::COLUMNS)
}

/// The states' columns as the digest names them.
pub(super) fn digested_states() -> String {
    format!("journey, visit{}", state::COLUMNS)
}

pub(super) fn insert(
    transaction: &Transaction<'_>,
    key: VisitKey,
    radio: &RadioRecord,
) -> Result<(), StoreError> {
    let mut row: Vec<&dyn ToSql> = vec![&key.run.0, &key.journey, &key.visit];
    let whole = Whole::of(radio);
    row.extend(whole.values());
    columns::insert(transaction, "radio", &format!("run_id, {}", digested()), &row)?;
    for one in &radio.states {
        let mut row: Vec<&dyn ToSql> = vec![&key.run.0, &key.journey, &key.visit];
        row.extend(state::of(one));
        columns::insert(
            transaction,
            "radio_state",
            &format!("run_id, {}", digested_states()),
            &row,
        )?;
    }
    Ok(())
}

impl Store {
    /// The record of a visit's radio; `None` if the network has none.
    pub fn radio(&self, key: VisitKey) -> Result<Option<RadioRecord>, StoreError> {
        let sql = "SELECT * FROM radio WHERE run_id = ?1 AND journey = ?2 AND visit = ?3";
        let Some(whole) = self.rows(sql, key.params(), Whole::read)?.pop() else { return Ok(None) };
        let sql = "SELECT * FROM radio_state WHERE run_id = ?1 AND journey = ?2 AND visit = ?3 ORDER BY state";
        let states: Vec<RadioStateRecord> = self.rows(sql, key.params(), state::from)?;
        let Whole { radio, promotions, energy_uj, up_uj, down_uj, tail_uj } = whole;
        Ok(Some(RadioRecord { radio, promotions, energy_uj, up_uj, down_uj, tail_uj, states }))
    }
}
