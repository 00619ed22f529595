//! `farlink compare`: a page before and after a change, or two runs; differences and how sure they are.

pub mod difference;
mod objects;
mod page;
mod side;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use scenario::Plan;
use serde_json::json;
use testbed::worlds::Worlds;

use self::difference::{Difference, summary};
use self::side::{Pairing, Side};
use super::budgets::Budgets;
use super::load::{PageLoads, plan};
use super::{files, interrupt, output, refused, stores, workers};
use crate::args::Compare;
use crate::failure::{CliError, ExitCode};
use crate::show::table::Table;
use crate::show::terminal::wrapped;

/// First bytes of a store.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

/// Carries out `farlink compare`.
pub fn run(args: &Compare) -> Result<ExitCode, CliError> {
    if let Some(path) = &args.report {
        files::check_place(path)?;
    }
    match (is_run(&args.before), is_run(&args.after)) {
        (true, true) => compare_runs(args),
        (false, false) => compare_pages(args),
        _ => Err(CliError::bad_input("a run and a page have nothing in common to compare")
            .hint("compare two runs (STORE.sqlite#1 STORE.sqlite#2), or two pages".to_owned())),
    }
}

/// True if `spec` names a store, with or without the number of a run.
fn is_run(spec: &str) -> bool {
    let path = spec.split('#').next().unwrap_or_default();
    let mut start = [0; SQLITE_MAGIC.len()];
    let read = std::fs::File::open(path)
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut start));
    read.is_ok() && start == SQLITE_MAGIC
}

fn compare_runs(args: &Compare) -> Result<ExitCode, CliError> {
    if let Some(option) = args.how.settings.typed() {
        let message = format!("--{option}: runs are compared as they were loaded");
        return Err(CliError::bad_input(message).hint(format!("leave out --{option}")));
    }
    let side = |spec: &str| -> Result<Side, CliError> {
        let (path, run) =
            spec.split_once('#').map_or((spec, None), |(path, run)| (path, Some(run)));
        let number = run.map(|run| {
            run.parse::<i64>().map_err(|_| {
                CliError::bad_input(format!("`{spec}`: `{run}` is not the number of a run"))
            })
        });
        let store = stores::open(Path::new(path))?;
        let id = super::report::choose(&store, Path::new(path), number.transpose()?)?;
        Side::of_run(&store, id)
    };
    let sides = [side(&args.before)?, side(&args.after)?];
    let pairing = Pairing::of(&sides[0], &sides[1]);
    if pairing.arms.is_empty() {
        let hint = "they need the same pages, networks and protocols, in part at least".to_owned();
        return Err(CliError::bad_input("no arm of one run has its like in the other").hint(hint));
    }
    let budgets = Budgets::for_arms(&args.budgets, &pairing.arms)?;
    if args.report.is_some() {
        page::check(&sides)?;
    }
    write_report(args, &sides, &super::worlds()?)?;
    conclude(args, &pairing, &budgets, |_| Ok(()))
}

/// Writes the report of both sides, if it was asked for.
fn write_report(args: &Compare, sides: &[Side; 2], worlds: &Worlds) -> Result<(), CliError> {
    let Some(path) = &args.report else { return Ok(()) };
    page::write(path, &format!("{} and {}", args.before, args.after), args.seed, sides, worlds)
}

