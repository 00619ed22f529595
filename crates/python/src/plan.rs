//! Plans: loads of a page, or an experiment, checked before anything is simulated.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use scenario::experiment::{Catalogue, Source, resolve};
use scenario::grid::{Axis, Grid};
use scenario::{NetworkSpec, Order, Program, Shard, StopRule, World, nearest};
use testbed::tour::Library;
use testbed::worlds::Worlds;

use crate::emulated;
use crate::failure::Failure;
use crate::results::Run;
use crate::run::{self, Task};
use crate::settings::{self, Given, NamedAxis};

/// Scenarios times repetitions, ready to be run.
#[pyclass(frozen, module = "farlink._native")]
pub struct Plan {
    plan: scenario::Plan,
    text: Option<String>,
    worlds: Arc<Worlds>,
}

#[pymethods]
impl Plan {
    /// Loads of a page: the product of all settings with several values.
    #[staticmethod]
    #[pyo3(signature = (page, given, *, loads, seed, program, until = None))]
    fn of_load(
        py: Python<'_>,
        page: String,
        given: Vec<Given>,
        loads: u32,
        seed: u64,
        program: PathBuf,
        until: Option<String>,
    ) -> Result<Plan, Failure> {
        let worlds = emulated::worlds(program)?;
        let request = LoadRequest { page, given, loads, seed };
        // Pages are read, and recorded ones are fitted to their network.
        let plan = py.detach(|| request.plan(&worlds))?;
        let plan = match until {
            None => plan,
            Some(width) => plan.until(StopRule::parse(&width, None, None).ok_or_else(|| {
                Failure::refused(format!("until={width:?}: expected {}", StopRule::EXPECTED))
            })?),
        };
        Ok(Plan { plan, text: None, worlds: Arc::new(worlds) })
    }

    /// An experiment from the text of a file called `name`, with keys set anew: `network.rtt="600ms"`.
    #[staticmethod]
    #[pyo3(signature = (text, *, name, overrides, program))]
    fn of_experiment(
        py: Python<'_>,
        text: String,
        name: String,
        overrides: Vec<(String, String)>,
        program: PathBuf,
    ) -> Result<Plan, Failure> {
        let mut source =
            Source::new(name, text).with_includes(&|path| std::fs::read_to_string(path))?;
        for (name, value) in overrides {
            let key = settings::key_of(&name).unwrap_or_else(|| name.replace("__", "."));
            source.set(&format!("{key}={value}"))?;
        }
        let worlds = emulated::worlds(program)?;
        let plan = py.detach(|| resolve(&source, worlds.library()))?;
        Ok(Plan { plan, text: Some(source.flat()), worlds: Arc::new(worlds) })
    }

    /// Runs what `store` does not hold yet. `progress(done, total, failed)` is called some times a second.
    #[pyo3(signature = (*, store = None, workers = None, shard = None, again = false, progress = None))]
    fn run(
        &self,
        py: Python<'_>,
        store: Option<PathBuf>,
        workers: Option<NonZeroUsize>,
        shard: Option<&str>,
        again: bool,
        progress: Option<Py<PyAny>>,
    ) -> Result<Run, Failure> {
        let shard = shard.map(|text| text.parse::<Shard>()).transpose();
        let shard = shard.map_err(|error| Failure::refused(format!("shard: {error}")))?;
        if shard.is_some() && self.plan.stop_rule().is_some() {
            let message = "a stop rule looks at the loads of all shards together";
            return Err(Failure::with_hint(message, "give `repetitions` instead of `until`"));
        }
        let task = Task {
            plan: self.plan.clone().sharded(shard),
            text: self.text.clone(),
            worlds: Arc::clone(&self.worlds),
            workers: self.workers(workers),
            again,
        };
        run::run(py, task, store, progress)
    }

    /// Name of the plan.
    #[getter]
    fn name(&self) -> &str {
        self.plan.name()
    }

    /// Digest of what is measured, by which runs belong together.
    #[getter]
    fn digest(&self) -> String {
        self.plan.digest()
    }

