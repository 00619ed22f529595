//! Reading.

use std::collections::{BTreeMap, BTreeSet};

use super::proxied::{self, NumberedEvent};
use super::rows::KnownScenarios;
use super::sql::{Row, Value, values};
use super::{JourneyRow, RunId, RunRow, Store, StoreError, VisitKey, VisitRow, objects};
use record::{EventKind, NetworkActivity, ObjectRecord, TcpEvent, VisitOutcome, VisitRecord};

/// A row of table `visit`, with the paint times used in comparisons.
const VISIT: &str = "SELECT v.*, p.first_contentful_paint_ns, p.largest_contentful_paint_ns, p.speed_index_ns
     FROM visit AS v LEFT JOIN paint AS p ON p.run_id = v.run_id AND p.journey = v.journey AND p.visit = v.visit";

impl Store {
    /// All runs, the oldest first.
    pub fn runs(&self) -> Result<Vec<RunRow>, StoreError> {
        self.rows("SELECT * FROM run ORDER BY id", &[], RunRow::read)
    }

    /// One run.
    pub fn run(&self, run: RunId) -> Result<RunRow, StoreError> {
        let mut rows =
            self.rows("SELECT * FROM run WHERE id = ?1", values![run.0], RunRow::read)?;
        rows.pop().ok_or(StoreError::NoSuchRun { run: run.0 })
    }

    /// The latest run of the plan with this digest: one to resume, or one that need not be run again.
    pub fn run_of_plan(&self, plan_digest: &str) -> Result<Option<RunRow>, StoreError> {
        let sql = "SELECT * FROM run WHERE plan_digest = ?1 ORDER BY id";
        Ok(self.rows(sql, values![plan_digest], RunRow::read)?.pop())
    }

    /// Positions in the plan of the run's stored journeys.
    pub fn stored_positions(&self, run: RunId) -> Result<BTreeSet<u64>, StoreError> {
        let sql = "SELECT position FROM journey WHERE run_id = ?1";
        let rows = self.rows(sql, values![run.0], |row| row.at(0))?;
        Ok(rows.into_iter().collect())
    }

