//! Measurements of a study's experiments in the store, cell by cell.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{ClauseError, Fact, Facts, Grid, Queries, Terms, facts};
use scenario::{Plan, Protocol, Scenario};
use store::{RunId, RunState, Store, StoreError};

/// Cells with the values of their loads, and the runs that they are from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    cells: Vec<MeasuredCell>,
    runs: BTreeMap<String, RunId>,
}

/// One visit of all journeys of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCell {
    pub facts: Facts,
    pub values: BTreeMap<String, Repeated>,
    pub loads: u32,
    pub failed: u32,
}

/// Values by repetition.
pub type Repeated = BTreeMap<u32, f64>;

/// The size of a part of a run: of each cell so many loads, of drawn sites these draws.
#[derive(Clone, Debug, PartialEq)]
pub struct Portion {
    pub loads: u32,
    pub draws: BTreeSet<u32>,
}

impl Portion {
    /// The portion of a longer run that is as large as a run of `plan`.
    pub fn of(plan: &Plan) -> Portion {
        let draws = plan.cells().iter().filter_map(|cell| facts::draw(&cell.page.spec));
        Portion { loads: plan.repetitions(), draws: draws.collect() }
    }

    /// The `index`-th such portion of a cell; `None` if its site's draw is not among them.
    fn of_cell(&self, cell: &MeasuredCell, index: u32) -> Option<MeasuredCell> {
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

impl Measurements {
    /// Adds the run of an experiment, with these quantities of its loads. The facts are those of the `published`
    /// cells, whatever laboratory the run is from.
    pub fn gather(
        &mut self,
        store: &Store,
        run: RunId,
        experiment: &str,
        (queries, quantities): (&Queries, &BTreeSet<String>),
        published: &[Arc<Scenario>],
    ) -> Result<(), StoreError> {
        let journeys = store.journeys(run)?;
        let by_position: BTreeMap<_, _> = journeys.iter().map(|it| (it.position, it)).collect();
        let mut cells: BTreeMap<(u32, u32, Option<String>), MeasuredCell> = BTreeMap::new();
        for visit in store.visits(run)? {
            let Some(journey) = by_position.get(&visit.key.journey) else { continue };
            let number = visit.key.visit;
            let cell =
                cells.entry((journey.cell, number, visit.page.clone())).or_insert_with(|| {
                    let published = published.get(journey.cell as usize);
                    let scenario = published.map_or(&journey.scenario, |it| it);
                    MeasuredCell::new(experiment, scenario, number, visit.page.as_deref())
                });
            cell.loads += 1;
            cell.failed += u32::from(visit.plt_ns.is_none());
            for (quantity, value) in queries.read(store, &visit, quantities)? {
                let repeated = cell.values.entry(quantity.clone()).or_default();
                repeated.insert(journey.repetition, value);
            }
        }
        self.cells.extend(cells.into_values());
        self.runs.insert(experiment.to_owned(), run);
        Ok(())
    }

    /// Adds an experiment that has no run.
    pub fn add_experiment(&mut self, experiment: &str) {
        self.runs.entry(experiment.to_owned()).or_insert(RunId(0));
    }

    /// Adds a cell that is from no run.
    pub fn add(&mut self, experiment: &str, cell: MeasuredCell) {
        self.add_experiment(experiment);
        self.cells.push(cell);
    }

    /// The `index`-th portion of these experiments.
    #[must_use]
    pub fn portion(&self, portions: &BTreeMap<String, Portion>, index: u32) -> Measurements {
        let of_cell =
            |cell: &MeasuredCell| portions.get(&cell.facts.experiment()?)?.of_cell(cell, index);
        let runs = self.runs.iter().filter(|(id, _)| portions.contains_key(*id));
        Measurements {
            cells: self.cells.iter().filter_map(of_cell).collect(),
            runs: runs.map(|(id, run)| (id.clone(), *run)).collect(),
        }
    }

    /// Adds everything of another.
    pub fn add_all(&mut self, other: Measurements) {
        self.cells.extend(other.cells);
        self.runs.extend(other.runs);
    }

    /// The cells.
    pub fn cells(&self) -> &[MeasuredCell] {
        &self.cells
    }

    /// The run of an experiment, if there is one.
    pub fn run(&self, experiment: &str) -> Option<RunId> {
        self.runs.get(experiment).copied()
    }

    /// A grid, all of whose experiments were run.
    pub fn grid<'t>(&self, terms: &'t Terms, name: &str) -> Result<&'t Grid, ClauseError> {
        let unknown = || ClauseError::Invalid(format!("there is no [grid.{name}]"));
        let grid = terms.grids.get(name).ok_or_else(unknown)?;
        match grid.experiments.iter().find(|id| self.run(id).is_none()) {
            Some(missing) => Err(ClauseError::NotRun(missing.clone())),
            None => Ok(grid),
        }
    }

    /// Exchanges the measurements of each HTTP/1.1 cell with those of a comparable cell of a multiplexing
    /// protocol, if there is one.
    #[must_use]
    pub fn with_labels_swapped(mut self) -> Measurements {
        let speaking = |speaks: fn(Protocol) -> bool| {
            let cells = self.cells.iter().enumerate();
            let those = cells.filter(|(_, cell)| cell.facts.protocol().is_some_and(speaks));
            those.map(|(place, _)| place).collect::<Vec<_>>()
        };
        let h1 = speaking(|protocol| protocol == Protocol::H1);
        let mut others = speaking(Protocol::is_multiplexed);
        for place in h1 {
            let distances = others.iter().enumerate().filter_map(|(index, other)| {
                Some((distance(&self.cells[place], &self.cells[*other])?, index))
            });
            let Some((_, index)) = distances.min() else { continue };
            let other = others.remove(index);
            // Everything changes places but the descriptions.
            self.cells.swap(place, other);
            let [one, other] = self.cells.get_disjoint_mut([place, other]).expect("two cells");
            std::mem::swap(&mut one.facts, &mut other.facts);
        }
        self
    }
}

