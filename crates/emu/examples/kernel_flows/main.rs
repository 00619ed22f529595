//! Single flows of the running kernel over emulated links beside the same flows of the simulated TCP: produces `docs/validation.md`.
//!
//! `cargo run --release -p farlink-emu --example kernel_flows -- [--autotuned | --bbr] [--only NAME] [--out FILE] [--series DIRECTORY] [--plots DIRECTORY] [--hz TICKS]`
//!
//! By default: Reno and CUBIC with ample buffers, packet by packet. `--autotuned`: CUBIC with the kernel's own buffers; `--bbr`: BBR with ample
//! buffers; neither is reproducible, so both are measured several times. `--hz` is the running kernel's `CONFIG_HZ`, 250 by default.

mod exact;
mod plots;
mod settings;
mod spread;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use congestion::Algorithm;
use farlink_emu::flow::{
    ComparedFlow, FlowBuffers, FlowComparison, FlowTrace, KernelMeasurement, kernel_name, measure,
    simulate,
};
use farlink_emu::{Privilege, isolated};
use tcp::{Clock, Config};

use settings::{AUTOTUNED, SETTINGS, Setting};
use spread::Outcome;

/// Attempts at a flow on a busy machine.
const ATTEMPTS: u32 = 8;
/// Kernel runs of a flow that is not reproducible.
const RUNS: u64 = 5;
/// Simulated runs, each in another phase of the clock.
const SIMULATED_RUNS: u64 = 16;
/// Set for the program inside the namespaces.
const INSIDE: &str = "--inside";

/// The flows, and the method of comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Exact,
    Autotuned,
    Bbr,
}

