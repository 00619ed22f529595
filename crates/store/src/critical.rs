//! Table `critical_step`: the critical paths of visits.

use std::collections::BTreeMap;

use super::sql::{Database, insert, values};
use super::{RunId, Store, StoreError, VisitKey};
use record::{CriticalPath, PathCause, PathStep};

/// Excess of a visit over its floor, in nanoseconds; causes without a step are missing.
pub type ExcessByCause = BTreeMap<PathCause, i64>;

/// Inserts the critical path of a visit.
pub(super) fn insert(
    database: &Database,
    key: VisitKey,
    path: &CriticalPath,
) -> Result<(), StoreError> {
    for (index, step) in path.steps.iter().enumerate() {
        insert!(database, "critical_step", {
            "run_id": key.run.0, "journey": key.journey, "visit": key.visit, "step": index as u64,
            "object": step.object, "cause": step.cause.name(), "from_ns": step.from_ns,
            "until_ns": step.until_ns, "excess_ns": step.excess_ns,
        })?;
    }
    Ok(())
}

impl Store {
    /// The critical path of a visit; `None` if it did not load or has no floor.
    pub fn critical_path(&self, key: VisitKey) -> Result<Option<CriticalPath>, StoreError> {
        let sql = "SELECT * FROM critical_step WHERE run_id = ?1 AND journey = ?2 AND visit = ?3 ORDER BY step";
        let steps = self.rows(sql, &key.values(), |row| {
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
        let sql = "SELECT journey, visit, cause, CAST(sum(excess_ns) AS BIGINT) AS excess_ns FROM critical_step
             WHERE run_id = ?1 GROUP BY journey, visit, cause";
        let rows = self.rows(sql, values![run.0], |row| {
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
