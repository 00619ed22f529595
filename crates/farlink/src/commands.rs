//! Dispatch of the command line: one module per command, and shared helpers.

mod advise;
mod archive;
mod budgets;
mod calibrate;
mod catalogues;
mod compare;
mod decide;
mod doctor;
mod emulated_shell;
mod export;
mod files;
mod init;
mod interrupt;
mod link;
mod load;
mod merge;
mod output;
mod pep;
mod power;
mod proxy;
mod record;
mod recording;
mod reference;
mod replay;
mod report;
mod run;
mod shares;
mod shell;
mod stores;
mod study;
mod ui;
mod until;
mod validate;
mod watched;
mod what_if;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::thread;
use std::time::{Duration, SystemTime};

use chromium::{Chromium, ChromiumError};
use clap::CommandFactory;
use clap_complete::Shell;
use emu::Wire;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use scenario::experiment::NameError;
use scenario::{Plan, Program, Scenario};
use store::har_export::HarVisit;
use testbed::emulate::{self, Role};
use testbed::worlds::Worlds;

use crate::args::{Cli, Command, Networks, Pages};
use crate::failure::{CliError, ExitCode};
use crate::show::terminal::wrapped;

/// Carries out the command line.
pub fn run(cli: Cli) -> Result<process::ExitCode, CliError> {
    let code = match cli.command {
        Command::Load(mut load) => {
            if record::is_url(&load.page) {
                load.page = record::record_url(&load.page)?.display().to_string();
            }
            load.choose_page()?;
            load::run(&load)
        }
        Command::Compare(compare) => compare::run(&compare),
        Command::Advise(advise) => advise::run(&advise),
        Command::Decide(decide) => decide::run(&decide),
        Command::WhatIf(what_if) => what_if::run(&what_if),
        Command::Record(record) => record::run(&record),
        Command::Replay(replay) => replay::run(&replay),
        Command::Archive(archive) => archive::run(&archive),
        Command::Init(init) => init::run(&init),
        Command::Run(run) => run::run(&run),
        Command::Report(report) => report::run(&report),
        Command::Export(export) => export::run(&export),
        Command::Merge(merge) => merge::run(&merge),
        Command::Runs(runs) => stores::list_runs(&runs),
        Command::Ui(args) => ui::run(&args),
        Command::Validate(validate) => validate::run(&validate),
        Command::Calibrate(calibrate) => calibrate::run(&calibrate),
        Command::Study(study) => study::run(&study),
        Command::Pages(on) => catalogues::pages(&on.what.unwrap_or(Pages::List)),
        Command::Networks(on) => catalogues::networks(&on.what.unwrap_or(Networks::List)),
        Command::Link(link) => link::run(&link),
        Command::Shell(shell) => return emulated_shell::run(&shell),
        Command::ShellInside(shell) => return emulated_shell::inside::run(&shell),
        Command::Pep(command) => pep::run(&command),
        Command::Proxy(proxy) => proxy::run(&proxy),
        Command::Doctor => doctor::run(),
        Command::Completions { shell } => completions(shell),
        Command::Emulated { role } => emulated_process(&role),
        Command::Reference { document } => reference::run(document),
    };
    code.map(process::ExitCode::from)
}

/// Every world, with this executable for the processes of the emulated one.
fn worlds() -> Result<Worlds, CliError> {
    let program = std::env::current_exe().map_err(|error| {
        CliError::machine(format!("cannot locate the farlink executable: {error}"))
    })?;
    let worlds = Worlds::new(program, chromium().map_err(|error| error.to_string()))
        .telling(Arc::new(|sentence: &str| anstream::eprintln!("{sentence}")));
    Ok(match wire()? {
        Some(wire) => worlds.over(wire),
        None => worlds,
    })
}

/// Kind of device for the wires of emulated networks, if the variable `FARLINK_WIRE` names one.
fn wire() -> Result<Option<Wire>, CliError> {
    let named = std::env::var_os("FARLINK_WIRE").filter(|name| !name.is_empty());
    let wire = named.map(|name| name.to_string_lossy().parse::<Wire>());
    wire.transpose().map_err(|error| CliError::bad_input(format!("FARLINK_WIRE: {error}")))
}

