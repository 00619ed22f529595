//! Errors in an experiment, with their positions.

use std::fmt;
use std::ops::Range;

use thiserror::Error;

use super::{NameError, Source};

/// Failed to read an experiment. The message shows the file, line and column with the line itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentError {
    problem: Box<Problem>,
    place: Box<SourceLocation>,
}

/// Kinds of errors in an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// Invalid TOML.
    #[error("{0}")]
    Syntax(String),
    /// An unknown key.
    #[error("unknown key `{key}`; known here: {}", .known.join(", "))]
    UnknownKey {
        /// The key as typed.
        key: String,
        /// The known keys.
        known: Vec<String>,
        /// The key that was probably meant.
        hint: Option<String>,
    },
    /// A missing mandatory key.
    #[error("`{key}` is missing; {example}")]
    Missing {
        /// The key.
        key: &'static str,
        /// An example of the key.
        example: &'static str,
    },
    /// A later version's format.
    #[error("experiment format {found} is newer than this farlink, which reads up to {known}")]
    Newer {
        /// The file's format.
        found: i64,
        /// The newest known format.
        known: i64,
    },
    /// A value of the wrong type or out of range.
    #[error("`{key}` is {found}; expected {expected}")]
    Value {
        /// The key.
        key: String,
        /// The value found.
        found: String,
        /// The expected value.
        expected: String,
    },
    /// A value that its setting does not take, or that contradicts the others.
    #[error("`{key}`: {}", .refusal.message)]
    Refused {
        /// The key.
        key: String,
        /// The reason.
        refusal: NameError,
    },
    /// The same value twice on one axis.
    #[error("`{key}` holds the same value twice; its cells would be measured twice")]
    Twice {
        /// The key.
        key: String,
    },
    /// An axis without values.
    #[error("the grid has 0 scenarios, because `{key}` is an empty list; give it a value")]
    EmptyAxis {
        /// The key.
        key: String,
    },
    /// A grid that is too large.
    #[error("the grid has {cells} scenarios or more; at most {most} are accepted")]
    TooLarge {
        /// Number of scenarios, at least.
        cells: usize,
        /// The largest allowed number.
        most: usize,
    },
    /// A file that cannot be included.
    #[error("cannot include `{file}`: {why}")]
    Include {
        /// The file as named.
        file: String,
        /// The reason.
        why: String,
    },
    /// An override that cannot be applied.
    #[error("`--set {text}` cannot be applied: {why}")]
    Override {
        /// The text as typed.
        text: String,
        /// The reason.
        why: String,
    },
}

/// A span of a source text with the position shown to readers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SourceLocation {
    source: String,
    line: usize,
    column: usize,
    text: String,
    width: usize,
}

impl ExperimentError {
    /// `problem` at the bytes `span` of `source`.
    pub fn at(source: &Source, span: Range<usize>, problem: Problem) -> ExperimentError {
        ExperimentError {
            problem: Box::new(problem),
            place: Box::new(SourceLocation::of(source, span)),
        }
    }

    /// The kind of error.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The line of the file, from 1.
    pub fn line(&self) -> usize {
        self.place.line
    }

    /// The character in that line, from 1.
    pub fn column(&self) -> usize {
        self.place.column
    }

    /// Advice on fixing it, as a sentence.
    pub fn hint(&self) -> Option<String> {
        match &*self.problem {
            Problem::UnknownKey { hint, .. } => hint.clone(),
            Problem::Refused { refusal, .. } => refusal.hint.clone(),
            Problem::Newer { .. } => Some("use a newer farlink".to_owned()),
            _ => None,
        }
    }
}

impl fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SourceLocation { source, line, column, text, width } = &*self.place;
        let gutter = line.to_string().len();
        writeln!(f, "{source}:{line}:{column}: {}", self.problem)?;
        writeln!(f, "  {line} | {text}")?;
        write!(f, "  {:gutter$} | {:indent$}{}", "", "", "^".repeat(*width), indent = column - 1)
    }
}

impl std::error::Error for ExperimentError {}

impl SourceLocation {
    fn of(source: &Source, span: Range<usize>) -> SourceLocation {
        let (source, span) = source.file_of(span);
        let text = source.text();
        let start = floor_boundary(text, span.start);
        let end = floor_boundary(text, span.end.max(start));
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let marked = text[start..end.min(line_end)].chars().count();
        SourceLocation {
            source: source.name().to_owned(),
            line: text[..start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            text: text[line_start..line_end].replace('\t', " "),
            width: marked.max(1),
        }
    }
}

/// The last character boundary at or before `at`.
fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}
