//! The series that a clause uses, looked up once in measurements and published tables.

use std::collections::BTreeMap;

use thiserror::Error;

use super::measurements::Repeated;
use super::value::Series;
use super::{
    Expression, Fact, Filter, Grid, GridPosition, Leaf, MeasuredCell, Measurements, Resample,
    Statistic, Terms, Tree, Value,
};
use statistics::Sample;

/// Reasons why a clause cannot be evaluated: missing data, or a mistake in it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClauseError {
    /// The experiment is not in the store.
    #[error("a run of `{0}`")]
    NotRun(String),
    /// No load of an arm was measured.
    #[error("a load of `{arm}` on `{grid}` that finishes")]
    NoLoads {
        /// The arm.
        arm: String,
        /// The grid.
        grid: String,
    },
    /// No load, or none of a case, has the quantity that a function needs.
    #[error("loads of which `{0}` can be taken")]
    TooFewLoads(String),
    /// A mistake in the clause.
    #[error("{0}")]
    Invalid(String),
}

/// The series, by leaf.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dataset {
    series: BTreeMap<Leaf, Vec<Point>>,
    /// Positions of each grid; the repetitions of a position are drawn together.
    positions: Vec<(String, GridPosition)>,
    /// Number of repetitions of each position.
    sizes: Vec<u32>,
    cases: Vec<String>,
    /// Number of loads behind it.
    pub loads: LoadCount,
}

/// Number of loads that a clause was evaluated on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadCount {
    /// All of them.
    pub all: u32,
    /// Failed ones.
    pub failed: u32,
}

#[derive(Clone, Debug, PartialEq)]
struct Point {
    at: GridPosition,
    /// Index of the position at which its repetitions are drawn; `None` for published values.
    drawn: Option<usize>,
    /// Values by repetition; `None` for one that failed.
    sample: Vec<Option<f64>>,
    statistic: Statistic,
}

/// Sources in which leaves are looked up.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The measurements.
    pub measurements: &'a Measurements,
    /// Definitions of terms.
    pub terms: &'a Terms,
    /// The texts of the published tables, by file.
    pub tables: &'a BTreeMap<String, String>,
}

impl Dataset {
    /// Looks up `leaves`; those that do not name a grid are over `grid`, and all of them are narrowed by
    /// `narrowed`.
    pub fn new<'a>(
        sources: Sources<'_>,
        leaves: impl IntoIterator<Item = &'a Leaf>,
        grid: Option<&str>,
        narrowed: &Filter,
    ) -> Result<Dataset, ClauseError> {
        let mut dataset = Dataset::default();
        for leaf in leaves {
            if dataset.series.contains_key(leaf) {
                continue;
            }
            let points = match leaf {
                Leaf::Published(table) => published(sources, table)?,
                Leaf::Measured { quantity, statistic, arm, grid: own } => {
                    let name = own.as_deref().or(grid).unwrap_or_default();
                    let statistic = statistic.unwrap_or(sources.terms.statistic);
                    dataset.measured(sources, (quantity, statistic), arm, name, narrowed)?
                }
            };
            dataset.series.insert(leaf.clone(), points);
        }
        Ok(dataset)
    }

    /// The series of a leaf in a resample. Published values hold for each of the curves.
    pub fn value(&self, leaf: &Leaf, resample: &Resample) -> Value {
        let points = self.series.get(leaf).map_or(&[][..], Vec::as_slice);
        if let Leaf::Published(_) = leaf {
            let cases = match resample.case {
                Some(case) => case..case + 1,
                None => 0..self.cases.len().max(1),
            };
            let of_case = |case| {
                let at = move |point: &Point| {
                    Some((GridPosition { case, ..point.at }, point.value(resample)?))
                };
                points.iter().filter_map(at)
            };
            return Value::Series(cases.flat_map(of_case).collect());
        }
        let shown = points.iter().filter(|it| resample.case.is_none_or(|case| it.at.case == case));
        Value::Series(shown.filter_map(|point| Some((point.at, point.value(resample)?))).collect())
    }

    /// An expression of a single quantity, with another statistic of its cells' loads; `None` for any other
    /// expression.
    pub fn with_statistic(&self, expression: &Expression, statistic: Statistic) -> Option<Series> {
        let Tree::Leaf(leaf @ Leaf::Measured { .. }) = expression.tree() else { return None };
        let value = |point: &Point| {
            let sample = Sample::new(point.sample.iter().flatten().copied())?;
            Some((point.at, statistic.of(&sample)?))
        };
        Some(self.series.get(leaf)?.iter().filter_map(value).collect())
    }

    /// The curves, by the value of the fact that tells them apart.
    pub fn cases(&self) -> &[String] {
        &self.cases
    }

    /// Number of repetitions at each position.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    fn measured(
        &mut self,
        sources: Sources<'_>,
        (quantity, statistic): (&str, Statistic),
        arm: &str,
        grid_name: &str,
        narrowed: &Filter,
    ) -> Result<Vec<Point>, ClauseError> {
        let grid = sources.measurements.grid(sources.terms, grid_name)?;
        let mut points: Vec<Point> = Vec::new();
        for cell in sources.measurements.cells() {
            if !sources.terms.selects(arm, grid_name, narrowed, &cell.facts) {
                continue;
            }
            let at = self.position(cell, grid, grid_name)?;
            if points.iter().any(|point| point.at == at) {
                return Err(ClauseError::Invalid(format!(
                    "two cells of `{arm}` at {} of `{grid_name}`: narrow the arm or the grid",
                    at.x
                )));
            }
            self.loads.all += cell.loads;
            self.loads.failed += cell.failed;
            let Some(sample) = cell.values.get(quantity) else { continue };
            let sample = by_repetition(sample);
            let drawn = Some(self.drawn_with(grid_name, at, sample.len() as u32));
            points.push(Point { at, drawn, sample, statistic });
        }
        points.sort_by(|a, b| {
            (a.at.case, a.at.x).partial_cmp(&(b.at.case, b.at.x)).expect("x is a number")
        });
        match points.is_empty() {
            true => Err(ClauseError::NoLoads { arm: arm.to_owned(), grid: grid_name.to_owned() }),
            false => Ok(points),
        }
    }

    fn position(
        &mut self,
        cell: &MeasuredCell,
        grid: &Grid,
        name: &str,
    ) -> Result<GridPosition, ClauseError> {
        let (x, _) = grid.place(name, &cell.facts)?;
        let case = match &grid.each {
            None => 0,
            Some(fact) => {
                let value = cell.facts.get(fact).ok_or_else(|| {
                    ClauseError::Invalid(format!("a cell of `{name}` has no fact `{fact}`"))
                })?;
                index(&mut self.cases, value.to_string())
            }
        };
        Ok(GridPosition { case, x })
    }

    /// Index of the position at which these repetitions are drawn, which then has at least `size` of them.
    fn drawn_with(&mut self, grid: &str, at: GridPosition, size: u32) -> usize {
        let at = index(&mut self.positions, (grid.to_owned(), at));
        self.sizes.resize(self.positions.len(), 0);
        self.sizes[at] = self.sizes[at].max(size);
        at
    }
}

