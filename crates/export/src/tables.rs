//! The tables of a run.

use std::borrow::Cow;
use std::sync::LazyLock;

use record::Series;
use store::{JourneyRow, RunRow, Store, StoreError, VisitRow};

use crate::column::{Cell, Column, Kind, RecordColumn, text, whole};
use crate::packets::{PACKETS, PacketRow};
use crate::rows::Rows;
use crate::visits::{self, SettingCell};
use crate::{ExportError, details, series};

/// A table of a run.
pub struct Table {
    /// Its name, which its file has, too.
    pub name: &'static str,
    /// Its rows, as a sentence.
    pub about: &'static str,
    pub(crate) content: Content,
}

/// Rows of a table, by what they belong to.
pub(crate) enum Content {
    /// One row for the run.
    Run,
    /// A row for each journey.
    Journeys,
    /// A row for each visit.
    Visits,
    /// A row for each packet, seen when a journey is observed again.
    Packets,
    /// Any number of rows for each visit.
    Details(Box<dyn VisitDetails + Send + Sync>),
}

/// Records of a visit as rows.
pub(crate) trait VisitDetails {
    /// Columns after the visit's key.
    fn columns(&self) -> Vec<Column>;
    /// Adds the rows of a visit.
    fn push(&self, store: &Store, visit: &VisitRow, rows: &mut Rows<'_>)
    -> Result<(), ExportError>;
}

type ReadRecords<R> = fn(&Store, &VisitRow) -> Result<Vec<R>, StoreError>;

/// Records of one type.
struct Details<R: 'static> {
    /// Column with the record's number in the visit, if it has one.
    number: Option<&'static str>,
    columns: &'static [RecordColumn<R>],
    read: ReadRecords<R>,
}

impl<R> VisitDetails for Details<R> {
    fn columns(&self) -> Vec<Column> {
        let number = self.number.map(|name| column(name, "Number in the visit, from 0"));
        number.into_iter().chain(self.columns.iter().map(RecordColumn::column)).collect()
    }

    fn push(
        &self,
        store: &Store,
        visit: &VisitRow,
        rows: &mut Rows<'_>,
    ) -> Result<(), ExportError> {
        for (number, record) in (self.read)(store, visit)?.iter().enumerate() {
            let number = self.number.map(|_| Cell::from(number));
            let cells = self.columns.iter().map(|column| (column.get)(record));
            rows.push(visit_key(visit).into_iter().chain(number).chain(cells))?;
        }
        Ok(())
    }
}

fn column(name: &'static str, about: &'static str) -> Column {
    Column { name, kind: Kind::Whole, about: Cow::Borrowed(about) }
}

pub(crate) fn visit_key<'a>(visit: &VisitRow) -> [Cell<'a>; 3] {
    let key = visit.key;
    [key.run.0.into(), key.journey.into(), key.visit.into()]
}

static RUN: &[RecordColumn<RunRow>] = &[
    whole("run", "Number of the run in its store", |it| it.id.0.into()),
    text("name", "Name of the experiment", |it| (&it.name).into()),
    text(
        "plan_digest",
        "Digest of what is measured: version, seed, repetitions, scenarios",
        |it| (&it.plan_digest).into(),
    ),
    text("farlink_version", "Version that began it", |it| (&it.farlink_version).into()),
    whole("seed", "Seed of the plan", |it| it.seed.into()),
    whole("repetitions", "Repetitions of each scenario", |it| it.repetitions.into()),
    whole("journeys", "Journeys planned", |it| it.journeys.into()),
    text("experiment", "Experiment file as run", |it| it.experiment.as_ref().into()),
    text("command", "Command line", |it| (&it.command).into()),
    text("machine", "Machine", |it| (&it.machine).into()),
    text("state", "`running`, `interrupted` or `complete`", |it| it.state.name().into()),
    text("started_at", "Start, as RFC 3339", |it| (&it.started_at).into()),
    text("finished_at", "End, as RFC 3339", |it| it.finished_at.as_ref().into()),
    text("digest", "Digest of the results, when complete", |it| it.digest.as_ref().into()),
];

static JOURNEY: &[RecordColumn<JourneyRow>] = &[
    whole("cell", "Scenario, numbered in the order of the plan", |it| it.cell.into()),
    whole("repetition", "Repetition of the scenario, from 0", |it| it.repetition.into()),
    whole("seed", "Source of all randomness", |it| it.seed.into()),
    text("farlink_version", "Version that measured it", |it| (&it.farlink_version).into()),
    text("scenario", "The whole scenario as JSON, every key present", |it| {
        it.scenario.canonical().into()
    }),
    text("notes", "What was modelled or not shaped, a sentence a line", |it| {
        it.notes.join("\n").into()
    }),
    text("failure", "Reason for its early end", |it| it.failure.as_ref().into()),
];

impl Table {
    /// Its columns, in order.
    pub fn columns(&self) -> Vec<Column> {
        let run = column("run", "Number of the run in its store");
        let journey = column("journey", "Position of the journey in the plan");
        let visit = column("visit", "Number of the visit in the journey");
        let (key, rest) = match &self.content {
            Content::Run => (vec![], RUN.iter().map(RecordColumn::column).collect()),
            Content::Journeys => {
                (vec![run, journey], JOURNEY.iter().map(RecordColumn::column).collect())
            }
            Content::Visits => (vec![run, journey, visit], visits::columns()),
            Content::Packets => {
                (vec![run, journey], PACKETS.iter().map(RecordColumn::column).collect())
            }
            Content::Details(details) => (vec![run, journey, visit], details.columns()),
        };
        key.into_iter().chain(rest).collect()
    }

