//! `farlink validate`: one suite in both worlds, and the differences.

mod measure;
mod text;

use std::path::Path;

use scenario::experiment::{Catalogue, Source};
use store::Store;
use store::runner::Ended;
use testbed::worlds::Worlds;
use validate::report::{self, Facts};
use validate::{Calibrated, Gauge, Outcome, Shipped, Suite, gather, judge};

use self::measure::Measurement;
use super::run::experiment_failure;
use super::{files, output, shell, stores};
use crate::args::Validate;
use crate::failure::{ExitCode, Failure};

pub fn run(args: &Validate) -> Result<ExitCode, Failure> {
    let worlds = super::worlds()?;
    let suite = suite(args, &worlds)?;
    files::check_place(&args.output)?;
    if args.report_only {
        let store = stores::open(&args.store)?;
        return conclude(args, &suite, &worlds, &store);
    }
    // Declared before the store, so dropped after it.
    let _held;
    let mut store = stores::open_or_create(&args.store)?;
    _held = stores::hold(&args.store)?;
    let measurement = Measurement { args, suite: &suite, worlds: &worlds };
    match measurement.run(&mut store)? {
        Ended::Complete => conclude(args, &suite, &worlds, &store),
        Ended::Interrupted { done, total } => {
            anstream::eprintln!(
                "interrupted after {done} of {total} loads of this part; the same command goes on from there"
            );
            Ok(ExitCode::Interrupted)
        }
    }
}

/// The requested suite.
fn suite(args: &Validate, worlds: &Worlds) -> Result<Suite, Failure> {
    let source = source(&args.suite)?;
    let mut suite =
        Suite::read(&source, worlds.library()).map_err(|error| experiment_failure(&error))?;
    if args.without_chromium {
        suite.parts.iter_mut().for_each(|part| part.loads.chromium = 0);
        suite.targets.retain(|target| target.gauge != Gauge::Chromium);
    }
    if let Some(device) = &args.device {
        let digest = worlds.library().device(device).map_err(super::refused)?;
        suite.calibrated = Some(Calibrated { device: device.clone(), digest });
    }
    Ok(suite)
}

fn source(name: &str) -> Result<Source, Failure> {
    let shipped = match name.parse::<Shipped>() {
        Ok(shipped) => return Ok(shipped.source()),
        Err(error) => error,
    };
    if !Path::new(name).exists() && !name.ends_with(".toml") {
        return Err(Failure::bad_input(&shipped).hint(shipped.hint()));
    }
    let text = std::fs::read_to_string(name).map_err(|error| {
        Failure::bad_input(format!("cannot read the suite {name}: {error}"))
            .hint("docs/validation-suites.md describes the format".to_owned())
    })?;
    Ok(Source::new(name, text))
}

/// Judges the store's contents, prints the judgement and writes the report.
fn conclude(
    args: &Validate,
    suite: &Suite,
    worlds: &Worlds,
    store: &Store,
) -> Result<ExitCode, Failure> {
    let cells = gather(store, suite, worlds.library()).map_err(stores::failed)?;
    let judgement = judge(suite, &cells);
    output::print(text::all(&judgement, &cells))?;
    let facts = facts(suite, store)?;
    let html = report::html(suite, &cells, &judgement, &facts);
    files::write_whole(&args.output, html.as_bytes())?;
    let all_met = judgement.verdicts.iter().all(|verdict| verdict.outcome == Outcome::Met);
    Ok(if all_met { ExitCode::Success } else { ExitCode::Failed })
}

/// Facts on the suite's runs from the store, for the report.
fn facts(suite: &Suite, store: &Store) -> Result<Facts, Failure> {
    let mut facts = Facts { command: shell::this_command(), ..Facts::default() };
    let mut last = String::new();
    for plan in suite.plans() {
        let run = store.run_of_plan(&plan.plan.digest()).map_err(stores::failed)?;
        let Some(run) = run else { continue };
        if facts.when.is_empty() || run.started_at < facts.when {
            facts.when.clone_from(&run.started_at);
        }
        last = run.finished_at.unwrap_or_default().max(last);
        facts.machine = run.machine;
    }
    if !last.is_empty() {
        facts.when = format!("{} to {last}", facts.when);
    }
    Ok(facts)
}
