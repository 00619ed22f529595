//! `farlink pep`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueHint};

#[derive(Subcommand)]
pub enum Pep {
    /// The near end: where clients are, before the satellite.
    Local(Half),
    /// The far end: where servers are, beyond it.
    Remote(Half),
    /// Make an end's key: print it, and its public key to standard error.
    Key,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct Half {
    /// Do what this TOML file says (docs/pep.md).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,

    /// Say whether this TOML file is right and what would be done by it, and do nothing.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub check: Option<PathBuf>,
}

impl Half {
    /// The file that is named, whichever way.
    pub fn file(&self) -> &Path {
        let named = self.config.as_ref().or(self.check.as_ref());
        named.expect("one of both is required")
    }
}
