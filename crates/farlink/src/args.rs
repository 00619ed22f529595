//! What can be typed.

mod discovery;
mod handshake;
mod hosting;
mod journey;
mod keep_alive;
mod order;
mod pep;
mod proxy;
mod recording;
mod route;
mod study;
mod study_files;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

use crate::failure::Failure;

pub use self::discovery::Discovery;
pub use self::handshake::Handshake;
pub use self::hosting::Hosting;
pub use self::journey::Journey;
pub use self::keep_alive::KeepAlive;
pub use self::order::Order;
pub use self::pep::{Half, Pep};
pub use self::proxy::Proxy;
pub use self::recording::Recording;
pub use self::route::Route;
pub use self::study::{Study, StudyReport, StudyRun, Which};
pub use self::study_files::{Export, Import, Imported, RunOptions};

/// The store that is meant where none is named.
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
    /// Hold the simulation against the emulation, and the loader against Chromium.
    Validate(Validate),
    /// Measure what Chromium's computing costs on this machine, as a device for `--device`.
    Calibrate(Calibrate),
    /// Published studies: what they claim, run again and judged.
    #[command(subcommand)]
    Study(Study),
    /// Pages: list, show, write to disk.
    #[command(subcommand)]
    Pages(Pages),
    /// Networks: list, show.
    #[command(subcommand)]
    Networks(Networks),
    /// One network: test it.
    #[command(subcommand)]
    Link(Link),
    /// Run a program inside an emulated network: the kernel's TCP over farlink's links, without root.
    Shell(Shell),
    /// What `shell` starts inside its sandbox.
    #[command(hide = true)]
    ShellInside(Shell),
    /// Run a web proxy: forward, reverse, tunnels (docs/proxy.md).
    Proxy(Box<Proxy>),
    /// Accelerate TCP and clear-text HTTP over a satellite: one end on each side of it.
    #[command(subcommand)]
    Pep(Pep),
    /// Say what this machine can do.
    Doctor,
    /// Print the completions of a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Work as a process of an emulated journey.
    #[command(hide = true)]
    Emulated {
        /// Which.
        role: String,
    },
    /// Print a document that is made from the program: docs/cli.md, docs/exit-codes.md.
    #[command(hide = true)]
    Reference {
        /// Which document.
        document: Document,
    },
}

/// Documents that are made from the program.
#[derive(Clone, Copy, ValueEnum)]
pub enum Document {
    /// Every command with its options.
    Cli,
    /// What the exit codes mean.
    ExitCodes,
}

#[derive(Args)]
pub struct Load {
    /// A page: a HAR file (.har, .har.gz), a page file, or a name (`farlink pages list`).
    #[arg(value_hint = ValueHint::AnyPath)]
    pub page: String,

    /// Which page of a HAR that holds several: its number in the file, counted from 1, or its id.
    #[arg(long = "page", value_name = "N|ID", value_hint = ValueHint::Other)]
    pub which: Option<String>,

    #[command(flatten)]
    pub how: How,

    /// Loads of each arm.
    #[arg(short = 'n', long, default_value_t = 10, value_name = "REPS")]
    pub repetitions: u32,

    /// The seed: the same seed, the same numbers.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Write the median load of each arm as HAR 1.2 (with several arms, the arm's name goes before the
    /// extension).
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub har: Option<PathBuf>,

    /// Write a report of all loads: one HTML file with the answer, the figures, and of the median load of each arm
    /// the waterfall and what lay below it: windows, what was sent again, the radio, energy (docs/report.md).
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,

    /// Write the packets of the median load of each arm as pcapng, as seen at the client; those seen at the
    /// servers go beside it (`out.pcapng` and `out.servers.pcapng`; with several arms, the arm's name goes
    /// before that).
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub pcap: Option<PathBuf>,

    /// Write a trace of the median load of each arm (may be given several times, once a kind; docs/traces.md): `tcp` or
    /// `tcp=OUT.jsonl`, its TCP connections as lines of JSON; `qlog`, HTTP/3's connections, a file an end; `bodies`, digests of
    /// what arrived. With several arms, the arm's name goes before the extension.
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

    /// Print one JSON object a visit, one a line, instead of the table.
    #[arg(long)]
    pub json: bool,

    /// Draw the waterfalls of all arms in full (default: the fastest arm's, up to 40 objects).
    #[arg(long)]
    pub waterfall: bool,

