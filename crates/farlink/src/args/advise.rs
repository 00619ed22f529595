//! Options of `farlink advise`.

use std::num::NonZeroUsize;

use clap::{Args, ValueHint};

use super::{How, repetitions};

#[derive(Args)]
pub struct Advise {
    /// Page, as `farlink load` takes it: a HAR file, an archive, a name.
    #[arg(value_hint = ValueHint::AnyPath)]
    pub page: String,

    #[command(flatten)]
    pub how: How,

    /// Shares of users on the networks, in their order: 60,40 (default: equal).
    #[arg(long, value_delimiter = ',', value_name = "SHARE", allow_negative_numbers = true)]
    pub share: Vec<f64>,

    /// Number of loads of each step of the advice; the search takes a fifth of them.
    #[arg(short = 'n', long, default_value_t = 10, value_name = "REPS", allow_negative_numbers = true, value_parser = repetitions)]
    pub repetitions: u32,

    /// Seed of all randomness; loads with the same seed are paired.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Try every configuration instead of searching.
    #[arg(long)]
    pub exhaustive: bool,

    /// Print JSON, one object, instead of tables.
    #[arg(long)]
    pub json: bool,

    /// Number of concurrent loads (default: one per core).
    #[arg(long, short = 'j', value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}
