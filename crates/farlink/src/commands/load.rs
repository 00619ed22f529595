//! `farlink load`: one page, several arms, an answer.

mod json;
mod sensitivity;
mod text;
mod traces;

use std::path::Path;
use std::sync::atomic::Ordering;

use scenario::grid::{Axis, Grid, GridError, GridFault};
use scenario::settings::setting;
use scenario::{JourneyPlan, JourneyResult, Order, Plan, World, nearest};
use store::batch::Results;
use store::har_export::HarVisit;
use store::{RunFacts, RunId, Store, VisitKey};
use testbed::worlds::Worlds;

use super::budgets::Budgets;
use super::report::not_made;
use super::until::{self, LoadTimes};
use super::watched::ObservedJourneys;
use super::{files, har_text, interrupt, output, power, refused, stores, workers};
use crate::args::{How, Load};
use crate::failure::{CliError, ExitCode};
use crate::show::arms::{self, Arm};
use crate::show::terminal::wrapped;
use crate::show::units::counted;

use self::traces::Traces;

pub fn run(load: &Load) -> Result<ExitCode, CliError> {
    let traces = Traces::parse(load)?;
    let worlds = match traces.are_wanted() {
        true if traces.films() => super::worlds()?.filming(),
        true => super::worlds()?.watching(),
        false if load.report.is_some() => super::worlds()?.watching(),
        false => super::worlds()?,
    };
    let mut plan = plan(&PageLoads::of(load), &worlds)?;
    if let Some(rule) = load.until {
        plan = plan.until(rule);
    }
    for cell in plan.cells() {
        worlds.prepare(cell).map_err(refused)?;
    }
    check_blocked(load, &plan, &worlds)?;
    super::warn_of_pages(&plan, &worlds);
    if load.how.queue_sweep && load.how.settings.of("network").len() > 1 {
        return Err(CliError::bad_input("--queue-sweep varies the queue of one network")
            .hint("use a single --network".to_owned()));
    }
    if let Some(path) = &load.har {
        files::check_place(path)?;
    }
    let budgets = Budgets::of(&load.budgets, &plan)?;
    let cancel = interrupt::flag()?;
    let workers = workers(load.jobs, &plan);
    let facts = super::run::facts(None, workers);
    let emulated = plan.cells().iter().filter(|cell| cell.world == World::Emu).count();
    if emulated > 0 {
        let loads = counted(emulated * plan.repetitions() as usize, "load");
        anstream::eprintln!("emulating {loads} in real time, {workers} at once");
    }
    let mut results = store::batch::collect(&plan, &worlds, workers, &cancel);
    while !cancel.load(Ordering::Relaxed)
        && let Some(extended) = until::extended(&plan, &load_times(&results))
    {
        plan = extended;
        results = store::batch::collect_rest(&plan, results, &worlds, workers, &cancel);
    }
    let until = until::outcome(&plan, &load_times(&results));
    let (done, total) = (results.len() as u64, plan.journey_count());
    if load.json {
        json::print(&results, &worlds)?;
    }
    let kept = load.report.as_ref().filter(|_| done > 0);
    let kept =
        kept.map(|path| Ok((path, TransientRun::new(&plan, &facts, &results)?))).transpose()?;
    let arms = arms::group(&plan, results);
    if !load.json && done > 0 {
        for (number, arms) in arms::by_condition(&arms).enumerate() {
            if number > 0 {
                output::line("\n")?;
            }
            text::print(load, plan.repetitions(), arms, &worlds)?;
        }
        if let Some(outcome) = until {
            output::line(wrapped(&format!("\n{outcome}")))?;
        }
        if let Some(difference) = load.power {
            let sentence = power::sentence(&arms, difference, load.seed);
            output::line(wrapped(&format!("\n{sentence}")))?;
        }
        if let Some(sentence) = sensitivity::guesses_note(load, &plan, &worlds, &arms, &cancel)? {
            output::line(wrapped(&format!("\nnote: {sentence}")))?;
        }
    }
    if load.how.queue_sweep {
        let rows = sensitivity::queue_sweep(load, &plan, &worlds, &cancel)?;
        if !load.json {
            sensitivity::print_queue_sweep(&arms, &rows, &worlds)?;
        }
    }
    if let Some(path) = &load.har {
        write_hars(path, &arms, &worlds)?;
    }
    let watched = ObservedJourneys::new(&worlds);
    traces.write(&arms, &watched)?;
    if let Some((path, kept)) = kept {
        kept.write(path, &arms, &watched)?;
    }
    if cancel.load(Ordering::Relaxed) && done < total {
        anstream::eprintln!("interrupted after {done} of {total} loads");
        return Ok(ExitCode::Interrupted);
    }
    let judged = budgets.judge(&arms, plan.name(), load.json)?;
    Ok(match arms.iter().any(|arm| arm.failed() > 0) {
        true => ExitCode::Failed,
        false => judged,
    })
}

