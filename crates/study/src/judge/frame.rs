//! All series that a clause uses, looked up once, and the selection of them that it is read from.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::measured::Repeated;
use super::{
    Cell, Draw, Expression, Fact, Filter, Grid, Leaf, Measured, Place, Quantity, Statistic, Terms,
    Tree, Value,
};
use statistics::Sample;

/// Reasons why a clause cannot be read: something missing, or a mistake in it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
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
    Nothing(String),
    /// A mistake in the clause.
    #[error("{0}")]
    Clause(String),
}

/// The series, by leaf.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    series: BTreeMap<Leaf, Vec<Point>>,
    /// Places of each grid; the repetitions of a place are drawn together.
    places: Vec<(String, Place)>,
    /// Number of repetitions of each place.
    sizes: Vec<u32>,
    cases: Vec<String>,
    /// The loads that it rests on.
    pub grounds: Grounds,
}

/// The loads that a clause was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grounds {
    /// Their experiments.
    pub experiments: BTreeSet<String>,
    /// Number of loads.
    pub loads: u32,
    /// Number of failed loads.
    pub failed: u32,
}

#[derive(Clone, Debug, PartialEq)]
struct Point {
    place: Place,
    /// Index of the place at which its repetitions are drawn; `None` for published values.
    drawn: Option<usize>,
    /// Values by repetition; `None` for one that failed.
    sample: Vec<Option<f64>>,
    statistic: Statistic,
}

/// Sources in which a clause's leaves are looked up.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The measurements.
    pub measured: &'a Measured,
    /// Definitions of terms.
    pub terms: &'a Terms,
    /// The texts of the published tables, by file.
    pub tables: &'a BTreeMap<String, String>,
}

impl Frame {
    /// Looks up `leaves`; those that do not name a grid are over `grid`, and all of them are narrowed by
    /// `narrowed`.
    ///
    /// # Errors
    /// A missing or ambiguous leaf.
    pub fn new<'a>(
        sources: Sources<'_>,
        leaves: impl IntoIterator<Item = &'a Leaf>,
        grid: Option<&str>,
        narrowed: &Filter,
    ) -> Result<Frame, Fault> {
        let mut frame = Frame::default();
        for leaf in leaves {
            if frame.series.contains_key(leaf) {
                continue;
            }
            let points = match leaf {
                Leaf::Published(table) => published(sources, table)?,
                Leaf::Measured { quantity, statistic, arm, grid: own } => {
                    let name = own.as_deref().or(grid).unwrap_or_default();
                    let statistic = statistic.unwrap_or(sources.terms.statistic);
                    frame.measured(sources, (*quantity, statistic), arm, name, narrowed)?
                }
            };
            frame.series.insert(leaf.clone(), points);
        }
        Ok(frame)
    }

    /// The series of a leaf in a draw.
    pub fn value(&self, leaf: &Leaf, draw: &Draw) -> Value {
        let points = self.series.get(leaf).map_or(&[][..], Vec::as_slice);
        if let Leaf::Published(_) = leaf {
            return self.published(points, draw);
        }
        let shown =
            points.iter().filter(|point| draw.case.is_none_or(|case| point.place.case == case));
        Value::Series(shown.filter_map(|point| Some((point.place, point.value(draw)?))).collect())
    }

    /// Published values hold for each of the curves.
    fn published(&self, points: &[Point], draw: &Draw) -> Value {
        let cases = match draw.case {
            Some(case) => case..case + 1,
            None => 0..self.cases.len().max(1),
        };
        let of_case = |case| {
            let at = move |point: &Point| Some((Place { case, ..point.place }, point.value(draw)?));
            points.iter().filter_map(at)
        };
        Value::Series(cases.flat_map(of_case).collect())
    }

    /// An expression of a single quantity, with another statistic of its cells' loads; `None` for any other
    /// expression.
    pub fn with_statistic(
        &self,
        expression: &Expression,
        statistic: Statistic,
    ) -> Option<Vec<(Place, f64)>> {
        let Tree::Leaf(leaf @ Leaf::Measured { .. }) = expression.tree() else { return None };
        let value = |point: &Point| {
            let sample = Sample::new(point.sample.iter().flatten().copied())?;
            Some((point.place, statistic.of(&sample)?))
        };
        Some(self.series.get(leaf)?.iter().filter_map(value).collect())
    }

    /// The curves, by the value of the fact that tells them apart.
    pub fn cases(&self) -> &[String] {
        &self.cases
    }

    /// Number of repetitions at each place.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    fn measured(
        &mut self,
        sources: Sources<'_>,
        (quantity, statistic): (Quantity, Statistic),
        arm: &str,
        grid_name: &str,
        narrowed: &Filter,
    ) -> Result<Vec<Point>, Fault> {
        let missing = |what: &str| Fault::Clause(format!("there is no {what}"));
        let filter = sources.terms.arms.get(arm).ok_or_else(|| missing(arm))?;
        let grid = sources.terms.grids.get(grid_name).ok_or_else(|| missing(grid_name))?;
        self.run_all(sources.measured, grid)?;
        let is_meant = |cell: &&Cell| {
            [filter, &grid.filter, narrowed].iter().all(|filter| filter.takes(&cell.facts))
                && experiment(cell).is_some_and(|id| grid.experiments.contains(&id))
        };
        let mut points: Vec<Point> = Vec::new();
        for cell in sources.measured.cells().iter().filter(is_meant) {
            let place = self.place(cell, grid, grid_name)?;
            if points.iter().any(|point| point.place == place) {
                return Err(Fault::Clause(format!(
                    "two cells of `{arm}` at {} of `{grid_name}`: narrow the arm or the grid",
                    place.x
                )));
            }
            self.grounds.loads += cell.loads;
            self.grounds.failed += cell.failed;
            let Some(sample) = cell.values.get(&quantity) else { continue };
            let sample = by_repetition(sample);
            let drawn = Some(self.drawn_with(grid_name, place, sample.len() as u32));
            points.push(Point { place, drawn, sample, statistic });
        }
        points.sort_by(|a, b| {
            (a.place.case, a.place.x)
                .partial_cmp(&(b.place.case, b.place.x))
                .expect("x is a number")
        });
        match points.is_empty() {
            true => Err(Fault::NoLoads { arm: arm.to_owned(), grid: grid_name.to_owned() }),
            false => Ok(points),
        }
    }

    /// Refuses experiments that were not run, and records the others.
    fn run_all(&mut self, measured: &Measured, grid: &Grid) -> Result<(), Fault> {
        for id in &grid.experiments {
            measured.run(id).ok_or_else(|| Fault::NotRun(id.clone()))?;
            self.grounds.experiments.insert(id.clone());
        }
        Ok(())
    }

    fn place(&mut self, cell: &Cell, grid: &Grid, name: &str) -> Result<Place, Fault> {
        let x = match &grid.x {
            None => 0.0,
            Some(axis) => match cell.facts.get(axis) {
                Some(Fact::Number(x)) => *x,
                _ => {
                    return Err(Fault::Clause(format!(
                        "a cell of `{name}` has no number `{axis}`"
                    )));
                }
            },
        };
        let case = match &grid.each {
            None => 0,
            Some(fact) => {
                let value = cell.facts.get(fact).ok_or_else(|| {
                    Fault::Clause(format!("a cell of `{name}` has no fact `{fact}`"))
                })?;
                index(&mut self.cases, value.to_string())
            }
        };
        Ok(Place { case, x })
    }

    /// Index of the place at which these repetitions are drawn, which then has at least `size` of them.
    fn drawn_with(&mut self, grid: &str, place: Place, size: u32) -> usize {
        let at = index(&mut self.places, (grid.to_owned(), place));
        self.sizes.resize(self.places.len(), 0);
        self.sizes[at] = self.sizes[at].max(size);
        at
    }
}

