//! Options of `farlink what-if`.

use std::num::NonZeroUsize;

use clap::{Args, ValueHint};

use super::{How, repetitions};

#[derive(Args)]
pub struct WhatIf {
    /// Page, as `farlink load` takes it: a HAR file, an archive, a name.
    #[arg(value_hint = ValueHint::AnyPath)]
    pub page: String,

    #[command(flatten)]
    pub how: How,

    /// Number of loads of each change.
    #[arg(short = 'n', long, default_value_t = 10, value_name = "REPS", allow_negative_numbers = true, value_parser = repetitions)]
    pub repetitions: u32,

    /// Seed of all randomness; loads with the same seed are paired.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Print JSON, one object a line for each change, instead of the table.
    #[arg(long)]
    pub json: bool,

    /// Number of concurrent loads (default: one per core).
    #[arg(long, short = 'j', value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}
