//! The judge's ceiling: its verdicts on the measurements that a study published itself.
//!
//! A judge whom a study's own data cannot convince says nothing about anybody else's. Where a published table states means and
//! confidence intervals, its cells are filled with loads of just that mean and deviation, and the claims that these cells decide are
//! judged like any others. What a table does not state is the shape of the scatter, which is drawn several times.

use std::collections::BTreeMap;

use chance::{RandomSource, RandomStream};
use scenario::Plan;

use super::dataset::{ClauseError, published_column};
use super::verdict::judge_covered;
use super::{
    ClaimResult, Clauses, Counted, Filter, MeasuredCell, Measurements, Sources, StudyResult, Tally,
    Terms,
};
use crate::Study;

/// Number of shapes of the scatter.
const SHAPES: u32 = 6;
/// Standard errors in half an interval, as the studies computed it: the normal quantile.
const HALF_INTERVAL: f64 = 1.96;

/// The verdicts on a study's own measurements, shape by shape; empty if it published none with intervals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ceiling(Vec<Vec<ClaimResult>>);

/// A published mean of a quantity's loads.
struct Stated {
    quantity: String,
    mean: f64,
    deviation: f64,
}

impl Ceiling {
    /// Judges the claims of `study` by its own measurements, in the cells of these plans.
    pub(super) fn of(
        study: &Study,
        clauses: &Clauses,
        plans: &[(String, Plan)],
    ) -> Result<Ceiling, ClauseError> {
        let (terms, files) = (&clauses.terms, &study.files);
        if terms.tables.values().all(|column| column.of.is_none()) {
            return Ok(Ceiling::default());
        }
        let judged = |shape: u32| {
            let mut stream = RandomSource::new(1, shape.into()).stream("judge/ceiling");
            let measured = measurements(terms, files, plans, &mut stream)?;
            Ok(judge_covered(&study.claims, clauses, &measured, files))
        };
        Ok(Ceiling((0..SHAPES).map(judged).collect::<Result<_, ClauseError>>()?))
    }

    /// The confirmed share, in per cent, of the facts that these measurements decide: the mean over the shapes. `None` if they decide none.
    pub fn rate(&self, study: &Study, counted: Counted) -> Option<f64> {
        let rates = self
            .0
            .iter()
            .map(|judged| Tally::of_claims(&study.claims, judged, counted, |_| false).rate());
        let rates = rates.collect::<Option<Vec<f64>>>().filter(|rates| !rates.is_empty())?;
        Some(rates.iter().sum::<f64>() / rates.len() as f64)
    }

    /// Number of facts that these measurements decide.
    pub fn decided(&self, study: &Study, counted: Counted) -> f64 {
        let judged = self.0.first();
        judged.map_or(0.0, |judged| {
            let Tally { confirmed, refuted, inconclusive, .. } =
                Tally::of_claims(&study.claims, judged, counted, |_| false);
            confirmed + refuted + inconclusive
        })
    }

    /// The verdict on a claim in each shape; nothing if the measurements do not decide it.
    pub fn verdicts(&self, claim: usize) -> impl Iterator<Item = &ClaimResult> {
        self.0.iter().map(move |judged| &judged[claim]).filter(|judged| !judged.verdict.is_open())
    }
}

impl StudyResult {
    /// The confirmed share on the study's own measurements, in per cent.
    pub fn ceiling_rate(&self, counted: Counted) -> Option<f64> {
        self.ceiling.rate(&self.study, counted)
    }
}

/// The published cells of all plans.
fn measurements(
    terms: &Terms,
    files: &BTreeMap<String, String>,
    plans: &[(String, Plan)],
    stream: &mut RandomStream,
) -> Result<Measurements, ClauseError> {
    let empty = Measurements::default();
    let sources = Sources { measurements: &empty, terms, tables: files };
    let mut all = Measurements::default();
    for (experiment, plan) in plans {
        all.add_experiment(experiment);
        for scenario in plan.cells() {
            let mut cell = MeasuredCell::new(experiment, scenario, 0, None);
            for stated in stated(sources, &cell, plan.repetitions())? {
                let loads = loads(&stated, plan.repetitions(), stream);
                cell.values.insert(stated.quantity, (0..).zip(loads).collect());
                cell.loads = plan.repetitions();
            }
            if cell.loads > 0 {
                all.add(experiment, cell);
            }
        }
    }
    Ok(all)
}

