//! `farlink run`: an experiment from a file, over all cores, into a store.

mod estimate;
pub(super) mod live;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use scenario::experiment::{ExperimentError, Source, resolve};
use scenario::{Plan, Shard};
use store::runner::{self, RunOutcome};
use store::{RunFacts, RunId, RunState, Store};
use testbed::worlds::Worlds;

use self::live::LiveAnswer;
use super::budgets::Budgets;
use super::{interrupt, output, power, shell, stores, until, workers};
use crate::args::Run;
use crate::failure::{CliError, ExitCode};
use crate::show::terminal::wrapped;

pub fn run(run: &Run) -> Result<ExitCode, CliError> {
    let source = read(run)?;
    let worlds = super::worlds()?;
    let plan = resolve(&source, worlds.library()).map_err(|error| experiment_failure(&error))?;
    let plan = sharded(plan, run.shard)?;
    super::warn_of_pages(&plan, &worlds);
    if run.plan {
        return estimate::print(run, &plan, &worlds);
    }
    let budgets = Budgets::of(&run.budgets, &plan)?;
    if run.shard.is_some() && (!budgets.is_empty() || run.power.is_some()) {
        let message = "--shard: budgets and --power look at the loads of all shards together";
        return Err(CliError::bad_input(message.to_owned())
            .hint("give them to `farlink run` over the merged store".to_owned()));
    }
    // Declared before the store, so dropped after it.
    let _held;
    let mut store = stores::open_or_create(&run.store)?;
    _held = stores::hold(&run.store)?;
    let cancel = interrupt::flag()?;
    let how = RunOptions { again: run.again, jobs: run.jobs, cancel: &cancel };
    let carried = carry_out(&mut store, &plan, &source, &worlds, how)?;
    match carried.ended {
        RunOutcome::Complete if is_part(&store, &carried)? => tell_shard(run, &store, &carried),
        RunOutcome::Complete => {
            super::report::print_answer(&store, carried.id, &carried.plan)?;
            let completed = tell_complete(run, &store, &carried)?;
            if budgets.is_empty() && run.power.is_none() {
                return Ok(completed);
            }
            let arms = super::report::arms_of(&store, carried.id, &carried.plan)?;
            if let Some(difference) = run.power {
                output::line(wrapped(&power::sentence(&arms, difference, plan.seed())))?;
            }
            if budgets.is_empty() {
                return Ok(completed);
            }
            let judged = budgets.judge(&arms, plan.name(), false)?;
            Ok(if completed == ExitCode::Success { judged } else { completed })
        }
        RunOutcome::Interrupted { done, total } => {
            tell_interrupted(done, total);
            Ok(ExitCode::Interrupted)
        }
    }
}

/// Options for carrying out a plan.
#[derive(Clone, Copy)]
pub(super) struct RunOptions<'a> {
    /// Run even if the store holds a complete run of the plan.
    pub again: bool,
    /// Concurrent journeys; `None` chooses a number that suits the plan.
    pub jobs: Option<NonZeroUsize>,
    /// Set to cancel the run.
    pub cancel: &'a AtomicBool,
}

/// A plan that was carried out, possibly in part.
pub(super) struct CompletedRun {
    /// Its run.
    pub id: RunId,
    /// The plan, with the repetitions that a stop rule has added.
    pub plan: Plan,
    /// The way it ended.
    pub ended: RunOutcome,
    /// Journeys of this attempt that failed.
    pub failed: u64,
    /// Journeys that were stored before.
    pub stored: u64,
}