/// The browser that is installed.
fn chromium() -> Result<Chromium, ChromiumError> {
    let (named, path) = (std::env::var_os("FARLINK_CHROMIUM"), std::env::var_os("PATH"));
    Chromium::find(named.as_deref(), path.as_deref())
}

/// A rejected name or scenario, as a failure.
fn refused(NameError { message, hint }: NameError) -> CliError {
    CliError::bad_input(message).hint(hint)
}

/// Number of concurrent journeys of a plan: as requested, or one per core; one for real browsers, which disturb
/// each other most.
fn workers(jobs: Option<NonZeroUsize>, plan: &Plan) -> usize {
    let browsers = plan.cells().iter().any(|cell| cell.client.program == Program::Chromium);
    match jobs {
        Some(jobs) => jobs.get(),
        None if browsers => 1,
        None => cores(),
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Visits as the text of a HAR file.
fn har_text(visits: &[HarVisit<'_>]) -> String {
    serde_json::to_string_pretty(&store::har_export::har(visits))
        .expect("a HAR is plain data, so it serialises")
}

/// Most pages whose cautions are printed; a campaign over more would open all of them first.
const MOST_WARNED_PAGES: usize = 64;

/// Prints the cautions of all pages of a plan to standard error, each once.
pub fn warn_of_pages(plan: &Plan, worlds: &Worlds) {
    let mut seen = BTreeSet::new();
    let firsts = plan.cells().iter().filter(|cell| seen.insert(cell.page.spec.as_str()));
    let firsts: Vec<&Arc<Scenario>> = firsts.collect();
    if firsts.len() > MOST_WARNED_PAGES {
        return;
    }
    prepare_pages(&firsts, worlds);
    // A page that a pattern found may be unreadable; its journeys say so.
    for page in firsts.iter().filter_map(|cell| worlds.library().page_of(cell).ok()) {
        for caution in &page.cautions {
            anstream::eprintln!("{}", wrapped(&format!("warning: {}: {caution}", page.name)));
        }
    }
}

/// Time after which somebody who waits for pages is told what takes it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Prepares pages on all cores: a recorded one takes seconds, since the network of its recording is sought.
fn prepare_pages(of: &[&Arc<Scenario>], worlds: &Worlds) {
    let bar = ProgressBar::with_draw_target(Some(of.len() as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} pages read, {eta} left");
    bar.set_style(style.expect("the template is fixed"));
    let (next, told) = (AtomicUsize::new(0), Once::new());
    let tell = || {
        let count = of.len();
        let message = format!(
            "reading {count} pages: the network of each recording is inferred, once; then it is kept"
        );
        bar.suspend(|| anstream::eprintln!("{}", wrapped(&message)));
    };
    thread::scope(|scope| {
        for _ in 0..cores().min(of.len()) {
            scope.spawn(|| {
                while let Some(cell) = of.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // Whoever needs the page gets the error.
                    let _ = worlds.library().page_of(cell);
                    bar.inc(1);
                    if of.len() > 1 && bar.elapsed() > PATIENCE {
                        told.call_once(tell);
                    }
                }
            });
        }
    });
    bar.finish_and_clear();
}

pub fn completions(shell: Shell) -> Result<ExitCode, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "farlink", &mut script);
    output::print(String::from_utf8_lossy(&script))?;
    Ok(ExitCode::Success)
}

pub fn emulated_process(role: &str) -> Result<ExitCode, CliError> {
    let Some(role) = Role::ALL.into_iter().find(|known| known.name() == role) else {
        return Err(CliError::bad_input(format!(
            "unknown process of an emulated journey: `{role}`"
        )));
    };
    let program = std::env::current_exe().map_err(CliError::machine)?;
    emulate::work(role, &program).map_err(CliError::machine)?;
    Ok(ExitCode::Success)
}

/// The date, since 1970.
#[expect(clippy::disallowed_methods, reason = "the command line knows the machine's date")]
fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Two numbers from the machine's source of randomness.
pub fn secret() -> Result<(u64, u64), CliError> {
    ::proxy::caching::CacheStore::secret()
        .map_err(|_| CliError::machine("the system's random number generator is unavailable"))
}
