//! Rows of the store's tables, as types.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;

use super::StoreError;
use super::sql::{Row, Value};
use record::VisitFigures;
use scenario::{ChoiceError, Floors, Keep, Scenario};

/// Identifies a run within its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct RunId(pub i64);

/// Facts of the wall clock and the machine: they identify nothing and are in table `run` alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFacts {
    /// The experiment file's text as executed, overrides included, if there was a file.
    pub experiment: Option<String>,
    /// The command line, ready to be typed again.
    pub command: String,
    /// The platform, for people.
    pub machine: String,
    /// Number of concurrent journeys.
    pub workers: u32,
    /// Start time (RFC 3339).
    pub started_at: String,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Journeys are being executed, or the process that did so was killed.
    Running,
    /// The run was stopped in order; it can be resumed.
    Interrupted,
    /// Every journey is stored.
    Complete,
}

/// A row of table `run`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // docs/store.md documents each column under the same name.
pub struct RunRow {
    pub id: RunId,
    pub name: String,
    pub plan_digest: String,
    pub farlink_version: String,
    pub seed: u64,
    pub repetitions: u32,
    pub until_ppm: Option<u32>,
    pub journeys: u64,
    pub experiment: Option<String>,
    pub command: String,
    pub machine: String,
    pub workers: u32,
    pub state: RunState,
    pub started_at: String,
    pub finished_at: Option<String>,
    pub digest: Option<String>,
    pub keep: Keep,
}

/// A row of view `journey`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // docs/store.md
pub struct JourneyRow {
    pub position: u64,
    pub cell: u32,
    pub repetition: u32,
    pub seed: u64,
    pub farlink_version: String,
    pub scenario: Arc<Scenario>,
    pub notes: Vec<String>,
    pub failure: Option<String>,
}

/// Identifies a visit within its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct VisitKey {
    /// The run.
    pub run: RunId,
    /// The journey's position in the run's plan.
    pub journey: u64,
    /// The visit's index in the journey.
    pub visit: u32,
}

/// A row of table `visit` without the object timings, with its browser's paint times.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // docs/store.md
pub struct VisitRow {
    pub key: VisitKey,
    pub view: String,
    pub page: Option<String>,
    pub started_at_ns: u64,
    pub plt_ns: Option<u64>,
    pub failure: Option<String>,
    pub ttfb_ns: Option<u64>,
    pub floors: Option<Floors>,
    pub requests: u64,
    pub requests_failed: u64,
    pub connections: u64,
    pub connections_flow_limited: u64,
    pub body_bytes: u64,
    pub wire_bytes_down: u64,
    pub wire_bytes_up: u64,
    pub retransmits: Option<u64>,
    pub queue_drops: u64,
    pub losses: u64,
    pub trace_digest: Option<u64>,
    pub model_first_render_ns: Option<u64>,
    pub model_byte_index_ns: Option<u64>,
    pub first_contentful_paint_ns: Option<u64>,
    pub largest_contentful_paint_ns: Option<u64>,
    pub speed_index_ns: Option<u64>,
}

impl VisitRow {
    /// Sums over its requests and connections.
    pub fn figures(&self) -> VisitFigures {
        VisitFigures {
            requests: self.requests,
            requests_failed: self.requests_failed,
            connections: self.connections,
            connections_flow_limited: self.connections_flow_limited,
            body_bytes: self.body_bytes,
            retransmits: self.retransmits,
            first_render_ns: self.first_render_ns(),
            byte_index_ns: self.model_byte_index_ns,
        }
    }
}

impl RunState {
    /// The name in the store.
    pub fn name(self) -> &'static str {
        match self {
            RunState::Running => "running",
            RunState::Interrupted => "interrupted",
            RunState::Complete => "complete",
        }
    }

    fn from_name(name: &str) -> Option<RunState> {
        [RunState::Running, RunState::Interrupted, RunState::Complete]
            .into_iter()
            .find(|state| state.name() == name)
    }
}

impl VisitKey {
    /// Its three numbers, in the order of every key.
    pub(super) fn values(self) -> [Value<'static>; 3] {
        let number = |number: u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        [Value::Integer(self.run.0), number(self.journey), number(self.visit.into())]
    }
}

