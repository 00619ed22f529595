//! File formats of studies' own programs.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use study::bth2013::{NetType, Protocol};

use super::DEFAULT_STORE;

#[derive(Subcommand)]
pub enum Import {
    /// A case file of bth2013's newrun.sh: shell assignments, parsed and not executed.
    #[command(name = "bth2013-case")]
    Bth2013Case {
        /// The case file.
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,

        #[command(flatten)]
        into: Imported,
    },
    /// A call of bth2013's run.py, by its own options.
    #[command(name = "bth2013-run")]
    Bth2013Run {
        #[command(flatten)]
        asked: RunOptions,

        #[command(flatten)]
        into: Imported,
    },
}

/// Output of an import.
#[derive(Args)]
pub struct Imported {
    /// The config.json that run.py reads: its request_path must be the study's page.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Import")]
    pub config: Option<PathBuf>,

    /// The page that stands for the one that was loaded (default: bth2013).
    #[arg(long, value_name = "PAGE", help_heading = "Import")]
    pub page: Option<String>,

    /// The experiment file to write (default: standard output).
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Import")]
    pub output: Option<PathBuf>,
}

/// The options of run.py.
#[derive(Args)]
pub struct RunOptions {
    /// Number of loads.
    #[arg(short, long, value_name = "TIMES", default_value_t = 10)]
    pub times: u32,

    /// The protocol: http, spdy, http-pipelining.
    #[arg(short, long, value_name = "PROTOCOL")]
    pub protocol: Protocol,

    /// Use SSL.
    #[arg(short, long)]
    pub ssl: bool,

    /// The network's name: EDGE, 3G, 4G, ALL.
    #[arg(short, long, value_name = "TYPE")]
    pub net_type: NetType,

    /// Packet loss rate, both directions together: 0.03, as newrun.sh gives it.
    #[arg(short = 'l', long, value_name = "SHARE")]
    pub net_loss: String,

    /// Uplink rate, in kbit/s.
    #[arg(short = 'u', long, value_name = "KBIT")]
    pub net_up_bw: String,

    /// Downlink rate, in kbit/s.
    #[arg(short = 'd', long, value_name = "KBIT")]
    pub net_dw_bw: String,

    /// Round-trip time, in milliseconds.
    #[arg(short = 'r', long, value_name = "MS")]
    pub net_rtt: String,

    /// More debug info. It has no effect here.
    #[arg(short, long)]
    pub verbosity: bool,

    /// Do not save in MongoDB. It has no effect here, where nothing is saved.
    #[arg(short = 'x', long)]
    pub dont_save: bool,

    /// Seconds to wait after a page is loaded. They belong to no load, and have no effect here.
    #[arg(short = 'z', long, value_name = "SECONDS", default_value_t = 1)]
    pub holdon: u32,
}

#[derive(Subcommand)]
pub enum Export {
    /// Result documents as bth2013's run.py stored them: a line of JSON per scenario.
    #[command(name = "bth2013-results")]
    Bth2013Results {
        /// The run, by its number (default: the latest).
        run: Option<i64>,

        /// The store.
        #[arg(long, default_value = DEFAULT_STORE, value_hint = ValueHint::FilePath)]
        store: PathBuf,

        /// The network's name: EDGE, 3G, 4G, ALL (default: the ending of the run's name).
        #[arg(long, value_name = "TYPE")]
        net_type: Option<NetType>,

        /// The file to write (default: standard output).
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
    },
}
