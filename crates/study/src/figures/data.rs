//! Data behind figures: the cells and loads of a study's runs that they need, and the rows that they are drawn
//! from.

use std::collections::BTreeMap;

use record::{ObjectRecord, Series};
use serde::Serialize;
use thiserror::Error;

use super::definition::{Figure, Figures, Line, Mark, Scale, Scope, Show};
use crate::Study;
use crate::judge::{
    ClauseError, Dataset, Expression, Fact, Facts, Filter, Grid, MeasuredCell, Measurements,
    Sources, StudyResult,
};
use report::rows::csv;
use statistics::Sample;
use store::{RunId, Store, StoreError, VisitRow};

/// Reasons why a figure could not be computed.
#[derive(Debug, Error)]
pub(super) enum PlotError {
    /// Missing data, or a mistake.
    #[error(transparent)]
    Clause(#[from] ClauseError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The data of a study's figures.
#[derive(Debug)]
pub(super) struct FigureData<'a> {
    study: &'a Study,
    figures: &'a Figures,
    measured: Measurements,
    store: &'a Store,
    loads: Vec<SingleLoad>,
}

/// A load, with the facts of its cell.
#[derive(Clone, Debug)]
pub(super) struct SingleLoad {
    facts: Facts,
    pub visit: VisitRow,
}

/// A selection of cells or loads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Selection<'a> {
    pub line: &'a Line,
    arm: &'a str,
    pub grid: &'a str,
    narrowed: &'a Filter,
}

impl Selection<'_> {
    /// The error if nothing is selected.
    pub fn is_empty(self) -> ClauseError {
        ClauseError::NoLoads { arm: self.arm.to_owned(), grid: self.grid.to_owned() }
    }
}

/// The selections of a figure: each arm on each grid, or on its own.
pub(super) fn selections(show: &Show) -> Vec<Selection<'_>> {
    let grids: Vec<Option<&String>> = match show.scope.on.is_empty() {
        true => vec![None],
        false => show.scope.on.iter().map(Some).collect(),
    };
    let mut all = Vec::new();
    for grid in grids {
        for line in &show.lines {
            let grid = line.on.as_ref().or(grid);
            if let (Some(arm), Some(grid)) = (&line.arm, grid) {
                all.push(Selection { line, arm, grid, narrowed: &show.scope.filter });
            }
        }
    }
    all
}

