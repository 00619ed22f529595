//! `farlink run --plan`: what an experiment would take, from a sample of its journeys. Nothing is stored.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use scenario::{Execute, Plan, World};
use store::Store;
use testbed::worlds::Worlds;

use crate::args::Run;
use crate::commands::{output, stores, workers};
use crate::failure::{CliError, ExitCode};
use crate::show::terminal::wrapped;
use crate::show::units::{bytes, counted, span};

/// Most cells whose first journeys are run for the estimate; one if a journey takes real time.
const SAMPLE: usize = 8;

/// Prints the size of the experiment, and estimates of its time and of the store.
pub fn print(run: &Run, plan: &Plan, worlds: &Worlds) -> Result<ExitCode, CliError> {
    let (cells, journeys) = (plan.cells().len(), plan.journey_count());
    let visits: u64 =
        plan.cells().iter().map(|cell| u64::from(cell.visits_each() * cell.clients.count)).sum();
    let visits = visits * u64::from(plan.repetitions());
    output::line(format!("experiment  {}", plan.name()))?;
    output::line(format!(
        "size        {}, {}: {}, {}",
        counted(cells, "cell"),
        counted(plan.repetitions() as usize, "repetition"),
        counted(journeys as usize, "journey"),
        counted(visits as usize, "visit"),
    ))?;
    if let Some(rule) = plan.stop_rule() {
        output::line(wrapped(&format!(
            "until       intervals of median load times are {} % wide: at most {} repetitions; size, time and store are those of the first {}",
            f64::from(rule.width_ppm) / 1e4,
            rule.most,
            plan.repetitions(),
        )))?;
    }
    for skipped in plan.skipped() {
        output::line(wrapped(&format!("skipped     {}", skipped.sentence())))?;
    }
    let sample = Sample::of(plan, worlds)?;
    let workers = workers(run.jobs, plan);
    let specs: BTreeSet<&str> = plan.cells().iter().map(|cell| cell.page.spec.as_str()).collect();
    let preparation = sample.preparation.mul_f64(specs.len() as f64 / sample.pages as f64);
    let loads = sample.time.mul_f64(journeys as f64 / sample.journeys as f64);
    let time = (preparation + loads).div_f64(workers as f64);
    let size = sample.bytes as f64 * journeys as f64 / sample.journeys as f64;
    output::line(format!("time        about {} with {}", long(time), counted(workers, "worker")))?;
    output::line(format!("store       about {}", bytes(size)))?;
    output::line(wrapped(&format!(
        "Estimated from {} of {}, which took {}. Nothing was stored.",
        counted(sample.journeys, "journey"),
        counted(sample.journeys, "cell"),
        span((sample.preparation + sample.time).as_nanos() as u64),
    )))?;
    Ok(ExitCode::Success)
}

/// A time that may be hours: "5.1 h", "12 min", "3.2 s".
fn long(time: Duration) -> String {
    match time.as_secs() {
        0..120 => span(time.as_nanos() as u64),
        120..7_200 => format!("{:.0} min", time.as_secs_f64() / 60.0),
        _ => format!("{:.1} h", time.as_secs_f64() / 3_600.0),
    }
}

/// Journeys that were run for an estimate.
struct Sample {
    journeys: usize,
    time: Duration,
    /// Pages that were prepared, and the time that took.
    pages: usize,
    preparation: Duration,
    /// Size of their rows in a store.
    bytes: u64,
}

impl Sample {
    /// Runs the first journey of some cells, evenly chosen.
    #[expect(clippy::disallowed_methods, reason = "it measures how long journeys take here")]
    fn of(plan: &Plan, worlds: &Worlds) -> Result<Sample, CliError> {
        let is_real = plan.cells().iter().any(|cell| cell.world == World::Emu);
        let cells = plan.cells().len();
        let journeys = if is_real { 1 } else { SAMPLE.min(cells) };
        let folder = tempfile::tempdir().map_err(CliError::machine)?;
        let path = folder.path().join("sample.sqlite");
        let mut store = Store::create(&path).map_err(stores::failed)?;
        let id = store.begin_run(plan, &super::facts(None, 1)).map_err(stores::failed)?;
        // A store that is closed has its journal in the file.
        drop(store);
        let size = || path.metadata().map(|data| data.len()).unwrap_or_default();
        let (empty, mut time) = (size(), Duration::ZERO);
        let (mut pages, mut preparation) = (BTreeSet::new(), Duration::ZERO);
        let mut store = Store::open(&path).map_err(stores::failed)?;
        for at in 0..journeys {
            let journey = plan.journey(plan.position(at * cells / journeys, 0));
            let began = Instant::now();
            // A page that cannot be read fails its journeys quickly.
            let _ = worlds.library().page_of(&journey.scenario);
            preparation += began.elapsed();
            pages.insert(journey.scenario.page.spec.clone());
            let began = Instant::now();
            let result = worlds.execute(&journey);
            time += began.elapsed();
            store.put_journey(id, plan.keep(), &journey, &result).map_err(stores::failed)?;
        }
        drop(store);
        let (bytes, pages) = (size().saturating_sub(empty), pages.len());
        Ok(Sample { journeys, time, pages, preparation, bytes })
    }
}