    /// How many loads to make at once (default: one a core; one of Chromium's).
    #[arg(long, short = 'j', value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

impl Load {
    /// Names the page of a HAR that `--page` chooses, as `file.har#2` does.
    pub fn choose_page(&mut self) -> Result<(), Failure> {
        let Some(which) = self.which.take() else { return Ok(()) };
        let file = self.page.split('~').next().unwrap_or_default();
        if !Path::new(file).is_file() {
            let message = format!("--page {which}: `{file}` is no HAR file, so there is no page to choose");
            return Err(Failure::bad_input(message));
        }
        self.page = page::of_several(&self.page, &which);
        Ok(())
    }
}

/// How a page is loaded.
#[derive(Args)]
pub struct How {
    /// A profile (`farlink networks list`), `rtt=100ms,down=10mbit,up=5mbit,loss=1%,queue=64pkt`, a
    /// profile with changes (`cable,rtt=600ms`), or a TOML file.
    #[arg(long, default_value = "4g", help_heading = "Network")]
    pub network: String,

    /// Load also with queues of 1 and of 4 bandwidth-delay products: does the answer depend on the queue?
    #[arg(long, help_heading = "Network")]
    pub queue_sweep: bool,

    /// Where pages are loaded: sim (virtual time, simulated TCP) or emu (the machine's time, the kernel's TCP
    /// over the same links, emulated; Linux only, needs no root).
    #[arg(long, default_value = "sim", help_heading = "World")]
    pub world: String,

    /// How the emulated world hands packets over: single (each when it is due, as on a wire) or coalesced
    /// (neighbours together, up to 0.4 ms early or late, for less processor time).
    #[arg(long, default_value = "single", help_heading = "World")]
    pub release: String,

    /// What loads the page: loader (farlink's own) or chromium (a real one; world emu only).
    #[arg(long, default_value = "loader", help_heading = "Client")]
    pub client: String,

    /// How many clients load the page: they share the network's first hop, each behind a radio of its own
    /// (docs/radio.md).
    #[arg(long, default_value_t = 1, value_name = "N", help_heading = "Client")]
    pub clients: u32,

    /// What one more client does meanwhile: nobody (there is none), download or upload, without end.
    #[arg(long, default_value = "nobody", value_name = "WHAT", help_heading = "Client")]
    pub beside: String,

    /// What lies between one client's beginning and the next one's: 500ms, or `drawn 500ms` for up to twice
    /// that. Who is beside begins first.
    #[arg(long, default_value = "0ms", value_name = "TIME", help_heading = "Client")]
    pub start_spacing: String,

    /// Protocols, separated by commas: h1.0, h1, h1-pipelined, h2, spdy (SPDY/3.1), spdy/3, spdy/2, h3-deployed (QUIC as quinn
    /// ships it; short: h3), h3-matched (QUIC set as TCP is), recorded.
    #[arg(long, value_delimiter = ',', default_value = "h1,h2", help_heading = "Stack")]
    pub protocol: Vec<String>,

    /// Security, separated by commas: none, tls10 (modelled), tls12, tls13.
    #[arg(long, value_delimiter = ',', default_value = "tls13", help_heading = "Stack")]
    pub tls: Vec<String>,

    #[command(flatten)]
    pub handshake: Handshake,

    /// TCP at both ends: a generation (linux-2.6.32, linux-3.0, linux-3.2, linux-3.10, linux-6) and knobs:
    /// linux-3.2,hz=250 (docs/transports.md lists them).
    #[arg(long, default_value = "linux-6", value_name = "TCP", help_heading = "Transport")]
    pub tcp: String,

    /// TCP at the client, where it differs: linux-6,acks=windows-7.
    #[arg(long, value_name = "TCP", help_heading = "Transport")]
    pub client_tcp: Option<String>,

    /// Congestion control (default: the generation's).
    #[arg(long, value_name = "NAME", help_heading = "Transport")]
    pub congestion: Option<String>,

    /// Initial window, in segments (default: the generation's).
    #[arg(long, value_name = "SEGMENTS", help_heading = "Transport")]
    pub initial_window: Option<u32>,

