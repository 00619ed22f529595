//! What can be asked about studies.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::DEFAULT_STORE;

#[derive(Subcommand)]
pub enum Study {
    /// List the studies: how much they claim, and which of their experiments are here.
    List,
    /// Show what a study claims, fact by fact: its value, and what a fair re-run must show.
    Claims {
        /// A study (`farlink study list`).
        name: String,
        /// Those claims alone that the study supports so far: strong, medium, weak, untestable.
        #[arg(long)]
        strength: Option<lab::study::Strength>,
    },
    /// Run the experiments of a study into one store. What the store holds is not run again.
    Run(StudyRun),
    /// Judge a study's claims by what a store holds of its experiments.
    Report(StudyReport),
}

/// Which studies, and which runs of them.
#[derive(Args)]
pub struct Which {
    /// A study (`farlink study list`).
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub name: Option<String>,

    /// All of them.
    #[arg(long)]
    pub all: bool,

    /// Two repetitions of each cell: whether everything runs. That is too few to judge by.
    #[arg(long)]
    pub quick: bool,

    /// 200 repetitions of each cell instead of the study's few: what is so, whatever chance did to the study.
    #[arg(long, conflicts_with = "quick")]
    pub deep: bool,

    /// Where pages are loaded: sim or emu.
    #[arg(long, default_value = "sim")]
    pub world: lab::scenario::World,

    /// The store.
    #[arg(long, default_value = DEFAULT_STORE, value_hint = ValueHint::FilePath)]
    pub store: PathBuf,
}

#[derive(Args)]
pub struct StudyRun {
    #[command(flatten)]
    pub which: Which,

    /// Measure anew even if the store holds these very experiments.
    #[arg(long)]
    pub again: bool,

    /// How many loads to make at once (default: one a core).
    #[arg(long, short = 'j', value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

#[derive(Args)]
pub struct StudyReport {
    #[command(flatten)]
    pub which: Which,

    /// Also write the verdicts as a page of Markdown: claim, published value, ours, verdict.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub markdown: Option<PathBuf>,

    /// Also write the report of each experiment into this directory: STUDY-EXPERIMENT.html.
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output: Option<PathBuf>,
}
