//! Writing. Each verb is one atomic transaction.

use std::time::Duration;

use record::{ConnectionRecord, TcpEvent, VisitOutcome, VisitRecord};
use rusqlite::{Transaction, TransactionBehavior, named_params};

use super::{
    RunFacts, RunId, RunState, Store, StoreError, VisitKey, critical, objects, proxied, series,
    tables,
};
use crate::early::EarlyMetrics;
use scenario::{JourneyPlan, JourneyResult, MeasuredVisit};
use scenario::{Plan, VERSION};

impl Store {
    /// Begins a run of `plan`.
    pub fn begin_run(&mut self, plan: &Plan, facts: &RunFacts) -> Result<RunId, StoreError> {
        let result = insert_run(self, plan, facts);
        self.explain(result)
    }

    /// Resumes `run`: from now on it counts as running, with these workers and this command.
    pub fn resume_run(&mut self, run: RunId, facts: &RunFacts) -> Result<(), StoreError> {
        let result = self.connection.execute(
            "UPDATE run SET state = 'running', finished_at = NULL, digest = NULL,
                 workers = :workers, command = :command, machine = :machine
             WHERE id = :run",
            named_params! {
                ":run": run.0, ":workers": facts.workers, ":command": facts.command,
                ":machine": facts.machine,
            },
        );
        self.explain(result.map(|_| ()).map_err(StoreError::from))
    }

    /// Extends a run to the repetitions of `plan`, which a stop rule has added.
    pub fn extend_run(&mut self, run: RunId, plan: &Plan) -> Result<(), StoreError> {
        let result = self.connection.execute(
            "UPDATE run SET repetitions = :repetitions, journeys = :journeys WHERE id = :run",
            named_params! {
                ":run": run.0, ":repetitions": plan.repetitions(),
                ":journeys": plan.journey_count(),
            },
        );
        self.explain(result.map(|_| ()).map_err(StoreError::from))
    }

    /// Stores a journey's result, all of it or nothing.
    pub fn put_journey(
        &mut self,
        run: RunId,
        journey: &JourneyPlan,
        result: &JourneyResult,
    ) -> Result<(), StoreError> {
        let stored = insert_journey(self, run, journey, result);
        self.explain(stored)
    }

    /// Ends a run: complete, with its digest, if every journey is stored, else interrupted.
    pub fn finish_run(&mut self, run: RunId, finished_at: &str) -> Result<RunState, StoreError> {
        let planned = self.run(run)?.journeys;
        let stored = self.stored_count(run)?;
        let (state, digest) = match stored == planned {
            true => (RunState::Complete, Some(self.digest(run)?)),
            false => (RunState::Interrupted, None),
        };
        let result = self.connection.execute(
            "UPDATE run SET state = :state, finished_at = :at, digest = :digest WHERE id = :run",
            named_params! {
                ":run": run.0, ":state": state.name(), ":at": finished_at, ":digest": digest,
            },
        );
        self.explain(result.map(|_| state).map_err(StoreError::from))
    }
}

fn insert_run(store: &mut Store, plan: &Plan, facts: &RunFacts) -> Result<RunId, StoreError> {
    store.connection.execute(
        "INSERT INTO run (name, plan_digest, farlink_version, seed, repetitions, until_ppm, journeys,
             experiment, command, machine, workers, state, started_at)
         VALUES (:name, :plan_digest, :version, :seed, :repetitions, :until_ppm, :journeys,
             :experiment, :command, :machine, :workers, 'running', :started_at)",
        named_params! {
            ":name": plan.name(), ":plan_digest": plan.digest(), ":version": VERSION,
            ":seed": plan.seed(), ":repetitions": plan.repetitions(),
            ":until_ppm": plan.stop_rule().map(|rule| rule.width_ppm),
            ":journeys": plan.journey_count(), ":experiment": facts.experiment,
            ":command": facts.command, ":machine": facts.machine, ":workers": facts.workers,
            ":started_at": facts.started_at,
        },
    )?;
    Ok(RunId(store.connection.last_insert_rowid()))
}

