//! Options of `farlink ui`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::DEFAULT_STORE;

#[derive(Args)]
pub struct Ui {
    /// Store to show and to run into; made when the first run starts.
    #[arg(long, default_value = DEFAULT_STORE, value_hint = ValueHint::FilePath)]
    pub store: PathBuf,

    /// Port on 127.0.0.1 (default: any free one).
    #[arg(long, default_value_t = 0, value_name = "PORT", hide_default_value = true)]
    pub port: u16,
}
