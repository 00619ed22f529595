//! `farlink study run`: all experiments of a study into one store.

use std::fmt;
use std::time::Instant;

use scenario::Plan;
use scenario::World;
use scenario::experiment::Source;
use store::Store;
use store::runner::RunOutcome;
use study::judge::{CauseRun, runs_for_causes};
use study::{Depth, Laboratory, RunMode, Study, StudyExperiment};
use testbed::worlds::Worlds;

use crate::args::StudyRun;
use crate::commands::run::{RunOptions, carry_out, experiment_failure, tell_interrupted};
use crate::commands::{interrupt, output, stores};
use crate::failure::{CliError, ExitCode};

pub fn run(args: &StudyRun) -> Result<ExitCode, CliError> {
    let studies = args.which.studies()?;
    let worlds = crate::commands::worlds()?;
    // Declared before the store, so dropped after it.
    let _held;
    let mut store = stores::open_or_create(&args.which.store)?;
    _held = stores::hold(&args.which.store)?;
    let cancel = interrupt::flag()?;
    let how = RunOptions { again: args.again, jobs: args.jobs, cancel: &cancel };
    let begun = now();
    let mut ran = 0;
    for study in &studies {
        if args.which.world == World::Emu {
            match super::emulated::run(args, study, &mut store, &worlds, how)? {
                Some(journeys) => ran += journeys,
                None => return Ok(ExitCode::Interrupted),
            }
            continue;
        }
        for place in places(args, study)? {
            match one(place, &mut store, &worlds, how)? {
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

/// The experiments of a study to run, and their laboratories: by default the study's own.
fn places<'a>(args: &StudyRun, study: &'a Study) -> Result<Vec<Place<'a>>, CliError> {
    let mode = args.which.mode();
    let all = |laboratory, mode| {
        let experiments = study.experiments();
        experiments.map(move |(experiment, source)| Place {
            study,
            experiment,
            source,
            laboratory,
            mode,
        })
    };
    if args.causes {
        let runs = runs_for_causes(study).map_err(super::refused)?;
        let of_run = |run: CauseRun| {
            let depth = run.loads.map_or(mode.depth, Depth::Loads);
            let places = all(run.laboratory, RunMode { depth, ..mode });
            places.filter(move |place| run.experiments.contains(&place.experiment.id))
        };
        return Ok(runs.into_iter().flat_map(of_run).collect());
    }
    let laboratories: Vec<Laboratory> = match args.laboratory.as_slice() {
        [] => vec![Laboratory::AsPublished],
        said => said.iter().flat_map(|some| some.0.iter().copied()).collect(),
    };
    Ok(laboratories.into_iter().flat_map(|laboratory| all(laboratory, mode)).collect())
}

/// An experiment with its laboratory and number of repetitions.
struct Place<'a> {
    study: &'a Study,
    experiment: &'a StudyExperiment,
    source: Source,
    laboratory: Laboratory,
    mode: RunMode,
}

impl Place<'_> {
    fn is_of_interest(&self) -> bool {
        self.laboratory == Laboratory::AsPublished || self.experiment.is_varied()
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.study.name, self.experiment.id)?;
        match self.laboratory {
            Laboratory::AsPublished => {}
            other => write!(f, " [{other}]")?,
        }
        match self.mode.depth {
            depth @ Depth::Loads(_) => write!(f, " {depth}"),
            _ => Ok(()),
        }
    }
}

/// Runs one experiment; returns the number of journeys, or none if interrupted. A load that fails is a result.
fn one(
    place: Place<'_>,
    store: &mut Store,
    worlds: &Worlds,
    how: RunOptions<'_>,
) -> Result<Option<u64>, CliError> {
    if !place.is_of_interest() {
        return Ok(Some(0));
    }
    let refused = |error| experiment_failure(&error);
    let (source, published) =
        place.mode.plan(place.source.clone(), worlds.library()).map_err(refused)?;
    let plan = place.laboratory.plan(&published);
    if place.laboratory != Laboratory::AsPublished && plan.cells() == published.cells() {
        output::line(format!("{place}: nothing is to be run, it is as in the study's laboratory"))?;
        return Ok(Some(0));
    }
    carry(&place.to_string(), &plan, &source, store, worlds, how)
}

/// Carries out an experiment's plan; returns the number of journeys, or none if interrupted.
pub(super) fn carry(
    place: &str,
    plan: &Plan,
    source: &Source,
    store: &mut Store,
    worlds: &Worlds,
    how: RunOptions<'_>,
) -> Result<Option<u64>, CliError> {
    let begun = now();
    let carried = carry_out(store, plan, source, worlds, how)?;
    if let RunOutcome::Interrupted { done, total } = carried.ended {
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
    output::line(format!("{place}: run {run}, {journeys} journeys in {seconds:.1} s{failed}"))?;
    Ok(Some(journeys))
}

/// Reports why an experiment is not the study's own, or was not run at all.
fn tell_waiting(study: &Study, experiment: &StudyExperiment) -> Result<(), CliError> {
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
