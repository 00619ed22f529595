//! Command line: commands and their options.

mod pep;
mod proxy;
mod settings;
mod study;
mod study_files;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

use crate::failure::Failure;

pub use self::pep::{Half, Pep};
pub use self::proxy::Proxy;
pub use self::settings::Settings;
pub use self::study::{Study, StudyReport, StudyRun, Which};
pub use self::study_files::{Export, Import, Imported, RunOptions};

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
    /// Run an experiment: a grid of scenarios from a TOML file.
    Run(Run),
    /// Write the HTML report of a run.
    Report(Report),
    /// List the runs of a store.
    Runs(Runs),
    /// Compare the simulation with the emulation, and the loader with Chromium.
    Validate(Validate),
    /// Measure the cost of Chromium's computing on this machine, as a device for `--device`.
    Calibrate(Calibrate),
    /// Published studies: list their claims, re-run and judge them.
    #[command(subcommand)]
    Study(Study),
    /// Pages: list, show, write to disk.
    Pages(OnPages),
    /// Networks: list, show.
    Networks(OnNetworks),
    /// One network: test it.
    #[command(subcommand)]
    Link(Link),
    /// Run a program inside an emulated network: the kernel's TCP over farlink's links, without root.
    Shell(Shell),
    /// Run the part of `shell` inside its sandbox.
    #[command(hide = true)]
    ShellInside(Shell),
    /// Run a web proxy: forward, reverse, tunnels (docs/proxy.md).
    Proxy(Box<Proxy>),
    /// Accelerate TCP and clear-text HTTP over a satellite: one end on each side of it.
    #[command(subcommand)]
    Pep(Pep),
    /// Report this machine's capabilities.
    Doctor,
    /// Print completions for a shell.
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
}

/// A number of repetitions, from 1.
fn repetitions(text: &str) -> Result<u32, String> {
    match text.parse::<i64>() {
        Ok(n) if n < 1 => Err("it asks for no load at all; give -n 1 or more".to_owned()),
        Ok(n) => u32::try_from(n).map_err(|_| "it is at most 4294967295".to_owned()),
        Err(_) => Err("it is not a whole number; give -n 10".to_owned()),
    }
}

#[derive(Args)]
pub struct Load {
    /// A page: a HAR file (.har, .har.gz), a page file, or a name (`farlink pages list`).
    #[arg(value_hint = ValueHint::AnyPath)]
    pub page: String,

    /// Page of a HAR that holds several: its number in the file, counted from 1, or its id.
    #[arg(long = "page", value_name = "N|ID", value_hint = ValueHint::Other)]
    pub which: Option<String>,

    #[command(flatten)]
    pub how: How,

    /// Loads of each arm.
    #[arg(short = 'n', long, default_value_t = 10, value_name = "REPS", allow_negative_numbers = true, value_parser = repetitions)]
    pub repetitions: u32,

    /// The seed: the same seed, the same numbers.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Write the median load of each arm as HAR 1.2 (with several arms, the arm's name goes before the
    /// extension).
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub har: Option<PathBuf>,

    /// Write a report of all loads: one HTML file with the answer, the figures, and for the median load of each arm
    /// the waterfall and the layers below it: windows, retransmissions, the radio, energy (docs/report.md).
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,

    /// Write the packets of the median load of each arm as pcapng, as seen at the client; those seen at the
    /// servers go beside it (`out.pcapng` and `out.servers.pcapng`; with several arms, the arm's name goes
    /// before that).
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub pcap: Option<PathBuf>,

    /// Write a trace of the median load of each arm (may be given several times, once per kind; docs/traces.md):
    /// `tcp` or `tcp=OUT.jsonl`, its TCP connections as lines of JSON; `qlog`, HTTP/3's connections, one file per end;
    /// `bodies`, digests of the received bodies. With several arms, the arm's name goes before the extension.
    #[arg(long, value_name = "KIND[=OUT]", value_hint = ValueHint::Other)]
    pub trace: Vec<String>,

