//! Single flows of the running kernel over emulated links beside the same flows of the simulated TCP: how `docs/validation.md` is made.
//!
//! `cargo run --release -p farlink-emu --example kernel_flows -- [--only NAME] [--out FILE] [--series DIRECTORY] [--autotuned] [--hz TICKS]`
//!
//! `--hz` is the running kernel's `CONFIG_HZ`: 250 unless said otherwise.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use congestion::Algorithm;
use farlink_emu::flow::{
    Buffers, Comparison, Divergence, Exchange, Flow, Measurement, Trace, measure, simulate,
};
use farlink_emu::{Privilege, isolated};
use net::QueueLimit;
use tcp::{Clock, Config};
use units::BitsPerSec;

/// Attempts at a flow on a machine that is busy.
const ATTEMPTS: u32 = 8;
/// Set for the program inside the namespaces.
const INSIDE: &str = "--inside";

/// A link and what is lost on it.
struct Setting {
    name: &'static str,
    what: &'static str,
    mbit: u64,
    rtt_ms: u64,
    queue: QueueLimit,
    drops: &'static [u64],
    exchanges: &'static [Exchange],
}

const fn bulk(response_bytes: u64) -> Exchange {
    Exchange { think: Duration::ZERO, response_bytes }
}

const fn after(think_ms: u64, response_bytes: u64) -> Exchange {
    Exchange { think: Duration::from_millis(think_ms), response_bytes }
}

const SETTINGS: [Setting; 12] = [
    Setting {
        name: "clean",
        what: "nothing is lost",
        mbit: 10,
        rtt_ms: 100,
        queue: QueueLimit::Packets(1000),
        drops: &[],
        exchanges: &[bulk(3_000_000)],
    },
    Setting {
        name: "narrow",
        what: "slow link, queue of 20 packets overflows",
        mbit: 1,
        rtt_ms: 100,
        queue: QueueLimit::Packets(20),
        drops: &[],
        exchanges: &[bulk(1_000_000)],
    },
    Setting {
        name: "shallow",
        what: "queue of 20 packets overflows",
        mbit: 10,
        rtt_ms: 100,
        queue: QueueLimit::Packets(20),
        drops: &[],
        exchanges: &[bulk(3_000_000)],
    },
    Setting {
        name: "middling",
        what: "queue of 100 packets overflows",
        mbit: 10,
        rtt_ms: 20,
        queue: QueueLimit::Packets(100),
        drops: &[],
        exchanges: &[bulk(5_000_000)],
    },
    Setting {
        name: "bloated",
        what: "queue of 4 BDP",
        mbit: 10,
        rtt_ms: 100,
        queue: QueueLimit::Packets(333),
        drops: &[],
        exchanges: &[bulk(5_000_000)],
    },
    Setting {
        name: "wide",
        what: "fast link, queue of 1 BDP",
        mbit: 100,
        rtt_ms: 20,
        queue: QueueLimit::Packets(167),
        drops: &[],
        exchanges: &[bulk(20_000_000)],
    },
    Setting {
        name: "satellite",
        what: "long way, queue of 1 BDP",
        mbit: 10,
        rtt_ms: 600,
        queue: QueueLimit::Packets(500),
        drops: &[],
        exchanges: &[bulk(5_000_000)],
    },
    Setting {
        name: "single",
        what: "packet 100 is lost",
        mbit: 10,
        rtt_ms: 100,
        queue: QueueLimit::Packets(1000),
        drops: &[100],
        exchanges: &[bulk(3_000_000)],
    },
    Setting {
        name: "burst",
        what: "packets 100-102 are lost",
        mbit: 10,
        rtt_ms: 100,
        queue: QueueLimit::Packets(1000),
        drops: &[100, 101, 102],
        exchanges: &[bulk(3_000_000)],
    },
    Setting {
        name: "tail",
        what: "the last three packets are lost",
        mbit: 10,
        rtt_ms: 100,
        queue: QueueLimit::Packets(1000),
        drops: &[205, 206, 207],
        exchanges: &[bulk(207 * 1448)],
    },
    Setting {
        name: "head",
        what: "the first packet is lost, its retransmission too, and packets 60 and 120",
        mbit: 10,
        rtt_ms: 100,
        queue: QueueLimit::Packets(1000),
        drops: &[1, 13, 60, 120],
        exchanges: &[bulk(2_000_000)],
    },
    Setting {
        name: "idle",
        what: "four responses, idle for 0.1, 1 and 3 s between",
        mbit: 10,
        rtt_ms: 100,
        queue: QueueLimit::Packets(1000),
        drops: &[],
        exchanges: &[
            bulk(500_000),
            after(100, 300_000),
            after(1000, 300_000),
            after(3000, 300_000),
        ],
    },
];

impl Setting {
    fn flow(&self, congestion: Algorithm, buffers: Buffers) -> Flow {
        Flow {
            rate: BitsPerSec::mbit(self.mbit),
            rtt: Duration::from_millis(self.rtt_ms),
            queue: self.queue,
            drops: self.drops.to_vec(),
            buffers,
            congestion,
            exchanges: self.exchanges.to_vec(),
        }
    }
}