impl RunRow {
    pub(super) fn read(row: &Row<'_>) -> Result<RunRow, StoreError> {
        let state: String = row.get("state")?;
        Ok(RunRow {
            id: RunId(row.get("id")?),
            name: row.get("name")?,
            plan_digest: row.get("plan_digest")?,
            farlink_version: row.get("farlink_version")?,
            seed: row.get("seed")?,
            repetitions: row.get("repetitions")?,
            until_ppm: row.get("until_ppm")?,
            journeys: row.get("journeys")?,
            experiment: row.get("experiment")?,
            command: row.get("command")?,
            machine: row.get("machine")?,
            workers: row.get("workers")?,
            state: RunState::from_name(&state)
                .ok_or_else(|| StoreError::Damaged { what: format!("run state `{state}`") })?,
            started_at: row.get("started_at")?,
            finished_at: row.get("finished_at")?,
            digest: row.get("digest")?,
            keep: row
                .get::<String>("keep")?
                .parse()
                .map_err(|error: ChoiceError| StoreError::Damaged { what: error.to_string() })?,
        })
    }
}

/// Scenarios by the number of their text: that of a cell is the same in every repetition, and takes long to read.
pub(super) type KnownScenarios = HashMap<i64, Arc<Scenario>>;

impl JourneyRow {
    pub(super) fn read(row: &Row<'_>) -> Result<JourneyRow, StoreError> {
        JourneyRow::read_knowing(row, &mut KnownScenarios::new())
    }

    /// Reads one of many rows.
    pub(super) fn read_knowing(
        row: &Row<'_>,
        known: &mut KnownScenarios,
    ) -> Result<JourneyRow, StoreError> {
        let position = row.get("position")?;
        let damaged = |error: serde_json::Error| StoreError::Damaged {
            what: format!(
                "journey {position} holds no scenario or notes that can be read: {error}"
            ),
        };
        let id: i64 = row.get("scenario_id")?;
        let scenario = match known.get(&id) {
            Some(scenario) => Arc::clone(scenario),
            None => {
                let text: String = row.get("scenario")?;
                let scenario = Arc::new(Scenario::from_canonical(&text).map_err(damaged)?);
                known.insert(id, Arc::clone(&scenario));
                scenario
            }
        };
        let notes: String = row.get("notes")?;
        Ok(JourneyRow {
            position,
            cell: row.get("cell")?,
            repetition: row.get("repetition")?,
            seed: row.get("seed")?,
            farlink_version: row.get("farlink_version")?,
            scenario,
            notes: serde_json::from_str(&notes).map_err(damaged)?,
            failure: row.get("failure")?,
        })
    }
}

impl VisitRow {
    pub(super) fn read(row: &Row<'_>) -> Result<VisitRow, StoreError> {
        Ok(VisitRow {
            key: VisitKey {
                run: RunId(row.get("run_id")?),
                journey: row.get("journey")?,
                visit: row.get("visit")?,
            },
            view: row.get("view")?,
            page: row.get("page")?,
            started_at_ns: row.get("started_at_ns")?,
            plt_ns: row.get("plt_ns")?,
            failure: row.get("failure")?,
            ttfb_ns: row.get("ttfb_ns")?,
            floors: read_floors(row)?,
            requests: row.get("requests")?,
            requests_failed: row.get("requests_failed")?,
            connections: row.get("connections")?,
            connections_flow_limited: row.get("connections_flow_limited")?,
            body_bytes: row.get("body_bytes")?,
            wire_bytes_down: row.get("wire_bytes_down")?,
            wire_bytes_up: row.get("wire_bytes_up")?,
            retransmits: row.get("retransmits")?,
            queue_drops: row.get("queue_drops")?,
            losses: row.get("losses")?,
            trace_digest: row
                .get::<Option<String>>("trace_digest")?
                .map(|hex| u64::from_str_radix(&hex, 16))
                .transpose()
                .map_err(|_| StoreError::Damaged {
                    what: "a trace digest is not hexadecimal".into(),
                })?,
            model_first_render_ns: row.get("model_first_render_ns")?,
            model_byte_index_ns: row.get("model_byte_index_ns")?,
            first_contentful_paint_ns: row.get("first_contentful_paint_ns")?,
            largest_contentful_paint_ns: row.get("largest_contentful_paint_ns")?,
            speed_index_ns: row.get("speed_index_ns")?,
        })
    }

    /// The first render: as painted by a browser, else as estimated by the loader.
    pub fn first_render_ns(&self) -> Option<u64> {
        self.first_contentful_paint_ns.or(self.model_first_render_ns)
    }
}

/// The floors; either all four exist or none.
fn read_floors(row: &Row<'_>) -> Result<Option<Floors>, StoreError> {
    let Some(graph_ns) = row.get("floor_graph_ns")? else { return Ok(None) };
    Ok(Some(Floors {
        graph_ns,
        oracle_ns: row.get("floor_oracle_ns")?,
        graph_without_compute_ns: row.get("floor_graph_without_compute_ns")?,
        oracle_without_compute_ns: row.get("floor_oracle_without_compute_ns")?,
    }))
}
