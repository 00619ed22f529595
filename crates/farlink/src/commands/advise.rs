//! `farlink advise`: the fastest configuration of a site for its users' networks, found by simulation, and how to set it.

mod adviser;
mod knobs;
mod recipes;
mod search;

use std::sync::atomic::Ordering;

use serde_json::json;

use self::adviser::{AdviceStep, Adviser, single};
use self::search::{Configuration, LoadBudget, Search};
use super::{interrupt, output};
use crate::args::Advise;
use crate::failure::{CliError, ExitCode};
use crate::show::table::Table;
use crate::show::terminal::wrapped;
use crate::show::units::{counted, span_f64};

/// Carries out `farlink advise`.
pub fn run(args: &Advise) -> Result<ExitCode, CliError> {
    let how = single(&args.how)?;
    let worlds = super::worlds()?;
    let cancel = interrupt::flag()?;
    let adviser = Adviser::new(args, how, &worlds, &cancel)?;
    let most = args.loads.repetitions;
    if adviser.medians(&adviser.space.base(), most).is_none() {
        if cancel.load(Ordering::Relaxed) {
            return Ok(ExitCode::Interrupted);
        }
        return Err(CliError::machine("no load of the page as it is succeeded")
            .hint("`farlink load` says why".to_owned()));
    }
    let everything = adviser.space.all().len();
    let mut search =
        Search::new(&adviser.space, |it: &Configuration, loads| adviser.score(it, loads));
    let found = match args.exhaustive {
        true => search.exhaustive(most),
        false => search.search(&within_a_tenth(everything, most, adviser.is_calm())),
    };
    let tried = search.tried();
    let is_better = adviser.score(&found, most).is_some_and(|score| score < 0.0);
    let best = if is_better { found } else { adviser.space.base() };
    let best = adviser.simplified(best);
    let steps = adviser.measured_steps(&best);
    // Once interrupted, nothing loads any more, which is no error of the configurations.
    if cancel.load(Ordering::Relaxed) {
        return Ok(ExitCode::Interrupted);
    }
    let steps = steps?;
    let searched = SearchEffort {
        tried,
        everything,
        loads: adviser.loads_made(),
        all_loads: everything * most as usize * adviser.networks(),
    };
    match args.json {
        true => output::line(as_json(&adviser, &steps, &searched))?,
        false => print(args, &adviser, &steps, &searched)?,
    }
    Ok(ExitCode::Success)
}

/// Numbers of loads with which search and steps stay within a tenth of all. Where load times hardly scatter, one load says enough at first.
fn within_a_tenth(everything: usize, most: u32, is_calm: bool) -> LoadBudget {
    /// Configurations on the way to the best one, which are loaded as steps of the advice.
    const STEPS: usize = 4;
    let all = (everything * most as usize / 10).saturating_sub(STEPS * most as usize);
    let first = if is_calm { 1 } else { most.div_ceil(5) };
    LoadBudget { first, most, all }
}

/// Configurations and loads of the search.
struct SearchEffort {
    tried: usize,
    everything: usize,
    loads: usize,
    all_loads: usize,
}

fn print(
    args: &Advise,
    adviser: &Adviser<'_>,
    steps: &[AdviceStep],
    searched: &SearchEffort,
) -> Result<(), CliError> {
    let (page, protocol) = (&args.page, &adviser.space.protocols[0]);
    match steps.last() {
        None => output::line(wrapped(&format!(
            "{page} by {protocol}: no change of the server was found that makes it faster."
        )))?,
        Some(last) => {
            let each = adviser.conditions.iter().zip(&last.in_all).map(|(condition, it)| {
                format!(
                    "{} {} instead of {}, {}",
                    condition.name,
                    span_f64(it.after),
                    span_f64(it.before),
                    it.shown_change().trim()
                )
            });
            let each: Vec<String> = each.collect();
            output::line(wrapped(&format!(
                "{page} by {protocol} could load faster: {}.",
                each.join("; ")
            )))?;
            output::line("")?;
            output::line(table(adviser, steps))?;
            output::line("")?;
            for step in steps {
                output::line(format!("{}:", knobs::words(step.key, &step.value)))?;
                for (place, line) in recipes::recipes(step.key, &step.value) {
                    output::line(format!("  {place:8} {line}"))?;
                }
            }
        }
    }
    output::line("")?;
    output::line(wrapped(&format!(
        "Tried {} of {} configurations, {} instead of {}. Load times are simulated medians; intervals are of paired loads.",
        searched.tried,
        searched.everything,
        counted(searched.loads, "load"),
        searched.all_loads,
    )))?;
    Ok(())
}

fn table(adviser: &Adviser<'_>, steps: &[AdviceStep]) -> Table {
    let mut table = Table::new(&[
        "step",
        "network",
        "share",
        "load time",
        "change",
        "95 % interval",
        "in all",
        "as",
    ]);
    table.left(0);
    table.left(1);
    table.left(7);
    for step in steps {
        for (index, condition) in adviser.conditions.iter().enumerate() {
            let is_first = index == 0;
            let (own, all) = (&step.of_step[index], &step.in_all[index]);
            table.row([
                if is_first { knobs::words(step.key, &step.value) } else { String::new() },
                condition.name.clone(),
                format!("{:.0} %", condition.share * 100.0),
                own.shown_after(),
                own.shown_change(),
                own.shown_interval(),
                all.shown_change(),
                if is_first { option_of(adviser, step) } else { String::new() },
            ]);
        }
    }
    table
}

fn option_of(adviser: &Adviser<'_>, step: &AdviceStep) -> String {
    let knob = adviser.space.knobs.iter().find(|knob| knob.key() == step.key);
    knob.map_or_else(|| knobs::option(step.key, &step.value), |knob| knob.option(&step.value))
}

fn as_json(
    adviser: &Adviser<'_>,
    steps: &[AdviceStep],
    searched: &SearchEffort,
) -> serde_json::Value {
    let step = |step: &AdviceStep| {
        let conditions = adviser.conditions.iter().zip(step.of_step.iter().zip(&step.in_all));
        let networks = conditions.map(|(condition, (own, all))| {
            json!({ "network": adviser.network(condition), "view": condition.view, "share": condition.share, "step": own.as_json(), "in_all": all.as_json() })
        });
        json!({
            "step": knobs::words(step.key, &step.value),
            "option": option_of(adviser, step),
            "networks": networks.collect::<Vec<_>>(),
            "configuration": recipes::recipes(step.key, &step.value),
        })
    };
    json!({
        "page": adviser.args.page,
        "protocol": adviser.space.protocols[0],
        "steps": steps.iter().map(step).collect::<Vec<_>>(),
        "configurations": { "tried": searched.tried, "all": searched.everything },
        "loads": { "made": searched.loads, "all": searched.all_loads },
    })
}