    /// Write a picture of the page at the end of the median load of each arm, as PNG (--client chromium only;
    /// with several arms, the arm's name goes before the extension).
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub screenshot: Option<PathBuf>,

    /// Write the filmstrip of the median load of each arm as HTML, and film all loads for it, which costs the
    /// browser time and gives each load a Speed Index (--client chromium only; with several arms, the arm's name
    /// goes before the extension).
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub film: Option<PathBuf>,

    /// Print one JSON object per visit, one per line, instead of the table.
    #[arg(long)]
    pub json: bool,

    /// Draw the waterfalls of all arms in full (default: the fastest arm's, up to 40 objects).
    #[arg(long)]
    pub waterfall: bool,

    /// Number of concurrent loads (default: one per core; one for Chromium).
    #[arg(long, short = 'j', value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

impl Load {
    /// Sets the page of a HAR that `--page` chooses, as `file.har#2` does.
    pub fn choose_page(&mut self) -> Result<(), Failure> {
        let Some(which) = self.which.take() else { return Ok(()) };
        let file = self.page.split('~').next().unwrap_or_default();
        if !Path::new(file).is_file() {
            let message =
                format!("--page {which}: `{file}` is no HAR file, so there is no page to choose");
            return Err(Failure::bad_input(message));
        }
        self.page = page::of_several(&self.page, &which);
        Ok(())
    }
}

/// Options of a page load.
#[derive(Args)]
pub struct How {
    #[command(flatten)]
    pub settings: Settings,

    /// Load also with queues of 1 and of 4 bandwidth-delay products: does the answer depend on the queue?
    #[arg(long, help_heading = "Network")]
    pub queue_sweep: bool,

    /// Short for --udp blocked.
    #[arg(long, help_heading = "Network", conflicts_with = "udp")]
    pub block_udp: bool,

    /// Short for --nuisance off: without loss all repetitions are then identical.
    #[arg(long, help_heading = "World", conflicts_with = "nuisance")]
    pub no_nuisance: bool,
}

#[derive(Args)]
pub struct Run {
    /// The experiment file (docs/experiment.md).
    #[arg(value_name = "EXPERIMENT.toml", value_hint = ValueHint::FilePath)]
    pub experiment: PathBuf,

    /// The store for results: a SQLite file, created if missing. An interrupted run is resumed.
    #[arg(long, default_value = DEFAULT_STORE, value_hint = ValueHint::FilePath)]
    pub store: PathBuf,

    /// Override a key of the experiment: network.rtt=600ms (may be given several times).
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Measure again even if the store holds this very experiment.
    #[arg(long)]
    pub again: bool,

    /// Number of concurrent loads (default: one per core; one for Chromium).
    #[arg(long, short = 'j', value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

#[derive(Args)]
pub struct Report {
    /// The run, by its number (default: the latest).
    pub run: Option<i64>,

    /// The store.
    #[arg(long, default_value = DEFAULT_STORE, value_hint = ValueHint::FilePath)]
    pub store: PathBuf,

    /// The HTML file to write.
    #[arg(short, long, default_value = "report.html", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// Show the waterfall of this visit: a journey's number and the index of the visit in it (default 0); may be
    /// given several times (default: the median visit of each arm).
    #[arg(long, value_name = "JOURNEY[:VISIT]")]
    pub visit: Vec<String>,

    /// Also write one line of CSV per visit.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub csv: Option<PathBuf>,

    /// Also write the same columns as an Apache Parquet file, numbers as numbers.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub parquet: Option<PathBuf>,

    /// Also write time series of the servers' windows, one line of CSV per sample as by `tcp_probe`, for visits
    /// that recorded them.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub windows: Option<PathBuf>,

    /// Also write every visit as HAR 1.2 into this directory.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub har: Option<PathBuf>,
}

#[derive(Args)]
pub struct Runs {
    /// The store.
    #[arg(long, default_value = DEFAULT_STORE, value_hint = ValueHint::FilePath)]
    pub store: PathBuf,
}

#[derive(Args)]
pub struct Validate {
    /// A suite: `quick` (a few minutes), `full` (up to two hours), `radio` and `routes` (some minutes each), `pep` (some twenty minutes), or a file (docs/validation-suites.md).
    #[arg(value_name = "SUITE", value_hint = ValueHint::FilePath)]
    pub suite: String,

