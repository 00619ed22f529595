//! The part of a study that is small enough for the kernel's TCP, in real time: its **reduced grid**.
//!
//! A study names a TCP of its own time, takes hours of page loads, and waits minutes between visits.
//! `emulated.toml` states the part taken of each of its experiments, as assignments that narrow their axes
//! (those of `--set`), and the laboratory in which it is run: one whose TCP a kernel has. The same grid can be
//! run in either world, so that verdicts differ by the world alone.
//!
//! The file is not part of the set-up: it cannot change what the study is judged by.

use serde::Deserialize;

use super::{Laboratory, RunMode, Study, StudyError};
use scenario::Plan;
use scenario::experiment::{Catalogue, ExperimentError, Source};
use scenario::{Recording, Scenario};

/// The name of the file.
const FILE: &str = "emulated.toml";

/// The part taken of a study.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReducedGrid {
    format: u32,
    /// Repetitions of each cell, by default.
    pub repetitions: u32,
    /// The laboratory.
    pub laboratory: Laboratory,
    #[serde(rename = "experiment")]
    portions: Vec<GridPortion>,
}

/// The part taken of an experiment.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct GridPortion {
    id: String,
    /// Assignments that differ from its file: `network.rtt=["50ms", "300ms"]`.
    #[serde(default)]
    set: Vec<String>,
}

/// The part taken of an experiment, ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct ReducedExperiment {
    /// The experiment's name within the study.
    pub id: String,
    /// The text to run.
    pub source: Source,
    /// The cells as in the study, by which loads are judged.
    pub published: Plan,
    /// The cells as run, in the grid's laboratory.
    pub plan: Plan,
}

impl ReducedGrid {
    /// The reduced grid of `study`, from its folder.
    ///
    /// # Errors
    /// A missing file, an unknown experiment, or an invalid value.
    pub fn of_study(study: &Study) -> Result<ReducedGrid, StudyError> {
        let grid: ReducedGrid = study.parsed(FILE, |grid: &ReducedGrid| grid.format)?;
        let is_written = |id: &str| study.experiments().any(|(experiment, _)| experiment.id == id);
        match grid.portions.iter().find(|portion| !is_written(&portion.id)) {
            None => Ok(grid),
            Some(portion) => {
                let why = "the study has no such experiment, or it is not written";
                Err(study.wrong(FILE, &portion.id, "id", why.to_owned()))
            }
        }
    }

    /// Its experiments in this mode.
    ///
    /// # Errors
    /// An assignment that does not leave a valid experiment.
    pub fn experiments(
        &self,
        study: &Study,
        mode: RunMode,
        catalogue: &dyn Catalogue,
    ) -> Result<Vec<ReducedExperiment>, ExperimentError> {
        let of_grid = study.experiments().filter_map(|(experiment, source)| {
            let portion = self.portions.iter().find(|portion| portion.id == experiment.id)?;
            Some((portion, source))
        });
        of_grid.map(|(portion, source)| self.experiment(portion, source, mode, catalogue)).collect()
    }

    fn experiment(
        &self,
        portion: &GridPortion,
        mut source: Source,
        mode: RunMode,
        catalogue: &dyn Catalogue,
    ) -> Result<ReducedExperiment, ExperimentError> {
        source.set(&format!("repetitions={}", self.repetitions))?;
        portion.set.iter().try_for_each(|assignment| source.set(assignment))?;
        let (source, published) = mode.plan(source, catalogue)?;
        let plan = self.laboratory.plan(&published.mapped(unrecorded));
        Ok(ReducedExperiment { id: portion.id.clone(), source, published, plan })
    }
}

/// The same scenario without recorded time series, which only the simulated world has: claims that need them
/// are covered in neither.
fn unrecorded(scenario: &Scenario) -> Scenario {
    Scenario { record: Recording::default(), ..scenario.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Depth, NAMES, shipped};
    use scenario::World;
    use testbed::tour::Library;

    const EMULATED: RunMode = RunMode { depth: Depth::Usual, world: World::Emu };

    fn experiments(study: &Study, mode: RunMode) -> Vec<ReducedExperiment> {
        let grid = ReducedGrid::of_study(study).unwrap_or_else(|error| panic!("{error}"));
        let experiments = grid.experiments(study, mode, &Library::default());
        experiments.unwrap_or_else(|error| panic!("{}: {error}", study.name))
    }

    #[test]
    fn every_study_has_ten_cells_that_a_kernel_can_carry() {
        for study in NAMES.map(|name| shipped(name).unwrap()) {
            let cells = experiments(&study, EMULATED).into_iter();
            let cells: Vec<_> = cells.flat_map(|it| it.plan.cells().to_vec()).collect();
            assert!(cells.len() >= 10, "{}: {} cells", study.name, cells.len());
            for cell in cells {
                assert_eq!(cell.world, World::Emu);
                for tcp in [&cell.transport.server, &cell.transport.client] {
                    let settings = kernel::KernelKnobs::for_config(tcp.config());
                    settings.unwrap_or_else(|error| panic!("{}: {tcp}: {error}", study.name));
                }
            }
        }
    }

    #[test]
    fn the_worlds_have_the_same_cells() {
        let study = shipped("petuchowski2015").unwrap();
        let simulated = experiments(&study, RunMode { world: World::Sim, ..EMULATED });
        for (simulated, emulated) in simulated.iter().zip(experiments(&study, EMULATED)) {
            assert_eq!(simulated.plan.cells().len(), emulated.plan.cells().len());
            for (one, other) in simulated.plan.cells().iter().zip(emulated.plan.cells()) {
                let there = Scenario { world: World::Emu, ..Scenario::clone(one) };
                assert_eq!(there, **other);
            }
            let is_newer = |plan: &Plan| {
                plan.cells().iter().all(|cell| cell.transport.server.to_string() == "linux-6")
            };
            assert!(is_newer(&emulated.plan) && !is_newer(&emulated.published));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let mut study = shipped("bth2013").unwrap();
        let mut refused = |text: &str| {
            study.files.insert(FILE.to_owned(), text.to_owned());
            ReducedGrid::of_study(&study).unwrap_err().to_string()
        };
        let head = "format = 1\nrepetitions = 5\nlaboratory = \"tcp-linux-6\"\n";
        let nothing = refused(&format!("{head}[[experiment]]\nid = \"rtt-htp\"\n"));
        let why = "the study has no such experiment, or it is not written";
        assert_eq!(nothing, format!("bth2013/emulated.toml: `rtt-htp`: id: {why}"));
        let unknown = refused(&format!("{head}cells = 3\n[[experiment]]\nid = \"rtt-http\"\n"));
        assert!(unknown.contains("unknown field `cells`"), "{unknown}");
    }
}
