//! A run that can be read: its tables, answer and report.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use scenario::Scenario;
use store::{RunId, RunRow, Store};
use testbed::tour::Observed;
use testbed::worlds::Worlds;

use crate::emulated;
use crate::failure::Failure;
use crate::run;
use crate::stores::Place;
use crate::table::Table;

/// A run in a store.
#[pyclass(frozen, module = "farlink._native")]
pub struct Run {
    place: Place,
    id: RunId,
    worlds: Arc<Worlds>,
}

impl Run {
    /// The run `id` of the store at `place`.
    pub fn new(place: Place, id: RunId, worlds: Arc<Worlds>) -> Run {
        Run { place, id, worlds }
    }

    fn row(&self) -> Result<RunRow, Failure> {
        self.place.read(|store| Ok(store.run(self.id)?))
    }
}

#[pymethods]
impl Run {
    /// Number of the run in its store.
    #[getter]
    fn id(&self) -> i64 {
        self.id.0
    }

    /// Path of the store; None if it is in memory.
    #[getter]
    fn store(&self) -> Option<PathBuf> {
        match &self.place {
            Place::File(path) => Some(path.clone()),
            Place::Memory(_) => None,
        }
    }

    /// Name of the experiment.
    #[getter]
    fn name(&self) -> Result<String, Failure> {
        Ok(self.row()?.name)
    }

    /// Digest of the results; None before the run is complete.
    #[getter]
    fn digest(&self) -> Result<Option<String>, Failure> {
        Ok(self.row()?.digest)
    }

    /// `running`, `interrupted` or `complete`.
    #[getter]
    fn state(&self) -> Result<&'static str, Failure> {
        Ok(self.row()?.state.name())
    }

    /// Journeys stored, and journeys planned.
    #[getter]
    fn journeys(&self) -> Result<(u64, u64), Failure> {
        self.place.read(|store| Ok((store.stored_count(self.id)?, store.run(self.id)?.journeys)))
    }

    /// The sentences that the run's report begins with.
    fn answer(&self, py: Python<'_>) -> Result<Vec<String>, Failure> {
        py.detach(|| self.place.read(|store| Ok(report::sentences(store, self.id)?)))
    }

    /// The table called `name`.
    fn table(&self, py: Python<'_>, name: &str) -> Result<Table, Failure> {
        py.detach(|| self.place.read(|store| Table::read(store, self.id, name)))
    }

    /// The run's report, one HTML file.
    fn report(&self, py: Python<'_>) -> Result<String, Failure> {
        let seen = Observations::default();
        py.detach(|| {
            let observe = |scenario: &Scenario, seed| seen.of(&self.worlds, scenario, seed);
            self.place.read(|store| Ok(report::html(store, self.id, &[], &observe)?))
        })
    }

    /// Copies the run into the store at `path`, which is created if there is none.
    fn save(&self, py: Python<'_>, path: PathBuf) -> Result<Run, Failure> {
        let worlds = Arc::clone(&self.worlds);
        let id = py.detach(|| self.place.read(|store| run::copy(store, self.id, &path)))?;
        Ok(Run::new(Place::File(path), id, worlds))
    }
}

/// Journeys that were observed for a report, each once.
#[derive(Default)]
struct Observations(Mutex<Vec<Arc<Observed>>>);

impl Observations {
    fn of(&self, worlds: &Worlds, scenario: &Scenario, seed: u64) -> Result<Arc<Observed>, String> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it =
            |journey: &&Arc<Observed>| journey.seed == seed && *journey.scenario == *scenario;
        if let Some(known) = seen.iter().find(is_it) {
            return Ok(Arc::clone(known));
        }
        let observed = Arc::new(worlds.observe(scenario, seed)?);
        seen.push(Arc::clone(&observed));
        Ok(observed)
    }
}

/// The run with this number, or the latest, of the store at `path`.
#[pyfunction]
#[pyo3(signature = (path, *, program, run = None))]
pub fn open(path: PathBuf, program: PathBuf, run: Option<i64>) -> Result<Run, Failure> {
    let runs = Store::open(&path)?.runs()?;
    let found = match run {
        None => runs.last(),
        Some(number) => runs.iter().find(|row| row.id.0 == number),
    };
    let Some(row) = found else {
        let numbers: Vec<String> = runs.iter().map(|row| row.id.0.to_string()).collect();
        return Err(match run {
            Some(number) => Failure::with_hint(
                format!("{} contains no run {number}", path.display()),
                format!("its runs: {}", numbers.join(", ")),
            ),
            None => Failure::refused(format!("{} contains no runs", path.display())),
        });
    };
    Ok(Run::new(Place::File(path), row.id, Arc::new(emulated::worlds(program)?)))
}

/// Copies all runs of the stores at `parts` into the one at `into`. Returns the run that came last.
#[pyfunction]
#[pyo3(signature = (into, parts, *, program))]
pub fn merge(
    py: Python<'_>,
    into: PathBuf,
    parts: Vec<PathBuf>,
    program: PathBuf,
) -> Result<Run, Failure> {
    let id = py.detach(|| run::merge(&into, &parts))?;
    let id = id.ok_or_else(|| Failure::refused("the stores contain no runs"))?;
    Ok(Run::new(Place::File(into), id, Arc::new(emulated::worlds(program)?)))
}

/// Names of all tables.
#[pyfunction]
pub fn table_names() -> Vec<&'static str> {
    crate::table::names()
}
