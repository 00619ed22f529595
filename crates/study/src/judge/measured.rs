//! Measurements of a study's experiments in the store, cell by cell.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Fact, Facts, Load, Quantity, facts};
use scenario::Plan;
use scenario::Scenario;
use store::{JourneyRow, RunId, RunState, Store, StoreError, VisitKey};

/// All cells of the experiments that were run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    cells: Vec<Cell>,
    runs: BTreeMap<String, RunId>,
}

/// One cell: the repetitions of one scenario, or of one visit of its journeys.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The facts about it.
    pub facts: Facts,
    /// Each requested quantity, by repetition; repetitions without a value are absent.
    pub values: BTreeMap<Quantity, Repeated>,
    /// Number of loads.
    pub loads: u32,
    /// Number of failed loads.
    pub failed: u32,
}

/// The part of a longer run that a shorter one makes up.
#[derive(Clone, Debug, PartialEq)]
pub struct Portion {
    /// Repetitions of each cell.
    pub loads: u32,
    /// The draws of drawn sites that it includes.
    pub draws: BTreeSet<u32>,
}

impl Portion {
    /// The portion that `plan` makes up.
    pub fn of(plan: &Plan) -> Portion {
        let draws = plan.cells().iter().filter_map(|cell| facts::draw(&cell.page.spec));
        Portion { loads: plan.repetitions(), draws: draws.collect() }
    }

    /// The loads of a cell in the `index`-th portion; `None` for a cell of a draw that is not included.
    fn of_cell(&self, cell: &Cell, index: u32) -> Option<Cell> {
        if let Some(Fact::Number(draw)) = cell.facts.get("draw")
            && !self.draws.contains(&(*draw as u32))
        {
            return None;
        }
        let (begin, end) = (index * self.loads, (index + 1) * self.loads);
        let mut fewer = cell.clone();
        fewer.values.values_mut().for_each(|values| {
            let taken = values.range(begin..end);
            *values = taken.map(|(r, value)| (r - begin, *value)).collect();
        });
        fewer.loads = cell.loads.saturating_sub(begin).min(self.loads);
        fewer.failed = cell.failed.min(fewer.loads);
        Some(fewer)
    }
}

/// Values by repetition.
pub type Repeated = BTreeMap<u32, f64>;

impl Measured {
    /// An empty collection.
    pub fn new() -> Measured {
        Measured::default()
    }

    /// Adds the loads of `experiment` in `run`, as far as `quantities` need them. Facts of a cell are taken
    /// from its scenario in `published`, whichever laboratory it was run in.
    ///
    /// # Errors
    /// A store that cannot be read.
    pub fn gather(
        &mut self,
        store: &Store,
        run: RunId,
        experiment: &str,
        quantities: &BTreeSet<Quantity>,
        published: &[Arc<Scenario>],
    ) -> Result<(), StoreError> {
        let journeys = as_published(store.journeys(run)?, published);
        let by_position: BTreeMap<u64, &JourneyRow> =
            journeys.iter().map(|journey| (journey.position, journey)).collect();
        let mut cells: BTreeMap<(u32, u32, Option<String>), Cell> = BTreeMap::new();
        let in_detail = quantities.iter().any(|quantity| quantity.needs_objects());
        let with_events = quantities.iter().any(|quantity| quantity.needs_events());
        let with_series = quantities.iter().any(|quantity| quantity.needs_series());
        for visit in store.visits(run)? {
            let Some(journey) = by_position.get(&visit.key.journey) else { continue };
            let (objects, connections) = match in_detail {
                true => detail(store, visit.key)?,
                false => Default::default(),
            };
            let events = match with_events {
                true => store.events(visit.key)?,
                false => Vec::new(),
            };
            let series = match with_series {
                true => store.series(visit.key)?,
                false => None,
            };
            let load = Load {
                visit: &visit,
                objects: &objects,
                connections: &connections,
                events: &events,
                series: series.as_ref(),
            };
            let (number, page) = (visit.key.visit, visit.page.as_deref());
            let cell = cells
                .entry((journey.cell, number, visit.page.clone()))
                .or_insert_with(|| Cell::new(experiment, &journey.scenario, number, page));
            cell.take(journey.repetition, load, quantities);
        }
        self.cells.extend(cells.into_values());
        self.runs.insert(experiment.to_owned(), run);
        Ok(())
    }

    /// Adds a given cell of `experiment`.
    pub fn add(&mut self, experiment: &str, cell: Cell) {
        self.runs.entry(experiment.to_owned()).or_insert(RunId(0));
        self.cells.push(cell);
    }

    /// The measurements that shorter runs would have made, of the `index`-th one from 0: from each named
    /// experiment its portion, from others nothing. The number of failed loads is lost.
    #[must_use]
    pub fn portion(&self, portions: &BTreeMap<String, Portion>, index: u32) -> Measured {
        let of_cell = |cell: &Cell| portions.get(&cell.experiment()?)?.of_cell(cell, index);
        Measured {
            cells: self.cells.iter().filter_map(of_cell).collect(),
            runs: self
                .runs
                .iter()
                .filter(|(id, _)| portions.contains_key(*id))
                .map(|(id, run)| (id.clone(), *run))
                .collect(),
        }
    }

