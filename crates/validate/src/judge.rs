//! Judges measurements: pure functions over samples.
//!
//! The emulation is the reference. Beside the simulation stand the emulation compared with itself (the effect
//! of chance, [`halves`]) and the Lantern-like model (what a simpler model would get right); every figure is computed for all
//! three in the same way.

mod browser;
mod comparison;

pub use browser::Bias;
pub use browser::{BrowserCell, NETWORK_RULES};
pub use browser::{CoalescedCell, coalesced_difference};
pub use comparison::{JudgedCell, ProtocolPair};
pub use comparison::{LogQuartiles, SPLITS, chance_of_median};

use self::browser::{browser_cells, chromium_figure};
use self::comparison::{Comparison, ratio};
use super::cell::Cell;
use super::suite::{Needs, Suite};
use super::target::{ChromiumFigure, Gauge, Target, TargetResult};
use crate::cell::{Better, Figure};
use crate::suite::MeasuredWorld;
use browser::biases;
use browser::coalesced_cells;
use comparison::{Halving, MEDIAN, halve, log_quartiles, noise, stream};
use statistics::Sample;

/// Judgement of a suite's cells.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// Every figure for every model.
    pub rows: Vec<Row>,
    /// Results for the targets.
    pub verdicts: Vec<TargetResult>,
    /// The cells that were judged, sim against emu.
    pub subjects: Vec<SubjectResult>,
    /// The pairs of protocols that were judged.
    pub pairs: Vec<PairResult>,
    /// Errors in one direction.
    pub biases: Vec<Bias>,
    /// Loader against Chromium.
    pub browser: Vec<BrowserCell>,
    /// Packets released together against packets released one by one.
    pub coalesced: Vec<CoalescedCell>,
}

/// A figure for every model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The figure.
    pub figure: Figure,
    /// Number of cells, pairs or quartiles that it rests on.
    pub basis: usize,
    /// Simulation against emulation.
    pub sim: Option<f64>,
    /// Emulation against itself: the median over many halvings.
    pub emu: Option<f64>,
    /// The Lantern-like model against emulation.
    pub lantern: Option<f64>,
}

/// A judged cell. Times are milliseconds, errors are relative.
#[derive(Clone, Debug, PartialEq)]
pub struct SubjectResult {
    /// Index among the suite's cells.
    pub cell: usize,
    /// Simulated p25, p50, p75.
    pub sim_ms: [f64; 3],
    /// Emulated p25, p50, p75.
    pub emu_ms: [f64; 3],
    /// The simulation's error of each.
    pub errors: [f64; 3],
    /// The error of each due to chance.
    pub noise: [f64; 3],
    /// The Lantern-like model's error of the median.
    pub lantern_error: f64,
}

/// Two cells that differ in protocol alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairResult {
    /// Index of the first among the suite's cells.
    pub first: usize,
    /// Index of the second.
    pub second: usize,
    /// Simulated log(PLT of the first / PLT of the second).
    pub sim: f64,
    /// Emulated.
    pub emu: f64,
    /// The Lantern-like model's.
    pub lantern: f64,
}

/// Judges `cells` by the demands of `suite`.
pub fn judge(suite: &Suite, cells: &[Cell]) -> Judgement {
    let evidence = Evidence::of(suite, cells);
    let sim = evidence.comparison(evidence.sim.clone(), evidence.noise.clone());
    let lantern = evidence.comparison(evidence.lantern.clone(), evidence.lantern_noise.clone());
    let row = |figure: Figure| Row {
        figure,
        basis: sim.basis(figure),
        sim: sim.value(figure),
        emu: evidence.ceiling(figure),
        lantern: lantern.value(figure),
    };
    let rows: Vec<Row> = Figure::ALL.iter().copied().map(row).collect();
    let browser = browser_cells(cells, &suite.needs);
    let against_chromium = |figure| chromium_figure(figure, cells, &browser);
    let verdicts =
        suite.targets.iter().map(|target| verdict(*target, &rows, against_chromium, suite));
    Judgement {
        verdicts: verdicts.collect(),
        subjects: evidence.subject_results(&sim, &lantern),
        pairs: evidence.pair_results(),
        biases: biases(&sim, |subject| &cells[evidence.subjects[subject].cell].scenario),
        browser,
        coalesced: coalesced_cells(cells),
        rows,
    }
}

fn verdict(
    target: Target,
    rows: &[Row],
    against_chromium: impl Fn(ChromiumFigure) -> (Option<f64>, usize),
    suite: &Suite,
) -> TargetResult {
    let row = |figure| rows.iter().find(|row| row.figure == figure);
    let (value, basis) = match target.gauge {
        Gauge::Figure(figure) => row(figure).map_or((None, 0), |row| (row.sim, row.basis)),
        Gauge::BetterThanLantern(figure) => {
            row(figure).map_or((None, 0), |row| (times_better(row), row.basis))
        }
        Gauge::Chromium(figure) => against_chromium(figure),
    };
    target.judge(value, basis, suite.needs.cells)
}

/// The Lantern-like model's error as a multiple of the simulation's. For figures where more is better, the distance to 1
/// counts as the error. A simulation without any error gets the largest number.
fn times_better(row: &Row) -> Option<f64> {
    let error = |value: f64| match row.figure.better() {
        Better::Less => value,
        Better::More => 1.0 - value,
    };
    let times = error(row.lantern?) / error(row.sim?);
    (!times.is_nan()).then(|| times.min(f64::MAX))
}

