//! The file that an account is written to.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::failure::Failure;

/// A file that is there, empty, before anything is measured: what cannot be written is known at once.
pub struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    /// Makes it, or empties it.
    pub fn create(path: &Path) -> Result<Log, Failure> {
        let file = File::create(path)
            .map_err(|error| Failure::bad_input(format!("--log {}: {error}", path.display())))?;
        Ok(Log { path: path.to_owned(), file })
    }

    /// Writes all there is.
    pub fn write(mut self, account: &Value) -> Result<(), Failure> {
        writeln!(self.file, "{account:#}").map_err(|error| {
            Failure::machine(format!("cannot write {}: {error}", self.path.display()))
        })
    }
}
