//! `farlink validate`: one suite in both worlds, the differences, and their judgement as tables.

mod measure;

use std::path::Path;

use scenario::experiment::{Catalogue, Source};
use statistics::Sample;
use store::Store;
use store::runner::RunOutcome;
use testbed::worlds::Worlds;
use validate::report::{self, Facts};
use validate::{
    Calibrated, Cell, Gauge, Judgement, MeasuredWorld, PartPlan, Shipped, Suite, TargetOutcome,
    coalesced_difference, gather, judge, percent,
};

use super::run::experiment_failure;
use super::{files, output, shell, stores};
use crate::args::Validate;
use crate::failure::{CliError, ExitCode};
use crate::show::table::Table;
use crate::show::units::{counted, span_f64};

use self::measure::Measurement;

pub fn run(args: &Validate) -> Result<ExitCode, CliError> {
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
        RunOutcome::Complete => conclude(args, &suite, &worlds, &store),
        RunOutcome::Interrupted { done, total } => {
            anstream::eprintln!(
                "interrupted after {done} of {total} loads of this part; run the same command to resume"
            );
            Ok(ExitCode::Interrupted)
        }
    }
}

/// The requested suite.
fn suite(args: &Validate, worlds: &Worlds) -> Result<Suite, CliError> {
    let source = source(&args.suite)?;
    let mut suite = Suite::read(&source, &args.page, worlds.library())
        .map_err(|error| experiment_failure(&error))?;
    if args.without_chromium {
        suite.parts.iter_mut().for_each(|part| part.loads.chromium = 0);
        suite.targets.retain(|target| !matches!(target.gauge, Gauge::Chromium(_)));
    }
    if let Some(device) = &args.device {
        let digest = worlds.library().device(device).map_err(super::refused)?;
        suite.calibrated = Some(Calibrated { device: device.clone(), digest });
    }
    Ok(suite)
}

fn source(name: &str) -> Result<Source, CliError> {
    let shipped = match name.parse::<Shipped>() {
        Ok(shipped) => return Ok(shipped.source()),
        Err(error) => error,
    };
    if !Path::new(name).exists() && !name.ends_with(".toml") {
        return Err(CliError::bad_input(&shipped).hint(shipped.hint()));
    }
    let text = std::fs::read_to_string(name).map_err(|error| {
        CliError::bad_input(format!("cannot read the suite {name}: {error}"))
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
) -> Result<ExitCode, CliError> {
    let (cells, more) = gather(store, suite, worlds.library()).map_err(stores::failed)?;
    let judgement = judge(suite, &cells);
    output::print(all(&judgement, &cells))?;
    let facts = facts(&[suite.plans(), more].concat(), store)?;
    let html = report::html(suite, &cells, &judgement, &facts);
    files::write_whole(&args.output, html.as_bytes())?;
    let all_met = judgement.verdicts.iter().all(|verdict| verdict.outcome == TargetOutcome::Met);
    Ok(if all_met { ExitCode::Success } else { ExitCode::Failed })
}

/// Facts on the runs of these plans from the store, for the report.
fn facts(plans: &[PartPlan], store: &Store) -> Result<Facts, CliError> {
    let mut facts = Facts { command: shell::this_command(), ..Facts::default() };
    let mut last = String::new();
    for plan in plans {
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

/// Cells, ratios, figures and verdicts.
pub fn all(judgement: &Judgement, cells: &[Cell]) -> String {
    let tables = [
        loads(judgement, cells),
        ratios(judgement, cells),
        figures(judgement),
        verdicts(judgement),
    ];
    let tables = tables.map(|table| format!("{table}\n\n")).concat();
    tables.trim_end().to_owned() + "\n" + &coalesced(judgement)
}

/// Median page load times.
fn loads(judgement: &Judgement, cells: &[Cell]) -> Table {
    let mut table =
        Table::new(&["cell", "sim", "emu", "sim/emu", "chromium", "loader/chromium", "lantern"]);
    for (index, cell) in cells.iter().enumerate() {
        let browser = judgement.browser.iter().find(|browser| browser.cell == index);
        let median = |way| cell.plt(way).map(Sample::median);
        let (sim, emu, chromium) = (
            median(MeasuredWorld::Sim),
            median(MeasuredWorld::Emu),
            median(MeasuredWorld::Chromium),
        );
        let ratio = |one: Option<f64>, other: Option<f64>| {
            or_dash(one.zip(other).map(|(one, other)| format!("{:.3}", one / other)))
        };
        table.row([
            cell.label(),
            or_dash(sim.map(ms)),
            or_dash(emu.map(ms)),
            ratio(sim, emu),
            or_dash(chromium.map(ms)),
            or_dash(browser.map(|browser| format!("{:.3}", 1.0 + browser.deviation()))),
            ms(cell.lantern_ms),
        ]);
    }
    table
}

/// Ratios of protocols.
fn ratios(judgement: &Judgement, cells: &[Cell]) -> Table {
    let mut table =
        Table::new(&["PLT ratio of protocols", "against", "sim", "emu", "error", "lantern"]);
    for pair in &judgement.pairs {
        table.row([
            cells[pair.first].label(),
            cells[pair.second].scenario.stack.protocol.to_string(),
            format!("{:.3}", pair.sim.exp()),
            format!("{:.3}", pair.emu.exp()),
            percent(pair.sim - pair.emu),
            format!("{:.3}", pair.lantern.exp()),
        ]);
    }
    table
}

fn figures(judgement: &Judgement) -> Table {
    let mut table =
        Table::new(&["difference from emulation", "over", "sim", "emu, repeated", "lantern"]);
    for row in &judgement.rows {
        let show = |value: Option<f64>| or_dash(value.map(|v| row.figure.show(v)));
        table.row([
            row.figure.describe().to_owned(),
            row.basis.to_string(),
            show(row.sim),
            show(row.emu),
            show(row.lantern),
        ]);
    }
    table
}

/// The error from releasing packets together, if it was measured.
fn coalesced(judgement: &Judgement) -> String {
    let Some([median, p95]) = coalesced_difference(&judgement.coalesced) else {
        return String::new();
    };
    format!(
        "\nreleasing packets in groups changes PLTs by {} at the median, {} at p95 ({})\n",
        percent(median),
        percent(p95),
        counted(judgement.coalesced.len(), "cell"),
    )
}

fn verdicts(judgement: &Judgement) -> Table {
    let mut table = Table::new(&["target", "limit", "measured", "verdict"]);
    for verdict in &judgement.verdicts {
        let gauge = verdict.target.gauge;
        let said = verdict.say();
        table.row([
            gauge.describe(),
            verdict.target.demand(),
            or_dash(verdict.value.map(|value| gauge.show(value))),
            if verdict.outcome == TargetOutcome::Missed { said.to_uppercase() } else { said },
        ]);
    }
    table
}

fn ms(value: f64) -> String {
    span_f64(value * 1e6)
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or("-".to_owned())
}