fn compare_pages(args: &Compare) -> Result<ExitCode, CliError> {
    let worlds = super::worlds()?;
    let plan_of = |page: &str| {
        let loads =
            PageLoads { page, how: &args.how, repetitions: args.repetitions, seed: args.seed };
        plan(&loads, &worlds)
    };
    let plans = [plan_of(&args.before)?, plan_of(&args.after)?];
    for cell in plans.iter().flat_map(Plan::cells) {
        worlds.prepare(cell).map_err(refused)?;
    }
    for plan in &plans {
        super::warn_of_pages(plan, &worlds);
    }
    let unloaded = plans.each_ref().map(|plan| Side::of_loads(plan, Vec::new()));
    if args.report.is_some() {
        page::check(&unloaded)?;
    }
    let budgets = Budgets::for_arms(&args.budgets, &Pairing::of(&unloaded[0], &unloaded[1]).arms)?;
    let cancel = interrupt::flag()?;
    let Some(sides) = load_both(args, &plans, &worlds, &cancel) else {
        return Ok(ExitCode::Interrupted);
    };
    write_report(args, &sides, &worlds)?;
    let page =
        |plan: &Plan| worlds.library().page_of(&plan.cells()[0]).map_err(CliError::bad_input);
    let pages = [page(&plans[0])?, page(&plans[1])?];
    let mut pairing = Pairing::of(&sides[0], &sides[1]);
    // The pages were named.
    pairing.changed.retain(|changed| !changed.starts_with("page."));
    conclude(args, &pairing, &budgets, |args| {
        objects::print([&args.before, &args.after], [&pages[0], &pages[1]], args.all)
    })
}

/// Both pages' loads; `None` if they were interrupted.
fn load_both(
    args: &Compare,
    plans: &[Plan; 2],
    worlds: &Worlds,
    cancel: &AtomicBool,
) -> Option<[Side; 2]> {
    let sides = plans.each_ref().map(|plan| {
        let results = store::batch::collect(plan, worlds, workers(args.jobs, plan), cancel);
        Side::of_loads(plan, results)
    });
    (!cancel.load(Ordering::Relaxed)).then_some(sides)
}

/// Prints the comparison, with `objects` before it, and judges the budgets.
fn conclude(
    args: &Compare,
    pairing: &Pairing,
    budgets: &Budgets<'_>,
    objects: impl FnOnce(&Compare) -> Result<(), CliError>,
) -> Result<ExitCode, CliError> {
    let differences = difference::of_all(&pairing.arms, args.seed);
    if args.json {
        for difference in &differences {
            output::line(as_json(difference))?;
        }
    } else {
        for sentence in summary(&differences) {
            output::line(wrapped(&sentence))?;
        }
        for changed in &pairing.changed {
            output::line(wrapped(&format!("setting changed: {changed}")))?;
        }
        output::line("")?;
        objects(args)?;
        output::line(table(&differences))?;
        for lonely in &pairing.lonely {
            output::line(wrapped(&format!("note: {lonely}")))?;
        }
    }
    let suite = format!("{} and {}", args.before, args.after);
    let judged = budgets.judge(&pairing.arms, &suite, args.json)?;
    Ok(match pairing.arms.iter().any(|arm| arm.failed() > 0) {
        true => ExitCode::Failed,
        false => judged,
    })
}

fn table(differences: &[Difference]) -> Table {
    let mut table =
        Table::new(&["", "metric", "before", "after", "change", "95 % interval", "verdict"]);
    for column in [0, 1, 6] {
        table.left(column);
    }
    let mut last = None;
    for difference in differences {
        // An arm is named once.
        let name = if last == Some(&difference.arm) { "" } else { &difference.arm };
        last = Some(&difference.arm);
        table.row([
            name.to_owned(),
            difference.metric.name.to_owned(),
            difference.shown_before(),
            difference.shown_after(),
            difference.shown_change(),
            difference.shown_interval(),
            difference.verdict().to_owned(),
        ]);
    }
    table
}

fn as_json(difference: &Difference) -> serde_json::Value {
    let Difference { arm, metric, before, after, loads, interval, test, .. } = difference;
    json!({
        "arm": arm,
        "metric": metric.name,
        "before": before,
        "after": after,
        "loads": loads,
        "change": difference.change(),
        "interval": interval.map(|(low, high)| [low, high]),
        "p": test.map(|test| test.p),
        "cliffs_delta": test.map(|test| 1.0 - 2.0 * test.share),
        "paired": difference.is_paired,
        "verdict": difference.verdict(),
    })
}
