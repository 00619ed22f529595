//! Throughput and punctuality of the emulator on this machine: produces the table in `docs/emulation.md`.
//!
//! `cargo run --release -p farlink-emu --example emulator_speed -- [--wire veth|tap] [--only NAME] [--seconds N]`
//!
//! Each line is a link, the same both ways, over either wire unless one is named. If the line says so, a TCP flow (CUBIC) between two threads of
//! this program runs from server to client, with a ping beside it. CPU time is that of the whole program: sender, emulator, receiver. The error of a
//! ping is the excess of its round trip over the time its packets were on the links; without a flow it is constant.

mod bulk;
mod ping;
mod settings;

use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use chance::RandomSource;
use farlink_emu::{
    AccessSide, EmulationResult, Privilege, Testbed, TestbedConfig, UnknownWireError, Wire,
    isolated,
};

use bulk::Bulk;
use ping::{EchoSocket, Echoes, Pings};
use settings::{SETTINGS, Setting};

/// Set for the program inside the namespaces.
const INSIDE: &str = "--inside";
/// Testbeds built to measure set-up time.
const TESTBEDS: u32 = 20;

struct Arguments {
    wires: Vec<Wire>,
    only: Option<String>,
    span: Duration,
    inside: bool,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut arguments = Arguments {
            wires: Wire::ALL.to_vec(),
            only: None,
            span: Duration::from_secs(5),
            inside: false,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--wire" => {
                    let wire =
                        value()?.parse().map_err(|error: UnknownWireError| error.to_string())?;
                    arguments.wires = vec![wire];
                }
                "--only" => arguments.only = Some(value()?),
                "--seconds" => {
                    arguments.span = Duration::from_secs(
                        value()?.parse().map_err(|_| "--seconds takes a whole number")?,
                    )
                }
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
        if arguments.inside { measure_all(&arguments) } else { go_inside(&words) }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn go_inside(words: &[String]) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(words).arg(INSIDE);
    let status = isolated(&mut command, Privilege::available()).status();
    match status.map_err(|error| format!("failed to make namespaces: {error}"))? {
        status if status.success() => Ok(()),
        status => Err(format!("the measurement failed: {status}")),
    }
}

fn measure_all(arguments: &Arguments) -> Result<(), String> {
    for wire in &arguments.wires {
        println!("testbed, {wire}: {:.1} ms", testbed_time(*wire)?.as_secs_f64() * 1e3);
    }
    println!("{}", settings::HEAD);
    for setting in SETTINGS.iter().filter(|setting| arguments.wants(setting.name)) {
        for wire in &arguments.wires {
            println!("{}", measure(setting, *wire, arguments)?);
        }
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "how long building takes is real time")]
fn testbed_time(wire: Wire) -> Result<Duration, String> {
    let began = Instant::now();
    for _ in 0..TESTBEDS {
        drop(testbed(wire)?);
    }
    Ok(began.elapsed() / TESTBEDS)
}

fn testbed(wire: Wire) -> Result<Testbed, String> {
    let setup = TestbedConfig { wire: Some(wire), ..TestbedConfig::default() };
    Testbed::build(setup).map_err(|error| error.to_string())
}

/// One line of the table.
fn measure(setting: &Setting, wire: Wire, arguments: &Arguments) -> Result<String, String> {
    let failed = |error: farlink_emu::Error| error.to_string();
    let testbed = testbed(wire)?;
    let socket =
        testbed.namespace(AccessSide::Client).run(|| Ok(EchoSocket::open())).map_err(failed)?;
    let (topology, release) = setting.topology();
    let emulator = testbed.emulator(topology, &RandomSource::new(0, 0));
    let emulator = emulator.map_err(failed)?.releasing(release).observed_by(Echoes::default());
    let control = emulator.control();
    let emulation = thread::spawn(move || emulator.run());

    let bulk = setting.has_flow.then(|| Bulk::start(&testbed)).transpose().map_err(failed)?;
    let span = arguments.span;
    let pings = testbed.namespace(AccessSide::Client).spawn(move || Ok(Pings::send(&socket, span)));
    let pings = pings.map_err(failed)?;
    let flow = bulk.map(|bulk| bulk.measure(span));
    let pings = pings.join().map_err(|_| "the ping's thread panicked")?.map_err(failed)?;
    control.stop();
    let account = emulation.join().map_err(|_| "the emulator's thread panicked")?;
    let EmulationResult { snapshot, observer, .. } = account.map_err(failed)?;
    Ok(settings::row(setting.name, wire, release, flow, &pings.errors(&observer), &snapshot))
}
