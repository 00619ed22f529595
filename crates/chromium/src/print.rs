//! Chromium as a printer of farlink's own pages: the document that their scripts make, and a page as PDF. Both are its own
//! command-line switches.

use std::path::Path;
use std::process::{Command, Output};

use super::{Chromium, ChromiumError};

/// Switches of a start that ends by itself, with time of the page's own for its scripts.
const SWITCHES: [&str; 8] = [
    "--headless=new",
    // Root needs it, and the pages are farlink's own.
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=20000",
];

impl Chromium {
    /// The document at `url` once its scripts have run, as HTML. `profile` is an empty, writable directory of the caller's.
    ///
    /// # Errors
    /// If Chromium does not start, or fails.
    pub fn document(&self, url: &str, profile: &Path) -> Result<String, ChromiumError> {
        let output = self.once(profile, &["--dump-dom".to_owned(), url.to_owned()])?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Prints the page at `url` to a PDF file, on paper of the size that its style sheet names (`@page`).
    ///
    /// # Errors
    /// If Chromium does not start, or fails.
    pub fn print(&self, url: &str, pdf: &Path, profile: &Path) -> Result<(), ChromiumError> {
        let print = format!("--print-to-pdf={}", pdf.display());
        let switches = ["--no-pdf-header-footer".to_owned(), print, url.to_owned()];
        self.once(profile, &switches).map(drop)
    }

    fn once(&self, profile: &Path, switches: &[String]) -> Result<Output, ChromiumError> {
        let mut command = Command::new(self.program());
        command.args(SWITCHES).arg(format!("--user-data-dir={}", profile.display()));
        let output = command.args(switches).output().map_err(ChromiumError::Start)?;
        match output.status.success() {
            true => Ok(output),
            false => Err(ChromiumError::Gone {
                doing: "printing".to_owned(),
                last_words: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            }),
        }
    }
}
