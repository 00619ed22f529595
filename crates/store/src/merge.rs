//! Copies of runs from one store to another: parts of a run that several processes or machines have measured become
//! one run, equal in every row to that of a single machine.
//!
//! Rows are copied as they are, without being understood; only the numbers that a store assigns are translated.

use std::collections::{BTreeSet, HashMap};

use super::shared::{self, SharedTexts};
use super::sql::{Database, ToValue, Value, values};
use super::write::NEW_RUN;
use super::{RunId, RunRow, RunState, Store, StoreError};

/// Tables with rows of a journey, those that others refer to first, and the column with its position.
const TABLES: [(&str, &str); 10] = [
    ("stored_journey", "position"),
    ("visit", "journey"),
    ("connection", "journey"),
    ("event", "journey"),
    ("link", "journey"),
    ("critical_step", "journey"),
    ("emulation", "journey"),
    ("paint", "journey"),
    ("radio", "journey"),
    ("radio_state", "journey"),
];

/// Columns with numbers that a store assigns, and the texts that they are numbers of.
const ASSIGNED: [(&str, &SharedTexts); 3] = [
    ("scenario_id", &shared::JOURNEYS),
    ("notes_id", &shared::JOURNEYS),
    ("object_list", &shared::OBJECTS),
];

/// Journeys in a transaction.
const CHUNK: usize = 256;

/// A run that was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Its number in the store that it was copied to.
    pub run: RunId,
    /// Journeys that were copied.
    pub added: u64,
    /// Journeys that were there already, with equal measurements.
    pub known: u64,
}

impl Store {
    /// Copies the journeys of a run of another store that this one does not have into the run of the same plan, which is
    /// created if there is none. Journeys of both must have equal measurements.
    pub fn merge_run(&mut self, from: &Store, run: RunId) -> Result<Merged, StoreError> {
        let row = from.run(run)?;
        let into = match self.run_of_plan(&row.plan_digest)? {
            Some(known) => known.id,
            None => self.explain(adopt(self, &row))?,
        };
        let stored = self.stored_positions(into)?;
        let positions = from.stored_positions(run)?;
        let known: BTreeSet<u64> = positions.intersection(&stored).copied().collect();
        for position in &known {
            if measured(self, into, *position)? != measured(from, run, *position)? {
                return Err(StoreError::Conflict {
                    journey: *position,
                    path: from.path().to_owned(),
                });
            }
        }
        let missing: Vec<u64> = positions.difference(&known).copied().collect();
        for chunk in missing.chunks(CHUNK) {
            let copied = self.database.persistently(|| {
                self.database.transaction(|database| copy(database, into, from, run, chunk))
            });
            self.explain(copied)?;
        }
        Ok(Merged { run: into, added: missing.len() as u64, known: known.len() as u64 })
    }
}

/// Inserts a run of another store; it counts as running.
fn adopt(store: &Store, row: &RunRow) -> Result<RunId, StoreError> {
    store
        .database
        .insert_numbered(
            "run",
            &NEW_RUN,
            values![
                row.name,
                row.plan_digest,
                row.farlink_version,
                row.seed,
                row.repetitions,
                row.until_ppm,
                row.journeys,
                row.experiment,
                row.command,
                row.machine,
                row.workers,
                RunState::Running.name(),
                row.started_at,
                row.keep.name(),
            ],
        )
        .map(RunId)
}

/// Load time and trace of a visit.
type Outcome = (Option<u64>, Option<u64>);

/// Load times and traces of a journey's visits.
fn measured(store: &Store, run: RunId, position: u64) -> Result<Vec<Outcome>, StoreError> {
    let visits = store.visits_between(run, position, position)?;
    Ok(visits.into_iter().map(|visit| (visit.plt_ns, visit.trace_digest)).collect())
}

