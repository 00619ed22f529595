//! `farlink load`: one page, several arms, an answer.

mod guesses;
mod hars;
mod json;
mod plan;
mod report;
mod sweep;
mod text;
mod trace_kind;
mod traces;

use std::sync::atomic::Ordering;

use scenario::Plan;
use scenario::{World, nearest};
use testbed::worlds::Worlds;

use self::report::Kept;
use self::traces::Traces;
use super::watched::Watched;
use super::{cautions, files, interrupt, output, refused, workers};
use crate::args::Load;
use crate::failure::{ExitCode, Failure};
use crate::show::arms;
use crate::show::terminal::wrapped;
use crate::show::units::counted;

pub fn run(load: &Load) -> Result<ExitCode, Failure> {
    let traces = Traces::parse(load)?;
    let worlds = match traces.are_wanted() {
        true if traces.films() => super::worlds()?.filming(),
        true => super::worlds()?.watching(),
        false if load.report.is_some() => super::worlds()?.watching(),
        false => super::worlds()?,
    };
    let plan = plan::plan(load, &worlds)?;
    for cell in plan.cells() {
        worlds.prepare(cell).map_err(refused)?;
    }
    check_blocked(load, &plan, &worlds)?;
    cautions::warn(&plan, &worlds)?;
    if load.how.queue_sweep && load.how.settings.of("network").len() > 1 {
        return Err(Failure::bad_input("--queue-sweep varies the queue of one network")
            .hint("name one --network".to_owned()));
    }
    if let Some(path) = &load.har {
        files::check_place(path)?;
    }
    let cancel = interrupt::flag()?;
    let workers = workers(load.jobs, &plan);
    let facts = super::run::facts(None, workers);
    let emulated = plan.cells().iter().filter(|cell| cell.world == World::Emu).count();
    if emulated > 0 {
        let loads = counted(emulated * load.repetitions as usize, "load");
        anstream::eprintln!("emulating {loads} in real time, {workers} at once");
    }
    let results = store::batch::collect(&plan, &worlds, workers, &cancel);
    let (done, total) = (results.len() as u64, plan.journey_count());
    if load.json {
        json::print(&results, &worlds)?;
    }
    let kept = load.report.as_ref().filter(|_| done > 0);
    let kept = kept.map(|path| Ok((path, Kept::new(&plan, &facts, &results)?))).transpose()?;
    let arms = arms::group(&plan, results);
    if !load.json && done > 0 {
        for (number, arms) in arms::by_condition(&arms).enumerate() {
            if number > 0 {
                output::line("\n")?;
            }
            text::print(load, arms, &worlds)?;
        }
        if let Some(sentence) = guesses::sentence(load, &plan, &worlds, &arms, &cancel)? {
            output::line(wrapped(&format!("\nnote: {sentence}")))?;
        }
    }
    if load.how.queue_sweep {
        let rows = sweep::run(load, &plan, &worlds, &cancel)?;
        if !load.json {
            sweep::print(&arms, &rows, &worlds)?;
        }
    }
    if let Some(path) = &load.har {
        hars::write(path, &arms, &worlds)?;
    }
    let watched = Watched::new(&worlds);
    traces.write(&arms, &watched)?;
    if let Some((path, kept)) = kept {
        kept.write(path, &arms, &watched)?;
    }
    if cancel.load(Ordering::Relaxed) && done < total {
        anstream::eprintln!("interrupted after {done} of {total} loads");
        return Ok(ExitCode::Interrupted);
    }
    Ok(match arms.iter().any(|arm| arm.failed() > 0) {
        true => ExitCode::Failed,
        false => ExitCode::Success,
    })
}

/// Rejects blocking a host that the page does not have: a typing error, which would silently block nothing.
fn check_blocked(load: &Load, plan: &Plan, worlds: &Worlds) -> Result<(), Failure> {
    let page = worlds.library().page_of(&plan.cells()[0]).map_err(Failure::bad_input)?;
    let hosts = || page.hosts.iter().map(|host| host.name.as_str());
    let blocked = load.how.settings.of("client.block");
    let mut blocked = blocked.iter().flat_map(|hosts| hosts.split(',')).map(str::trim);
    match blocked.find(|blocked| hosts().all(|host| host != *blocked)) {
        None => Ok(()),
        Some(unknown) => {
            let hint = match nearest(unknown, hosts()) {
                Some(host) => format!("did you mean `{host}`?"),
                None => format!("`farlink pages show {}` lists its hosts", load.page),
            };
            let message = format!("--block {unknown}: the page has no such host");
            Err(Failure::bad_input(message).hint(hint))
        }
    }
}