impl<'a> FigureData<'a> {
    /// Reads what the figures need of the runs.
    pub fn gather(
        result: &'a StudyResult,
        figures: &'a Figures,
        store: &'a Store,
    ) -> Result<FigureData<'a>, StoreError> {
        let queries = figures.terms.queries();
        let (study, measured) = (&result.study, Measurements::default());
        let mut data = FigureData { study, figures, measured, store, loads: Vec::new() };
        for experiment in &result.experiments {
            let (id, Some(run)) = (&experiment.id, &experiment.run) else { continue };
            let asked = (&queries, &figures.quantities(id));
            data.measured.gather(store, run.id, id, asked, &[])?;
            if figures.take_loads(id) {
                data.gather_loads(run.id, id)?;
            }
        }
        Ok(data)
    }

    fn gather_loads(&mut self, run: RunId, experiment: &str) -> Result<(), StoreError> {
        let journeys = self.store.journeys(run)?;
        let by_position: BTreeMap<_, _> = journeys.iter().map(|it| (it.position, it)).collect();
        for visit in self.store.visits(run)? {
            let Some(journey) = by_position.get(&visit.key.journey) else { continue };
            let (number, page) = (visit.key.visit, visit.page.as_deref());
            let facts = Facts::of(experiment, &journey.scenario, number, page);
            self.loads.push(SingleLoad { facts, visit });
        }
        Ok(())
    }

    /// The series that a figure's expressions use on a grid.
    pub fn dataset(&self, figure: &Figure, grid: &str) -> Result<Dataset, ClauseError> {
        let leaves = figure.show.expressions().flat_map(Expression::leaves);
        let sources = Sources {
            measurements: &self.measured,
            terms: &self.figures.terms,
            tables: &self.study.files,
        };
        Dataset::new(sources, leaves, Some(grid), &figure.show.scope.filter)
    }

    /// The grid of a selection, if it was run.
    pub fn grid(&self, which: Selection<'_>) -> Result<&Grid, ClauseError> {
        self.measured.grid(&self.figures.terms, which.grid)
    }

    fn selects(&self, which: Selection<'_>, facts: &Facts) -> bool {
        self.figures.terms.selects(which.arm, which.grid, which.narrowed, facts)
    }

    /// The cells of a selection, by position in the order of the axis.
    pub fn cells(
        &self,
        which: Selection<'_>,
    ) -> Result<Vec<(String, Vec<&MeasuredCell>)>, ClauseError> {
        let grid = self.grid(which)?;
        let mut cells: Vec<(f64, String, &MeasuredCell)> = Vec::new();
        for cell in self.measured.cells().iter().filter(|it| self.selects(which, &it.facts)) {
            let (x, place) = grid.place(which.grid, &cell.facts)?;
            cells.push((x, place, cell));
        }
        if cells.is_empty() {
            return Err(which.is_empty());
        }
        cells.sort_by(|a, b| a.0.total_cmp(&b.0));
        let same = cells.chunk_by(|one, next| one.1 == next.1);
        Ok(same.map(|it| (it[0].1.clone(), it.iter().map(|it| it.2).collect())).collect())
    }

    /// The single loads of a selection.
    pub fn loads<'d>(
        &'d self,
        which: Selection<'d>,
    ) -> Result<impl Iterator<Item = &'d SingleLoad>, ClauseError> {
        self.grid(which)?;
        Ok(self.loads.iter().filter(move |load| self.selects(which, &load.facts)))
    }

    /// Time series of a load.
    pub fn series(&self, load: &SingleLoad) -> Result<Series, StoreError> {
        Ok(self.store.series(load.visit.key)?.unwrap_or_default())
    }

    /// Events of a load.
    pub fn events(&self, load: &SingleLoad) -> Result<Vec<record::TcpEvent>, StoreError> {
        self.store.events(load.visit.key)
    }

    /// Objects of a load that the network brought: those of the page, found before the load event.
    pub fn objects(&self, load: &SingleLoad) -> Result<Vec<ObjectRecord>, StoreError> {
        let end = load.visit.plt_ns.map(|plt| load.visit.started_at_ns + plt);
        let mut objects = self.store.objects(load.visit.key)?;
        objects.retain(|object| {
            let is_of_page = end.is_none_or(|end| object.discovered_at_ns < end);
            is_of_page && object.error.is_none() && object.protocol != "cache"
        });
        Ok(objects)
    }

    /// Representative loads: for each arm at each position the one whose load time is closest to the median of
    /// all selected loads; the earliest in case of a tie.
    pub fn median_loads<'d>(&'d self, show: &'d Show) -> Result<Vec<ChosenLoad<'d>>, ClauseError> {
        let positions: Vec<Option<f64>> = match show.at.is_empty() {
            true => vec![None],
            false => show.at.iter().copied().map(Some).collect(),
        };
        let mut all = Vec::new();
        for position in positions {
            for which in selections(show) {
                let axis = self.grid(which)?.x.clone().unwrap_or_default();
                let is_there = |load: &&SingleLoad| {
                    position.is_none_or(|x| load.facts.get(&axis) == Some(&Fact::Number(x)))
                };
                let loaded = self.loads(which)?.filter(is_there);
                let loaded: Vec<(&SingleLoad, f64)> =
                    loaded.filter_map(|load| Some((load, load.visit.plt_ns? as f64))).collect();
                let middle = Sample::new(loaded.iter().map(|(_, plt)| *plt))
                    .ok_or_else(|| which.is_empty())?
                    .median();
                let distance = |plt: f64| (plt - middle).abs();
                let nearest =
                    loaded.into_iter().min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
                let (load, _) = nearest.ok_or_else(|| which.is_empty())?;
                let panel = panel(&show.scope, which.grid, position);
                all.push(ChosenLoad { panel, name: &which.line.name, load });
            }
        }
        Ok(all)
    }
}