/// Copies journeys.
fn copy(
    database: &Database,
    into: RunId,
    from: &Store,
    run: RunId,
    positions: &[u64],
) -> Result<(), StoreError> {
    let mut numbers = HashMap::new();
    for position in positions {
        for (table, key) in TABLES {
            let sql = format!("SELECT * FROM {table} WHERE run_id = ?1 AND {key} = ?2");
            let mut names: Vec<String> = Vec::new();
            let rows = from.rows(&sql, values![run.0, position], |row| {
                if names.is_empty() {
                    names = row.names();
                }
                (0..names.len()).map(|place| Ok(OwnedValue::of(row.value_at(place)?))).collect()
            })?;
            let columns: Vec<&str> = names.iter().map(String::as_str).collect();
            for row in rows {
                let row: Vec<OwnedValue> = row;
                let mut translated = Vec::with_capacity(row.len());
                for (column, value) in columns.iter().zip(&row) {
                    translated.push(match (*column, value) {
                        ("run_id", _) => Value::Integer(into.0),
                        (column, OwnedValue::Integer(number)) => Value::Integer(translate(
                            database,
                            from,
                            column,
                            *number,
                            &mut numbers,
                        )?),
                        (_, value) => value.to_value(),
                    });
                }
                database.insert(table, &columns, &translated)?;
            }
        }
    }
    Ok(())
}

/// A value between two stores.
enum OwnedValue {
    Null,
    Integer(i64),
    Text(String),
    Blob(Vec<u8>),
}

impl OwnedValue {
    fn of(value: Value<'_>) -> OwnedValue {
        match value {
            Value::Null => OwnedValue::Null,
            Value::Integer(number) => OwnedValue::Integer(number),
            Value::Text(text) => OwnedValue::Text(text.to_owned()),
            Value::Blob(bytes) => OwnedValue::Blob(bytes.to_owned()),
        }
    }
}

impl ToValue for OwnedValue {
    fn to_value(&self) -> Value<'_> {
        match self {
            OwnedValue::Null => Value::Null,
            OwnedValue::Integer(number) => Value::Integer(*number),
            OwnedValue::Text(text) => Value::Text(text),
            OwnedValue::Blob(bytes) => Value::Blob(bytes),
        }
    }
}

/// A number in the numbers of the store that is copied to.
fn translate(
    database: &Database,
    from: &Store,
    column: &str,
    number: i64,
    numbers: &mut HashMap<(&'static str, i64), i64>,
) -> Result<i64, StoreError> {
    let Some((name, texts)) = ASSIGNED.iter().find(|(name, _)| *name == column) else {
        return Ok(number);
    };
    if let Some(there) = numbers.get(&(*name, number)) {
        return Ok(*there);
    }
    let there = texts.number(database, &texts.text(&from.database, number)?)?;
    numbers.insert((*name, number), there);
    Ok(there)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use scenario::{Keep, Plan, Shard};

    use super::*;
    use crate::runner;
    use crate::toy::{self, Toy, facts};

    fn shard(plan: &Plan, number: u32, of: u32) -> (Store, RunId) {
        let mut store = Store::in_memory().unwrap();
        let run = store.begin_run(plan, &facts()).unwrap();
        let plan = plan.clone().sharded(Some(Shard { number, of }));
        let idle = AtomicBool::new(false);
        let ended = runner::run(&mut store, run, &plan, &Toy, 2, &idle, &mut |_| {}).unwrap();
        assert_eq!(ended, runner::RunOutcome::Complete);
        store.finish_run(run, "then").unwrap();
        (store, run)
    }

    #[test]
    fn shards_in_any_order_make_the_run_of_one_machine() {
        for keep in [Keep::All, Keep::Visits] {
            let plan = toy::plan(5).keeping(keep);
            let whole = toy::filled_store(&plan);
            let mut merged = Store::in_memory().unwrap();
            let mut added = 0;
            for number in [3, 1, 7, 2, 6, 5, 4, 3] {
                let (part, run) = shard(&plan, number, 7);
                added += merged.merge_run(&part, run).unwrap().added;
            }
            assert_eq!(added, 20);
            let run = merged.runs().unwrap()[0].id;
            assert_eq!(merged.finish_run(run, "now").unwrap(), RunState::Complete);
            let digest = whole.store.run(whole.run).unwrap().digest;
            assert_eq!(merged.run(run).unwrap().digest, digest, "{keep:?}");
        }
    }

    #[test]
    fn a_journey_with_other_measurements_is_refused() {
        let plan = toy::plan(1);
        let (one, run) = shard(&plan, 1, 2);
        let (mut other, there) = shard(&plan, 1, 2);
        other
            .database
            .execute("UPDATE visit SET plt_ns = plt_ns + 1 WHERE journey = 2", &[])
            .unwrap();
        let error = other.merge_run(&one, run).unwrap_err();
        assert!(error.to_string().contains("journey 2"), "{error}");
        assert_eq!(other.stored_count(there).unwrap(), 2);
    }
}
