//! Columns of the table of visits: identity, every setting of the scenario, measurements.

use std::borrow::Cow;

use scenario::settings::{ColumnType, SETTINGS, Setting};
use scenario::{Floors, Scenario};
use store::{JourneyRow, VisitRow};

use crate::column::{Cell, Column, Kind, RecordColumn, text, whole};

/// Column of the client, which depends on the scenario and on the visit's number.
const CLIENT: Column = Column {
    name: "client_number",
    kind: Kind::Whole,
    about: Cow::Borrowed("Client of the journey, from 0"),
};

static JOURNEY: &[RecordColumn<JourneyRow>] = &[
    whole("cell", "Scenario, numbered in the order of the plan", |it| it.cell.into()),
    whole("repetition", "Repetition of the scenario, from 0", |it| it.repetition.into()),
    whole("seed", "Source of all randomness; scenarios of one repetition share it", |it| {
        it.seed.into()
    }),
    text("farlink_version", "Version that measured it", |it| (&it.farlink_version).into()),
];

static MEASURED: &[RecordColumn<VisitRow>] = &[
    text("visited_page", "Page in the journey's list, if there are several", |it| {
        it.page.as_ref().into()
    }),
    text("view", "`cold` or `warm`: the browser's cache", |it| (&it.view).into()),
    whole("started_at_ns", "Instant of navigation start", |it| it.started_at_ns.into()),
    whole("plt_ns", "Page load time, if the load event fired", |it| it.plt_ns.into()),
    text("failure", "Reason why it did not", |it| it.failure.as_ref().into()),
    whole("ttfb_ns", "Time to the first byte of the first response that is no redirect", |it| {
        it.ttfb_ns.into()
    }),
    whole("model_first_render_ns", "Estimated first render; none for a real browser", |it| {
        it.model_first_render_ns.into()
    }),
    whole("model_byte_index_ns", "ByteIndex: mean arrival time of a byte", |it| {
        it.model_byte_index_ns.into()
    }),
    whole("first_contentful_paint_ns", "First text or image, as a real browser painted it", |it| {
        it.first_contentful_paint_ns.into()
    }),
    whole("largest_contentful_paint_ns", "Largest text or image, likewise", |it| {
        it.largest_contentful_paint_ns.into()
    }),
    whole("speed_index_ns", "Speed Index, likewise", |it| it.speed_index_ns.into()),
    whole("floor_graph_ns", "Least load time of a client that discovers the objects", |it| {
        floor(it, |floors| floors.graph_ns)
    }),
    whole("floor_oracle_ns", "Least load time of a client that knows all objects", |it| {
        floor(it, |floors| floors.oracle_ns)
    }),
    whole("floor_graph_without_compute_ns", "`floor_graph_ns` without client CPU time", |it| {
        floor(it, |floors| floors.graph_without_compute_ns)
    }),
    whole("floor_oracle_without_compute_ns", "`floor_oracle_ns` without client CPU time", |it| {
        floor(it, |floors| floors.oracle_without_compute_ns)
    }),
    whole("requests", "Requests sent; cache hits are none", |it| it.requests.into()),
    whole("requests_failed", "Objects that failed", |it| it.requests_failed.into()),
    whole("connections", "Connections opened", |it| it.connections.into()),
    whole(
        "connections_flow_limited",
        "Connections limited by flow control for over 1 % of their busy time",
        |it| it.connections_flow_limited.into(),
    ),
    whole("body_bytes", "Response bodies as sent", |it| it.body_bytes.into()),
    whole("wire_bytes_down", "IP bytes over the access link to this client", |it| {
        it.wire_bytes_down.into()
    }),
    whole("wire_bytes_up", "IP bytes over the access link from this client", |it| {
        it.wire_bytes_up.into()
    }),
    whole("retransmits", "Segments retransmitted in both directions", |it| it.retransmits.into()),
    whole("queue_drops", "Packets dropped by queues, in both directions", |it| {
        it.queue_drops.into()
    }),
    whole("losses", "Packets lost at random, in both directions", |it| it.losses.into()),
    text("trace_digest", "Digest of every packet's time, direction and size", |it| {
        it.trace_digest.map(|digest| format!("{digest:016x}")).into()
    }),
];

fn floor<'a>(it: &VisitRow, floor: fn(Floors) -> u64) -> Cell<'a> {
    it.floors.map(floor).into()
}

/// The columns beside the visit's key.
pub(crate) fn columns() -> Vec<Column> {
    let identity = std::iter::once(CLIENT).chain(JOURNEY.iter().map(RecordColumn::column));
    let settings = SETTINGS.iter().map(setting_column);
    identity.chain(settings).chain(MEASURED.iter().map(RecordColumn::column)).collect()
}

/// The cells of a visit, in the order of the columns.
pub(crate) fn cells<'a>(
    journey: &'a JourneyRow,
    visit: &'a VisitRow,
    settings: &'a [SettingCell],
) -> impl Iterator<Item = Cell<'a>> {
    let (client, _) = journey.scenario.who(visit.key.visit);
    let journey = JOURNEY.iter().map(move |column| (column.get)(journey));
    let settings = settings.iter().map(SettingCell::cell);
    let measured = MEASURED.iter().map(move |column| (column.get)(visit));
    std::iter::once(client.into()).chain(journey).chain(settings).chain(measured)
}

fn setting_column(setting: &Setting) -> Column {
    let unit = match setting.unit {
        "" => String::new(),
        unit => format!(", in {unit}"),
    };
    let about = format!("Setting `{}`{unit}", setting.key);
    let kind = match setting.column_type() {
        ColumnType::Text => Kind::Text,
        ColumnType::Whole => Kind::Whole,
        ColumnType::Number => Kind::Number,
    };
    Column { name: setting.column, kind, about: Cow::Owned(about) }
}

/// The value of a setting, which all visits of a scenario share.
pub(crate) enum SettingCell {
    None,
    Whole(i64),
    Number(f64),
    Text(String),
}

impl SettingCell {
    fn cell(&self) -> Cell<'_> {
        match self {
            SettingCell::None => Cell::None,
            SettingCell::Whole(number) => Cell::Whole(*number),
            SettingCell::Number(number) => Cell::Number(*number),
            SettingCell::Text(text) => text.into(),
        }
    }
}

/// The values of the settings of `scenario`.
pub(crate) fn setting_cells(scenario: &Scenario) -> Vec<SettingCell> {
    let cell = |setting: &Setting| {
        let text = setting.cell(scenario);
        match setting.column_type() {
            _ if text.is_empty() => SettingCell::None,
            ColumnType::Text => SettingCell::Text(text),
            ColumnType::Whole => text.parse().map_or(SettingCell::None, SettingCell::Whole),
            ColumnType::Number if text == "unlimited" => SettingCell::Number(f64::INFINITY),
            ColumnType::Number => text.parse().map_or(SettingCell::None, SettingCell::Number),
        }
    };
    SETTINGS.iter().map(cell).collect()
}