    /// Windows and settings of h2 and SPDY: stream-window=64KB,connection-window=64KiB,streams=8,header-table=0B,
    /// header-compression=off (docs/protocols.md).
    #[arg(long, value_name = "KNOBS", help_heading = "Stack")]
    pub multiplexing: Option<String>,

    /// QUIC's knobs, for h3-deployed and h3-matched: cc=newreno,iw=32,0rtt=off,migrate-at=2s (docs/quic.md).
    #[arg(long, value_name = "KNOBS", help_heading = "Transport")]
    pub quic: Option<String>,

    #[command(flatten)]
    pub discovery: Discovery,

    /// Connections to one host at a time, whatever the protocol (default: the browser's).
    #[arg(long, value_name = "N", help_heading = "Stack")]
    pub connections_per_host: Option<u32>,

    /// Connections in all (default: the browser's).
    #[arg(long, value_name = "N", help_heading = "Stack")]
    pub connections_total: Option<u32>,

    /// Requests on one connection at a time with h1-pipelined (default: the browser's).
    #[arg(long, value_name = "N", help_heading = "Stack")]
    pub pipeline_depth: Option<u32>,

    /// The client's CPU: zero, desktop, desktop-2013, nexus7.
    #[arg(long, default_value = "desktop", help_heading = "Client")]
    pub device: String,

    /// How many times slower than the device the client's CPU is: 4x.
    #[arg(long, default_value = "1x", help_heading = "Client")]
    pub cpu: String,

    /// What the client sends beside the page (may be given several times): ping:every=3s[,size=84B], packets that
    /// the far end sends back; beacon:every=10s[,size=1KB], small HTTP requests (docs/radio.md).
    #[arg(long, value_name = "KIND:every=TIME", help_heading = "Client")]
    pub traffic: Vec<String>,

    /// The browser's policy: chrome, chrome-2013, chrome-38, firefox, safari-ios9, spdy-20 (docs/browsers.md).
    #[arg(long, default_value = "chrome", help_heading = "Client")]
    pub browser: String,

    /// The browser's cache: cold, warm, both.
    #[arg(long, default_value = "cold", help_heading = "Client")]
    pub view: String,

    /// What requests say of themselves: sized (a few fields and a cookie that makes up the page's size) or recorded (the fields of
    /// the HAR; where there are none, those of the browser: docs/heads.md).
    #[arg(long, default_value = "sized", value_name = "WHAT", help_heading = "Client")]
    pub request_heads: String,

    /// Do not load what this host serves (may be given several times).
    #[arg(long, value_name = "HOST", help_heading = "Client")]
    pub block: Vec<String>,

    /// How far away hosts are: equal, or recorded (each with the extra RTT in the HAR).
    #[arg(long, default_value = "equal", help_heading = "Servers")]
    pub origins: String,

    /// Requests that one host works on at once (default: no limit).
    #[arg(long, value_name = "N", help_heading = "Servers")]
    pub workers: Option<u32>,

    /// What a server takes for a request beyond the page's own think time: 5ms.
    #[arg(long, default_value = "0ms", value_name = "TIME", help_heading = "Servers")]
    pub service_time: String,

    #[command(flatten)]
    pub journey: Journey,

    #[command(flatten)]
    pub route: Route,

    #[command(flatten)]
    pub hosting: Hosting,

    #[command(flatten)]
    pub keep_alive: KeepAlive,

    #[command(flatten)]
    pub recording: Recording,

    #[command(flatten)]
    pub order: Order,

    /// Switch off the nuisance model (start phase, 5 % of server time and compute, packet processing, wake-ups):
    /// without loss all repetitions are then the same.
    #[arg(long)]
    pub no_nuisance: bool,
}

#[derive(Args)]
pub struct Run {
    /// The experiment file (docs/experiment.md).
    #[arg(value_name = "EXPERIMENT.toml", value_hint = ValueHint::FilePath)]
    pub experiment: PathBuf,

    /// Where results go: a SQLite file, made if it is not there. A run that was interrupted goes on.
    #[arg(long, default_value = DEFAULT_STORE, value_hint = ValueHint::FilePath)]
    pub store: PathBuf,

    /// Override a key of the experiment: network.rtt=600ms (may be given several times).
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Measure anew even if the store holds this very experiment.
    #[arg(long)]
    pub again: bool,

    /// How many loads to make at once (default: one a core; one of Chromium's).
    #[arg(long, short = 'j', value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

#[derive(Args)]
pub struct Report {
    /// Which run, by its number (default: the latest).
    pub run: Option<i64>,

