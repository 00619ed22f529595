//! The log file of an account.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::failure::Failure;

/// A file created empty before anything is measured, so that an unwritable path is known at once.
pub struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    /// Creates it, or truncates it.
    pub fn create(path: &Path) -> Result<Log, Failure> {
        let file = File::create(path)
            .map_err(|error| Failure::bad_input(format!("--log {}: {error}", path.display())))?;
        Ok(Log { path: path.to_owned(), file })
    }

    /// Writes the whole account.
    pub fn write(mut self, account: &Value) -> Result<(), Failure> {
        writeln!(self.file, "{account:#}").map_err(|error| {
            Failure::machine(format!("cannot write {}: {error}", self.path.display()))
        })
    }
}