/// Load times by cell and place in the journey.
fn load_times(results: &Results) -> LoadTimes {
    let mut times = LoadTimes::new();
    for (journey, result) in results {
        for (visit, place) in result.visits.iter().zip(0..) {
            if let Some(plt_ns) = visit.record.plt_ns() {
                times.entry((journey.cell, place)).or_default().push(plt_ns);
            }
        }
    }
    times
}

/// Rejects blocking a host that the page does not have: a typing error, which would silently block nothing.
fn check_blocked(load: &Load, plan: &Plan, worlds: &Worlds) -> Result<(), CliError> {
    let page = worlds.library().page_of(&plan.cells()[0]).map_err(CliError::bad_input)?;
    let hosts = || page.hosts.iter().map(|host| host.name.as_str());
    let blocked = load.how.settings.of("client.block");
    let mut blocked = blocked.iter().flat_map(|hosts| hosts.split(',')).map(str::trim);
    match blocked.find(|blocked| hosts().all(|host| host != *blocked)) {
        None => Ok(()),
        Some(unknown) => {
            let hint = match nearest(unknown, hosts()) {
                Some(host) => format!("did you mean `{host}`?"),
                None => format!("`farlink pages show {}` lists its hosts", load.page),
            };
            let message = format!("--block {unknown}: the page has no such host");
            Err(CliError::bad_input(message).hint(hint))
        }
    }
}

/// Loads of a page.
pub struct PageLoads<'a> {
    /// The page.
    pub page: &'a str,
    /// The settings.
    pub how: &'a How,
    /// Number of loads of each arm.
    pub repetitions: u32,
    /// The seed.
    pub seed: u64,
}

impl PageLoads<'_> {
    fn of(load: &Load) -> PageLoads<'_> {
        let Load { page, how, repetitions, seed, .. } = load;
        PageLoads { page, how, repetitions: *repetitions, seed: *seed }
    }
}

/// The plan: the product of all settings with several values.
pub fn plan(load: &PageLoads<'_>, worlds: &Worlds) -> Result<Plan, CliError> {
    if load.seed >= 1 << 63 {
        return Err(CliError::bad_input(format!("--seed {} is too large", load.seed))
            .hint("the maximum is 9223372036854775807".to_owned()));
    }
    let axes = axes(load)?;
    let grid = Grid::of(&axes, worlds.library()).map_err(|error| refusal(&axes, error))?;
    let name = format!("{} over {}", load.page, load.how.settings.of("network").join(", "));
    let plan = Plan::new(&name, load.seed, load.repetitions, Order::Alternated, grid.cells);
    Ok(plan.without(grid.skipped))
}

/// The page, and all settings that were given.
fn axes(load: &PageLoads<'_>) -> Result<Vec<Axis>, CliError> {
    let axis =
        |key: &str, value: &str| Axis { key: key.to_owned(), values: vec![value.to_owned()] };
    let mut axes = vec![axis("page.name", load.page)];
    axes.extend(load.how.settings.axes());
    recorded_network(load, &mut axes)?;
    axes.extend(load.how.no_noise.then(|| axis("noise", "off")));
    axes.extend(load.how.block_udp.then(|| axis("stack.udp", "blocked")));
    axes.sort_by_key(|axis| scenario::grid::position(&axis.key));
    Ok(axes)
}

