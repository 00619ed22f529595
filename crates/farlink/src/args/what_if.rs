//! Options of `farlink what-if`.

use clap::{Args, ValueHint};

use super::{How, Loads};

#[derive(Args)]
pub struct WhatIf {
    /// Page, as `farlink load` takes it: a HAR file, an archive, a name.
    #[arg(value_hint = ValueHint::AnyPath)]
    pub page: String,

    #[command(flatten)]
    pub how: How,

    #[command(flatten)]
    pub loads: Loads,

    /// Print JSON, one object a line for each change, instead of the table.
    #[arg(long)]
    pub json: bool,
}
