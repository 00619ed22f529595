//! Options of commands that load a page several times: how often, with which seed, on how many cores.

use std::num::NonZeroUsize;

use clap::Args;

use super::repetitions;

#[derive(Args, Clone, Copy)]
pub struct Loads {
    /// Number of loads of each alternative.
    #[arg(short = 'n', long, default_value_t = 10, value_name = "REPS", allow_negative_numbers = true, value_parser = repetitions)]
    pub repetitions: u32,

    /// Seed of all randomness; loads with the same seed are paired.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Number of concurrent loads (default: one per core).
    #[arg(long, short = 'j', value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}
