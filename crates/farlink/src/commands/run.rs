//! `farlink run`: an experiment from a file, over all cores, into a store.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::Plan;
use lab::experiment::{ExperimentError, Source, resolve};
use lab::runner::{self, Ended};
use lab::store::{RunFacts, RunId, RunState, Store};

use super::{interrupt, output, runs, shell, stores, workers};
use crate::args::Run;
use crate::failure::{ExitCode, Failure};

pub fn run(run: &Run) -> Result<ExitCode, Failure> {
    let source = read(run)?;
    let worlds = super::worlds()?;
    let plan = resolve(&source, worlds.library()).map_err(|error| experiment_failure(&error))?;
    // Declared before the store, so dropped after it.
    let _held;
    let mut store = stores::open_or_create(&run.store)?;
    _held = stores::hold(&run.store)?;
    let workers = workers(run.jobs, &plan);
    let id = match begin(run, &mut store, &plan, &facts(Some(source.text()), workers))? {
        Begun::Already(id) => return tell_complete(run, &store, id, 0),
        Begun::ToDo(id) => id,
    };
    let cancel = interrupt::flag()?;
    let bar = progress_bar(plan.journey_count());
    let mut failed = 0;
    let ended = runner::run(&mut store, id, &plan, &worlds, workers, &cancel, &mut |progress| {
        failed = progress.failed;
        bar.set_position(progress.done);
    });
    bar.finish_and_clear();
    let ended = ended.map_err(stores::failed)?;
    store.finish_run(id, &now()).map_err(stores::failed)?;
    match ended {
        Ended::Complete => tell_complete(run, &store, id, failed),
        Ended::Interrupted { done, total } => {
            anstream::eprintln!(
                "interrupted after {done} of {total} journeys; the same command goes on from there"
            );
            Ok(ExitCode::Interrupted)
        }
    }
}

fn read(run: &Run) -> Result<Source, Failure> {
    let path = &run.experiment;
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::bad_input(format!("cannot read the experiment {}: {error}", path.display()))
            .hint("docs/experiment.md describes the format; examples/ has some".to_owned())
    })?;
    let mut source = Source::new(path.display().to_string(), text);
    for assignment in &run.set {
        source.set(assignment).map_err(|error| experiment_failure(&error))?;
    }
    Ok(source)
}

pub(super) fn experiment_failure(error: &ExperimentError) -> Failure {
    Failure::bad_input(error).hint(error.hint())
}

/// The run that an experiment comes to in a store.
enum Begun {
    /// It was done before.
    Already(RunId),
    /// A new one, or one that was interrupted.
    ToDo(RunId),
}

fn begin(run: &Run, store: &mut Store, plan: &Plan, facts: &RunFacts) -> Result<Begun, Failure> {
    let known = store.run_of_plan(&plan.digest()).map_err(stores::failed)?;
    match known {
        Some(known) if !run.again && known.state == RunState::Complete => {
            anstream::eprintln!(
                "this very experiment is in the store already, as run {} (--again measures anew)",
                known.id.0
            );
            Ok(Begun::Already(known.id))
        }
        Some(known) if !run.again => {
            let done = store.stored_positions(known.id).map_err(stores::failed)?.len();
            store.resume_run(known.id, facts).map_err(stores::failed)?;
            anstream::eprintln!(
                "going on with run {}: {done} of {} journeys are stored",
                known.id.0,
                known.journeys
            );
            Ok(Begun::ToDo(known.id))
        }
        _ => store.begin_run(plan, facts).map(Begun::ToDo).map_err(stores::failed),
    }
}

fn tell_complete(run: &Run, store: &Store, id: RunId, failed: u64) -> Result<ExitCode, Failure> {
    let row = store.run(id).map_err(stores::failed)?;
    anstream::eprintln!(
        "run {} is complete: {} journeys, digest {}",
        id.0,
        row.journeys,
        runs::short_digest(&row)
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
        ProgressStyle::with_template("{bar:40} {pos}/{len} journeys, {per_sec}, {eta} left");
    bar.set_style(style.expect("the template is fixed"));
    bar
}

/// What the wall clock and the machine are, and what was typed.
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
    #[expect(clippy::disallowed_methods, reason = "the command line says when a run was")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    rfc3339(since)
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
