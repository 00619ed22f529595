//! The table of a run's visits that exports write: a row per visit, with the scenario beside each.

use scenario::Floors;
use scenario::settings::ColumnType::{self, Text, Whole};
use scenario::settings::SETTINGS;

use super::{JourneyRow, RunId, Store, StoreError, VisitRow};

/// A value in its column.
#[derive(Debug)]
pub(super) struct ColumnValue {
    /// Name of the column.
    pub(super) column: &'static str,
    /// Type of the column.
    pub(super) kind: ColumnType,
    /// The value as text; empty if there is none.
    pub(super) value: String,
}

/// The rows of `run`; all have the same columns.
pub(super) fn rows(store: &Store, run: RunId) -> Result<Vec<Vec<ColumnValue>>, StoreError> {
    let journeys = store.journeys(run)?;
    let row_of = |visit: &VisitRow| {
        // Journeys are in the plan's order, so they can be searched by position.
        let found = journeys.binary_search_by_key(&visit.key.journey, |j| j.position);
        let journey = found.map(|index| &journeys[index]).map_err(|_| StoreError::Damaged {
            what: format!("a visit belongs to journey {}, which is not there", visit.key.journey),
        })?;
        Ok(row(run, journey, visit))
    };
    store.visits(run)?.iter().map(row_of).collect()
}

fn row(run: RunId, journey: &JourneyRow, visit: &VisitRow) -> Vec<ColumnValue> {
    let scenario = &journey.scenario;
    let setting = |setting: &scenario::settings::Setting| ColumnValue {
        column: setting.column,
        kind: setting.column_type(),
        value: setting.cell(scenario),
    };
    let mut row = vec![
        cell("run", Whole, run.0),
        cell("journey", Whole, visit.key.journey),
        cell("visit", Whole, visit.key.visit),
        cell("client_number", Whole, scenario.who(visit.key.visit).0),
        cell("cell", Whole, journey.cell),
        cell("repetition", Whole, journey.repetition),
        cell("seed", Whole, journey.seed),
        cell("farlink_version", Text, &journey.farlink_version),
        optional("visited_page", Text, visit.page.as_ref()),
    ];
    row.extend(SETTINGS.iter().map(setting));
    row.extend(measured(visit));
    row
}

fn measured(visit: &VisitRow) -> [ColumnValue; 23] {
    let floor = |column, floor: fn(Floors) -> u64| optional(column, Whole, visit.floors.map(floor));
    [
        cell("view", Text, &visit.view),
        optional("plt_ns", Whole, visit.plt_ns),
        optional("failure", Text, visit.failure.as_ref()),
        optional("ttfb_ns", Whole, visit.ttfb_ns),
        optional("model_first_render_ns", Whole, visit.model_first_render_ns),
        optional("model_byte_index_ns", Whole, visit.model_byte_index_ns),
        optional("first_contentful_paint_ns", Whole, visit.first_contentful_paint_ns),
        optional("largest_contentful_paint_ns", Whole, visit.largest_contentful_paint_ns),
        optional("speed_index_ns", Whole, visit.speed_index_ns),
        floor("floor_graph_ns", |f| f.graph_ns),
        floor("floor_oracle_ns", |f| f.oracle_ns),
        floor("floor_graph_without_compute_ns", |f| f.graph_without_compute_ns),
        floor("floor_oracle_without_compute_ns", |f| f.oracle_without_compute_ns),
        cell("requests", Whole, visit.requests),
        cell("requests_failed", Whole, visit.requests_failed),
        cell("connections", Whole, visit.connections),
        cell("connections_flow_limited", Whole, visit.connections_flow_limited),
        cell("body_bytes", Whole, visit.body_bytes),
        cell("wire_bytes_down", Whole, visit.wire_bytes_down),
        cell("wire_bytes_up", Whole, visit.wire_bytes_up),
        optional("retransmits", Whole, visit.retransmits),
        cell("queue_drops", Whole, visit.queue_drops),
        cell("losses", Whole, visit.losses),
    ]
}

fn cell(column: &'static str, kind: ColumnType, value: impl ToString) -> ColumnValue {
    ColumnValue { column, kind, value: value.to_string() }
}

fn optional<T: ToString>(column: &'static str, kind: ColumnType, value: Option<T>) -> ColumnValue {
    ColumnValue { column, kind, value: value.map_or_else(String::new, |value| value.to_string()) }
}
