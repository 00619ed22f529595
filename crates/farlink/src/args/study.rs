//! Arguments of `farlink study`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueHint};
use scenario::ChoiceError;
use study::{Laboratory, LaboratoryKind};

use super::{DEFAULT_STORE, Export, Import};

#[derive(Subcommand)]
pub enum Study {
    /// List the studies: number of claims, and which of their experiments are available.
    List,
    /// Show a study's claims, fact by fact: the published value, and the result that a fair re-run must show.
    Claims {
        /// A study (`farlink study list`).
        name: String,
        /// Only claims that the study supports this well: strong, medium, weak, untestable.
        #[arg(long)]
        strength: Option<study::Strength>,
    },
    /// List the laboratories beside the studies' own: the wrong ones, and those in which an unstated condition is
    /// chosen differently.
    Laboratories,
    /// Run the experiments of a study into one store. Experiments that the store holds are not repeated.
    Run(StudyRun),
    /// Judge a study's claims by the experiments in a store.
    Report(StudyReport),
    /// Convert the input of a study's own programs to an experiment.
    #[command(subcommand)]
    Import(Import),
    /// Write the measurements of a run in the format of a study's own programs.
    #[command(subcommand)]
    Export(Export),
}

/// Selection of studies and runs.
#[derive(Args)]
pub struct Which {
    /// A study (`farlink study list`).
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub name: Option<String>,

    /// All of them.
    #[arg(long)]
    pub all: bool,

    /// Two repetitions of each cell, and one draw of sites that are drawn: a smoke test. That is too few to judge by.
    #[arg(long)]
    pub quick: bool,

    /// 200 repetitions of each cell instead of the study's few, and all 20 draws of sites that are drawn: the
    /// result without the study's sampling noise.
    #[arg(long, conflicts_with = "quick")]
    pub deep: bool,

    /// N loads of each cell instead of as many as the study made, or as `--deep` makes; fewer than 5 are too few to judge by.
    #[arg(long, value_name = "N", conflicts_with = "quick")]
    pub loads: Option<NonZeroU32>,

    /// The world in which pages are loaded: sim, or emu, where a kernel's TCP carries a reduced grid of each study
    /// in real time, with the same grid simulated beside it.
    #[arg(long, default_value = "sim")]
    pub world: scenario::World,

    /// The store.
    #[arg(long, default_value = DEFAULT_STORE, value_hint = ValueHint::FilePath)]
    pub store: PathBuf,
}

#[derive(Args)]
pub struct StudyRun {
    #[command(flatten)]
    pub which: Which,

    /// Run it in this laboratory instead: a name of `farlink study laboratories`, or all that are `wrong` or
    /// `unstated`. May be given several times.
    #[arg(long, value_name = "NAME")]
    pub laboratory: Vec<Laboratories>,

    /// Run instead the experiments, laboratories and loads that the study's causes name: they show why claims are
    /// not confirmed.
    #[arg(long, conflicts_with_all = ["laboratory", "quick", "deep", "loads"])]
    pub causes: bool,

    /// Measure again even if the store holds these very experiments.
    #[arg(long)]
    pub again: bool,

    /// Number of concurrent loads (default: one per core).
    #[arg(long, short = 'j', value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

#[derive(Args)]
pub struct StudyReport {
    #[command(flatten)]
    pub which: Which,

    /// For other laboratories that were not run as often as the study's own: judge by N loads of each cell (`study
    /// run --loads N --laboratory ...`), beside as many of the study's own.
    #[arg(long, value_name = "N")]
    pub laboratory_loads: Option<NonZeroU32>,

    /// After the summary, print each claim's clauses with their findings, the causes of verdicts, and what other
    /// laboratories change.
    #[arg(long)]
    pub claims: bool,

    /// Also write the verdicts as CSV files into this directory: STUDY/claims.csv and others, with the commands that
    /// make them again in STUDY/commands.txt.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub tables: Option<PathBuf>,

    /// Also write the studies' own figures, drawn from these runs, as one page.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,

    /// Also write a page of Markdown on the studies' conclusions, and the effect of HTTP/2 and HTTP/3 on them.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub summary: Option<PathBuf>,

    /// Also write the report of each experiment into this directory: STUDY-EXPERIMENT.html.
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output: Option<PathBuf>,
}

/// One laboratory, or all of a kind.
#[derive(Clone)]
pub struct Laboratories(pub Vec<Laboratory>);

impl FromStr for Laboratories {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Laboratories, ChoiceError> {
        let of_kind = |kind| Laboratories(Laboratory::of_kind(kind).collect());
        match text {
            "wrong" => Ok(of_kind(LaboratoryKind::Wrong)),
            "unstated" => Ok(of_kind(LaboratoryKind::Unstated)),
            name => name.parse().map(|one| Laboratories(vec![one])),
        }
    }
}