struct Arguments {
    buffers: Buffers,
    /// Ticks a second of the running kernel.
    hz: u32,
    only: Option<String>,
    out: Option<PathBuf>,
    series: Option<PathBuf>,
    inside: bool,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut arguments = Arguments {
            buffers: Buffers::Ample,
            hz: 250,
            only: None,
            out: None,
            series: None,
            inside: false,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--only" => arguments.only = Some(value()?),
                "--autotuned" => arguments.buffers = Buffers::Autotuned,
                "--hz" => {
                    arguments.hz = value()?.parse().map_err(|_| "--hz takes a number")?;
                }
                "--out" => arguments.out = Some(value()?.into()),
                "--series" => arguments.series = Some(value()?.into()),
                INSIDE => arguments.inside = true,
                _ => return Err(format!("unknown argument {word}")),
            }
        }
        Ok(arguments)
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = Arguments::parse(words.iter().cloned()).and_then(|arguments| {
        if arguments.inside { compare_all(&arguments) } else { go_inside(&words) }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs this program again in namespaces of its own.
fn go_inside(words: &[String]) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(words).arg(INSIDE);
    let status = isolated(&mut command, Privilege::available())
        .status()
        .map_err(|error| format!("failed to enter new namespaces: {error}"))?;
    if status.success() { Ok(()) } else { Err("see above".into()) }
}

fn compare_all(arguments: &Arguments) -> Result<(), String> {
    let config = Config { clock: Clock::wheel(arguments.hz), ..Config::default() };
    let mut table = String::from(HEAD);
    for setting in &SETTINGS {
        for congestion in [Algorithm::Reno, Algorithm::Cubic] {
            let name = format!("{}-{}", setting.name, kernel_name(congestion));
            if arguments.only.as_ref().is_some_and(|only| !name.starts_with(only)) {
                continue;
            }
            let flow = setting.flow(congestion, arguments.buffers);
            let measured = measure_patiently(&name, &flow)?;
            let simulated = simulate(&flow, &config);
            let comparison = Comparison {
                kernel: &measured.trace,
                simulated: &simulated,
                total_bytes: flow.total_bytes(),
            };
            let row = row(&name, &comparison);
            eprintln!("{} ({})", row.trim(), measured.punctuality);
            table += &row;
            if let Some(directory) = &arguments.series {
                for (who, trace) in [("kernel", &measured.trace), ("simulated", &simulated)] {
                    write_series(directory, &format!("{name}-{who}"), trace)?;
                }
            }
        }
    }
    table += "\nThe settings:\n\n";
    for setting in &SETTINGS {
        let Setting { name, what, mbit, rtt_ms, queue, .. } = setting;
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

/// Repeats a flow until its times are true.
fn measure_patiently(name: &str, flow: &Flow) -> Result<Measurement, String> {
    for _ in 0..ATTEMPTS {
        let measurement = measure(flow).map_err(|error| error.to_string())?;
        match measurement.invalid {
            None => return Ok(measurement),
            Some(why) => eprintln!("{name}: {why}; trying again"),
        }
    }
    Err(format!("{name}: the machine is too busy"))
}

fn kernel_name(congestion: Algorithm) -> &'static str {
    if congestion == Algorithm::Reno { "reno" } else { "cubic" }
}

const HEAD: &str = "\
| flow | kernel s | farlink s | ratio | packets | dropped | retransmitted | same order of packets | same retransmissions | cwnd a round |
|---|---|---|---|---|---|---|---|---|---|
";

fn row(name: &str, comparison: &Comparison<'_>) -> String {
    let Comparison { kernel, simulated, .. } = *comparison;
    let seconds = |trace: &Trace| {
        let completion = trace.completion(comparison.total_bytes);
        completion.map_or("never".into(), |took| format!("{:.3}", took.as_secs_f64()))
    };
    let both =
        |count: &dyn Fn(&Trace) -> usize| format!("{} / {}", count(kernel), count(simulated));
    format!(
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        seconds(kernel),
        seconds(simulated),
        comparison.ratio().map_or("-".into(), |ratio| format!("{ratio:.4}")),
        both(&|trace| trace.data.len()),
        both(&|trace| trace.dropped()),
        both(&|trace| trace.retransmissions().len()),
        verdict(comparison.packets(), kernel.data.len()),
        verdict(comparison.retransmissions(), kernel.retransmissions().len()),
        rounds(comparison),
    )
}

fn verdict(divergence: Option<Divergence>, of: usize) -> String {
    match divergence {
        None => "yes".into(),
        Some(at) => format!("the first {} of {of}", at.index),
    }
}

fn rounds(comparison: &Comparison<'_>) -> String {
    let of = comparison.kernel.rounds().len();
    match comparison.rounds() {
        None => format!("same in {of}"),
        Some(at) => {
            let show = |value: Option<u64>| value.map_or("none".into(), |value| value.to_string());
            format!(
                "same in {} of {of}, then {} / {}",
                at.index,
                show(at.kernel),
                show(at.simulated)
            )
        }
    }
}

/// Writes packets and acknowledgements in the order of time, for a closer look.
fn write_series(directory: &Path, name: &str, trace: &Trace) -> Result<(), String> {
    let data = trace.data.iter().map(|packet| {
        let fate = if packet.arrives.is_some() { "" } else { " dropped" };
        let segment = (packet.seq - 1) as f64 / 1448.0;
        (packet.at, 1, format!("data {segment:.2} {}{fate}", packet.len))
    });
    let acks = trace.acknowledgements.iter().map(|ack| {
        let segment = ack.ack.saturating_sub(1) as f64 / 1448.0;
        let ssthresh = ack.ssthresh.map_or("-".into(), |value| value.to_string());
        let (cwnd, window) = (ack.cwnd, ack.window_bytes);
        (ack.at, 0, format!("ack  {segment:.2} cwnd {cwnd} ssthresh {ssthresh} window {window}"))
    });
    let mut lines: Vec<_> = data.chain(acks).collect();
    lines.sort_by_key(|(at, order, _)| (*at, *order));
    let text: String = lines
        .into_iter()
        .map(|(at, _, line)| format!("{:.6} {line}\n", at.as_secs_f64()))
        .collect();
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(directory.join(format!("{name}.txt")), text))
        .map_err(|error| format!("failed to write {name}: {error}"))
}