impl Grid {
    /// The x of a cell, and the name of its position.
    pub fn place(&self, name: &str, facts: &super::Facts) -> Result<(f64, String), ClauseError> {
        let Some(axis) = &self.x else { return Ok((0.0, name.to_owned())) };
        match facts.get(axis) {
            Some(Fact::Number(x)) => Ok((*x, x.to_string())),
            _ => Err(ClauseError::Invalid(format!("a cell of `{name}` has no number `{axis}`"))),
        }
    }
}

impl Point {
    /// Its number in a resample. A resample of nothing but failed repetitions is replaced by all repetitions.
    fn value(&self, resample: &Resample) -> Option<f64> {
        let chosen = self.drawn.and_then(|position| resample.at(position)).and_then(|chosen| {
            Sample::new(chosen.iter().filter_map(|it| *self.sample.get(*it as usize)?))
        });
        let sample = chosen.or_else(|| Sample::new(self.sample.iter().flatten().copied()))?;
        self.statistic.of(&sample)
    }
}

/// Values indexed by repetition, for fast lookup in thousands of resamples.
fn by_repetition(sample: &Repeated) -> Vec<Option<f64>> {
    let size = sample.keys().next_back().map_or(0, |last| last + 1);
    (0..size).map(|repetition| sample.get(&repetition).copied()).collect()
}

/// Index of `item` in `list`; it is appended if new.
fn index<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

/// A column of a published table.
fn published(sources: Sources<'_>, table: &str) -> Result<Vec<Point>, ClauseError> {
    let y = sources.terms.tables.get(table).map_or("", |column| &column.y);
    let point = |(x, y)| {
        let (at, sample) = (GridPosition { case: 0, x }, vec![Some(y)]);
        Point { at, drawn: None, sample, statistic: Statistic::Mean }
    };
    Ok(published_column(sources, table, y)?.into_iter().map(point).collect())
}

/// The column `y` of a published table, by its x.
pub(super) fn published_column(
    sources: Sources<'_>,
    table: &str,
    y: &str,
) -> Result<Vec<(f64, f64)>, ClauseError> {
    let wrong = |why: String| ClauseError::Invalid(format!("[published.{table}]: {why}"));
    let column = sources.terms.tables.get(table).ok_or_else(|| wrong("is not there".to_owned()))?;
    let text = sources.tables.get(&column.file);
    let text = text.ok_or_else(|| wrong(format!("there is no file {}", column.file)))?;
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| wrong(error.to_string()))?.clone();
    let place = |name: &str| {
        let place = headers.iter().position(|header| header == name);
        place.ok_or_else(|| wrong(format!("{} has no column `{name}`", column.file)))
    };
    let counts_rows = column.x == "row";
    let (x, y) = (if counts_rows { 0 } else { place(&column.x)? }, place(y)?);
    let mut points = Vec::new();
    for (index, row) in reader.records().enumerate() {
        let row = row.map_err(|error| wrong(error.to_string()))?;
        let number = |at: usize| {
            row[at].parse::<f64>().map_err(|_| wrong(format!("`{}` is no number", &row[at])))
        };
        let x = if counts_rows { index as f64 + 1.0 } else { number(x)? };
        points.push((x, number(y)?));
    }
    Ok(points)
}
