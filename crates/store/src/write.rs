//! Writing. Each verb is one atomic transaction.

use super::sql::{Database, insert, values};
use super::{
    RunFacts, RunId, RunState, Store, StoreError, VisitKey, critical, objects, proxied, series,
    shared, tables,
};
use record::{TcpEvent, VisitFigures, VisitOutcome};
use scenario::{JourneyPlan, JourneyResult, Keep, MeasuredVisit, Plan, VERSION};

impl Store {
    /// Begins a run of `plan`.
    pub fn begin_run(&mut self, plan: &Plan, facts: &RunFacts) -> Result<RunId, StoreError> {
        let result = insert_run(self, plan, facts);
        self.explain(result)
    }

    /// Resumes `run`: from now on it counts as running, with these workers and this command.
    pub fn resume_run(&mut self, run: RunId, facts: &RunFacts) -> Result<(), StoreError> {
        let sql = "UPDATE run SET state = 'running', finished_at = NULL, digest = NULL,
                 workers = ?2, command = ?3, machine = ?4 WHERE id = ?1";
        self.explain(
            self.database
                .execute(sql, values![run.0, facts.workers, facts.command, facts.machine])
                .map(|_| ()),
        )
    }

    /// Extends a run to the repetitions of `plan`, which a stop rule has added.
    pub fn extend_run(&mut self, run: RunId, plan: &Plan) -> Result<(), StoreError> {
        let sql = "UPDATE run SET repetitions = ?2, journeys = ?3 WHERE id = ?1";
        self.explain(
            self.database
                .execute(sql, values![run.0, plan.repetitions(), plan.journey_count()])
                .map(|_| ()),
        )
    }

    /// Stores what `keep` says of a journey's result, all of that or nothing.
    pub fn put_journey(
        &mut self,
        run: RunId,
        keep: Keep,
        journey: &JourneyPlan,
        result: &JourneyResult,
    ) -> Result<(), StoreError> {
        let store = || {
            self.database
                .transaction(|database| insert_journey(database, run, keep, journey, result))
        };
        self.explain(self.database.persistently(store))
    }

    /// Ends a run: complete, with its digest, if every journey is stored, else interrupted.
    pub fn finish_run(&mut self, run: RunId, finished_at: &str) -> Result<RunState, StoreError> {
        let planned = self.run(run)?.journeys;
        let stored = self.stored_count(run)?;
        let (state, digest) = match stored == planned {
            true => (RunState::Complete, Some(self.digest(run)?)),
            false => (RunState::Interrupted, None),
        };
        let sql = "UPDATE run SET state = ?2, finished_at = ?3, digest = ?4 WHERE id = ?1";
        self.explain(
            self.database
                .execute(sql, values![run.0, state.name(), finished_at, digest])
                .map(|_| state),
        )
    }
}

/// Columns of a new run.
pub(super) const NEW_RUN: [&str; 14] = [
    "name",
    "plan_digest",
    "farlink_version",
    "seed",
    "repetitions",
    "until_ppm",
    "journeys",
    "experiment",
    "command",
    "machine",
    "workers",
    "state",
    "started_at",
    "keep",
];

fn insert_run(store: &Store, plan: &Plan, facts: &RunFacts) -> Result<RunId, StoreError> {
    store
        .database
        .insert_numbered(
            "run",
            &NEW_RUN,
            values![
                plan.name(),
                plan.digest(),
                VERSION,
                plan.seed(),
                plan.repetitions(),
                plan.stop_rule().map(|rule| rule.width_ppm),
                plan.journey_count(),
                facts.experiment,
                facts.command,
                facts.machine,
                facts.workers,
                RunState::Running.name(),
                facts.started_at,
                plan.keep().name(),
            ],
        )
        .map(RunId)
}

fn insert_journey(
    database: &Database,
    run: RunId,
    keep: Keep,
    journey: &JourneyPlan,
    result: &JourneyResult,
) -> Result<(), StoreError> {
    let notes = serde_json::to_string(&result.notes).expect("strings serialise");
    let scenario = shared::JOURNEYS.number(database, &journey.scenario.canonical())?;
    let notes = shared::JOURNEYS.number(database, &notes)?;
    let is_new = insert!(database, "stored_journey", {
        "run_id": run.0, "position": journey.position, "cell": journey.cell,
        "repetition": journey.repetition, "seed": journey.seed, "farlink_version": VERSION,
        "scenario_id": scenario, "notes_id": notes, "failure": result.failure,
    })?;
    // Another runner may have stored it.
    if is_new {
        for visit in &result.visits {
            insert_visit(database, run, keep, journey.position, visit)?;
        }
    }
    Ok(())
}