/// Replaces the network `recorded` by the one that the page was recorded over, with its hosts as far away as recorded.
fn recorded_network(load: &PageLoads<'_>, axes: &mut Vec<Axis>) -> Result<(), CliError> {
    const RECORDED: &str = "recorded";
    const DISTANCES: [&str; 2] = ["server.origins", "server.origin_addresses"];
    let mut any = false;
    let networks = axes.iter_mut().filter(|axis| axis.key == "network");
    for network in networks.flat_map(|axis| &mut axis.values).filter(|it| *it == RECORDED) {
        let page = testbed::fit::open(load.page).map_err(CliError::bad_input)?;
        let recorded = page.recorded_network.ok_or_else(|| {
            CliError::bad_input(format!("--network {RECORDED}: `{}` is not a recording", load.page))
                .hint(
                    "it is for HAR files with timings; `farlink networks` lists the others"
                        .to_owned(),
                )
        })?;
        *network = recorded.spec();
        any = true;
    }
    if any && !axes.iter().any(|axis| DISTANCES.contains(&axis.key.as_str())) {
        axes.push(Axis { key: DISTANCES[0].to_owned(), values: vec![RECORDED.to_owned()] });
    }
    Ok(())
}

/// The error of a grid, attributed to the option that it comes from.
fn refusal(axes: &[Axis], error: GridError) -> CliError {
    let GridError { axis, value, fault, .. } = error;
    let Axis { key, values } = &axes[axis];
    let option = setting(key).and_then(|setting| setting.option);
    let named = |message: &str| match (option, value) {
        (None, _) => message.to_owned(),
        (Some(option), Some(value)) => format!("--{option} {}: {message}", values[value]),
        (Some(option), None) => format!("--{option}: {message}"),
    };
    match fault {
        GridFault::Refused(refusal) => {
            CliError::bad_input(named(&refusal.message)).hint(refusal.hint)
        }
        GridFault::Twice => CliError::bad_input(named("the same value is given twice"))
            .hint("list each value once; -n sets the number of loads".to_owned()),
        GridFault::Empty => CliError::bad_input(named("no value is given")),
        GridFault::TooLarge(cells) => {
            CliError::bad_input(named(&format!("too many combinations: {cells}")))
        }
    }
}

/// Writes the median visit of each arm; an arm without a successful load has none.
pub fn write_hars(path: &Path, arms: &[Arm], worlds: &Worlds) -> Result<(), CliError> {
    for arm in arms {
        let Some(load) = arm.median_load() else { continue };
        let path = if arms.len() == 1 { path.to_owned() } else { files::beside(path, arm.label()) };
        let page = worlds
            .library()
            .visited(arm.scenario(), load.visit.record.page.as_deref())
            .map_err(CliError::bad_input)?;
        let visit = HarVisit {
            record: &load.visit.record,
            scenario: Some(arm.scenario()),
            seed: load.seed,
            page: Some(&page),
        };
        files::write_whole(&path, har_text(&[visit]).as_bytes())?;
    }
    Ok(())
}

/// The loads as a run, in a store that lasts only until the report is written.
pub struct TransientRun {
    store: Store,
    run: RunId,
}

impl TransientRun {
    /// Stores the results of the journeys of `plan`.
    pub fn new(
        plan: &Plan,
        facts: &RunFacts,
        results: &[(JourneyPlan, JourneyResult)],
    ) -> Result<TransientRun, CliError> {
        let mut store = Store::in_memory().map_err(stores::failed)?;
        let run = store.begin_run(plan, facts).map_err(stores::failed)?;
        for (journey, result) in results {
            store.put_journey(run, plan.keep(), journey, result).map_err(stores::failed)?;
        }
        store.finish_run(run, &super::run::now()).map_err(stores::failed)?;
        Ok(TransientRun { store, run })
    }

    /// Writes the report with the waterfall of each arm's median load.
    pub fn write(
        &self,
        path: &Path,
        arms: &[Arm],
        watched: &ObservedJourneys<'_>,
    ) -> Result<(), CliError> {
        let medians = arms.iter().filter_map(|arm| arm.median_load().or(arm.loads().first()));
        let keys = medians.map(|load| VisitKey {
            run: self.run,
            journey: load.position,
            visit: load.visit.record.index,
        });
        let observe = |scenario: &_, seed| watched.observe(scenario, seed);
        let keys: Vec<VisitKey> = keys.collect();
        let html = report::html(&self.store, self.run, &keys, &observe).map_err(not_made)?;
        files::write_whole(path, html.as_bytes())
    }
}