    /// Text of the experiment file as it is run, with included files and overrides; empty if there is none.
    #[getter]
    fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Numbers of the shards, of so many, that have journeys which the store lacks; all if there is no store.
    fn shards_left(&self, py: Python<'_>, of: u32, store: PathBuf) -> Result<Vec<u32>, Failure> {
        if of == 0 {
            return Err(Failure::refused("there is at least one shard"));
        }
        py.detach(|| {
            let stored = run::stored_positions(&self.plan, &store)?;
            let lacking = self.plan.positions_in_shards(of).filter(|(it, _)| !stored.contains(it));
            let numbers: BTreeSet<u32> = lacking.map(|(_, number)| number).collect();
            Ok(numbers.into_iter().collect())
        })
    }

    /// Numbers of journeys of the shards, of so many.
    fn journeys_of_shards(&self, of: u32) -> Result<Vec<u64>, Failure> {
        let mut journeys = vec![0; of as usize];
        if of == 0 {
            return Err(Failure::refused("there is at least one shard"));
        }
        for (_, number) in self.plan.positions_in_shards(of) {
            journeys[number as usize - 1] += 1;
        }
        Ok(journeys)
    }

    /// Number of journeys.
    #[getter]
    fn journeys(&self) -> u64 {
        self.plan.journey_count()
    }

    /// Number of scenarios.
    #[getter]
    fn scenarios(&self) -> usize {
        self.plan.cells().len()
    }

    /// Sentences on combinations that are left out because no world can run them.
    #[getter]
    fn left_out(&self) -> Vec<String> {
        self.plan.skipped().iter().map(scenario::grid::Skipped::sentence).collect()
    }

    /// True if the number of repetitions depends on their scatter.
    #[getter]
    fn has_stop_rule(&self) -> bool {
        self.plan.stop_rule().is_some()
    }

    /// True if journeys take real time.
    #[getter]
    fn is_emulated(&self) -> bool {
        self.plan.cells().iter().any(|cell| cell.world == World::Emu)
    }

    /// Reasons to distrust the pages, each once. Of more than 64 pages none is opened for it.
    fn cautions(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| cautions(&self.plan, &self.worlds))
    }
}

impl Plan {
    /// One journey per core at a time; one for real browsers, which disturb each other most.
    fn workers(&self, asked: Option<NonZeroUsize>) -> usize {
        let is_browser = |cell: &Arc<_>| is_chromium(cell);
        match asked {
            Some(workers) => workers.get(),
            None if self.plan.cells().iter().any(is_browser) => 1,
            None => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
        }
    }
}

fn is_chromium(cell: &scenario::Scenario) -> bool {
    cell.client.program == Program::Chromium
}

/// Most pages that are opened for their cautions, as `farlink run` does.
const MOST_PAGES: usize = 64;

fn cautions(plan: &scenario::Plan, worlds: &Worlds) -> Vec<String> {
    let specs: BTreeSet<&str> = plan.cells().iter().map(|cell| cell.page.spec.as_str()).collect();
    if specs.len() > MOST_PAGES {
        return Vec::new();
    }
    let mut seen = BTreeSet::new();
    let firsts = plan.cells().iter().filter(|cell| seen.insert(cell.page.spec.clone()));
    // A page that a pattern found may be unreadable; its journeys say so.
    let pages = firsts.filter_map(|cell| worlds.library().page_of(cell).ok());
    let of_page = |page: Arc<page::Page>| {
        let told = |caution| format!("{}: {caution}", page.name);
        page.cautions.iter().map(told).collect::<Vec<_>>()
    };
    pages.flat_map(of_page).collect()
}

/// The arguments of `farlink.load`.
struct LoadRequest {
    page: String,
    given: Vec<Given>,
    loads: u32,
    seed: u64,
}

impl LoadRequest {
    fn plan(&self, worlds: &Worlds) -> Result<scenario::Plan, Failure> {
        if self.seed >= 1 << 63 {
            let message = format!("seed={} is too large", self.seed);
            return Err(Failure::with_hint(message, "the maximum is 9223372036854775807"));
        }
        if self.loads == 0 {
            return Err(Failure::refused("loads=0: a page is loaded once or more"));
        }
        let mut given = self.given.clone();
        self.place_as_recorded(&mut given)?;
        let mut axes = settings::axes(given)?;
        let page = Axis { key: "page.name".to_owned(), values: vec![self.page.clone()] };
        axes.insert(0, NamedAxis { name: "page".to_owned(), axis: page });
        axes.sort_by_key(|it| scenario::grid::position(&it.axis.key));
        let plain: Vec<Axis> = axes.iter().map(|it| it.axis.clone()).collect();
        let grid = Grid::of(&plain, worlds.library());
        let grid = grid.map_err(|error| settings::refusal(&axes, error))?;
        for cell in &grid.cells {
            worlds.prepare(cell)?;
        }
        let plan =
            scenario::Plan::new(self.name(), self.seed, self.loads, Order::Alternated, grid.cells);
        let plan = plan.without(grid.skipped);
        check_blocked(&plan, worlds)?;
        Ok(plan)
    }

