//! `farlink load`: one page, several arms, an answer.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::Ordering;

use lab::har_export::HarVisit;
use lab::scenario::{ChoiceError, NetworkSpec, Nuisance, PageRef, Scenario};
use lab::simulate::Simulator;
use lab::{JourneyPlan, JourneyResult, Order, Plan};
use serde_json::json;

use super::{interrupt, workers};
use crate::args::{How, Load};
use crate::failure::{ExitCode, Failure};
use crate::show::arms::{self, Arm};
use crate::show::waterfall;

/// Objects that a waterfall shows unless all are asked for.
const WATERFALL_ROWS: usize = 40;

pub fn run(load: &Load) -> Result<ExitCode, Failure> {
    let plan = plan(load)?;
    let simulator = Simulator::new();
    for cell in plan.cells() {
        simulator.prepare(cell).map_err(Failure::bad_input)?;
    }
    if let Some(path) = &load.har {
        check_writable(path)?;
    }
    let cancel = interrupt::flag()?;
    let results = lab::batch::collect(&plan, &simulator, workers(load.jobs), &cancel);
    let whole = !cancel.load(Ordering::Relaxed);
    if load.json {
        print_json(&results)?;
    }
    let arms = arms::group(results);
    if !load.json {
        print_text(load, &arms);
    }
    if let Some(path) = &load.har {
        write_hars(path, &arms, &simulator)?;
    }
    Ok(match arms.iter().any(|arm| arm.failed() > 0) {
        _ if !whole => ExitCode::Interrupted,
        true => ExitCode::Failed,
        false => ExitCode::Success,
    })
}

/// The plan that the arguments come to.
fn plan(load: &Load) -> Result<Plan, Failure> {
    if load.repetitions == 0 {
        return Err(
            Failure::bad_input("-n 0 asks for no load at all").hint("give -n 1 or more".to_owned())
        );
    }
    if load.seed >= 1 << 63 {
        return Err(Failure::bad_input("--seed is at most 9223372036854775807"));
    }
    let mut cells = Vec::new();
    for protocol in &load.how.protocol {
        for tls in &load.how.tls {
            cells.push(scenario(&load.page, &load.how, protocol, tls)?);
        }
    }
    Ok(Plan::new("load", load.seed, load.repetitions, Order::Alternated, cells))
}

fn scenario(page: &str, how: &How, protocol: &str, tls: &str) -> Result<Scenario, Failure> {
    let network = NetworkSpec::parse(&how.network).map_err(Failure::bad_input)?;
    let mut scenario = Scenario::new(page, network);
    scenario.page = PageRef { spec: page.to_owned(), digest: lab::simulate::page_digest(page) };
    scenario.stack.protocol = choice(protocol)?;
    scenario.stack.tls = choice(tls)?;
    scenario.stack.connections_per_host =
        at_least_one("--connections-per-host", how.connections_per_host)?;
    scenario.stack.connections_total = at_least_one("--connections-total", how.connections_total)?;
    scenario.transport.congestion = choice(&how.congestion)?;
    scenario.transport.initial_window_segments =
        at_least_one("--initial-window", Some(how.initial_window))?.unwrap_or(1);
    scenario.client.device.clone_from(&how.device);
    scenario.client.cpu_multiplier = multiplier(&how.cpu)?;
    scenario.client.browser.clone_from(&how.browser);
    scenario.client.view = choice(&how.view)?;
    let blocked: BTreeSet<String> = how.block.iter().cloned().collect();
    scenario.client.blocked_hosts = blocked.into_iter().collect();
    scenario.server.origins = choice(&how.origins)?;
    scenario.server.workers = at_least_one("--workers", how.workers)?;
    let service = units::parse::duration(&how.service_time)
        .map_err(|error| Failure::bad_input(format!("--service-time: {error}")))?;
    scenario.server.service_time_ns = service.as_nanos() as u64;
    if how.no_nuisance {
        scenario.nuisance = Nuisance::Off;
    }
    Ok(scenario)
}

fn choice<T: FromStr<Err = ChoiceError>>(text: &str) -> Result<T, Failure> {
    text.parse().map_err(|error: ChoiceError| {
        let hint = error.hint();
        Failure::bad_input(error).hint(hint)
    })
}

fn at_least_one(option: &str, value: Option<u32>) -> Result<Option<u32>, Failure> {
    match value {
        Some(0) => Err(Failure::bad_input(format!("{option} is at least 1"))),
        value => Ok(value),
    }
}

/// `4x`, `0.5x` or a bare number.
fn multiplier(text: &str) -> Result<f64, Failure> {
    let number = text.trim().trim_end_matches(['x', 'X']).parse::<f64>();
    number.ok().filter(|n| (0.001..=1000.0).contains(n)).ok_or_else(|| {
        Failure::bad_input(format!("`{text}` is not how many times slower a CPU is"))
            .hint("write --cpu 4x (0.001x to 1000x)".to_owned())
    })
}

fn print_text(load: &Load, arms: &[Arm]) {
    let out = |text: &str| anstream::println!("{text}");
    match arms::answer(arms, load.seed) {
        Some(answer) => out(&answer),
        None if arms.iter().all(|arm| arm.plt().is_none()) => out("The page did not load."),
        None => {}
    }
    out(&heading(load, arms));
    out("");
    out(&arms::table(arms).to_string());
    out("* ByteIndex is a model: the mean arrival of a byte, not what a person sees.");
    for note in notes(arms) {
        out(&format!("note: {note}"));
    }
    for failure in failures(arms) {
        out(&format!("failed: {failure}"));
    }
    let width = terminal_size::terminal_size().map_or(100, |(width, _)| width.0.into());
    let rows = if load.waterfall { usize::MAX } else { WATERFALL_ROWS };
    let fastest = arms::fastest(arms);
    for arm in
        arms.iter().filter(|arm| load.waterfall || fastest.is_some_and(|f| f.name == arm.name))
    {
        if let Some((_, visit)) = arm.median_visit() {
            out(&format!("\n{}, the median load:", arm.name));
            out(&waterfall::draw(&visit.record, width, rows));
        }
    }
}

