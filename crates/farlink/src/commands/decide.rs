//! `farlink decide`: protocols, routes and settings over a mix of networks: what each choice gains and costs, and where it is wrong.

mod assessment;
mod server_cpu;

use std::sync::atomic::Ordering;

use scenario::settings::{SettingRole, setting};
use scenario::{NetworkSpec, World};
use serde_json::json;
use statistics::percent;

use self::assessment::{Assessment, Choice};
use super::compare::difference::signed;
use super::load::{PageLoads, plan};
use super::shares::with_shares;
use super::{interrupt, output, refused, workers};
use crate::args::{Decide, How};
use crate::failure::{CliError, ExitCode};
use crate::show::arms;
use crate::show::table::Table;
use crate::show::terminal::wrapped;
use crate::show::units::{bytes, counted, span_f64};

/// Carries out `farlink decide`.
pub fn run(args: &Decide) -> Result<ExitCode, CliError> {
    check_conditions(&args.how)?;
    let names = args.how.settings.of("network").into_iter().map(str::to_owned).collect();
    let networks = with_shares(names, &args.share)?;
    let worlds = super::worlds()?;
    let loads = args.loads;
    let page_loads = PageLoads {
        page: &args.page,
        how: &args.how,
        repetitions: loads.repetitions,
        seed: loads.seed,
    };
    let plan = plan(&page_loads, &worlds)?;
    if plan.cells().iter().any(|cell| cell.world != World::Sim) {
        return Err(CliError::bad_input("--world emu: decisions come from simulations")
            .hint("check one with `farlink load --world emu`".to_owned()));
    }
    let mut reached: Vec<&NetworkSpec> = Vec::new();
    for cell in plan.cells() {
        worlds.prepare(cell).map_err(refused)?;
        if !reached.contains(&&*cell.network) {
            reached.push(&cell.network);
        }
    }
    // Arms know their networks by the order in which they appear.
    if reached.len() != networks.len() {
        let skipped = plan.skipped().first().map(|skipped| skipped.sentence());
        return Err(
            CliError::bad_input("no choice can be run over one of the networks").hint(skipped)
        );
    }
    super::warn_of_pages(&plan, &worlds);
    let cancel = interrupt::flag()?;
    let results = store::batch::collect(&plan, &worlds, workers(loads.jobs, &plan), &cancel);
    if cancel.load(Ordering::Relaxed) {
        return Ok(ExitCode::Interrupted);
    }
    let choices = Choice::all(arms::group(&plan, results), networks.len());
    let mut assessed = assessment::of_all(&choices, &networks, loads.seed);
    if assessed.iter().all(|it| it.mix.is_none()) {
        return Err(CliError::machine("no choice loads the whole page over every network")
            .hint("`farlink load` says why".to_owned()));
    }
    // The best first; those that do not load at the end.
    assessed.sort_by(|a, b| a.rank().total_cmp(&b.rank()));
    match args.json {
        true => output::line(as_json(args, &networks, &assessed))?,
        false => print(args, &networks, &assessed)?,
    }
    for skipped in plan.skipped() {
        anstream::eprintln!("{}", wrapped(&skipped.sentence()));
    }
    Ok(ExitCode::Success)
}

/// Refuses conditions with several values, but for networks: a mix of those has no shares.
fn check_conditions(how: &How) -> Result<(), CliError> {
    let several = how.settings.axes().into_iter().find(|axis| {
        let role = setting(&axis.key).map(|setting| setting.role);
        axis.values.len() > 1 && axis.key != "network" && role == Some(SettingRole::Condition)
    });
    match several {
        None => Ok(()),
        Some(axis) => {
            let option = setting(&axis.key).and_then(|setting| setting.option);
            let option = option.unwrap_or(&axis.key);
            let message = format!("--{option}: several values; it is not a choice of the operator");
            let hint =
                "give it one value: choices are protocols, routes and settings of transports";
            Err(CliError::bad_input(message).hint(hint.to_owned()))
        }
    }
}

