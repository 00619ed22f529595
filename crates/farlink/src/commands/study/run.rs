//! `farlink study run`: all experiments of a study into one store.

use std::time::Instant;

use lab::experiment::{Source, resolve};
use lab::runner::Ended;
use lab::store::Store;
use lab::study::{Study, StudyExperiment};
use lab::worlds::Worlds;

use crate::args::StudyRun;
use crate::commands::run::{How, carry_out, experiment_failure, tell_interrupted};
use crate::commands::{interrupt, output, stores};
use crate::failure::{ExitCode, Failure};

pub fn run(args: &StudyRun) -> Result<ExitCode, Failure> {
    let studies = args.which.studies()?;
    let worlds = crate::commands::worlds()?;
    // Declared before the store, so dropped after it.
    let _held;
    let mut store = stores::open_or_create(&args.which.store)?;
    _held = stores::hold(&args.which.store)?;
    let cancel = interrupt::flag()?;
    let how = How { again: args.again, jobs: args.jobs, cancel: &cancel };
    let begun = now();
    let mut ran = 0;
    for study in &studies {
        for (experiment, source) in study.experiments() {
            let name = format!("{}/{}", study.name, experiment.id);
            match one(args, &name, source, &mut store, &worlds, how)? {
                Some(journeys) => ran += journeys,
                None => return Ok(ExitCode::Interrupted),
            }
        }
        study
            .setup
            .experiments
            .iter()
            .try_for_each(|experiment| tell_waiting(study, experiment))?;
    }
    output::line(format!("{ran} journeys in {:.1} s", begun.elapsed().as_secs_f64()))?;
    output::line(format!("farlink study report {}", args.which.typed()))?;
    Ok(ExitCode::Success)
}

/// Runs one experiment: how many journeys that were, or none if it was interrupted. A load that fails is a result.
fn one(
    args: &StudyRun,
    name: &str,
    mut source: Source,
    store: &mut Store,
    worlds: &Worlds,
    how: How<'_>,
) -> Result<Option<u64>, Failure> {
    let refused = |error| experiment_failure(&error);
    args.which.manner().apply(&mut source).map_err(refused)?;
    let plan = resolve(&source, worlds.library()).map_err(refused)?;
    let begun = now();
    let carried = carry_out(store, &plan, &source, worlds, how)?;
    if let Ended::Interrupted { done, total } = carried.ended {
        tell_interrupted(done, total);
        return Ok(None);
    }
    let journeys = plan.journey_count() - carried.stored;
    let failed = match carried.failed {
        0 => String::new(),
        failed => format!(", {failed} with loads that failed"),
    };
    let seconds = begun.elapsed().as_secs_f64();
    let run = carried.id.0;
    output::line(format!("{name}: run {run}, {journeys} journeys in {seconds:.1} s{failed}"))?;
    Ok(Some(journeys))
}

/// What keeps an experiment from being the study's own, or from being there at all.
fn tell_waiting(study: &Study, experiment: &StudyExperiment) -> Result<(), Failure> {
    if experiment.waits_for.is_empty() {
        return Ok(());
    }
    let what = match experiment.file {
        Some(_) => "was run without",
        None => "was not run; it waits for",
    };
    let waits_for = experiment.waits_for.join(", ");
    output::line(format!("{}/{}: {what} {waits_for}", study.name, experiment.id))
}

#[expect(clippy::disallowed_methods, reason = "the command line says how long a study took")]
fn now() -> Instant {
    Instant::now()
}
