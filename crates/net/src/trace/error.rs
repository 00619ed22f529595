//! Why a file is not a trace.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a file is not a trace. Messages name the line and say what belongs there.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file cannot be read.
    #[error("failed to read the trace {}: {source}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is compressed and broken, or is not text.
    #[error("{file}: not a text, nor a gzip file of one: {reason}")]
    NotText {
        /// Which file.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// No reader recognises it.
    #[error(
        "{file}:{line}: no known form of a trace: expected a Mahimahi file (a whole number of ms a line), \
         `seconds rate` pairs, a CSV file whose header names a rate, or a JSON list of objects with \
         duration_ms and bandwidth_kbps"
    )]
    Unknown {
        /// Which file.
        file: String,
        /// The first line that fits nothing.
        line: usize,
    },
    /// A line that its format does not allow.
    #[error("{file}:{line}: `{text}`: {expected}")]
    Line {
        /// Which file.
        file: String,
        /// Which line, from 1.
        line: usize,
        /// What stands there.
        text: String,
        /// What should.
        expected: &'static str,
    },
    /// The JSON text is broken.
    #[error("{file}: not a trace in JSON: {reason}")]
    Json {
        /// Which file.
        file: String,
        /// What the parser says, with line and column.
        reason: String,
    },
    /// There is nothing in it.
    #[error("{file}: a trace must last for more than no time; this one has {found}")]
    Empty {
        /// Which file.
        file: String,
        /// What there is.
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
    /// This line is not as it should be.
    pub(super) fn wrong(&self, expected: &'static str) -> TraceError {
        /// Longer lines are cut in messages.
        const SHOWN: usize = 60;
        let mut text: String = self.text.chars().take(SHOWN).collect();
        if text.len() < self.text.len() {
            text.push_str("...");
        }
        TraceError::Line { file: self.file.to_owned(), line: self.number, text, expected }
    }
}

/// The lines of a text that are not empty, with their numbers.
pub(super) fn lines<'t>(file: &'t str, text: &'t str) -> impl Iterator<Item = Line<'t>> {
    text.lines()
        .enumerate()
        .map(move |(index, text)| Line { file, number: index + 1, text: text.trim() })
        .filter(|line| !line.text.is_empty())
}