/// Facts in which the two sides of a comparison may differ; all others must be the same. Cells are exchanged with
/// the one that differs least.
const COMPARED: [&str; 6] = ["experiment", "protocol", "tls", "tcp", "route", "browser"];

/// Number of facts in which two cells differ; `None` if they are not comparable.
fn distance(one: &MeasuredCell, other: &MeasuredCell) -> Option<usize> {
    let differences = one.facts.differences(&other.facts);
    differences.iter().all(|name| COMPARED.contains(name)).then_some(differences.len())
}

/// The complete run of a plan, if the store has one: a part of a grid is not enough to judge by.
pub fn complete_run(store: &Store, plan_digest: &str) -> Result<Option<RunId>, StoreError> {
    let run = store.run_of_plan(plan_digest)?;
    Ok(run.filter(|run| run.state == RunState::Complete).map(|run| run.id))
}

impl MeasuredCell {
    /// A cell without loads.
    pub fn new(
        experiment: &str,
        scenario: &Scenario,
        visit: u32,
        page: Option<&str>,
    ) -> MeasuredCell {
        let facts = Facts::of(experiment, scenario, visit, page);
        MeasuredCell { facts, values: BTreeMap::new(), loads: 0, failed: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{NetworkSpec, Tls};
    use store::toy;

    /// A toy's run with as many repetitions, and these quantities of its loads.
    fn measured(repetitions: u32, quantities: &[&str]) -> Measurements {
        let filled = toy::filled_store(&toy::plan(repetitions));
        let mut measurements = Measurements::default();
        let cells = toy::plan(repetitions).cells().to_vec();
        let terms: Terms = toml::from_str("statistic = \"mean\"").unwrap();
        let wanted = quantities.iter().map(|name| (*name).to_owned()).collect();
        let asked = (&terms.queries(), &wanted);
        measurements.gather(&filled.store, filled.run, "toy", asked, &cells).unwrap();
        measurements
    }

    #[test]
    fn a_store_is_read_cell_by_cell() {
        let measurements = measured(3, &["plt", "wait"]);
        assert_eq!(measurements.cells().len(), 4);
        assert!(measurements.run("toy").is_some() && measurements.run("other").is_none());
        let filled = toy::filled_store(&toy::plan(3));
        let visits = filled.store.visits(filled.run).unwrap();
        let cell = &measurements.cells()[0];
        assert_eq!((cell.loads, cell.failed), (3, 0));
        let expected: Repeated =
            (0..3).map(|r| (r, visits[r as usize].plt_ns.unwrap() as f64 / 1e9)).collect();
        assert_eq!(cell.values["plt"], expected);
        assert_eq!(cell.values["wait"].len(), 3);
        assert!(!cell.values.contains_key("ttfb"));
    }

    #[test]
    fn portions_are_what_shorter_runs_measure() {
        let measured = |repetitions| measured(repetitions, &["plt"]);
        let portion = |index, loads| {
            let portion = Portion { loads, draws: BTreeSet::new() };
            measured(5).portion(&BTreeMap::from([("toy".to_owned(), portion)]), index)
        };
        assert_eq!(portion(0, 2).cells(), measured(2).cells());
        assert_eq!(portion(0, 9), measured(5));
        assert_eq!(measured(5).portion(&BTreeMap::new(), 0), Measurements::default());
        let (second, whole) = (portion(1, 2), measured(5));
        let plt = |measured: &Measurements| measured.cells()[0].values["plt"].clone();
        let whole = plt(&whole);
        assert_eq!(plt(&second), BTreeMap::from([(0, whole[&2]), (1, whole[&3])]));
        assert_eq!(portion(2, 2).cells()[0].loads, 1);
    }

    #[test]
    fn swapped_labels_go_to_the_most_similar_cell() {
        let cell = |page: &str, protocol: Protocol, tls: Tls, plt: f64| {
            let mut scenario = Scenario::new(page, NetworkSpec::default());
            (scenario.stack.protocol, scenario.stack.tls) = (protocol, tls);
            let mut cell = MeasuredCell::new("e", &scenario, 0, None);
            cell.values.insert("plt".to_owned(), BTreeMap::from([(0, plt)]));
            cell
        };
        let mut measured = Measurements::default();
        for one in [
            cell("a", Protocol::H1, Tls::None, 1.0),
            cell("b", Protocol::H1, Tls::None, 2.0),
            cell("b", Protocol::Spdy, Tls::Tls12, 3.0),
            cell("b", Protocol::Spdy, Tls::None, 4.0),
            cell("a", Protocol::Spdy, Tls::Tls12, 5.0),
            cell("a", Protocol::H1Pipelined, Tls::None, 6.0),
            cell("c", Protocol::H1, Tls::None, 7.0),
        ] {
            measured.add("e", one);
        }
        let swapped = measured.clone().with_labels_swapped();
        let plts: Vec<f64> = swapped.cells().iter().map(|cell| cell.values["plt"][&0]).collect();
        assert_eq!(plts, [5.0, 4.0, 3.0, 2.0, 1.0, 6.0, 7.0]);
        assert_eq!(swapped.with_labels_swapped(), measured);
    }
}