    /// The store.
    #[arg(long, default_value = DEFAULT_STORE, value_hint = ValueHint::FilePath)]
    pub store: PathBuf,

    /// The HTML file to write.
    #[arg(short, long, default_value = "report.html", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// Show the waterfall of this visit: a journey's number, and of which of its visits (0 unless said
    /// otherwise); may be given several times (default: the median visit of each arm).
    #[arg(long, value_name = "JOURNEY[:VISIT]")]
    pub visit: Vec<String>,

    /// Also write one line of CSV a visit.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub csv: Option<PathBuf>,

    /// Also write how servers' windows stood, one line of CSV a sample, as `tcp_probe` tells it: of visits of which that was recorded.
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

    /// Where measurements go: a SQLite file, made if it is not there. A validation that was interrupted goes on.
    #[arg(long, default_value = "farlink-validate.sqlite", value_hint = ValueHint::FilePath)]
    pub store: PathBuf,

    /// The HTML file to write.
    #[arg(short, long, default_value = "validation.html", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// Measure nothing: judge what the store holds.
    #[arg(long, conflicts_with = "again")]
    pub report_only: bool,

    /// Measure everything anew.
    #[arg(long)]
    pub again: bool,

    /// The device that farlink's loader computes as where it is held against Chromium: a file that `farlink calibrate`
    /// has written, or a profile (default: the scenarios' own).
    #[arg(long, value_name = "DEVICE", value_hint = ValueHint::FilePath)]
    pub device: Option<String>,

    /// Do without Chromium.
    #[arg(long)]
    pub without_chromium: bool,

    /// Emulated loads that go on side by side (default: the suite's). Browsers load one at a time.
    #[arg(long, short = 'j', value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

#[derive(Args)]
pub struct Calibrate {
    /// The TOML file to write: a device, which `--device` and `client.device` take by its path.
    #[arg(short, long, default_value = "device.toml", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// Loads of each page over each protocol; the least time counts.
    #[arg(short = 'n', long, default_value_t = 5, value_name = "REPS", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repetitions: u32,
}

#[derive(Subcommand)]
pub enum Pages {
    /// List the pages that have a name.
    List,
    /// Show a page: its hosts, objects and what waits for what.
    Show {
        /// A name or a file.
        #[arg(value_hint = ValueHint::AnyPath)]
        page: String,
        /// Print it as a page file (JSON) instead.
        #[arg(long)]
        json: bool,
    },
    /// Write a page to disk as HTML and object files, for any web server and browser.
    Write {
        /// A name or a file.
        #[arg(value_hint = ValueHint::AnyPath)]
        page: String,
        /// The directory to make.
        #[arg(short, long, value_hint = ValueHint::DirPath)]
        output: PathBuf,
    },
}

#[derive(Subcommand)]
pub enum Link {
    /// Ping, loss test and speed test in virtual time: what is configured beside what is delivered.
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
    /// List the networks that have a name.
    List,
    /// Show one: rates, delays, losses, queues, and where they come from.
    Show {
        /// A profile, a description or a file.
        network: String,
    },
}

#[derive(Args)]
pub struct Shell {
    /// A profile (`farlink networks list`), a description or a file, as for `load --network`; several
    /// lie one behind the other, the first next to the command.
    #[arg(long, required = true, value_name = "NETWORK")]
    pub network: Vec<String>,

    /// The seed of random losses and jitter.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Make this machine's 127.0.0.1:PORT (TCP) reachable inside, at the network's far side, as
    /// server.farlink:PORT or :INSIDE_PORT (may be given several times).
    #[arg(long, value_name = "PORT[=INSIDE_PORT]")]
    pub host_loopback: Vec<HostLoopback>,

    /// Run this at the network's far side, by `sh -c`, for as long as the command runs, which starts once
    /// it listens: --server 'iperf3 -s'. Its output goes to standard error.
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString)]
    pub server: Option<String>,

    /// Write what the links did as JSON: packets, drops one by one, how punctual the emulator was.
    #[arg(long, value_name = "OUT.json", value_hint = ValueHint::FilePath)]
    pub log: Option<PathBuf>,

    /// What to run (default: your shell, with a line that shows what the links do; needs a terminal).
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
