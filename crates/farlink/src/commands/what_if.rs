//! `farlink what-if`: what each change alone would bring, by simulation.
//!
//! A change is a setting, a part of the network or a transform of the page: so each answer is that of an independent load with
//! that setting, not a subtraction of waits from a waterfall.

mod changes;

use std::sync::atomic::Ordering;

use scenario::{Plan, World};
use serde_json::json;
use testbed::worlds::Worlds;

use self::changes::{Change, WhatIfChange};
use super::compare::difference::Difference;
use super::load::{PageLoads, plan};
use super::{interrupt, output, refused, workers};
use crate::args::{How, Loads, WhatIf};
use crate::budget::metric;
use crate::failure::{CliError, ExitCode};
use crate::show::arms::Arm;
use crate::show::table::Table;
use crate::show::terminal::wrapped;
use crate::show::units::counted;

/// Carries out `farlink what-if`.
pub fn run(args: &WhatIf) -> Result<ExitCode, CliError> {
    let how = single(&args.how)?;
    let worlds = super::worlds()?;
    let base = plan_of(args, &args.page, &how, &worlds)?;
    let scenario = &base.cells()[0];
    if scenario.world != World::Sim {
        return Err(CliError::bad_input("--world emu: changes are simulated")
            .hint("`farlink load` and `farlink compare` emulate them one by one".to_owned()));
    }
    worlds.prepare(scenario).map_err(refused)?;
    super::warn_of_pages(&base, &worlds);
    let page = worlds.library().page_of(scenario).map_err(CliError::bad_input)?;
    let cancel = interrupt::flag()?;
    let mut asked = Vec::new();
    let mut inapplicable = Vec::new();
    for change in changes::all(&how, &page) {
        match planned(args, &how, &change, &worlds) {
            Ok(plan) => asked.push((change, plan)),
            Err(problem) => inapplicable.push((change, problem)),
        }
    }
    let loads = args.loads.repetitions as usize * (asked.len() + 1);
    anstream::eprintln!(
        "simulating {} for {}",
        counted(loads, "load"),
        counted(asked.len(), "change")
    );
    let load = |plan: &Plan| {
        let results = store::batch::collect(plan, &worlds, workers(args.loads.jobs, plan), &cancel);
        Arm::of_cell(&plan.cells()[0], 0, &results).into_iter().next()
    };
    let before = load(&base);
    let answers: Vec<Answer> = asked
        .into_iter()
        .filter_map(|(change, plan)| {
            Answer::of(change, before.as_ref()?, &load(&plan)?, args.loads.seed)
        })
        .collect();
    if cancel.load(Ordering::Relaxed) {
        return Ok(ExitCode::Interrupted);
    }
    let Some(before) = before.filter(|arm| arm.plt().is_some()) else {
        return Err(CliError::machine("no load of the page as it is succeeded")
            .hint("`farlink load` says why".to_owned()));
    };
    print(args, &how, &before, answers, &inapplicable)
}

/// The settings, with HTTP/2 unless a protocol was typed. One load is asked about, not several.
fn single(how: &How) -> Result<How, CliError> {
    let mut how = how.clone();
    if !how.settings.has("stack.protocol") {
        how.settings.set("stack.protocol", vec!["h2".to_owned()]);
    }
    let several = how.settings.axes().into_iter().find(|axis| axis.values.len() > 1);
    match several {
        None => Ok(how),
        Some(axis) => {
            let option = scenario::settings::setting(&axis.key).and_then(|setting| setting.option);
            let option = option.unwrap_or(&axis.key);
            let message = format!("--{option}: several values; changes are those of one load");
            Err(CliError::bad_input(message).hint(format!("give --{option} one value")))
        }
    }
}

fn plan_of(args: &WhatIf, page: &str, how: &How, worlds: &Worlds) -> Result<Plan, CliError> {
    let Loads { repetitions, seed, .. } = args.loads;
    let plan = plan(&PageLoads { page, how, repetitions, seed }, worlds)?;
    match plan.skipped().first() {
        Some(skipped) => Err(CliError::bad_input(skipped.sentence())),
        None => Ok(plan),
    }
}