/// Executes the part of `plan` that `store` does not hold yet, and reports it.
pub(super) fn carry_out(
    store: &mut Store,
    plan: &Plan,
    source: &Source,
    worlds: &Worlds,
    how: RunOptions<'_>,
) -> Result<CompletedRun, CliError> {
    let workers = workers(how.jobs, plan);
    let facts = facts(Some(&source.flat()), workers);
    let begun = store.one_by_one(&plan.digest(), |store| begin(how.again, store, plan, &facts));
    let id = match begun.map_err(stores::failed)?? {
        StartedRun::Already(id) => {
            let plan = repeated(plan, store, id)?;
            let stored = plan.journey_count();
            return Ok(CompletedRun { id, plan, ended: RunOutcome::Complete, failed: 0, stored });
        }
        StartedRun::ToDo(id) => id,
    };
    let stored = store.stored_count(id).map_err(stores::failed)?;
    let mut plan = repeated(plan, store, id)?;
    let bar = progress_bar(plan.own_journey_count());
    let mut live = LiveAnswer::of(&plan);
    let mut failed = 0;
    let ended = loop {
        bar.set_length(plan.own_journey_count());
        let mut failed_now = 0;
        let ended = runner::run(store, id, &plan, worlds, workers, how.cancel, &mut |progress| {
            failed_now = progress.failed;
            bar.set_position(progress.done);
            if let Some((journey, result)) = progress.last {
                live.take(journey, result);
                if let Some(answer) = live.look(bar.elapsed()) {
                    bar.set_message(answer);
                }
            }
        });
        let ended = ended.map_err(stores::failed)?;
        failed += failed_now;
        if ended != RunOutcome::Complete || plan.stop_rule().is_none() {
            break ended;
        }
        let Some(extended) = until::extended(&plan, &store.load_times(id).map_err(stores::failed)?)
        else {
            break ended;
        };
        plan = extended;
        store.extend_run(id, &plan).map_err(stores::failed)?;
    };
    bar.finish_and_clear();
    store.finish_run(id, &now()).map_err(stores::failed)?;
    Ok(CompletedRun { id, plan, ended, failed, stored })
}

/// The plan with the repetitions that its run has by now.
fn repeated(plan: &Plan, store: &Store, run: RunId) -> Result<Plan, CliError> {
    Ok(plan.clone().repeated(store.run(run).map_err(stores::failed)?.repetitions))
}

pub(super) fn tell_interrupted(done: u64, total: u64) {
    anstream::eprintln!(
        "interrupted after {done} of {total} journeys; run the same command to resume"
    );
}

/// The plan, of which this process runs a shard.
fn sharded(plan: Plan, shard: Option<Shard>) -> Result<Plan, CliError> {
    if shard.is_some() && plan.stop_rule().is_some() {
        let message = "--shard: a stop rule looks at the loads of all shards together";
        return Err(CliError::bad_input(message.to_owned())
            .hint("give `repetitions` instead of `until`".to_owned()));
    }
    Ok(plan.sharded(shard))
}

/// Returns true if the store has a part of the run's journeys, and other shards have the others.
fn is_part(store: &Store, carried: &CompletedRun) -> Result<bool, CliError> {
    let state = store.run(carried.id).map_err(stores::failed)?.state;
    Ok(carried.plan.shard().is_some() && state != RunState::Complete)
}

fn tell_shard(run: &Run, store: &Store, carried: &CompletedRun) -> Result<ExitCode, CliError> {
    let stored = store.stored_count(carried.id).map_err(stores::failed)?;
    if let Some(shard) = carried.plan.shard() {
        anstream::eprintln!(
            "shard {shard} of run {} complete: {stored} of {} journeys stored",
            carried.id.0,
            carried.plan.journey_count()
        );
    }
    // The shards of a server meet in one run.
    if !store.is_shared() {
        let path = shell::quote(&run.store.to_string_lossy());
        output::line(format!("farlink merge {path} OTHERS... --into whole.sqlite"))?;
    }
    if carried.failed > 0 {
        anstream::eprintln!("{} journeys failed; the report says why", carried.failed);
        return Ok(ExitCode::Failed);
    }
    Ok(ExitCode::Success)
}