    fn name(&self) -> String {
        let networks = self.given.iter().filter(|(name, _)| name == "network");
        let networks: Vec<&str> =
            networks.flat_map(|(_, values)| values).map(String::as_str).collect();
        format!("{} over {}", self.page, networks.join(", "))
    }

    /// Replaces the network `recorded` by the one that the page was recorded over, with its hosts as far away.
    fn place_as_recorded(&self, given: &mut Vec<Given>) -> Result<(), Failure> {
        const RECORDED: &str = "recorded";
        let mut any = false;
        let networks = given.iter_mut().filter(|(name, _)| name == "network");
        for network in networks.flat_map(|(_, values)| values).filter(|it| *it == RECORDED) {
            let page = testbed::fit::open(&self.page)
                .map_err(|error| Failure::refused(error.to_string()))?;
            let recorded = page.recorded_network.ok_or_else(|| {
                let message = format!("network=\"{RECORDED}\": `{}` is not a recording", self.page);
                Failure::with_hint(message, "it is for HAR files with timings")
            })?;
            *network = recorded.spec();
            any = true;
        }
        let is_distance = |name: &str| ["origins", "origin_addresses"].contains(&name);
        if any && !given.iter().any(|(name, _)| is_distance(name)) {
            given.push(("origins".to_owned(), vec![RECORDED.to_owned()]));
        }
        Ok(())
    }
}

/// Rejects blocking a host that the page does not have: a typing error, which would silently block nothing.
fn check_blocked(plan: &scenario::Plan, worlds: &Worlds) -> Result<(), Failure> {
    for cell in plan.cells().iter().filter(|cell| !cell.client.blocked_hosts.is_empty()) {
        let page = worlds.library().page_of(cell).map_err(Failure::refused)?;
        let hosts = || page.hosts.iter().map(|host| host.name.as_str());
        let unknown =
            cell.client.blocked_hosts.iter().find(|block| hosts().all(|host| host != *block));
        if let Some(unknown) = unknown {
            let message = format!("block={unknown:?}: the page has no such host");
            let hint = nearest(unknown, hosts()).map(|host| format!("did you mean `{host}`?"));
            return Err(Failure::Refused { message, hint });
        }
    }
    Ok(())
}

/// Checks a network's text; returns the text that stands for it in tables.
#[pyfunction]
pub fn check_network(text: &str) -> Result<String, Failure> {
    let spec = NetworkSpec::parse(text).map_err(|error| Failure::refused(error.to_string()))?;
    Catalogue::network(&Library::default(), &spec)?;
    Ok(spec.to_string())
}

/// Checks a page by name or path; returns the number of its objects and their size in bytes.
#[pyfunction]
pub fn check_page(py: Python<'_>, spec: &str) -> Result<(usize, u64), Failure> {
    let page =
        py.detach(|| page::open(spec)).map_err(|error| Failure::refused(error.to_string()))?;
    Ok((page.objects.len(), page.objects.iter().map(|object| object.body_bytes).sum()))
}

/// Bytes of a size as people write it: `30KB`, `10KiB`.
#[pyfunction]
pub fn size_bytes(text: &str) -> Result<u64, Failure> {
    units::parse::size_bytes(text).map_err(|error| Failure::refused(error.to_string()))
}

/// Nanoseconds of a time as people write it: `20ms`.
#[pyfunction]
pub fn duration_ns(text: &str) -> Result<u64, Failure> {
    let time = units::parse::duration(text).map_err(|error| Failure::refused(error.to_string()))?;
    u64::try_from(time.as_nanos()).map_err(|_| Failure::refused(format!("`{text}` is too long")))
}