    /// Number of the run's stored journeys.
    pub fn stored_count(&self, run: RunId) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM journey WHERE run_id = ?1";
        Ok(self.rows(sql, values![run.0], |row| row.at(0))?.pop().unwrap_or(0))
    }

    /// The journeys of a run, in the plan's order.
    pub fn journeys(&self, run: RunId) -> Result<Vec<JourneyRow>, StoreError> {
        let sql = "SELECT * FROM journey WHERE run_id = ?1 ORDER BY position";
        let mut known = KnownScenarios::new();
        self.rows(sql, values![run.0], |row| JourneyRow::read_knowing(row, &mut known))
    }

    /// The first `limit` journeys of a run from a position on, in the plan's order.
    pub fn journeys_from(
        &self,
        run: RunId,
        from: u64,
        limit: u64,
    ) -> Result<Vec<JourneyRow>, StoreError> {
        let sql =
            "SELECT * FROM journey WHERE run_id = ?1 AND position >= ?2 ORDER BY position LIMIT ?3";
        let mut known = KnownScenarios::new();
        self.rows(sql, values![run.0, from, limit], |row| JourneyRow::read_knowing(row, &mut known))
    }

    /// One journey: the scenario, seed and version behind a visit.
    pub fn journey(&self, key: VisitKey) -> Result<JourneyRow, StoreError> {
        let sql = "SELECT * FROM journey WHERE run_id = ?1 AND position = ?2";
        let mut rows = self.rows(sql, values![key.run.0, key.journey], JourneyRow::read)?;
        rows.pop().ok_or_else(|| no_such_visit(key))
    }

    /// Load times of a run in ns by cell and place in the journey; none for visits that did not load.
    pub fn load_times(&self, run: RunId) -> Result<BTreeMap<(u32, u32), Vec<u64>>, StoreError> {
        let sql = "SELECT j.cell, v.visit, v.plt_ns FROM visit AS v
                   JOIN journey AS j ON j.run_id = v.run_id AND j.position = v.journey
                   WHERE v.run_id = ?1 AND v.plt_ns IS NOT NULL";
        let rows =
            self.rows(sql, values![run.0], |row| Ok(((row.at(0)?, row.at(1)?), row.at(2)?)))?;
        let mut times: BTreeMap<(u32, u32), Vec<u64>> = BTreeMap::new();
        for (key, load_time) in rows {
            times.entry(key).or_default().push(load_time);
        }
        Ok(times)
    }

    /// The visits of a run without their object timings, in the plan's order.
    pub fn visits(&self, run: RunId) -> Result<Vec<VisitRow>, StoreError> {
        let sql = format!("{VISIT} WHERE v.run_id = ?1 ORDER BY v.journey, v.visit");
        self.rows(&sql, values![run.0], VisitRow::read)
    }

    /// The visits of the journeys from `first` to `last`, without their object timings, in the plan's order.
    pub fn visits_between(
        &self,
        run: RunId,
        first: u64,
        last: u64,
    ) -> Result<Vec<VisitRow>, StoreError> {
        let sql = format!(
            "{VISIT} WHERE v.run_id = ?1 AND v.journey BETWEEN ?2 AND ?3 ORDER BY v.journey, v.visit"
        );
        self.rows(&sql, values![run.0, first, last], VisitRow::read)
    }

    /// The object timings of a visit.
    pub fn objects(&self, key: VisitKey) -> Result<Vec<ObjectRecord>, StoreError> {
        let texts = objects::TEXTS;
        let sql =
            format!("SELECT {texts} FROM visit WHERE run_id = ?1 AND journey = ?2 AND visit = ?3");
        let texts: Option<String> = self.rows(&sql, &key.values(), |row| row.at(0))?.pop();
        objects::decode(&texts.ok_or_else(|| no_such_visit(key))?)
    }

    /// The events of a visit, in time's order.
    pub fn events(&self, key: VisitKey) -> Result<Vec<TcpEvent>, StoreError> {
        Ok(self.placed_events(key)?.into_iter().map(|(_, event)| event).collect())
    }

    /// The events with their positions: those with rows of their own, and the packed ones.
    pub(super) fn placed_events(&self, key: VisitKey) -> Result<Vec<NumberedEvent>, StoreError> {
        let sql = "SELECT * FROM event WHERE run_id = ?1 AND journey = ?2
                   AND visit = ?3 ORDER BY sequence";
        let mut placed = self.rows(sql, &key.values(), event)?;
        let sql =
            "SELECT proxy_events FROM visit WHERE run_id = ?1 AND journey = ?2 AND visit = ?3";
        let blobs = self.rows(sql, &key.values(), |row| row.at::<Option<Vec<u8>>>(0))?;
        for blob in blobs.iter().flatten() {
            placed.extend(proxied::decode(blob)?);
        }
        placed.sort_by_key(|(sequence, _)| *sequence);
        Ok(placed)
    }

    /// A visit's complete record, as stored.
    pub fn record(&self, key: VisitKey) -> Result<VisitRecord, StoreError> {
        let sql = format!("{VISIT} WHERE v.run_id = ?1 AND v.journey = ?2 AND v.visit = ?3");
        let mut rows = self.rows(&sql, &key.values(), VisitRow::read)?;
        let row = rows.pop().ok_or_else(|| no_such_visit(key))?;
        Ok(VisitRecord {
            index: key.visit,
            outcome: outcome(&row),
            view: row.view,
            page: row.page,
            started_at_ns: row.started_at_ns,
            ttfb_ns: row.ttfb_ns,
            objects: self.objects(key)?,
            connections: self.connections(key)?,
            links: self.links(key)?,
            events: self.events(key)?,
            wire_bytes_down: row.wire_bytes_down,
            wire_bytes_up: row.wire_bytes_up,
            queue_drops: row.queue_drops,
            losses: row.losses,
            trace_digest: row.trace_digest,
            emulation: self.emulation(key)?,
            paint: self.paint(key)?,
            radio: self.radio(key)?,
            series: self.series(key)?,
            activity: NetworkActivity::default(),
        })
    }

    /// Every row of `sql`, read by `read`.
    pub(super) fn rows<T>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.explain(self.database.rows(sql, values, read))
    }
}

fn no_such_visit(key: VisitKey) -> StoreError {
    StoreError::Damaged {
        what: format!("run {} has no visit {} of journey {}", key.run.0, key.visit, key.journey),
    }
}

fn outcome(row: &VisitRow) -> VisitOutcome {
    match row.plt_ns {
        Some(plt_ns) => VisitOutcome::Loaded { plt_ns },
        None => VisitOutcome::Failed { reason: row.failure.clone().unwrap_or_default() },
    }
}

fn event(row: &Row<'_>) -> Result<NumberedEvent, StoreError> {
    let kind: String = row.get("kind")?;
    let event = TcpEvent {
        at_ns: row.get("at_ns")?,
        kind: known_kind(&kind)?,
        object: row.get("object")?,
        connection: row.get("connection")?,
        detail: row.get("detail")?,
    };
    Ok((row.get("sequence")?, event))
}

/// The kind with this name; an error if the store is damaged.
pub(super) fn known_kind(name: &str) -> Result<EventKind, StoreError> {
    event_kind(name).ok_or_else(|| StoreError::Damaged { what: format!("event kind `{name}`") })
}

/// The kind with this name.
fn event_kind(name: &str) -> Option<EventKind> {
    use EventKind::{
        Failure, Leg, Load, Loss, Pep, Proxied, QueueDrop, Radio, Retransmit, Start, Upstream,
    };
    [Start, Load, Failure, QueueDrop, Loss, Radio, Retransmit, Proxied, Upstream, Pep, Leg]
        .into_iter()
        .find(|k| k.name() == name)
}