impl Point {
    /// Its number in a draw. A draw of nothing but failed repetitions is replaced by all repetitions.
    fn value(&self, draw: &Draw) -> Option<f64> {
        let drawn = self.drawn.and_then(|place| draw.at(place));
        let chosen = drawn.and_then(|repetitions| {
            let value = |repetition: &u32| *self.sample.get(*repetition as usize)?;
            Sample::new(repetitions.iter().filter_map(value))
        });
        let sample = chosen.or_else(|| Sample::new(self.sample.iter().flatten().copied()))?;
        self.statistic.of(&sample)
    }
}

/// Values indexed by repetition, for fast lookup in thousands of draws.
fn by_repetition(sample: &Repeated) -> Vec<Option<f64>> {
    let size = sample.keys().next_back().map_or(0, |last| last + 1);
    (0..size).map(|repetition| sample.get(&repetition).copied()).collect()
}

fn experiment(cell: &Cell) -> Option<String> {
    cell.facts.get("experiment").map(Fact::to_string)
}

/// Index of `item` in `list`; it is appended if new.
fn index<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

/// A column of a published table.
fn published(sources: Sources<'_>, table: &str) -> Result<Vec<Point>, Fault> {
    let wrong = |why: String| Fault::Clause(format!("[published.{table}]: {why}"));
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
    let (x, y) = (if counts_rows { 0 } else { place(&column.x)? }, place(&column.y)?);
    let mut points = Vec::new();
    for (index, row) in reader.records().enumerate() {
        let row = row.map_err(|error| wrong(error.to_string()))?;
        let number = |at: usize| {
            row[at].parse::<f64>().map_err(|_| wrong(format!("`{}` is no number", &row[at])))
        };
        let x = if counts_rows { index as f64 + 1.0 } else { number(x)? };
        let place = Place { case: 0, x };
        let sample = vec![Some(number(y)?)];
        points.push(Point { place, drawn: None, sample, statistic: Statistic::Mean });
    }
    Ok(points)
}
