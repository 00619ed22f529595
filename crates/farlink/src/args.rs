//! Command line: commands and their options.

mod advise;
mod budgets;
mod compare;
mod decide;
mod export;
mod loads;
mod proxy;
mod record;
mod replay;
mod settings;
mod study;
mod study_files;
mod ui;
mod what_if;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use scenario::{Shard, StopRule};

use crate::failure::CliError;

pub use self::advise::Advise;
pub use self::budgets::BudgetArgs;
pub use self::compare::Compare;
pub use self::decide::Decide;
pub use self::export::{ExportRun, Merge};
pub use self::loads::Loads;
pub use self::proxy::Proxy;
pub use self::proxy::{Pep, PepEnd};
pub use self::record::{Archive, KeyHash, Record};
pub use self::replay::{
    ProxyCache, Replay, ReplayNames, ReplayOptions, ReplayOrigins, ReplayProxy, ReplayThink,
    ShellReplay,
};
pub use self::settings::Settings;
pub use self::study::{Study, StudyReport, StudyRun, Which};
pub use self::study_files::{Export, Import, Imported, RunOptions};
pub use self::ui::Ui;
pub use self::what_if::WhatIf;

/// The default store.
pub const DEFAULT_STORE: &str = "farlink.sqlite";

/// Which way of carrying a web page over a slow, far or lossy network is fastest, by how much and why.
#[derive(Parser)]
#[command(name = "farlink", version, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Load a page over a network and say which protocol is fastest.
    Load(Box<Load>),
    /// Compare a page before and after a change, or two runs: what changed, and how sure it is.
    Compare(Box<Compare>),
    /// Say what would make a page faster: each change alone, simulated.
    WhatIf(Box<WhatIf>),
    /// Find the fastest configuration of a site for its users' networks, and how to set it.
    Advise(Box<Advise>),
    /// Decide between protocols, routes and settings for a mix of networks: gains, costs, and where each is wrong.
    Decide(Box<Decide>),
    /// Record pages of the web with Chromium, or what any client sends through a proxy.
    Record(Record),
    /// Load a recorded page over a network with Chromium, from its own servers' responses.
    Replay(Replay),
    /// List or print what an archive holds.
    #[command(subcommand)]
    Archive(Archive),
    /// Write a commented experiment file to begin with.
    Init(Init),
    /// Run an experiment: a grid of scenarios from a TOML file.
    Run(Run),
    /// Write the HTML report of a run.
    Report(Report),
    /// Write tables of a run for notebooks and databases: Parquet, Arrow or CSV.
    Export(ExportRun),
    /// Merge stores that have parts of one experiment, as measured with `run --shard`.
    Merge(Merge),
    /// List the runs of a store.
    Runs(Runs),
    /// Show a store in the browser: start runs, watch, compare, ask what would help (docs/ui.md).
    Ui(Ui),
    /// Validate the simulator against emulation and the loader against Chromium.
    Validate(Validate),
    /// Measure Chromium's CPU costs on this machine and write them as a device for `--device`.
    Calibrate(Calibrate),
    /// Reproduce published studies: list their claims, re-run and judge them.
    #[command(subcommand)]
    Study(Study),
    /// List, show and export pages.
    Pages(PagesArgs),
    /// List and show networks.
    Networks(NetworksArgs),
    /// Test a network.
    #[command(subcommand)]
    Link(Link),
    /// Run a program in an emulated network: the kernel's TCP over farlink's links, without root.
    Shell(Shell),
    /// Run the part of `shell` inside its sandbox.
    #[command(hide = true)]
    ShellInside(Shell),
    /// Run a web proxy: forward, reverse and tunnels (docs/proxy.md).
    Proxy(Box<Proxy>),
    /// Accelerate TCP and clear-text HTTP over a satellite link, with one end on each side.
    #[command(subcommand)]
    Pep(Pep),
    /// Check what this machine supports, and how to fix what it lacks.
    Doctor,
    /// Print shell completions.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Run as a process of an emulated journey.
    #[command(hide = true)]
    Emulated {
        /// The role.
        role: String,
    },
    /// Print a document generated from the program: docs/cli.md, docs/exit-codes.md.
    #[command(hide = true)]
    Reference {
        /// The document.
        document: Document,
    },
}