    /// Adds the row of the run, if rows are runs.
    pub(crate) fn push_run(&self, run: &RunRow, rows: &mut Rows<'_>) -> Result<(), ExportError> {
        match self.content {
            Content::Run => rows.push(RUN.iter().map(|column| (column.get)(run))),
            _ => Ok(()),
        }
    }

    /// Adds the rows of a journey with its visits.
    pub(crate) fn push_journey(
        &self,
        store: &Store,
        run: &RunRow,
        journey: &JourneyRow,
        settings: &[SettingCell],
        visits: &[VisitRow],
        rows: &mut Rows<'_>,
    ) -> Result<(), ExportError> {
        match &self.content {
            Content::Run => Ok(()),
            Content::Journeys => {
                let key = [run.id.0.into(), journey.position.into()];
                rows.push(key.into_iter().chain(JOURNEY.iter().map(|it| (it.get)(journey))))
            }
            Content::Visits => visits.iter().try_for_each(|visit| {
                let cells = visits::cells(journey, visit, settings);
                rows.push(visit_key(visit).into_iter().chain(cells))
            }),
            Content::Packets => Ok(()),
            Content::Details(details) => {
                visits.iter().try_for_each(|visit| details.push(store, visit, rows))
            }
        }
    }

    /// Adds the packets of a journey.
    pub(crate) fn push_packets(
        &self,
        run: &RunRow,
        journey: &JourneyRow,
        packets: &[PacketRow],
        rows: &mut Rows<'_>,
    ) -> Result<(), ExportError> {
        packets.iter().try_for_each(|packet| {
            let key = [run.id.0.into(), journey.position.into()];
            rows.push(key.into_iter().chain(PACKETS.iter().map(|it| (it.get)(packet))))
        })
    }

    /// Returns true if rows are packets, for which journeys are observed again.
    pub fn is_observed(&self) -> bool {
        matches!(self.content, Content::Packets)
    }

    /// Returns true if rows show settings.
    pub(crate) fn has_settings(&self) -> bool {
        matches!(self.content, Content::Visits)
    }
}

/// All tables.
pub static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| {
    vec![
        table("runs", "A run.", Content::Run),
        table(
            "journeys",
            "A sequence of visits by one browser, or by several clients.",
            Content::Journeys,
        ),
        table("visits", "A load of a page, with every setting of its scenario.", Content::Visits),
        records("objects", "A request of a visit.", None, details::OBJECTS, |store, visit| {
            store.objects(visit.key)
        }),
        records(
            "connections",
            "A transport connection of a visit.",
            Some("connection"),
            details::CONNECTIONS,
            |store, visit| store.connections(visit.key),
        ),
        records(
            "links",
            "A link of the network during a visit, configured and measured.",
            Some("link"),
            details::LINKS,
            |store, visit| store.links(visit.key),
        ),
        records(
            "events",
            "An event of a visit: retransmissions, drops, changes of the radio, requests at proxies.",
            Some("sequence"),
            details::EVENTS,
            |store, visit| store.events(visit.key),
        ),
        records(
            "critical_steps",
            "A step of a visit's critical path.",
            Some("step"),
            details::CRITICAL_STEPS,
            |store, visit| {
                Ok(store.critical_path(visit.key)?.map(|path| path.steps).unwrap_or_default())
            },
        ),
        records("paints", "Paints of a real browser.", None, details::PAINTS, |store, visit| {
            Ok(store.paint(visit.key)?.into_iter().collect())
        }),
        records(
            "emulation",
            "Punctuality of the emulator during a visit.",
            None,
            details::EMULATION,
            |store, visit| Ok(store.emulation(visit.key)?.into_iter().collect()),
        ),
        records(
            "radio",
            "The client's radio during a visit.",
            None,
            details::RADIO,
            |store, visit| Ok(store.radio(visit.key)?.into_iter().collect()),
        ),
        records(
            "radio_states",
            "A state of the client's radio during a visit.",
            None,
            details::RADIO_STATES,
            |store, visit| {
                Ok(store.radio(visit.key)?.map(|radio| radio.states).unwrap_or_default())
            },
        ),
        records(
            "windows",
            "A sample of a server's TCP windows, if recorded.",
            None,
            series::WINDOWS,
            |store, visit| Ok(recorded(store, visit)?.windows),
        ),
        records(
            "throughput",
            "Bytes that arrived in a tenth of a second, if recorded.",
            None,
            series::THROUGHPUT,
            |store, visit| Ok(series::tenths(recorded(store, visit)?, visit.started_at_ns)),
        ),
        records(
            "packet_sizes",
            "Packets of a size, if recorded.",
            None,
            series::PACKET_SIZES,
            |store, visit| Ok(recorded(store, visit)?.packets),
        ),
        records(
            "radio_steps",
            "A change of the radio's state, if recorded.",
            None,
            series::RADIO_STEPS,
            |store, visit| Ok(recorded(store, visit)?.radio),
        ),
        records(
            "departures",
            "Departures of a response, if recorded.",
            None,
            series::DEPARTURES,
            |store, visit| Ok(recorded(store, visit)?.departures),
        ),
        table(
            "packets",
            "A packet between two hosts. Journeys are simulated again to see them, if they are named: `all` leaves them out.",
            Content::Packets,
        ),
    ]
});

/// The table with this name.
pub fn named(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.name == name)
}

fn table(name: &'static str, about: &'static str, content: Content) -> Table {
    Table { name, about, content }
}

fn records<R: 'static>(
    name: &'static str,
    about: &'static str,
    number: Option<&'static str>,
    columns: &'static [RecordColumn<R>],
    read: ReadRecords<R>,
) -> Table {
    table(name, about, Content::Details(Box::new(Details { number, columns, read })))
}

fn recorded(store: &Store, visit: &VisitRow) -> Result<Series, StoreError> {
    Ok(store.series(visit.key)?.unwrap_or_default())
}