fn insert_journey(
    store: &mut Store,
    run: RunId,
    journey: &JourneyPlan,
    result: &JourneyResult,
) -> Result<(), StoreError> {
    let transaction = store.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let notes = serde_json::to_string(&result.notes).expect("strings serialise");
    transaction.prepare_cached(
        "INSERT INTO journey (run_id, position, cell, repetition, seed, farlink_version, scenario,
             notes, failure)
         VALUES (:run, :position, :cell, :repetition, :seed, :version, :scenario, :notes, :failure)",
    )?.execute(named_params! {
        ":run": run.0, ":position": journey.position, ":cell": journey.cell,
        ":repetition": journey.repetition, ":seed": journey.seed, ":version": VERSION,
        ":scenario": journey.scenario.canonical(), ":notes": notes, ":failure": result.failure,
    })?;
    for visit in &result.visits {
        insert_visit(&transaction, run, journey.position, visit)?;
    }
    transaction.commit()?;
    Ok(())
}

fn insert_visit(
    transaction: &Transaction<'_>,
    run: RunId,
    journey: u64,
    visit: &MeasuredVisit,
) -> Result<(), StoreError> {
    let record = &visit.record;
    let key = VisitKey { run, journey, visit: record.index };
    insert_visit_row(transaction, key, visit)?;
    for (index, connection) in record.connections.iter().enumerate() {
        insert_connection(transaction, key, index, connection)?;
    }
    if let Some(path) = &visit.critical_path {
        critical::insert(transaction, key, path)?;
    }
    tables::insert_links(transaction, key, &record.links)?;
    if let Some(record) = &record.emulation {
        tables::insert(transaction, key, record)?;
    }
    if let Some(record) = &record.paint {
        tables::insert(transaction, key, record)?;
    }
    if let Some(record) = &record.radio {
        tables::insert_radio(transaction, key, record)?;
    }
    let rows = record.events.iter().enumerate().filter(|(_, event)| !proxied::is_packed(event));
    for (sequence, event) in rows {
        insert_event(transaction, key, sequence, event)?;
    }
    Ok(())
}

fn insert_visit_row(
    transaction: &Transaction<'_>,
    key: VisitKey,
    visit: &MeasuredVisit,
) -> Result<(), StoreError> {
    let record = &visit.record;
    let failure = match &record.outcome {
        VisitOutcome::Loaded { .. } => None,
        VisitOutcome::Failed { reason } => Some(reason),
    };
    let floors = visit.floors;
    let early = EarlyMetrics::of(record);
    let objects::Texts { common, own } = objects::Texts::of(&record.objects);
    let object_list = objects::list(transaction, &common)?;
    transaction.prepare_cached(
        "INSERT INTO visit (run_id, journey, visit, view, started_at_ns, plt_ns, failure, ttfb_ns,
             floor_graph_ns, floor_oracle_ns, floor_graph_without_compute_ns,
             floor_oracle_without_compute_ns, requests, requests_failed, connections,
             connections_flow_limited, body_bytes, wire_bytes_down, wire_bytes_up, retransmits,
             queue_drops, losses, trace_digest, object_list, objects, page, proxy_events, series,
             model_first_render_ns, model_byte_index_ns)
         VALUES (:run, :journey, :visit, :view, :started, :plt, :failure, :ttfb,
             :graph, :oracle, :graph_free, :oracle_free, :requests, :requests_failed, :connections,
             :flow_limited, :body_bytes, :wire_down, :wire_up, :retransmits,
             :queue_drops, :losses, :trace, :object_list, :objects, :page, :proxy_events, :series,
             :first_render, :byte_index)",
    )?.execute(named_params! {
        ":run": key.run.0, ":journey": key.journey, ":visit": key.visit, ":view": record.view,
        ":started": record.started_at_ns, ":plt": record.plt_ns(), ":failure": failure,
        ":ttfb": record.ttfb_ns,
        ":graph": floors.map(|f| f.graph_ns), ":oracle": floors.map(|f| f.oracle_ns),
        ":graph_free": floors.map(|f| f.graph_without_compute_ns),
        ":oracle_free": floors.map(|f| f.oracle_without_compute_ns),
        ":requests": requests(record), ":requests_failed": requests_failed(record),
        ":connections": record.connections.len() as u64,
        ":flow_limited": record.connections.iter().filter(|c| c.is_flow_limited()).count() as u64,
        ":body_bytes": record.objects.iter().map(|o| o.body_bytes).sum::<u64>(),
        ":wire_down": record.wire_bytes_down, ":wire_up": record.wire_bytes_up,
        ":retransmits": record.retransmits(), ":queue_drops": record.queue_drops,
        ":losses": record.losses,
        ":trace": record.trace_digest.map(|digest| format!("{digest:016x}")),
        ":object_list": object_list, ":objects": own, ":page": record.page,
        ":proxy_events": proxied::encode(&record.events),
        ":series": record.series.as_ref().map(series::encode),
        // A browser that paints needs no estimate.
        ":first_render": early.filter(|_| record.paint.is_none()).map(|e| nanos(e.first_render)),
        ":byte_index": early.map(|early| nanos(early.byte_index)),
    })?;
    Ok(())
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Number of objects requested from a server.
fn requests(record: &VisitRecord) -> u64 {
    record.objects.iter().filter(|o| o.protocol != "cache").count() as u64
}