/// The plan of a change; why it does not apply otherwise.
fn planned(
    args: &WhatIf,
    how: &How,
    change: &WhatIfChange,
    worlds: &Worlds,
) -> Result<Plan, String> {
    let mut how = how.clone();
    let mut page = args.page.clone();
    match &change.change {
        Change::Set(key, value) => how.settings.set(key, vec![value.clone()]),
        Change::Network(part) => {
            let network = how.settings.of("network").join(",");
            how.settings.set("network", vec![format!("{network},{part}")]);
        }
        Change::Page(transform) => page = format!("{page}~{transform}"),
        Change::Nothing(problem) => return Err(problem.clone()),
    }
    let plan =
        plan_of(args, &page, &how, worlds).map_err(|failure| failure.message().to_owned())?;
    worlds.prepare(&plan.cells()[0]).map_err(|error| refused(error).message().to_owned())?;
    Ok(plan)
}

/// Effect of a change.
struct Answer {
    change: WhatIfChange,
    load: Difference,
    render: Option<Difference>,
}

impl Answer {
    fn of(change: WhatIfChange, before: &Arm, after: &Arm, seed: u64) -> Option<Answer> {
        let difference = |name| Difference::of(before, after, metric(name)?, seed);
        Some(Answer { change, load: difference("plt")?, render: difference("render") })
    }
}

fn print(
    args: &WhatIf,
    how: &How,
    before: &Arm,
    mut answers: Vec<Answer>,
    inapplicable: &[(WhatIfChange, String)],
) -> Result<ExitCode, CliError> {
    // The greatest gain first.
    answers.sort_by(|a, b| a.load.change().total_cmp(&b.load.change()));
    if args.json {
        for answer in &answers {
            output::line(as_json(answer))?;
        }
        return Ok(ExitCode::Success);
    }
    let protocol = how.settings.of("stack.protocol").join(",");
    let network = how.settings.of("network").join(",");
    let shown = |difference: &Difference| difference.shown_before();
    if let Some(first) = answers.first() {
        let render = first.render.as_ref().map(|it| format!(", first render {}", shown(it)));
        output::line(wrapped(&format!(
            "{} by {protocol} over {network}: load time {}{}, medians of {}. What each change alone would make of it:",
            args.page,
            shown(&first.load),
            render.unwrap_or_default(),
            counted(before.loads().len(), "load"),
        )))?;
        output::line("")?;
    }
    output::line(table(&answers))?;
    for (change, problem) in inapplicable {
        output::line(wrapped(&format!("not applicable: {}: {problem}", change.name)))?;
    }
    output::line(wrapped(
        "Each line is a simulation with that one setting (its option is the last column). Gains do not add up.",
    ))?;
    Ok(ExitCode::Success)
}

fn table(answers: &[Answer]) -> Table {
    let mut table = Table::new(&[
        "what if",
        "load time",
        "change",
        "95 % interval",
        "first render",
        "change",
        "as",
    ]);
    table.left(0);
    table.left(6);
    for Answer { change, load, render } in answers {
        let of_render = |shown: fn(&Difference) -> String| {
            render.as_ref().map_or_else(|| "-".to_owned(), shown)
        };
        table.row([
            change.name.to_owned(),
            load.shown_after(),
            load.shown_change(),
            load.shown_interval(),
            of_render(Difference::shown_after),
            of_render(Difference::shown_change),
            shortened(&change.option()),
        ]);
    }
    table
}

/// An option in one column: a list of hosts may be long.
fn shortened(option: &str) -> String {
    const MOST: usize = 40;
    match option.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &option[..end]),
        None => option.to_owned(),
    }
}

fn as_json(answer: &Answer) -> serde_json::Value {
    json!({
        "what_if": answer.change.name,
        "option": answer.change.option(),
        "load_time_ns": answer.load.as_json(),
        "first_render_ns": answer.render.as_ref().map(Difference::as_json),
    })
}
