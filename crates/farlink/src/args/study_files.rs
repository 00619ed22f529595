//! Files that studies' own programs read and wrote.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use study::bth2013::{NetType, Protocol};

use super::DEFAULT_STORE;

#[derive(Subcommand)]
pub enum Import {
    /// A case file of bth2013's newrun.sh: shell assignments, which are read and not executed.
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

/// What becomes of what is imported.
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
    /// How many times to load.
    #[arg(short, long, value_name = "TIMES", default_value_t = 10)]
    pub times: u32,

    /// What pages are carried by: http, spdy, http-pipelining.
    #[arg(short, long, value_name = "PROTOCOL")]
    pub protocol: Protocol,

    /// Over SSL.
    #[arg(short, long)]
    pub ssl: bool,

    /// What the network is called: EDGE, 3G, 4G, ALL.
    #[arg(short, long, value_name = "TYPE")]
    pub net_type: NetType,

    /// The share of packets that is lost, both directions together: 0.03, as newrun.sh gives it.
    #[arg(short = 'l', long, value_name = "SHARE")]
    pub net_loss: String,

    /// The rate up, in kbit/s.
    #[arg(short = 'u', long, value_name = "KBIT")]
    pub net_up_bw: String,

    /// The rate down, in kbit/s.
    #[arg(short = 'd', long, value_name = "KBIT")]
    pub net_dw_bw: String,

    /// The round trip, in milliseconds.
    #[arg(short = 'r', long, value_name = "MS")]
    pub net_rtt: String,

    /// More debug info. It has no effect here.
    #[arg(short, long)]
    pub verbosity: bool,

    /// Nothing is saved in MongoDB. It has no effect here, where nothing is.
    #[arg(short = 'x', long)]
    pub dont_save: bool,

    /// Seconds to hold on after a page is loaded. They belong to no load, and have no effect here.
    #[arg(short = 'z', long, value_name = "SECONDS", default_value_t = 1)]
    pub holdon: u32,
}

#[derive(Subcommand)]
pub enum Export {
    /// Result documents as bth2013's run.py stored them: a line of JSON for each scenario.
    #[command(name = "bth2013-results")]
    Bth2013Results {
        /// Which run, by its number (default: the latest).
        run: Option<i64>,

        /// The store.
        #[arg(long, default_value = DEFAULT_STORE, value_hint = ValueHint::FilePath)]
        store: PathBuf,

        /// What the network is called: EDGE, 3G, 4G, ALL (default: what the run's name ends in).
        #[arg(long, value_name = "TYPE")]
        net_type: Option<NetType>,

        /// The file to write (default: standard output).
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
    },
}
