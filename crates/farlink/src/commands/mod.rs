//! One module a command, and what they share.

mod completions;
mod doctor;
mod files;
mod interrupt;
mod link;
mod load;
mod networks;
mod output;
mod pages;
mod reference;
mod report;
mod run;
mod runs;
mod shell;
mod stores;
mod validate;

use std::num::NonZeroUsize;

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
        Command::Validate(validate) => validate::run(&validate),
        Command::Pages(pages) => pages::run(&pages),
        Command::Networks(networks) => networks::run(&networks),
        Command::Link(link) => link::run(&link),
        Command::Doctor => doctor::run(),
        Command::Completions { shell } => completions::run(shell),
        Command::Reference { document } => reference::run(document),
    }
}

/// How many journeys to compute at once: what was asked for, or one a core.
fn workers(jobs: Option<NonZeroUsize>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    jobs.map_or_else(cores, NonZeroUsize::get)
}

/// Visits as the text of a HAR file.
fn har_text(visits: &[HarVisit<'_>]) -> String {
    serde_json::to_string_pretty(&lab::har_export::har(visits))
        .expect("a HAR is plain data, so it serialises")
}
