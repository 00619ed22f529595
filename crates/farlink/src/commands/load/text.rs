//! `farlink load` for people: the answer, the conditions, a table, notes, a waterfall.

use std::collections::BTreeSet;

use net::Network;
use page::Page;
use record::EmulationRecord;
use testbed::worlds::Worlds;

use crate::args::Load;
use crate::commands::output;
use crate::failure::CliError;
use crate::show::arms::{self, Arm};
use crate::show::terminal::{self, wrapped};
use crate::show::units::{bytes, counted, span};
use crate::show::{answer, conditions, waterfall, why};

/// Objects in a waterfall by default.
const WATERFALL_ROWS: usize = 40;

/// Lines of waterfalls from which a file serves a reader better.
const MANY_LINES: usize = 1000;

/// Columns if the terminal's width is unknown.
const WIDTH: usize = 100;

/// Prints all of it, of arms with this many repetitions.
pub fn print(load: &Load, repetitions: u32, arms: &[Arm], worlds: &Worlds) -> Result<(), CliError> {
    for sentence in answer::answer(arms, load.seed) {
        output::line(wrapped(&sentence))?;
    }
    output::line("")?;
    if let Some(arm) = arms.first() {
        let page = worlds.library().page_of(arm.scenario()).map_err(CliError::bad_input)?;
        let network = worlds.library().network_of(arm.scenario()).map_err(CliError::bad_input)?;
        output::line(heading(load, repetitions, arms, &page, &network))?;
        if let Some(line) = punctuality(arms) {
            output::line(line)?;
        }
        if let Some(line) = radio(arms) {
            output::line(line)?;
        }
    }
    output::line("")?;
    output::line(arms::table(arms))?;
    output::line(wrapped(arms::legend(arms)))?;
    for table in answer::table(arms).into_iter().chain(why::table(arms)) {
        output::line("")?;
        output::line(table)?;
    }
    let of_profiles: BTreeSet<&String> = arms.iter().flat_map(profile_notes).collect();
    let own = notes(arms).into_iter().filter(|note| !of_profiles.contains(note));
    for note in own.chain(pushing_nothing(arms)) {
        output::line(wrapped(&format!("note: {note}")))?;
    }
    for failure in failures(arms) {
        output::line(wrapped(&format!("failed: {failure}")))?;
    }
    waterfalls(load, arms)?;
    if load.critical_path {
        critical_paths(arms)?;
    }
    Ok(())
}

/// Prints the critical paths of the median loads.
fn critical_paths(arms: &[Arm]) -> Result<(), CliError> {
    for arm in arms {
        let visit = arm.median_load().map(|load| &load.visit);
        let Some(visit) = visit else { continue };
        let paths =
            [("load", visit.critical_path.as_ref()), ("first render", visit.render_path.as_ref())];
        for (end, path) in paths.into_iter().filter_map(|(end, path)| Some((end, path?))) {
            output::line(format!("\n{}, median load, to its {end}:", arm.name()))?;
            output::line(why::path(&visit.record, path))?;
        }
    }
    Ok(())
}

/// The conditions of the comparison, with the meaning of their names.
fn heading(load: &Load, repetitions: u32, arms: &[Arm], page: &Page, network: &Network) -> String {
    let arm = &arms[0];
    let scenario = arm.scenario();
    let clients = scenario.clients.count;
    let planned = repetitions as usize * clients as usize;
    let loads = match arm.attempts() {
        all if all == planned || scenario.visits_each() > 1 => all.to_string(),
        some => format!("{some} of {planned}"),
    };
    let name = scenario.network.base.as_deref().map_or("custom", |_| network.name.as_str());
    let pages = match scenario.page.pages.len() {
        0 => String::new(),
        n => format!("{}, ", counted(n, "page")),
    };
    format!(
        "page     {}: {pages}{} to {}, {}\n\
         network  {name}: {}\n\
         loads    {loads} an arm, seed {}, {}; {}",
        scenario.page.spec,
        counted(page.objects.len(), "request"),
        counted(page.hosts.len(), "host"),
        bytes(page.body_bytes() as f64),
        conditions::network(network),
        load.seed,
        world(arm),
        conditions::others(
            arms,
            arms.iter().all(|it| it.scenario().stack.tls == scenario.stack.tls)
        ),
    )
}