fn requests_failed(record: &VisitRecord) -> u64 {
    record.objects.iter().filter(|o| o.error.is_some()).count() as u64
}

fn insert_connection(
    transaction: &Transaction<'_>,
    key: VisitKey,
    index: usize,
    connection: &ConnectionRecord,
) -> Result<(), StoreError> {
    transaction.prepare_cached(
        "INSERT INTO connection (run_id, journey, visit, connection, host, protocol, tls,
             opened_at_ns, connected_at_ns, secured_at_ns, closed_at_ns, requests, bytes_up,
             bytes_down, retransmits_down, retransmits_up, timeouts_down, srtt_down_ns, cwnd_down,
             busy_ns, flow_limited_ns)
         VALUES (:run, :journey, :visit, :connection, :host, :protocol, :tls,
             :opened, :connected, :secured, :closed, :requests, :bytes_up,
             :bytes_down, :retransmits_down, :retransmits_up, :timeouts_down, :srtt, :cwnd,
             :busy, :flow_limited)",
    )?.execute(named_params! {
        ":run": key.run.0, ":journey": key.journey, ":visit": key.visit,
        ":connection": index as u64, ":host": connection.host,
        ":protocol": connection.protocol, ":tls": connection.tls,
        ":opened": connection.opened_at_ns, ":connected": connection.connected_at_ns,
        ":secured": connection.secured_at_ns, ":closed": connection.closed_at_ns,
        ":requests": connection.requests, ":bytes_up": connection.bytes_up,
        ":bytes_down": connection.bytes_down, ":retransmits_down": connection.retransmits_down,
        ":retransmits_up": connection.retransmits_up, ":timeouts_down": connection.timeouts_down,
        ":srtt": connection.srtt_down_ns, ":cwnd": connection.cwnd_down,
        ":busy": connection.busy_ns, ":flow_limited": connection.flow_limited_ns,
    })?;
    Ok(())
}

fn insert_event(
    transaction: &Transaction<'_>,
    key: VisitKey,
    sequence: usize,
    event: &TcpEvent,
) -> Result<(), StoreError> {
    transaction.prepare_cached(
        "INSERT INTO event (run_id, journey, visit, sequence, at_ns, kind, object, connection, detail)
         VALUES (:run, :journey, :visit, :sequence, :at, :kind, :object, :connection, :detail)",
    )?.execute(named_params! {
        ":run": key.run.0, ":journey": key.journey, ":visit": key.visit,
        ":sequence": sequence as u64, ":at": event.at_ns, ":kind": event.kind.name(),
        ":object": event.object, ":connection": event.connection, ":detail": event.detail,
    })?;
    Ok(())
}
