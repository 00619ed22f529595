//! `farlink run`: an experiment from a file, over all cores, into a store.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::Plan;
use lab::experiment::{ExperimentError, Source, resolve};
use lab::runner::{self, Ended};
use lab::simulate::Simulator;
use lab::store::{RunFacts, RunId, RunState, Store};

use super::{interrupt, runs, workers};
use crate::args::Run;
use crate::failure::{ExitCode, Failure};

pub fn run(run: &Run) -> Result<ExitCode, Failure> {
    let source = read(run)?;
    let simulator = Simulator::new();
    let plan = resolve(&source, &simulator).map_err(|error| experiment_failure(&error))?;
    let mut store = Store::open_or_create(&run.store).map_err(|error| runs::failure(&error))?;
    let workers = workers(run.jobs);
    let facts = facts(&source, workers);
    let id = begin(run, &mut store, &plan, &facts)?;
    let cancel = interrupt::flag()?;
    let bar = progress_bar(plan.journey_count());
    let mut failed = 0;
    let ended = runner::run(&mut store, id, &plan, &simulator, workers, &cancel, &mut |progress| {
        failed = progress.failed;
        bar.set_position(progress.done);
    });
    bar.finish_and_clear();
    let state = store.finish_run(id, &now());
    let ended = ended.map_err(|error| runs::failure(&error))?;
    state.map_err(|error| runs::failure(&error))?;
    tell(run, id, ended, failed)
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

fn experiment_failure(error: &ExperimentError) -> Failure {
    Failure::bad_input(error).hint(error.hint())
}

/// The run to do: a new one, or one that was interrupted.
fn begin(run: &Run, store: &mut Store, plan: &Plan, facts: &RunFacts) -> Result<RunId, Failure> {
    let known = store.run_of_plan(&plan.digest()).map_err(|error| runs::failure(&error))?;
    match known {
        Some(known) if !run.again && known.state == RunState::Complete => {
            anstream::eprintln!(
                "this very experiment is in the store already, as run {} (--again measures anew)",
                known.id.0
            );
            Ok(known.id)
        }
        Some(known) if !run.again => {
            store.resume_run(known.id, facts).map_err(|error| runs::failure(&error))?;
            anstream::eprintln!("going on with run {}", known.id.0);
            Ok(known.id)
        }
        _ => store.begin_run(plan, facts).map_err(|error| runs::failure(&error)),
    }
}

fn tell(run: &Run, id: RunId, ended: Ended, failed: u64) -> Result<ExitCode, Failure> {
    let store = if run.store == Path::new("farlink.sqlite") {
        String::new()
    } else {
        format!(" --store {}", run.store.display())
    };
    match ended {
        Ended::Complete => {
            anstream::eprintln!("run {} is complete", id.0);
            anstream::println!("farlink report {}{store} -o report.html", id.0);
        }
        Ended::Interrupted { done, total } => {
            anstream::eprintln!(
                "interrupted after {done} of {total} journeys; the same command goes on from there"
            );
            return Ok(ExitCode::Interrupted);
        }
    }
    if failed > 0 {
        anstream::eprintln!("{failed} journeys failed; the report says why");
        return Ok(ExitCode::Failed);
    }
    Ok(ExitCode::Success)
}

fn progress_bar(total: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(5));
    let style =
        ProgressStyle::with_template("{bar:40} {pos}/{len} journeys, {per_sec}, {eta} left");
    bar.set_style(style.expect("the template is fixed"));
    bar
}

fn facts(source: &Source, workers: usize) -> RunFacts {
    RunFacts {
        experiment: Some(source.text().to_owned()),
        command: command_line(),
        machine: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        workers: workers as u32,
        started_at: now(),
    }
}

/// The command as typed, ready to be typed again.
fn command_line() -> String {
    let quote = |argument: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
        match !argument.is_empty() && argument.chars().all(plain) {
            true => argument,
            false => format!("'{}'", argument.replace('\'', r"'\''")),
        }
    };
    let arguments = std::env::args().skip(1).map(quote);
    std::iter::once("farlink".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// The date and time, as RFC 3339 writes them.
fn now() -> String {
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