/// The clock that the loads ran on, and the TCP implementation.
fn world(arm: &Arm) -> String {
    match arm.emulations().next() {
        Some(emulation) => format!("emulated with the TCP of Linux {}", emulation.kernel),
        None => arm.scenario().world.title().to_owned(),
    }
}

/// The emulator's worst punctuality.
fn punctuality(arms: &[Arm]) -> Option<String> {
    let all = || arms.iter().flat_map(Arm::emulations);
    let worst = |late: fn(&EmulationRecord) -> u64| all().map(late).max();
    let (p99, max) = (worst(|e| e.late_p99_ns)?, worst(|e| e.late_max_ns)?);
    let repeated: u32 = all().map(|emulation| emulation.attempts - 1).sum();
    let repeated = match repeated {
        0 => String::new(),
        n => format!("; {} repeated because of late packets", counted(n as usize, "load")),
    };
    Some(format!(
        "emulator packet lateness: p99 at most {} in every load, maximum {}{repeated}",
        span(p99),
        span(max)
    ))
}

/// The radio's energy in the median load of each arm.
fn radio(arms: &[Arm]) -> Option<String> {
    let spent = |arm: &Arm| {
        let radio = arm.median_load()?.visit.record.radio.as_ref()?;
        let joules = |uj: u64| format!("{:.2} J", uj as f64 / 1e6);
        Some(format!(
            "{} {} and a tail of {}, {}",
            arm.name(),
            joules(radio.energy_uj),
            joules(radio.tail_uj),
            counted(radio.promotions as usize, "promotion")
        ))
    };
    let spent: Vec<String> = arms.iter().filter_map(spent).collect();
    (!spent.is_empty()).then(|| format!("radio    {}", spent.join("; ")))
}

/// Every note once, and the findings in the figures.
fn notes(arms: &[Arm]) -> BTreeSet<String> {
    arms.iter().flat_map(|arm| arm.notes().iter().cloned().chain(arm.findings())).collect()
}

/// Notes on the source of an arm's network profile, which `farlink networks show` prints.
fn profile_notes(arm: &Arm) -> &'static [String] {
    let base = arm.scenario().network.base.as_deref();
    base.and_then(|name| net::profiles().get(name)).map_or(&[], |profile| &profile.notes)
}

/// The arms whose protocols cannot push what servers were to push.
fn pushing_nothing(arms: &[Arm]) -> Option<String> {
    let asked = arms.iter().find_map(|arm| arm.scenario().serving.push)?;
    let silent = arms.iter().filter(|arm| arm.scenario().serving.push.is_none());
    let names: BTreeSet<&str> = silent.map(Arm::stack).collect();
    let names: Vec<&str> = names.into_iter().collect();
    (!names.is_empty()).then(|| format!("--push {asked} has no effect over {}", names.join(", ")))
}

fn failures(arms: &[Arm]) -> BTreeSet<String> {
    let of = |arm: &Arm| -> Vec<String> {
        arm.failures().map(|why| format!("{}: {why}", arm.name())).collect()
    };
    arms.iter().flat_map(of).collect()
}

/// Prints waterfalls of the median loads: of the fastest arm, or of all arms in full.
fn waterfalls(load: &Load, arms: &[Arm]) -> Result<(), CliError> {
    let chosen: Vec<&Arm> = match load.waterfall {
        true => arms.iter().collect(),
        false => arms::fastest(arms.iter().filter(|arm| arm.view() == arms[0].view()))
            .into_iter()
            .collect(),
    };
    let rows = if load.waterfall { usize::MAX } else { WATERFALL_ROWS };
    let visits = chosen.iter().filter_map(|arm| Some((arm, arm.median_load()?)));
    let visits: Vec<_> = visits.map(|(arm, load)| (arm, &load.visit)).collect();
    let objects = visits.iter().map(|(_, visit)| visit.record.objects.len());
    let lines: usize = objects.map(|objects| objects.min(rows)).sum();
    if lines > MANY_LINES {
        anstream::eprintln!(
            "the waterfalls have {lines} lines; use --har OUT to view them in a HAR viewer"
        );
    }
    let width = terminal::width().unwrap_or(WIDTH);
    for (arm, visit) in visits {
        output::line(format!("\n{}, median load:", arm.name()))?;
        let critical = visit.critical_path.as_ref();
        output::line(waterfall::draw(&visit.record, critical, width, rows))?;
    }
    Ok(())
}