fn heading(load: &Load, arms: &[Arm]) -> String {
    let Some(arm) = arms.first() else { return String::new() };
    let client = &arm.scenario.client;
    let cpu = if client.cpu_multiplier == 1.0 {
        String::new()
    } else {
        format!(" at {}x", client.cpu_multiplier)
    };
    format!(
        "{} over {}; device {}{cpu}, browser {}; {} loads an arm, seed {}, simulated",
        arm.scenario.page.spec,
        arm.scenario.network,
        client.device,
        client.browser,
        load.repetitions,
        load.seed
    )
}

/// Every note once, and what the numbers themselves say should be known.
fn notes(arms: &[Arm]) -> BTreeSet<String> {
    let mut notes: BTreeSet<String> =
        arms.iter().flat_map(|arm| arm.notes.iter().cloned()).collect();
    for arm in arms {
        if arm.visits.len() > 1 && arm.plt().is_some_and(|plt| !plt.has_spread()) {
            notes.insert(format!("{}: all loads are the same, there is no spread", arm.name));
        }
        let limited = |v: &lab::MeasuredVisit| {
            v.record.connections.iter().filter(|c| c.is_flow_limited()).count()
        };
        let limited = arm.visits.iter().map(limited).max().unwrap_or(0);
        if limited > 0 {
            notes.insert(format!(
                "{}: flow control held back {limited} connections for over 1 % of their busy time",
                arm.name
            ));
        }
    }
    notes
}

fn failures(arms: &[Arm]) -> BTreeSet<String> {
    let visit = |v: &lab::MeasuredVisit| match &v.record.outcome {
        record::Outcome::Failed { reason } => Some(reason.clone()),
        record::Outcome::Loaded { .. } => None,
    };
    arms.iter()
        .flat_map(|arm| {
            let visits = arm.visits.iter().filter_map(visit);
            visits.chain(arm.failures.iter().cloned()).map(|why| format!("{}: {why}", arm.name))
        })
        .collect()
}

/// One object a visit, one a line.
fn print_json(results: &[(JourneyPlan, JourneyResult)]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    for (journey, result) in results {
        let scenario = &journey.scenario;
        for visit in &result.visits {
            let record = &visit.record;
            let line = json!({
                "page": scenario.page.spec,
                "network": scenario.network.to_string(),
                "protocol": scenario.stack.protocol.name(),
                "tls": scenario.stack.tls.name(),
                "device": scenario.client.device,
                "browser": scenario.client.browser,
                "view": record.view,
                "repetition": journey.repetition,
                "seed": journey.seed,
                "plt_ms": record.plt_ns().map(millis),
                "ttfb_ms": record.ttfb_ns.map(millis),
                "floor_ms": visit.floors.map(|f| millis(f.graph_ns)),
                "floor_oracle_ms": visit.floors.map(|f| millis(f.oracle_ns)),
                "requests": record.objects.len(),
                "connections": record.connections.len(),
                "bytes_down": record.wire_bytes_down,
                "bytes_up": record.wire_bytes_up,
                "retransmits": record.retransmits(),
                "failure": match &record.outcome {
                    record::Outcome::Failed { reason } => Some(reason),
                    record::Outcome::Loaded { .. } => None,
                },
                "trace_digest": record.trace_digest.map(|digest| format!("{digest:016x}")),
                "notes": result.notes,
            });
            writeln!(out, "{line}").map_err(|e| Failure::machine(format!("cannot write: {e}")))?;
        }
        if let Some(failure) = &result.failure {
            let line =
                json!({ "plt_ms": null, "failure": failure, "repetition": journey.repetition });
            writeln!(out, "{line}").map_err(|e| Failure::machine(format!("cannot write: {e}")))?;
        }
    }
    Ok(())
}

fn millis(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Finds out before anything is measured whether results will find a place.
fn check_writable(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if folder.is_dir() {
        return Ok(());
    }
    Err(Failure::bad_input(format!(
        "--har {}: there is no directory {}",
        path.display(),
        folder.display()
    ))
    .hint(format!("mkdir -p {}", folder.display())))
}

/// The median visit of each arm.
fn write_hars(path: &Path, arms: &[Arm], simulator: &Simulator) -> Result<(), Failure> {
    for arm in arms {
        let Some((seed, visit)) = arm.median_visit() else { continue };
        let path = if arms.len() == 1 { path.to_owned() } else { beside(path, &arm.name) };
        let page = simulator.page(&arm.scenario).map_err(Failure::bad_input)?;
        let visit = HarVisit {
            record: &visit.record,
            scenario: Some(&arm.scenario),
            seed,
            page: Some(&page),
        };
        std::fs::write(&path, super::har_text(&[visit]))
            .map_err(|e| Failure::machine(format!("cannot write {}: {e}", path.display())))?;
        anstream::eprintln!("wrote {}", path.display());
    }
    Ok(())
}

/// `out.har` and `h2 tls13` make `out.h2-tls13.har`.
fn beside(path: &Path, arm: &str) -> PathBuf {
    let extension = path.extension().map_or("har".into(), |e| e.to_string_lossy().into_owned());
    path.with_extension(format!("{}.{extension}", arm.replace(' ', "-")))
}