    /// The store for measurements: a SQLite file, created if missing. An interrupted validation is resumed.
    #[arg(long, default_value = "farlink-validate.sqlite", value_hint = ValueHint::FilePath)]
    pub store: PathBuf,

    /// The HTML file to write.
    #[arg(short, long, default_value = "validation.html", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// Measure nothing: judge the store's contents.
    #[arg(long, conflicts_with = "again")]
    pub report_only: bool,

    /// Measure everything again.
    #[arg(long)]
    pub again: bool,

    /// The device of farlink's loader where it is compared with Chromium: a file written by `farlink calibrate`, or
    /// a profile (default: the scenarios' own).
    #[arg(long, value_name = "DEVICE", value_hint = ValueHint::FilePath)]
    pub device: Option<String>,

    /// Do without Chromium.
    #[arg(long)]
    pub without_chromium: bool,

    /// Number of concurrent emulated loads (default: the suite's). Browsers load one at a time.
    #[arg(long, short = 'j', value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

#[derive(Args)]
pub struct Calibrate {
    /// The TOML file to write: a device, which `--device` and `client.device` take by its path.
    #[arg(short, long, default_value = "device.toml", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// Loads of each page over each protocol; the shortest time counts.
    #[arg(short = 'n', long, default_value_t = 5, value_name = "REPS", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repetitions: u32,
}

#[derive(Args)]
pub struct OnPages {
    /// Action (default: list the pages).
    #[command(subcommand)]
    pub what: Option<Pages>,
}

#[derive(Args)]
pub struct OnNetworks {
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
        /// A name or a file.
        #[arg(value_hint = ValueHint::AnyPath)]
        page: String,
        /// Print the page as a page file (JSON) instead.
        #[arg(long)]
        json: bool,
    },
    /// Write a page to disk as HTML and object files, for any web server and browser.
    Write {
        /// A name or a file.
        #[arg(value_hint = ValueHint::AnyPath)]
        page: String,
        /// The directory to create.
        #[arg(short, long, value_hint = ValueHint::DirPath)]
        output: PathBuf,
    },
}

#[derive(Subcommand)]
pub enum Link {
    /// Ping, loss test and speed test in virtual time: configured beside measured values.
    Test(LinkTestArgs),
}

#[derive(Args)]
pub struct LinkTestArgs {
    /// A profile (`farlink networks list`), a description or a file, as for `load --network`.
    pub network: String,

    /// The seed: the same seed, the same numbers.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Print one JSON object instead of the table.
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum Networks {
    /// List the named networks.
    List,
    /// Show one: rates, delays, losses, queues, and their sources.
    Show {
        /// A profile, a description or a file.
        network: String,
    },
}

#[derive(Args)]
pub struct Shell {
    /// A profile (`farlink networks list`), a description or a file, as for `load --network`; several are chained,
    /// the first next to the command.
    #[arg(long, required = true, value_name = "NETWORK")]
    pub network: Vec<String>,

    /// The seed of random losses and jitter.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Make this machine's 127.0.0.1:PORT (TCP) reachable inside, at the network's far side, as
    /// server.farlink:PORT or :INSIDE_PORT (may be given several times).
    #[arg(long, value_name = "PORT[=INSIDE_PORT]")]
    pub host_loopback: Vec<HostLoopback>,

    /// Run this at the network's far side, by `sh -c`, for as long as the command runs, which starts once the
    /// server listens: --server 'iperf3 -s'. Its output goes to standard error.
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString)]
    pub server: Option<String>,

    /// Write the links' activity as JSON: packets, each drop, the emulator's punctuality.
    #[arg(long, value_name = "OUT.json", value_hint = ValueHint::FilePath)]
    pub log: Option<PathBuf>,

    /// The command to run (default: your shell, with a status line of the links; needs a terminal).
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