/// Means and deviations that the tables state for a cell.
fn stated(
    sources: Sources<'_>,
    cell: &MeasuredCell,
    loads: u32,
) -> Result<Vec<Stated>, ClauseError> {
    let mut all = Vec::new();
    for (table, column) in &sources.terms.tables {
        let Some(of) = &column.of else { continue };
        if !sources.terms.selects(&of.arm, &of.grid, &Filter::default(), &cell.facts) {
            continue;
        }
        let invalid = || ClauseError::Invalid(format!("there is no [grid.{}]", of.grid));
        let grid = sources.terms.grids.get(&of.grid).ok_or_else(invalid)?;
        let (x, _) = grid.place(&of.grid, &cell.facts)?;
        let number_at = |y: &str| -> Result<Option<f64>, ClauseError> {
            let column = published_column(sources, table, y)?;
            Ok(column.into_iter().find(|(there, _)| *there == x).map(|(_, y)| y))
        };
        if let (Some(mean), Some(percent)) = (number_at(&column.y)?, number_at(&of.ci95_pct)?) {
            let error = mean * percent / 100.0 / HALF_INTERVAL;
            let deviation = error * f64::from(loads).sqrt();
            all.push(Stated { quantity: of.quantity.clone(), mean, deviation });
        }
    }
    Ok(all)
}

/// As many loads with exactly this mean and deviation.
fn loads(stated: &Stated, count: u32, stream: &mut RandomStream) -> Vec<f64> {
    let drawn: Vec<f64> = (0..count).map(|_| stream.normal()).collect();
    let mean = drawn.iter().sum::<f64>() / f64::from(count);
    let squares: f64 = drawn.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / f64::from(count.max(2) - 1)).sqrt();
    drawn.iter().map(|value| stated.mean + stated.deviation * (value - mean) / deviation).collect()
}

#[cfg(test)]
mod tests {
    use scenario::World;
    use testbed::tour::Library;

    use super::super::PublishedTable;
    use super::super::pointwise::pointwise;
    use super::*;
    use crate::{Depth, RunMode, StudyExperiment, shipped};

    #[test]
    fn loads_have_the_stated_mean_and_deviation() {
        let mut stream = RandomSource::new(1, 0).stream("test");
        let stated = Stated { quantity: "plt".to_owned(), mean: 5.0, deviation: 0.5 };
        let drawn = loads(&stated, 5, &mut stream);
        let mean = drawn.iter().sum::<f64>() / 5.0;
        let variance = drawn.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / 4.0;
        assert!((mean - 5.0).abs() < 1e-9 && (variance.sqrt() - 0.5).abs() < 1e-9, "{drawn:?}");
    }

    /// bth2013 with its clauses and the plans of its experiments.
    fn bth2013() -> (Study, Clauses, Vec<(String, Plan)>) {
        let study = shipped("bth2013").unwrap();
        let clauses = Clauses::of_study(&study).unwrap();
        let usual = RunMode { depth: Depth::Usual, world: World::Sim };
        let plan = |(experiment, source): (&StudyExperiment, _)| {
            (experiment.id.clone(), usual.plan(source, &Library::default()).unwrap().1)
        };
        let plans = study.experiments().map(plan).collect();
        (study, clauses, plans)
    }

    #[test]
    fn published_tables_are_not_off_from_themselves() {
        let (study, clauses, plans) = bth2013();
        let mut stream = RandomSource::new(1, 0).stream("test");
        let stated = measurements(&clauses.terms, &study.files, &plans, &mut stream).unwrap();
        let tables = pointwise(&stated, &clauses.terms, &study.files).unwrap();
        let all = PublishedTable::of_all(&tables).unwrap();
        // Tables C.1 to C.4 have 20 round trips, C.5 to C.7 have 31 bandwidths.
        assert_eq!((tables.len(), all.places()), (7, 4 * 20 + 3 * 31));
        assert!(all.error_percent() < 1e-9 && (all.ratio() - 1.0).abs() < 1e-9, "{all:?}");
    }

    #[test]
    fn bth2013_convinces_the_judge_by_its_own_tables() {
        let (study, clauses, plans) = bth2013();
        let ceiling = Ceiling::of(&study, &clauses, &plans).unwrap();
        for (counted, least) in [(Counted::Findings, 13.0), (Counted::Strong, 5.0)] {
            let decided = ceiling.decided(&study, counted);
            assert!(decided >= least, "{counted:?}: {decided:.1} facts");
            let rate = ceiling.rate(&study, counted).unwrap();
            assert!(rate >= 90.0, "{counted:?}: {rate:.1} % of {decided:.1} facts");
        }
    }
}
