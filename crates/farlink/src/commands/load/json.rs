//! `farlink load --json`: one JSON object per visit, one per line, for programs.
//!
//! A journey that ended without a visit has a line too, with `plt_ms` null and the `failure`.

use std::time::Duration;

use record::{CriticalPath, EarlyMetrics, PathCause, PathStep, VisitOutcome};
use scenario::{JourneyPlan, JourneyResult, MeasuredVisit};
use serde_json::{Map, Value, json};
use testbed::worlds::Worlds;

use crate::commands::output;
use crate::failure::CliError;

/// Prints every visit of every journey.
pub fn print(results: &[(JourneyPlan, JourneyResult)], worlds: &Worlds) -> Result<(), CliError> {
    for (journey, result) in results {
        let about = about(journey, result, worlds);
        for visit in &result.visits {
            line(&about, measured(journey, visit))?;
        }
        if let Some(failure) = &result.failure {
            line(&about, json!({ "plt_ms": null, "failure": failure }))?;
        }
    }
    Ok(())
}

fn line(about: &Map<String, Value>, measured: Value) -> Result<(), CliError> {
    let mut object = about.clone();
    if let Value::Object(measured) = measured {
        object.extend(measured);
    }
    output::line(Value::Object(object))
}

/// The fields common to all lines of a journey.
fn about(journey: &JourneyPlan, result: &JourneyResult, worlds: &Worlds) -> Map<String, Value> {
    let scenario = &*journey.scenario;
    // The network was resolved before anything was loaded, so this succeeds.
    let resolved = worlds.library().network_of(scenario).ok().map(|network| network.to_string());
    let about = json!({
        "page": scenario.page.spec,
        "network": scenario.network.to_string(),
        "network_resolved": resolved,
        "protocol": scenario.stack.protocol,
        "tls": scenario.stack.tls,
        "device": scenario.client.device,
        "browser": scenario.client.browser,
        "client": scenario.client.program,
        "world": scenario.world,
        "repetition": journey.repetition,
        "seed": journey.seed,
        "scenario": scenario,
        "farlink_version": scenario::VERSION,
        "notes": result.notes,
    });
    match about {
        Value::Object(about) => about,
        _ => unreachable!("an object literal is an object"),
    }
}

fn measured(journey: &JourneyPlan, visit: &MeasuredVisit) -> Value {
    let record = &visit.record;
    let failure = match &record.outcome {
        VisitOutcome::Failed { reason } => Some(reason),
        VisitOutcome::Loaded { .. } => None,
    };
    let figures = visit.figures();
    let early = EarlyMetrics::of(record);
    let span_ms = |span: Duration| span.as_nanos() as f64 / 1e6;
    json!({
        "client_number": journey.scenario.who(record.index).0,
        "visit": record.index,
        "visited_page": record.page,
        "view": record.view,
        "started_ms": millis(record.started_at_ns),
        "plt_ms": record.plt_ns().map(millis),
        "failure": failure,
        "ttfb_ms": record.ttfb_ns.map(millis),
        "floor_ms": visit.floors.map(|f| millis(f.graph_ns)),
        "excess_ms": visit.critical_path.as_ref().map(excess),
        "critical_path": visit.critical_path.as_ref().map(critical_path),
        "render_path": visit.render_path.as_ref().map(critical_path),
        "floor_oracle_ms": visit.floors.map(|f| millis(f.oracle_ns)),
        "model_first_render_ms": early.map(|early| span_ms(early.first_render)),
        "model_byte_index_ms": early.map(|early| span_ms(early.byte_index)),
        "model_object_index_ms": early.map(|early| span_ms(early.object_index)),
        "objects": record.objects.len(),
        "requests": figures.requests,
        "requests_failed": figures.requests_failed,
        "connections": figures.connections,
        "waited_behind_ms": millis(record::waited_behind(&record.objects).iter().sum()),
        "connections_flow_limited": figures.connections_flow_limited,
        "request_header_bytes": record.objects.iter().map(|o| o.request_header_bytes).sum::<u64>(),
        "response_header_bytes": record.objects.iter().map(|o| o.response_header_bytes).sum::<u64>(),
        "bytes_down": record.wire_bytes_down,
        "bytes_up": record.wire_bytes_up,
        "retransmits": figures.retransmits,
        "links": record.links,
        "emulation": record.emulation,
        "paint": record.paint,
        "radio": record.radio,
        "trace_digest": record.trace_digest.map(|digest| format!("{digest:016x}")),
    })
}

/// Excess over the floor by cause.
fn excess(path: &CriticalPath) -> Value {
    let causes = PathCause::ALL.into_iter();
    causes
        .map(|cause| (cause.name().to_owned(), json!(path.excess_ns(cause) as f64 / 1e6)))
        .collect()
}

fn critical_path(path: &CriticalPath) -> Value {
    let step = |step: &PathStep| {
        json!({
            "object": step.object,
            "cause": step.cause.name(),
            "from_ms": millis(step.from_ns),
            "until_ms": millis(step.until_ns),
            "excess_ms": step.excess_ns as f64 / 1e6,
        })
    };
    path.steps.iter().map(step).collect()
}

fn millis(ns: u64) -> f64 {
    ns as f64 / 1e6
}