fn read(run: &Run) -> Result<Source, CliError> {
    let path = &run.experiment;
    let text = std::fs::read_to_string(path).map_err(|error| {
        CliError::bad_input(format!("cannot read the experiment {}: {error}", path.display()))
            .hint("docs/experiment.md describes the format; examples/ has some".to_owned())
    })?;
    if is_har(path, &text) {
        let message = format!("{} is a HAR, not an experiment", path.display());
        return Err(
            CliError::bad_input(message).hint(format!("load it: farlink load {}", path.display()))
        );
    }
    let source = Source::new(path.display().to_string(), text);
    let mut source = source
        .with_includes(&|path| std::fs::read_to_string(path))
        .map_err(|error| experiment_failure(&error))?;
    for assignment in &run.set {
        source.set(assignment).map_err(|error| experiment_failure(&error))?;
    }
    Ok(source)
}

/// Returns true if a HAR was named instead of an experiment.
fn is_har(path: &Path, text: &str) -> bool {
    let name = path.to_string_lossy();
    name.ends_with(".har") || name.ends_with(".har.gz") || text.trim_start().starts_with('{')
}

pub(super) fn experiment_failure(error: &ExperimentError) -> CliError {
    CliError::bad_input(error).hint(error.hint())
}

/// The run of an experiment in a store.
enum StartedRun {
    /// Complete from before.
    Already(RunId),
    /// New, or interrupted.
    ToDo(RunId),
}

fn begin(
    again: bool,
    store: &mut Store,
    plan: &Plan,
    facts: &RunFacts,
) -> Result<StartedRun, CliError> {
    let known = store.run_of_plan(&plan.digest()).map_err(stores::failed)?;
    match known {
        Some(known) if !again && known.state == RunState::Complete => {
            anstream::eprintln!(
                "this experiment is already in the store as run {} (--again repeats it)",
                known.id.0
            );
            Ok(StartedRun::Already(known.id))
        }
        Some(known) if !again => {
            let done = store.stored_count(known.id).map_err(stores::failed)?;
            store.resume_run(known.id, facts).map_err(stores::failed)?;
            anstream::eprintln!(
                "resuming run {}: {done} of {} journeys stored",
                known.id.0,
                known.journeys
            );
            Ok(StartedRun::ToDo(known.id))
        }
        _ => store.begin_run(plan, facts).map(StartedRun::ToDo).map_err(stores::failed),
    }
}

fn tell_complete(run: &Run, store: &Store, carried: &CompletedRun) -> Result<ExitCode, CliError> {
    let CompletedRun { id, failed, .. } = *carried;
    let row = store.run(id).map_err(stores::failed)?;
    if carried.plan.stop_rule().is_some() {
        let times = store.load_times(id).map_err(stores::failed)?;
        if let Some(outcome) = until::outcome(&carried.plan, &times) {
            output::line(outcome)?;
        }
    }
    anstream::eprintln!(
        "run {} complete: {} journeys, digest {}",
        id.0,
        row.journeys,
        super::stores::short_digest(&row)
    );
    let option = shell::store_option(&run.store);
    output::line(format!("farlink report {}{option} -o report.html", id.0))?;
    if failed > 0 {
        anstream::eprintln!("{failed} journeys failed; the report says why");
        return Ok(ExitCode::Failed);
    }
    Ok(ExitCode::Success)
}

pub(super) fn progress_bar(total: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(5));
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} journeys, {per_sec}, {eta} left  {msg}");
    bar.set_style(style.expect("the template is fixed"));
    bar
}

/// Wall-clock time, machine and command line of a run.
pub(super) fn facts(experiment: Option<&str>, workers: usize) -> RunFacts {
    RunFacts {
        experiment: experiment.map(str::to_owned),
        command: shell::this_command(),
        machine: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        workers: workers as u32,
        started_at: now(),
    }
}

/// The date and time, as RFC 3339 writes them.
pub(super) fn now() -> String {
    rfc3339(super::since_1970())
}

fn rfc3339(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs() as i64;
    let moment = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    moment.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_rfc_3339() {
        assert_eq!(rfc3339(Duration::from_secs(1_700_000_000)), "2023-11-14T22:13:20Z");
    }
}