struct Arguments {
    list: List,
    /// Ticks per second of the running kernel (`CONFIG_HZ`).
    hz: u32,
    only: Option<String>,
    out: Option<PathBuf>,
    series: Option<PathBuf>,
    plots: Option<PathBuf>,
    inside: bool,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut arguments = Arguments {
            list: List::Exact,
            hz: 250,
            only: None,
            out: None,
            series: None,
            plots: None,
            inside: false,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--only" => arguments.only = Some(value()?),
                "--autotuned" => arguments.list = List::Autotuned,
                "--bbr" => arguments.list = List::Bbr,
                "--hz" => {
                    arguments.hz = value()?.parse().map_err(|_| "--hz takes a number")?;
                }
                "--out" => arguments.out = Some(value()?.into()),
                "--plots" => arguments.plots = Some(value()?.into()),
                "--series" => arguments.series = Some(value()?.into()),
                INSIDE => arguments.inside = true,
                _ => return Err(format!("unknown argument {word}")),
            }
        }
        Ok(arguments)
    }

    fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.starts_with(only))
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = Arguments::parse(words.iter().cloned()).and_then(|arguments| {
        if arguments.inside { compare(&arguments) } else { go_inside(&words) }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs this program again in its own namespaces.
fn go_inside(words: &[String]) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(words).arg(INSIDE);
    let status = isolated(&mut command, Privilege::available())
        .status()
        .map_err(|error| format!("failed to enter new namespaces: {error}"))?;
    if status.success() { Ok(()) } else { Err("see above".into()) }
}

fn compare(arguments: &Arguments) -> Result<(), String> {
    let config = Config { clock: Clock::wheel(arguments.hz), ..Config::default() };
    let (mut table, settings) = match arguments.list {
        List::Exact => (exact_table(arguments, &config)?, SETTINGS.iter().collect()),
        List::Autotuned => {
            let settings: Vec<&Setting> = AUTOTUNED.iter().collect();
            let flows = (Algorithm::Cubic, FlowBuffers::Autotuned);
            (spread_table(arguments, &config, &settings, flows)?, settings)
        }
        List::Bbr => {
            let settings: Vec<&Setting> = SETTINGS.iter().collect();
            let flows = (Algorithm::Bbr, FlowBuffers::Ample);
            (spread_table(arguments, &config, &settings, flows)?, settings)
        }
    };
    table += "\nThe settings:\n\n";
    for Setting { name, what, mbit, rtt_ms, queue, .. } in settings {
        let _ = writeln!(table, "- `{name}`: {mbit} Mbit/s, {rtt_ms} ms, queue {queue}: {what}");
    }
    match &arguments.out {
        Some(path) => std::fs::write(path, table).map_err(|error| error.to_string()),
        None => {
            println!("{table}");
            Ok(())
        }
    }
}

fn exact_table(arguments: &Arguments, config: &Config) -> Result<String, String> {
    let mut table = String::from(exact::HEAD);
    for congestion in [Algorithm::Reno, Algorithm::Cubic] {
        let mut rows = Vec::new();
        for setting in &SETTINGS {
            let name = format!("{}-{}", setting.name, kernel_name(congestion));
            if !arguments.wants(&name) {
                continue;
            }
            let flow = setting.flow(congestion, FlowBuffers::Ample);
            let measured = measure_patiently(&name, &flow)?;
            let simulated = simulate(&flow, config, 0);
            let comparison = FlowComparison {
                kernel: &measured.trace,
                simulated: &simulated,
                total_bytes: flow.total_bytes(),
            };
            let row = exact::row(&name, &comparison);
            eprintln!("{} ({})", row.trim(), measured.punctuality);
            table += &row;
            if let Some(directory) = &arguments.series {
                exact::write_series(directory, &format!("{name}-kernel"), &measured.trace)?;
                exact::write_series(directory, &format!("{name}-simulated"), &simulated)?;
            }
            let (kernel, simulated) = (vec![measured.trace], vec![simulated]);
            rows.push(plots::Row { name, what: setting.what, kernel, simulated });
        }
        plot(arguments, congestion, &rows)?;
    }
    Ok(table)
}

fn plot(arguments: &Arguments, congestion: Algorithm, rows: &[plots::Row]) -> Result<(), String> {
    match &arguments.plots {
        Some(directory) => plots::write(directory, kernel_name(congestion), rows),
        None => Ok(()),
    }
}

fn spread_table(
    arguments: &Arguments,
    config: &Config,
    settings: &[&Setting],
    (congestion, buffers): (Algorithm, FlowBuffers),
) -> Result<String, String> {
    let mut table = String::from(spread::HEAD);
    let mut rows = Vec::new();
    for setting in settings {
        let name = format!("{}-{}", setting.name, kernel_name(congestion));
        if !arguments.wants(&name) {
            continue;
        }
        let flow = setting.flow(congestion, buffers);
        let kernel: Result<Vec<FlowTrace>, String> =
            (0..RUNS).map(|_| Ok(measure_patiently(&name, &flow)?.trace)).collect();
        let kernel = kernel?;
        let simulated: Vec<FlowTrace> =
            (0..SIMULATED_RUNS).map(|run| simulate(&flow, config, run)).collect();
        let outcomes = |who: &str, traces: &[FlowTrace]| -> Result<Vec<Outcome>, String> {
            let outcome = |(run, trace): (usize, &FlowTrace)| {
                if let Some(directory) = &arguments.series {
                    exact::write_series(directory, &format!("{name}-{who}-{run}"), trace)?;
                }
                let outcome = Outcome::of(trace, flow.total_bytes());
                outcome.ok_or_else(|| format!("{name}: {who}: never complete"))
            };
            traces.iter().enumerate().map(outcome).collect()
        };
        let row =
            spread::row(&name, &outcomes("kernel", &kernel)?, &outcomes("simulated", &simulated)?);
        rows.push(plots::Row { name, what: setting.what, kernel, simulated });
        eprintln!("{}", row.trim());
        table += &row;
    }
    plot(arguments, congestion, &rows)?;
    Ok(table)
}

/// Repeats a flow until its times are valid.
fn measure_patiently(name: &str, flow: &ComparedFlow) -> Result<KernelMeasurement, String> {
    for _ in 0..ATTEMPTS {
        let measurement = measure(flow).map_err(|error| error.to_string())?;
        match measurement.invalid {
            None => return Ok(measurement),
            Some(why) => eprintln!("{name}: {why}; trying again"),
        }
    }
    Err(format!("{name}: the machine is too busy"))
}
