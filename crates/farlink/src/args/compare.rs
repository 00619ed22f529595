//! Options of `farlink compare`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{BudgetArgs, How, repetitions};

#[derive(Args)]
pub struct Compare {
    /// Before: a page as `farlink load` takes it (HAR file, archive, name), or a run: STORE.sqlite, STORE.sqlite#2.
    #[arg(value_hint = ValueHint::AnyPath)]
    pub before: String,

    /// After: another page, or another run.
    #[arg(value_hint = ValueHint::AnyPath)]
    pub after: String,

    #[command(flatten)]
    pub how: How,

    /// Number of loads of each page and arm.
    #[arg(short = 'n', long, default_value_t = 10, value_name = "REPS", allow_negative_numbers = true, value_parser = repetitions)]
    pub repetitions: u32,

    /// Seed of all randomness; loads with the same seed are paired.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    #[command(flatten)]
    pub budgets: BudgetArgs,

    /// Print JSON, one object a line for each arm and metric, instead of the tables.
    #[arg(long)]
    pub json: bool,

    /// Write an HTML report of both sides: waterfalls side by side, causes, tests (docs/report.md).
    #[arg(long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,

    /// Print all changed objects (default: up to 20).
    #[arg(long)]
    pub all: bool,

    /// Number of concurrent loads (default: one per core; one for Chromium).
    #[arg(long, short = 'j', value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}