fn print(
    args: &Decide,
    networks: &[(String, f64)],
    assessed: &[Assessment<'_>],
) -> Result<(), CliError> {
    for sentence in sentences(networks, assessed) {
        output::line(wrapped(&sentence))?;
    }
    output::line("")?;
    output::line(choices_table(assessed, networks))?;
    output::line("")?;
    output::line(networks_table(assessed, networks))?;
    output::line("")?;
    let first = assessed.iter().find(|it| it.is_first).map_or("", |it| &it.choice.name);
    let mut notes = format!(
        "Load times are simulated medians of {}; against {first}: by the geometric mean over the networks, weighted by shares. \
         Bytes (both directions, with headers), energy (the phone's radio, its tail included) and CPU are means of a load.",
        counted(args.loads.repetitions as usize, "load")
    );
    if assessed.iter().any(|it| it.cpu_ms.is_some()) {
        notes += " CPU: handshakes, requests and bytes at the costs of nginx and Caddy (docs/decide.md).";
    }
    output::line(wrapped(&notes))?;
    Ok(())
}

/// The decision in words.
fn sentences(networks: &[(String, f64)], assessed: &[Assessment<'_>]) -> Vec<String> {
    let best = &assessed[0];
    let name = &best.choice.name;
    let first = assessed.iter().find(|it| it.is_first);
    let mut sentences = Vec::new();
    match (first.filter(|first| !first.is_same(best)), best.mix) {
        _ if assessed.len() == 1 => {
            sentences.push(format!(
                "{name} is the only choice; name others, as --protocol h1,h2,h3-deployed."
            ));
        }
        (Some(first), Some(mix)) => sentences.push(format!(
            "Best for this mix: {name}, load times {} against {} ({}).",
            signed(mix.change),
            first.choice.name,
            mix.shown_interval()
        )),
        _ => sentences.push(format!("Best for this mix: {name}, as it is.")),
    }
    let wrong = best.wrong.iter().map(|wrong| {
        format!(
            "{} is {} faster over {}",
            wrong.better,
            percent(wrong.by),
            networks[wrong.network].0
        )
    });
    let wrong: Vec<String> = wrong.collect();
    match wrong.as_slice() {
        [] if networks.len() > 1 => sentences.push(format!(
            "No other choice is certainly faster over any of {}.",
            counted(networks.len(), "network")
        )),
        [] => {}
        wrong => sentences.push(format!("It is the wrong one for some: {}.", wrong.join("; "))),
    }
    for failed in assessed.iter().filter(|it| it.mix.is_none()) {
        sentences.push(format!(
            "{} does not load the whole page over every network.",
            failed.choice.name
        ));
    }
    sentences
}

fn choices_table(assessed: &[Assessment<'_>], networks: &[(String, f64)]) -> Table {
    let has_energy = assessed.iter().any(|it| it.joules.is_some());
    let has_cpu = assessed.iter().any(|it| it.cpu_ms.is_some());
    let mut heads = vec!["choice", "load time", "95 % interval", "bytes"];
    heads.extend(has_energy.then_some("energy"));
    heads.extend(has_cpu.then_some("CPU"));
    heads.push("wrong for");
    let mut table = Table::new(&heads);
    table.left(0);
    table.left(heads.len() - 1);
    for it in assessed {
        let (change, interval) = match it.mix {
            None => ("fails".to_owned(), "-".to_owned()),
            Some(_) if it.is_first => ("as it is".to_owned(), "-".to_owned()),
            Some(mix) => (signed(mix.change), mix.shown_interval()),
        };
        let known = |value: Option<String>| value.unwrap_or("-".to_owned());
        let mut row = vec![it.choice.name.clone(), change, interval, known(it.bytes.map(bytes))];
        row.extend(has_energy.then(|| known(it.joules.map(|joules| format!("{joules:.2} J")))));
        row.extend(has_cpu.then(|| known(it.cpu_ms.map(|ms| format!("{ms:.1} ms")))));
        let wrong = it.wrong.iter().map(|wrong| {
            format!("{} ({} {})", networks[wrong.network].0, wrong.better, signed(-wrong.by))
        });
        row.push(wrong.collect::<Vec<_>>().join(", "));
        table.row(row);
    }
    table
}

fn networks_table(assessed: &[Assessment<'_>], networks: &[(String, f64)]) -> Table {
    let heads = ["network", "share"].into_iter();
    let heads: Vec<&str> = heads.chain(assessed.iter().map(|it| it.choice.name.as_str())).collect();
    let mut table = Table::new(&heads);
    table.left(0);
    for (index, (network, share)) in networks.iter().enumerate() {
        let times =
            assessed.iter().map(|it| it.choice.median(index).map_or("-".to_owned(), span_f64));
        table.row([network.clone(), format!("{:.0} %", share * 100.0)].into_iter().chain(times));
    }
    table
}

fn as_json(
    args: &Decide,
    networks: &[(String, f64)],
    assessed: &[Assessment<'_>],
) -> serde_json::Value {
    let choice = |it: &Assessment<'_>| {
        let of_network = |(index, (network, share)): (usize, &(String, f64))| {
            json!({
                "network": network,
                "share": share,
                "plt_ns": it.choice.median(index),
                "against_first": it.against_first[index].as_ref().map(|difference| difference.as_json()),
            })
        };
        let wrong = it.wrong.iter().map(|wrong| {
            json!({ "network": networks[wrong.network].0, "better": wrong.better, "by": wrong.by })
        });
        json!({
            "choice": it.choice.name,
            "change": it.mix.map(|mix| mix.change),
            "interval": it.mix.and_then(|mix| mix.interval).map(|(low, high)| [low, high]),
            "bytes": it.bytes,
            "joules": it.joules,
            "server_cpu_ms": it.cpu_ms,
            "networks": networks.iter().enumerate().map(of_network).collect::<Vec<_>>(),
            "wrong_for": wrong.collect::<Vec<_>>(),
        })
    };
    json!({
        "page": args.page,
        "first": assessed.iter().find(|it| it.is_first).map(|it| &it.choice.name),
        "choices": assessed.iter().map(choice).collect::<Vec<_>>(),
    })
}