/// The data to judge, as figures need it.
struct Evidence {
    subjects: Vec<JudgedCell>,
    pairs: Vec<ProtocolPair>,
    sim: Vec<LogQuartiles>,
    emu: Vec<LogQuartiles>,
    lantern: Vec<LogQuartiles>,
    noise: Vec<LogQuartiles>,
    lantern_noise: Vec<LogQuartiles>,
    halvings: Vec<Vec<Halving>>,
}

impl Evidence {
    fn of(suite: &Suite, cells: &[Cell]) -> Evidence {
        let mut evidence = Evidence {
            subjects: Vec::new(),
            pairs: Vec::new(),
            sim: Vec::new(),
            emu: Vec::new(),
            lantern: Vec::new(),
            noise: Vec::new(),
            lantern_noise: Vec::new(),
            halvings: Vec::new(),
        };
        for (index, cell) in cells.iter().enumerate() {
            if let (Some(sim), Some(emu)) =
                (cell.plt(MeasuredWorld::Sim), cell.plt(MeasuredWorld::Emu))
                && is_enough(cell, &suite.needs)
            {
                evidence.take(suite.seed, index, cell, sim, emu);
            }
        }
        evidence.pairs = pairs(cells, &evidence.subjects);
        evidence
    }

    fn take(&mut self, seed: u64, index: usize, cell: &Cell, sim: &Sample, emu: &Sample) {
        let network = cell.network();
        self.subjects.push(JudgedCell { cell: index, lossy: cell.lossy, network });
        self.sim.push(log_quartiles(sim));
        self.emu.push(log_quartiles(emu));
        self.lantern.push([cell.lantern_ms.max(f64::MIN_POSITIVE).ln(); 3]);
        let halvings = halve(emu, Some(sim.values().len()), &mut stream(seed, index));
        self.noise.push(noise(&halvings));
        self.lantern_noise.push(noise(&halve(emu, None, &mut stream(seed, index))));
        self.halvings.push(halvings);
    }

    /// `model` against the emulation.
    fn comparison(&self, model: Vec<LogQuartiles>, noise: Vec<LogQuartiles>) -> Comparison<'_> {
        let (subjects, pairs) = (&self.subjects, &self.pairs);
        Comparison { subjects, pairs, reference: self.emu.clone(), model, noise }
    }

    /// A figure of the emulation compared with itself.
    fn ceiling(&self, figure: Figure) -> Option<f64> {
        let splits = self.halvings.iter().map(Vec::len).min()?;
        let split = |index: usize| {
            let of = |part: fn(&Halving) -> LogQuartiles| {
                self.halvings.iter().map(|halvings| part(&halvings[index])).collect()
            };
            Comparison {
                subjects: &self.subjects,
                pairs: &self.pairs,
                reference: of(|halving| halving.reference),
                model: of(|halving| halving.model),
                noise: vec![[0.0; 3]; self.subjects.len()],
            }
            .value(figure)
        };
        Some(Sample::new((0..splits).filter_map(split))?.median())
    }

    fn subject_results(
        &self,
        sim: &Comparison<'_>,
        lantern: &Comparison<'_>,
    ) -> Vec<SubjectResult> {
        let result = |(index, subject): (usize, &JudgedCell)| SubjectResult {
            cell: subject.cell,
            sim_ms: self.sim[index].map(f64::exp),
            emu_ms: self.emu[index].map(f64::exp),
            errors: [0, 1, 2].map(|q| sim.error(index, q)),
            noise: self.noise[index],
            lantern_error: lantern.error(index, MEDIAN),
        };
        self.subjects.iter().enumerate().map(result).collect()
    }

    fn pair_results(&self) -> Vec<PairResult> {
        let result = |pair: &ProtocolPair| PairResult {
            first: self.subjects[pair.first].cell,
            second: self.subjects[pair.second].cell,
            sim: ratio(&self.sim, *pair),
            emu: ratio(&self.emu, *pair),
            lantern: ratio(&self.lantern, *pair),
        };
        self.pairs.iter().map(result).collect()
    }
}

/// True if a cell has the loads that a verdict needs.
fn is_enough(cell: &Cell, needs: &Needs) -> bool {
    let (sim, emu) = match cell.lossy {
        true => (needs.sim_lossy, needs.emu_lossy),
        false => (1, needs.emu_lossless),
    };
    cell.loads(MeasuredWorld::Sim) >= sim && cell.loads(MeasuredWorld::Emu) >= emu
}

/// True if the cells differ in protocol alone.
fn is_same_but_protocol(one: &Cell, other: &Cell) -> bool {
    let mut twin = (*one.scenario).clone();
    twin.stack.protocol = other.scenario.stack.protocol;
    one.scenario.stack.protocol != other.scenario.stack.protocol && twin == *other.scenario
}

/// The subjects that differ in protocol alone.
fn pairs(cells: &[Cell], subjects: &[JudgedCell]) -> Vec<ProtocolPair> {
    let mut pairs = Vec::new();
    for (second, other) in subjects.iter().enumerate() {
        let firsts = subjects[..second].iter().enumerate();
        let firsts =
            firsts.filter(|(_, one)| is_same_but_protocol(&cells[one.cell], &cells[other.cell]));
        pairs.extend(firsts.map(|(first, _)| ProtocolPair { first, second }));
    }
    pairs
}

#[cfg(test)]
mod tests;