fn insert_visit(
    database: &Database,
    run: RunId,
    keep: Keep,
    journey: u64,
    visit: &MeasuredVisit,
) -> Result<(), StoreError> {
    let record = &visit.record;
    let key = VisitKey { run, journey, visit: record.index };
    insert_visit_row(database, key, keep, visit)?;
    if let Some(record) = &record.emulation {
        tables::insert(database, key, record)?;
    }
    if let Some(record) = &record.paint {
        tables::insert(database, key, record)?;
    }
    if let Some(record) = &record.radio {
        tables::insert_radio(database, key, record)?;
    }
    match keep {
        Keep::All => insert_details(database, key, visit),
        Keep::Visits => Ok(()),
    }
}

/// Inserts the connections, links, events and critical path of a visit.
fn insert_details(
    database: &Database,
    key: VisitKey,
    visit: &MeasuredVisit,
) -> Result<(), StoreError> {
    let record = &visit.record;
    tables::insert_numbered(database, key, &record.connections)?;
    if let Some(path) = &visit.critical_path {
        critical::insert(database, key, path)?;
    }
    tables::insert_numbered(database, key, &record.links)?;
    let rows = record.events.iter().enumerate().filter(|(_, event)| !proxied::is_packed(event));
    for (sequence, event) in rows {
        insert_event(database, key, sequence, event)?;
    }
    Ok(())
}

fn insert_visit_row(
    database: &Database,
    key: VisitKey,
    keep: Keep,
    visit: &MeasuredVisit,
) -> Result<(), StoreError> {
    let record = &visit.record;
    let failure = match &record.outcome {
        VisitOutcome::Loaded { .. } => None,
        VisitOutcome::Failed { reason } => Some(reason),
    };
    let floors = visit.floors;
    let figures = VisitFigures::of(record);
    let objects::Texts { common, own } = match keep {
        Keep::All => objects::Texts::of(&record.objects),
        Keep::Visits => objects::Texts::not_kept(),
    };
    let object_list = shared::OBJECTS.number(database, &common)?;
    insert!(database, "visit", {
        "run_id": key.run.0, "journey": key.journey, "visit": key.visit, "view": record.view,
        "started_at_ns": record.started_at_ns, "plt_ns": record.plt_ns(), "failure": failure,
        "ttfb_ns": record.ttfb_ns,
        "floor_graph_ns": floors.map(|f| f.graph_ns),
        "floor_oracle_ns": floors.map(|f| f.oracle_ns),
        "floor_graph_without_compute_ns": floors.map(|f| f.graph_without_compute_ns),
        "floor_oracle_without_compute_ns": floors.map(|f| f.oracle_without_compute_ns),
        "requests": figures.requests, "requests_failed": figures.requests_failed,
        "connections": figures.connections,
        "connections_flow_limited": figures.connections_flow_limited,
        "body_bytes": figures.body_bytes,
        "wire_bytes_down": record.wire_bytes_down, "wire_bytes_up": record.wire_bytes_up,
        "retransmits": figures.retransmits, "queue_drops": record.queue_drops,
        "losses": record.losses,
        "trace_digest": record.trace_digest.map(|digest| format!("{digest:016x}")),
        "object_list": object_list, "objects": own, "page": record.page,
        "proxy_events": (keep == Keep::All).then(|| proxied::encode(&record.events)).flatten(),
        "series": record.series.as_ref().map(series::encode),
        // A browser that paints needs no estimate.
        "model_first_render_ns": figures.first_render_ns.filter(|_| record.paint.is_none()),
        "model_byte_index_ns": figures.byte_index_ns,
    })?;
    Ok(())
}

fn insert_event(
    database: &Database,
    key: VisitKey,
    sequence: usize,
    event: &TcpEvent,
) -> Result<(), StoreError> {
    insert!(database, "event", {
        "run_id": key.run.0, "journey": key.journey, "visit": key.visit,
        "sequence": sequence as u64, "at_ns": event.at_ns, "kind": event.kind.name(),
        "object": event.object, "connection": event.connection, "detail": event.detail,
    })?;
    Ok(())
}
