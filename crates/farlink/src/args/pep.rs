//! `farlink pep`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueHint};

#[derive(Subcommand)]
pub enum Pep {
    /// The near end: on the clients' side of the satellite.
    Local(Half),
    /// The far end: on the servers' side of it.
    Remote(Half),
    /// Generate an end's key: print it, and its public key to standard error.
    Key,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct Half {
    /// Use this TOML file (docs/pep.md).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,

    /// Check this TOML file, show its effect, and do nothing.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub check: Option<PathBuf>,
}

impl Half {
    /// The configuration file, from either option.
    pub fn file(&self) -> &Path {
        let named = self.config.as_ref().or(self.check.as_ref());
        named.expect("one of both is required")
    }
}