/// Documents generated from the program.
#[derive(Clone, Copy, ValueEnum)]
pub enum Document {
    /// Every command with its options.
    Cli,
    /// The meaning of the exit codes.
    ExitCodes,
    /// Every setting of a scenario.
    SettingsTable,
    /// JSON Schema of experiment files.
    Schema,
    /// Tables and columns that `export` writes.
    DataDictionary,
}

/// A number of repetitions, from 1.
fn repetitions(text: &str) -> Result<u32, String> {
    match text.parse::<i64>() {
        Ok(n) if n < 1 => Err("at least one load is required; use -n 1 or more".to_owned()),
        Ok(n) => u32::try_from(n).map_err(|_| "the maximum is 4294967295".to_owned()),
        Err(_) => Err("not a whole number; for example -n 10".to_owned()),
    }
}

/// A stop rule, from the width of an interval.
fn stop_rule(width: &str) -> Result<StopRule, String> {
    let expected = || format!("expected {}", StopRule::EXPECTED);
    StopRule::parse(width, None, None).ok_or_else(expected)
}

/// A relative difference as people write it: `2%`.
fn difference(text: &str) -> Result<f64, String> {
    let percent: Option<f64> = text.trim().strip_suffix('%').and_then(|it| it.trim().parse().ok());
    match percent {
        Some(percent) if (0.1..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("expected a difference of load times from 0.1% to 100%, as 2%".to_owned()),
    }
}

#[derive(Args)]
pub struct Load {
    /// Page to load: a URL, which Chromium records first (`farlink record`), a HAR file (.har, .har.gz), a page file, or a
    /// name (`farlink pages`).
    #[arg(value_hint = ValueHint::AnyPath)]
    pub page: String,

    /// Page of a HAR with several: its number in the file, from 1, or its id.
    #[arg(long = "page", value_name = "N|ID", value_hint = ValueHint::Other)]
    pub which: Option<String>,

    #[command(flatten)]
    pub how: How,

    /// Number of loads of each arm.
    #[arg(short = 'n', long, default_value_t = 10, value_name = "REPS", allow_negative_numbers = true, value_parser = repetitions)]
    pub repetitions: u32,

    /// Repeat until the 95 % interval of each arm's median load time is this narrow, relative to the median (20 to 2,000 loads).
    #[arg(long, value_name = "WIDTH", conflicts_with = "repetitions", value_parser = stop_rule)]
    pub until: Option<StopRule>,

    /// Also say how many loads would show a difference of this size between arms, estimated from these loads: 2%.
    #[arg(long, value_name = "DIFFERENCE", value_parser = difference)]
    pub power: Option<f64>,

    /// Seed of all randomness; the same seed gives the same results.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Write the median load of each arm as HAR 1.2. With several arms, the arm's name precedes the extension.
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub har: Option<PathBuf>,

    /// Write an HTML report of all loads: the answer, figures, and for the median load of each arm the waterfall, TCP
    /// windows, retransmissions, radio and energy (docs/report.md).
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,

    /// Write the packets of the median load of each arm as pcapng: `out.pcapng` as seen at the client,
    /// `out.servers.pcapng` as seen at the servers. With several arms, the arm's name precedes the extension.
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub pcap: Option<PathBuf>,

    /// Write a trace of the median load of each arm: `tcp` or `tcp=OUT.jsonl` (TCP connections as JSON lines), `qlog`
    /// (connections, one file per end), `bodies` (digests of received bodies), `perfetto` (all of a load, for
    /// ui.perfetto.dev). Repeatable, once per kind. With several arms, the arm's name precedes the extension (docs/traces.md).
    #[arg(long, value_name = "KIND[=OUT]", value_hint = ValueHint::Other)]
    pub trace: Vec<String>,

    /// Write a PNG screenshot at the end of the median load of each arm (--client chromium only). With several arms,
    /// the arm's name precedes the extension.
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub screenshot: Option<PathBuf>,

    /// Write an HTML filmstrip of the median load of each arm (--client chromium only). Films all loads, which slows
    /// the browser and gives each load a Speed Index. With several arms, the arm's name precedes the extension.
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub film: Option<PathBuf>,

    #[command(flatten)]
    pub budgets: BudgetArgs,

    /// Print JSON, one object per visit and line, instead of the table.
    #[arg(long)]
    pub json: bool,

    /// Print the complete waterfalls of all arms (default: of the fastest arm, up to 40 objects).
    #[arg(long)]
    pub waterfall: bool,

    /// Also list the critical path of each arm's median load: what it waited for, and what of that is excess over the floor.
    #[arg(long)]
    pub critical_path: bool,

    /// Number of concurrent loads (default: one per core; one for Chromium).
    #[arg(long, short = 'j', value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

impl Load {
    /// Sets the page of a HAR that `--page` chooses, as `file.har#2` does.
    pub fn choose_page(&mut self) -> Result<(), CliError> {
        let Some(which) = self.which.take() else { return Ok(()) };
        let file = self.page.split('~').next().unwrap_or_default();
        if !Path::new(file).is_file() {
            let message = format!(
                "--page {which}: `{file}` is not a HAR file; only HAR files hold several pages"
            );
            return Err(CliError::bad_input(message));
        }
        self.page = page::of_several(&self.page, &which);
        Ok(())
    }
}

/// Options of a page load.
#[derive(Args, Clone)]
pub struct How {
    #[command(flatten)]
    pub settings: Settings,

    /// Repeat with queues of 1 and 4 bandwidth-delay products, to show whether the answer depends on the queue.
    #[arg(long, help_heading = "Network")]
    pub queue_sweep: bool,

    /// Same as --udp blocked.
    #[arg(long, help_heading = "Network", conflicts_with = "udp")]
    pub block_udp: bool,

    /// Disable random jitter; same as --noise off.
    #[arg(long, help_heading = "World", conflicts_with = "noise")]
    pub no_noise: bool,
}

#[derive(Args)]
pub struct Run {
    /// Experiment file (docs/experiment.md).
    #[arg(value_name = "EXPERIMENT.toml", value_hint = ValueHint::FilePath)]
    pub experiment: PathBuf,

    /// Store for results: a SQLite file, created if missing, or postgres://USER@HOST/DATABASE. Interrupted runs are resumed.
    #[arg(long, default_value = DEFAULT_STORE, value_hint = ValueHint::FilePath)]
    pub store: PathBuf,

    /// Override a key of the experiment: network.rtt=600ms (repeatable).
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Run again even if the store contains this experiment.
    #[arg(long)]
    pub again: bool,

    /// Run only a part of the journeys, one of several equal ones: 2/7. `farlink merge` puts the stores together.
    #[arg(long, value_name = "NUMBER/OF", value_parser = Shard::from_str, conflicts_with_all = ["again", "plan"])]
    pub shard: Option<Shard>,

    /// Only estimate loads, time and size of the store, from a sample of journeys.
    #[arg(long)]
    pub plan: bool,

    /// Also say how many loads would show a difference of this size between arms, estimated from these loads: 2%.
    #[arg(long, value_name = "DIFFERENCE", value_parser = difference)]
    pub power: Option<f64>,

    #[command(flatten)]
    pub budgets: BudgetArgs,

    /// Number of concurrent loads (default: one per core; one for Chromium).
    #[arg(long, short = 'j', value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

#[derive(Args)]
pub struct Init {
    /// Experiment file to write; a schema for editors is written beside it.
    #[arg(value_name = "EXPERIMENT.toml", default_value = "experiment.toml", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,

    /// Page to load (repeatable).
    #[arg(long, value_name = "PAGE", default_value = "synthetic:100x10KB")]
    pub page: Vec<String>,

    /// Network profile (repeatable).
    #[arg(long, value_name = "NETWORK", default_values = ["3g", "4g"])]
    pub network: Vec<String>,

    /// Protocols, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "PROTOCOL", default_value = "h1,h2,h3")]
    pub protocol: Vec<String>,
}

/// A width on paper, in CSS pixels of 1/96 inch.
fn column_width(text: &str) -> Result<u32, String> {
    let units = [("mm", 96.0 / 25.4), ("in", 96.0), ("pt", 96.0 / 72.0), ("px", 1.0)];
    let read = |(unit, pixels): &(&str, f64)| {
        Some(text.trim().strip_suffix(unit)?.trim().parse::<f64>().ok()? * pixels)
    };
    match units.iter().find_map(read).map(f64::round) {
        Some(pixels) if (189.0..=1512.0).contains(&pixels) => Ok(pixels as u32),
        _ => Err("expected a width from 50mm to 400mm, as 89mm or 3.5in".to_owned()),
    }
}

#[derive(Args)]
pub struct Report {
    /// Run number (default: the latest).
    pub run: Option<i64>,

    /// Store to read.
    #[arg(long, default_value = DEFAULT_STORE, value_hint = ValueHint::FilePath)]
    pub store: PathBuf,

    /// HTML file to write.
    #[arg(short, long, default_value = "report.html", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// Show the waterfall of this visit, by journey number and visit index (default: 0). Repeatable (default: the
    /// median visit of each arm).
    #[arg(long, value_name = "JOURNEY[:VISIT]")]
    pub visit: Vec<String>,

    /// Write each figure as SVG and PDF into this directory, as wide as --column (with Chromium).
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub figures: Option<PathBuf>,

    /// Width of figures: that of a journal's column, 50mm to 400mm, or in `in`, `pt` or `px`.
    #[arg(long, value_name = "WIDTH", default_value = "89mm", value_parser = column_width, requires = "figures")]
    pub column: u32,

    /// Write every visit as HAR 1.2 into this directory.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub har: Option<PathBuf>,
}

#[derive(Args)]
pub struct Runs {
    /// Store to read.
    #[arg(long, default_value = DEFAULT_STORE, value_hint = ValueHint::FilePath)]
    pub store: PathBuf,
}

#[derive(Args)]
pub struct Validate {
    /// Suite: `quick` (a few minutes), `full` (up to two hours), `radio`, `routes` (minutes each), `pep` (about twenty
    /// minutes), `pages` (with --page), or a file (docs/validation-suites.md).
    #[arg(value_name = "SUITE", value_hint = ValueHint::FilePath)]
    pub suite: String,

    /// Page for the parts of the suite that name none; may be repeated.
    #[arg(long, value_name = "PAGE", value_hint = ValueHint::FilePath)]
    pub page: Vec<String>,

    /// Store for measurements: a SQLite file, created if missing. Interrupted validations are resumed.
    #[arg(long, default_value = "farlink-validate.sqlite", value_hint = ValueHint::FilePath)]
    pub store: PathBuf,

    /// HTML file to write.
    #[arg(short, long, default_value = "validation.html", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// Report on the store's contents without measuring.
    #[arg(long, conflicts_with = "again")]
    pub report_only: bool,

    /// Measure everything again.
    #[arg(long)]
    pub again: bool,

    /// Device of farlink's loader in comparisons with Chromium: a file from `farlink calibrate`, or a profile
    /// (default: the scenarios' own).
    #[arg(long, value_name = "DEVICE", value_hint = ValueHint::FilePath)]
    pub device: Option<String>,

    /// Skip comparisons with Chromium.
    #[arg(long)]
    pub without_chromium: bool,

    /// Number of concurrent emulated loads (default: the suite's). Browsers always load one at a time.
    #[arg(long, short = 'j', value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

#[derive(Args)]
pub struct Calibrate {
    /// Device file (TOML) to write, for `--device` and `client.device`.
    #[arg(short, long, default_value = "device.toml", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// Number of loads of each page over each protocol; the fastest counts.
    #[arg(short = 'n', long, default_value_t = 5, value_name = "REPS", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repetitions: u32,
}

#[derive(Args)]
pub struct PagesArgs {
    /// Action (default: list the pages).
    #[command(subcommand)]
    pub what: Option<Pages>,
}

#[derive(Args)]
pub struct NetworksArgs {
    /// Action (default: list the networks).
    #[command(subcommand)]
    pub what: Option<Networks>,
}

#[derive(Subcommand)]
pub enum Pages {
    /// List the named pages.
    List,
    /// Show a page: its hosts, objects and dependencies.
    Show {
        /// Page name or file.
        #[arg(value_hint = ValueHint::AnyPath)]
        page: String,
        /// Print a page file (JSON) instead.
        #[arg(long)]
        json: bool,
    },
    /// Export a page as HTML and object files for any web server and browser.
    Write {
        /// Page name or file.
        #[arg(value_hint = ValueHint::AnyPath)]
        page: String,
        /// Directory to create.
        #[arg(short, long, value_hint = ValueHint::DirPath)]
        output: PathBuf,
    },
}

#[derive(Subcommand)]
pub enum Link {
    /// Run ping, loss and speed tests in virtual time, and compare the results with the configuration.
    Test(LinkTestArgs),
}

#[derive(Args)]
pub struct LinkTestArgs {
    /// Network, as for `load --network`: a profile (`farlink networks`), a description or a file.
    pub network: String,

    /// Seed of all randomness; the same seed gives the same results.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Print JSON instead of the table.
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum Networks {
    /// List the named networks.
    List,
    /// Show a network: rates, delays, losses, queues, and their sources.
    Show {
        /// Profile, description or file.
        network: String,
    },
}

#[derive(Args)]
pub struct Shell {
    /// Network, as for `load --network`: a profile (`farlink networks`), a description or a file. Repeat to chain
    /// several, the first next to the command.
    #[arg(long, required = true, value_name = "NETWORK")]
    pub network: Vec<String>,

    /// Seed of random losses and jitter.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Expose this machine's 127.0.0.1:PORT (TCP) at the far side of the network, as server.farlink:PORT or
    /// :INSIDE_PORT (repeatable).
    #[arg(long, value_name = "PORT[=INSIDE_PORT]")]
    pub host_loopback: Vec<HostLoopback>,

    /// Run a server at the far side of the network with `sh -c`: --server 'iperf3 -s'. The command starts once the
    /// server listens, and the server stops with it. Its output goes to standard error.
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString)]
    pub server: Option<String>,

    #[command(flatten)]
    pub replay: ShellReplay,

    /// Write link statistics as JSON: packets, drops, the emulator's punctuality, and what a replay was asked for.
    #[arg(long, visible_alias = "proof", value_name = "OUT.json", value_hint = ValueHint::FilePath)]
    pub log: Option<PathBuf>,

    /// Command to run (default: your shell, with a status line of the links).
    #[arg(last = true, value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

/// A port of this machine's loopback that is reachable inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostLoopback {
    /// The port on this machine.
    pub host: u16,
    /// The port at the network's far side.
    pub inside: u16,
}

impl FromStr for HostLoopback {
    type Err = String;

    fn from_str(text: &str) -> Result<HostLoopback, String> {
        let (host, inside) = text.split_once('=').unwrap_or((text, text));
        let port = |digits: &str| match digits.parse() {
            Ok(0) | Err(_) => Err(format!(
                "`{digits}` is not a port: give PORT or PORT=INSIDE_PORT, from 1 to 65535"
            )),
            Ok(port) => Ok(port),
        };
        Ok(HostLoopback { host: port(host)?, inside: port(inside)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_the_same_inside_unless_said_otherwise() {
        assert_eq!("80".parse(), Ok(HostLoopback { host: 80, inside: 80 }));
        assert_eq!("8080=80".parse(), Ok(HostLoopback { host: 8080, inside: 80 }));
        for wrong in ["", "0", "=80", "80=", "70000", "http", "80=81=82"] {
            assert!(wrong.parse::<HostLoopback>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
