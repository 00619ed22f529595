//! Errors of reading a trace.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Reasons why a file is not a trace. Messages name the line and the expected content.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file cannot be read.
    #[error("failed to read the trace {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The file is compressed and broken, or is not text.
    #[error("{file}: not a text, nor a gzip file of one: {reason}")]
    NotText {
        /// The file.
        file: String,
        /// The error.
        reason: String,
    },
    /// No reader recognises it.
    #[error(
        "{file}:{line}: no known form of a trace: expected a Mahimahi file (a whole number of ms a line), \
         `seconds rate` pairs, a CSV file whose header names a rate, or a JSON list of objects with \
         duration_ms and bandwidth_kbps"
    )]
    Unknown {
        /// The file.
        file: String,
        /// The first line that fits no format.
        line: usize,
    },
    /// A line that its format does not allow.
    #[error("{file}:{line}: `{text}`: {expected}")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The text of the line.
        text: String,
        /// The expected form.
        expected: &'static str,
    },
    /// The JSON text is invalid.
    #[error("{file}: not a trace in JSON: {reason}")]
    Json {
        /// The file.
        file: String,
        /// The parser's message, with line and column.
        reason: String,
    },
    /// The trace is empty.
    #[error("{file}: a trace must last for more than no time; this one has {found}")]
    Empty {
        /// The file.
        file: String,
        /// Description of its content.
        found: &'static str,
    },
}

/// A line of a trace, for messages.
#[derive(Clone, Copy)]
pub(super) struct Line<'t> {
    pub(super) file: &'t str,
    pub(super) number: usize,
    pub(super) text: &'t str,
}

impl Line<'_> {
    /// Error for this line.
    pub(super) fn wrong(&self, expected: &'static str) -> TraceError {
        /// Maximum number of characters shown in messages.
        const SHOWN: usize = 60;
        let mut text: String = self.text.chars().take(SHOWN).collect();
        if text.len() < self.text.len() {
            text.push_str("...");
        }
        TraceError::Line { file: self.file.to_owned(), line: self.number, text, expected }
    }
}

/// Non-empty lines of a text, with their numbers.
pub(super) fn lines<'t>(file: &'t str, text: &'t str) -> impl Iterator<Item = Line<'t>> {
    text.lines()
        .enumerate()
        .map(move |(index, text)| Line { file, number: index + 1, text: text.trim() })
        .filter(|line| !line.text.is_empty())
}