    /// Adds all of `other`.
    pub fn add_all(&mut self, other: Measured) {
        self.cells.extend(other.cells);
        self.runs.extend(other.runs);
    }

    /// The cells, mutably.
    pub(super) fn cells_mut(&mut self) -> &mut [Cell] {
        &mut self.cells
    }

    /// The cells.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The run of an experiment, if there is one.
    pub fn run(&self, experiment: &str) -> Option<RunId> {
        self.runs.get(experiment).copied()
    }

    /// All runs, by experiment.
    pub fn runs(&self) -> impl Iterator<Item = (&str, RunId)> {
        self.runs.iter().map(|(experiment, run)| (experiment.as_str(), *run))
    }
}

/// The journeys of a run, with the scenarios that the set-up gives their cells.
fn as_published(mut journeys: Vec<JourneyRow>, published: &[Arc<Scenario>]) -> Vec<JourneyRow> {
    for journey in &mut journeys {
        if let Some(scenario) = published.get(journey.cell as usize) {
            journey.scenario = Scenario::clone(scenario);
        }
    }
    journeys
}

fn detail(
    store: &Store,
    key: VisitKey,
) -> Result<(Vec<record::ObjectRecord>, Vec<record::ConnectionRecord>), StoreError> {
    Ok((store.objects(key)?, store.connections(key)?))
}

/// The complete run of a plan, if the store has one: a part of a grid is not enough to judge by.
///
/// # Errors
/// A store that cannot be read.
pub fn complete_run(store: &Store, plan_digest: &str) -> Result<Option<RunId>, StoreError> {
    let run = store.run_of_plan(plan_digest)?;
    Ok(run.filter(|run| run.state == RunState::Complete).map(|run| run.id))
}

impl Cell {
    /// A cell without loads.
    pub fn new(experiment: &str, scenario: &Scenario, visit: u32, page: Option<&str>) -> Cell {
        let facts = Facts::of(experiment, scenario, visit, page);
        Cell { facts, values: BTreeMap::new(), loads: 0, failed: 0 }
    }

    /// The experiment that it belongs to.
    fn experiment(&self) -> Option<String> {
        match self.facts.get("experiment") {
            Some(Fact::Text(id)) => Some(id.clone()),
            _ => None,
        }
    }

    fn take(&mut self, repetition: u32, load: Load<'_>, quantities: &BTreeSet<Quantity>) {
        self.loads += 1;
        self.failed += u32::from(load.visit.plt_ns.is_none());
        for quantity in quantities {
            if let Some(value) = quantity.of(load).filter(|value| value.is_finite()) {
                self.values.entry(*quantity).or_default().insert(repetition, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::toy;

    #[test]
    fn a_store_is_read_cell_by_cell() {
        let filled = toy::filled_store(&toy::plan(3));
        let (store, run) = (&filled.store, filled.run);
        let mut measured = Measured::new();
        let wanted = BTreeSet::from([Quantity::Plt, Quantity::Wait]);
        let cells = toy::plan(3).cells().to_vec();
        measured.gather(store, run, "toy", &wanted, &cells).unwrap();
        assert_eq!(measured.cells().len(), 4);
        assert_eq!(measured.run("toy"), Some(run));
        assert_eq!(measured.run("other"), None);
        let visits = store.visits(run).unwrap();
        let cell = &measured.cells()[0];
        assert_eq!((cell.loads, cell.failed), (3, 0));
        let expected: Repeated =
            (0..3).map(|r| (r, visits[r as usize].plt_ns.unwrap() as f64 / 1e9)).collect();
        assert_eq!(cell.values[&Quantity::Plt], expected);
        assert_eq!(cell.values[&Quantity::Wait].len(), 3);
        assert!(!cell.values.contains_key(&Quantity::Ttfb));
    }

    #[test]
    fn portions_are_what_shorter_runs_measure() {
        let wanted = BTreeSet::from([Quantity::Plt]);
        let measured = |repetitions| {
            let filled = toy::filled_store(&toy::plan(repetitions));
            let mut measured = Measured::new();
            let cells = toy::plan(repetitions).cells().to_vec();
            measured.gather(&filled.store, filled.run, "toy", &wanted, &cells).unwrap();
            measured
        };
        let portion = |index, loads| {
            let portion = Portion { loads, draws: BTreeSet::new() };
            measured(5).portion(&BTreeMap::from([("toy".to_owned(), portion)]), index)
        };
        assert_eq!(portion(0, 2).cells(), measured(2).cells());
        assert_eq!(portion(0, 9), measured(5));
        assert_eq!(measured(5).portion(&BTreeMap::new(), 0), Measured::new());
        let (second, whole) = (portion(1, 2), measured(5));
        let plt = |measured: &Measured| measured.cells()[0].values[&Quantity::Plt].clone();
        let whole = plt(&whole);
        assert_eq!(plt(&second), BTreeMap::from([(0, whole[&2]), (1, whole[&3])]));
        assert_eq!(portion(2, 2).cells()[0].loads, 1);
    }
}
