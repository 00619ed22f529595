//! `farlink doctor`: this machine's capabilities, the cost of a missing one, and the command that fixes it.
//! Everything is really tried.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anstyle::{AnsiColor, Style};
use emu::Wire;
use emu::diagnosis::{self, MissingPrerequisite, TrialOutcome};

use super::output;
use crate::failure::{CliError, ExitCode};
use crate::show::terminal::wrapped;

/// Result of one check.
struct DoctorCheck {
    what: String,
    outcome: TrialOutcome,
    /// Its purpose.
    purpose: String,
}

pub fn run() -> Result<ExitCode, CliError> {
    section("Simulation", &[simulation(), writable(), loopback()])?;
    let found = diagnosis::diagnose();
    let wire = super::wire()?.or_else(|| {
        Wire::ALL.into_iter().find(|wire| diagnosis::lacks(&found, Some(*wire)).is_empty())
    });
    let parts = found.into_iter().map(|found| DoctorCheck {
        what: found.capability.to_string(),
        outcome: found.outcome,
        purpose: found.capability.purpose().to_owned(),
    });
    section("Emulation", &parts.chain([emulation(wire)]).collect::<Vec<_>>())?;
    section("Tools", &[chromium(), tshark()])?;
    Ok(ExitCode::Success)
}

fn section(title: &str, findings: &[DoctorCheck]) -> Result<(), CliError> {
    output::line(title)?;
    findings.iter().try_for_each(DoctorCheck::tell)
}

impl DoctorCheck {
    fn tell(&self) -> Result<(), CliError> {
        let (word, color, detail) = match &self.outcome {
            TrialOutcome::Works(detail) => ("yes", AnsiColor::Green, detail.clone()),
            TrialOutcome::Missing(lack) => ("no", AnsiColor::Yellow, lack.why.clone()),
            TrialOutcome::Untried(needed) => {
                ("no", AnsiColor::Yellow, format!("requires {needed}"))
            }
        };
        let style = Style::new().bold().fg_color(Some(color.into()));
        output::line(format!("{style}{word:>5}{style:#}  {}: {detail}", self.what))?;
        output::line(wrapped(&format!("       {}", self.purpose)))?;
        match &self.outcome {
            TrialOutcome::Missing(lack) => {
                output::line(wrapped(&format!("       fix: {}", lack.remedy)))
            }
            TrialOutcome::Works(_) | TrialOutcome::Untried(_) => Ok(()),
        }
    }
}

fn simulation() -> DoctorCheck {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    DoctorCheck {
        what: "page loads".to_owned(),
        outcome: TrialOutcome::Works(format!("on {cores} cores")),
        purpose: "requires neither root nor a network".to_owned(),
    }
}

fn writable() -> DoctorCheck {
    let probe = Path::new(".farlink-doctor");
    let outcome = fs::write(probe, b"");
    // A probe that could not be written need not be removed.
    let _ = fs::remove_file(probe);
    DoctorCheck {
        what: "write access here".to_owned(),
        outcome: match outcome {
            Ok(()) => TrialOutcome::Works("allowed".to_owned()),
            Err(error) => missing(error, "run farlink in another directory, or use --store"),
        },
        purpose: "`run` stores results in ./farlink.sqlite by default (--store)".to_owned(),
    }
}

fn loopback() -> DoctorCheck {
    let bound = std::net::TcpListener::bind("127.0.0.1:0");
    DoctorCheck {
        what: "sockets on 127.0.0.1".to_owned(),
        outcome: match bound {
            Ok(_) => TrialOutcome::Works("allowed".to_owned()),
            Err(error) => missing(error, "sudo ip link set lo up"),
        },
        purpose: "required by tests and benchmarks over real sockets, not by simulation".to_owned(),
    }
}

/// All parts of the emulation together: a sandbox with a network in it, over the wire that it will use.
fn emulation(wire: Option<Wire>) -> DoctorCheck {
    let over = match wire {
        Some(Wire::Tap) => ", over TAP devices",
        Some(Wire::Veth) | None => "",
    };
    let ran = Command::new("/proc/self/exe")
        .args(["shell", "--network", "4g", "--", "/proc/self/exe", "--version"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())
        .and_then(|output| match output.status.success() {
            true => Ok(format!("a command ran in an emulated network{over}")),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        });
    DoctorCheck {
        what: "emulated networks".to_owned(),
        outcome: match ran {
            Ok(detail) => TrialOutcome::Works(detail),
            Err(said) => {
                let why = said.lines().next().unwrap_or_default();
                missing(why.trim_start_matches("error: "), "fix the failures above")
            }
        },
        purpose: "`farlink shell`, `--world emu`, `farlink validate`".to_owned(),
    }
}

fn chromium() -> DoctorCheck {
    const REMEDY: &str = "sudo apt-get install chromium";
    DoctorCheck {
        what: "Chromium".to_owned(),
        outcome: match super::chromium() {
            Ok(chromium) => version_of(&chromium.program().to_string_lossy(), REMEDY),
            Err(error) => missing(error, REMEDY),
        },
        purpose: "client in emulated networks (`--client chromium`)".to_owned(),
    }
}

fn tshark() -> DoctorCheck {
    DoctorCheck {
        what: "tshark".to_owned(),
        outcome: version_of("tshark", "sudo apt-get install tshark"),
        purpose: "analysis of captures (`load --pcap`)".to_owned(),
    }
}

/// The version that a program reports.
fn version_of(program: &str, remedy: &str) -> TrialOutcome {
    let version = || {
        let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
        let line = String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned();
        output.status.success().then_some(line)
    };
    match version() {
        Some(version) => TrialOutcome::Works(version),
        None => missing(format!("no working `{program}` on PATH"), remedy),
    }
}

fn missing(why: impl ToString, remedy: &str) -> TrialOutcome {
    TrialOutcome::Missing(MissingPrerequisite { why: why.to_string(), remedy: remedy.to_owned() })
}
