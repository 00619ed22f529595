//! One module a command.

mod completions;
mod doctor;
mod interrupt;
mod load;
mod networks;
mod pages;
mod report;
mod run;
mod runs;

use lab::har_export::HarVisit;

use crate::args::{Cli, Command};
use crate::failure::{ExitCode, Failure};

/// Carries out what was typed.
pub fn run(cli: Cli) -> Result<ExitCode, Failure> {
    match cli.command {
        Command::Load(load) => load::run(&load),
        Command::Run(run) => run::run(&run),
        Command::Report(report) => report::run(&report),
        Command::Runs(runs) => runs::run(&runs),
        Command::Pages(pages) => pages::run(&pages),
        Command::Networks(networks) => networks::run(&networks),
        Command::Doctor => doctor::run(),
        Command::Completions { shell } => completions::run(shell),
    }
}

/// How many journeys to compute at once: what was asked for, or one a core.
fn workers(jobs: Option<usize>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    jobs.unwrap_or_else(cores).max(1)
}

/// Visits as the text of a HAR file.
fn har_text(visits: &[HarVisit<'_>]) -> String {
    serde_json::to_string_pretty(&lab::har_export::har(visits))
        .expect("a HAR is plain data, so it serialises")
}