fn panel(scope: &Scope, grid: &str, position: Option<f64>) -> String {
    let grid = (scope.on.len() > 1).then(|| scope.shown(grid));
    let position = position.map(|x| scope.shown(&x.to_string()));
    [grid, position].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// A single load of a figure, by the panel and arm that it is shown for.
#[derive(Clone, Debug)]
pub(super) struct ChosenLoad<'a> {
    pub panel: String,
    pub name: &'a str,
    pub load: &'a SingleLoad,
}

impl ChosenLoad<'_> {
    /// The place of the load in the store.
    pub fn identity(&self) -> String {
        let key = self.load.visit.key;
        let panel = if self.panel.is_empty() { String::new() } else { format!("{}, ", self.panel) };
        let name = self.name;
        format!("{panel}{name}: run {}, journey {}, visit {}", key.run.0, key.journey, key.visit)
    }
}

impl SingleLoad {
    /// Seconds since navigation start.
    pub fn since(&self, ns: u64) -> f64 {
        ns.saturating_sub(self.visit.started_at_ns) as f64 / 1e9
    }

    /// The load event, or navigation start if there was none.
    pub fn end_ns(&self) -> u64 {
        self.visit.started_at_ns + self.visit.plt_ns.unwrap_or(0)
    }
}

/// A computed figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlotData {
    /// Layout of the rows.
    pub layout: Layout,
    /// The rows, as CSV with a header line.
    pub csv: String,
    /// Remarks to show beside the picture.
    pub remarks: Vec<String>,
}

/// Layout of rows; read by `assets/figures.js`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Layout {
    shape: Shape,
    x: String,
    y: String,
    pub scale: Scale,
    /// The plots, by the rows' column `panel`.
    panels: Vec<String>,
    /// Lines or arms, by the rows' column `line`.
    lines: Vec<String>,
    pub marks: Vec<Mark>,
}

/// Meaning of a row in the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Shape {
    /// A point of a line, with its interval.
    Lines,
    /// The same, beside a published point.
    Compared,
    /// A step of a distribution.
    Steps,
    /// A number of an arm under a condition.
    Numbers,
    /// The spread of an arm at a position.
    Boxes,
    /// Components of a mean.
    Stacks,
    /// A second of an arm.
    Seconds,
    /// A phase of an object.
    Timelines,
    /// A window, or a state of the radio.
    Windows,
    /// A class of a distribution.
    Histogram,
}

impl PlotData {
    /// A figure of these rows, each with its panel and line.
    pub fn new<R: Serialize>(
        shape: Shape,
        [x, y]: [&str; 2],
        rows: &[R],
        place: impl Fn(&R) -> [&str; 2],
    ) -> PlotData {
        let layout = Layout {
            shape,
            x: x.to_owned(),
            y: y.to_owned(),
            scale: Scale::Linear,
            panels: distinct(rows.iter().map(|row| place(row)[0])),
            lines: distinct(rows.iter().map(|row| place(row)[1])),
            marks: Vec::new(),
        };
        PlotData { layout, csv: csv(rows), remarks: Vec::new() }
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for name in names {
        if !known.iter().any(|it| it == name) {
            known.push(name.to_owned());
        }
    }
    known
}

/// A point of a line, with its interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct PointRow {
    pub panel: String,
    pub line: String,
    pub x: f64,
    pub y: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl PointRow {
    /// A point without an interval.
    pub fn plain(panel: &str, line: &str, x: f64, y: f64) -> PointRow {
        let (panel, line) = (panel.to_owned(), line.to_owned());
        PointRow { panel, line, x, y, low: None, high: None }
    }

    /// Its panel and line.
    pub fn place(&self) -> [&str; 2] {
        [&self.panel, &self.line]
    }
}
