//! Table `critical_step`: the critical paths of visits.

use std::collections::BTreeMap;

use record::{CriticalPath, PathCause, PathStep};
use rusqlite::{Transaction, named_params};

use super::{RunId, Store, StoreError, VisitKey};

/// Excess of a visit over its floor, in nanoseconds; causes without a step are missing.
pub type ExcessByCause = BTreeMap<PathCause, i64>;

/// Inserts the critical path of a visit.
pub(super) fn insert(
    transaction: &Transaction<'_>,
    key: VisitKey,
    path: &CriticalPath,
) -> Result<(), StoreError> {
    let mut statement = transaction.prepare_cached(
        "INSERT INTO critical_step (run_id, journey, visit, step, object, cause, from_ns, until_ns, excess_ns)
         VALUES (:run, :journey, :visit, :step, :object, :cause, :from, :until, :excess)",
    )?;
    for (index, step) in path.steps.iter().enumerate() {
        statement.execute(named_params! {
            ":run": key.run.0, ":journey": key.journey, ":visit": key.visit, ":step": index as u64,
            ":object": step.object, ":cause": step.cause.name(), ":from": step.from_ns,
            ":until": step.until_ns, ":excess": step.excess_ns,
        })?;
    }
    Ok(())
}

impl Store {
    /// The critical path of a visit; `None` if it did not load or has no floor.
    pub fn critical_path(&self, key: VisitKey) -> Result<Option<CriticalPath>, StoreError> {
        let sql = "SELECT * FROM critical_step WHERE run_id = ?1 AND journey = ?2 AND visit = ?3 ORDER BY step";
        let steps = self.rows(sql, key.params(), |row| {
            let cause: String = row.get("cause")?;
            Ok(PathStep {
                object: row.get("object")?,
                cause: known_cause(&cause)?,
                from_ns: row.get("from_ns")?,
                until_ns: row.get("until_ns")?,
                excess_ns: row.get("excess_ns")?,
            })
        })?;
        Ok((!steps.is_empty()).then_some(CriticalPath { steps }))
    }

    /// Excess over the floor by cause of each visit of a run that has a critical path, by journey and visit.
    pub fn excess_by_cause(
        &self,
        run: RunId,
    ) -> Result<BTreeMap<(u64, u32), ExcessByCause>, StoreError> {
        let sql = "SELECT journey, visit, cause, sum(excess_ns) AS excess_ns FROM critical_step
             WHERE run_id = ?1 GROUP BY journey, visit, cause";
        let rows = self.rows(sql, [run.0], |row| {
            let cause: String = row.get("cause")?;
            Ok((
                row.get("journey")?,
                row.get("visit")?,
                known_cause(&cause)?,
                row.get("excess_ns")?,
            ))
        })?;
        let mut visits: BTreeMap<(u64, u32), ExcessByCause> = BTreeMap::new();
        for (journey, visit, cause, excess_ns) in rows {
            visits.entry((journey, visit)).or_default().insert(cause, excess_ns);
        }
        Ok(visits)
    }
}

fn known_cause(name: &str) -> Result<PathCause, StoreError> {
    PathCause::named(name).ok_or_else(|| StoreError::Damaged { what: format!("cause `{name}`") })
}
