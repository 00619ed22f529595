//! What is wrong with an experiment, and where.

use std::fmt;
use std::ops::Range;

use thiserror::Error;

use super::{Refusal, Source};

/// Failed to read an experiment. The message shows the file, line and column with the line itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentError {
    problem: Box<Problem>,
    place: Box<Place>,
}

/// What can be wrong with an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// It is not TOML.
    #[error("{0}")]
    Syntax(String),
    /// A key that means nothing.
    #[error("unknown key `{key}`; known here: {}", .known.join(", "))]
    UnknownKey {
        /// What was typed.
        key: String,
        /// What could have been typed.
        known: Vec<String>,
        /// What was probably meant.
        hint: Option<String>,
    },
    /// A key that must be there is not.
    #[error("`{key}` is missing; {example}")]
    Missing {
        /// Which key.
        key: &'static str,
        /// How to write it.
        example: &'static str,
    },
    /// A later version's format.
    #[error("experiment format {found} is newer than this farlink, which reads up to {known}")]
    Newer {
        /// The file's format.
        found: i64,
        /// The newest that is known.
        known: i64,
    },
    /// A value of the wrong type or out of range.
    #[error("`{key}` is {found}; expected {expected}")]
    Value {
        /// Which key.
        key: String,
        /// What it holds.
        found: String,
        /// What it should hold.
        expected: String,
    },
    /// A value that its setting does not take, or that contradicts the others.
    #[error("`{key}`: {}", .refusal.message)]
    Refused {
        /// Which key.
        key: String,
        /// Why.
        refusal: Refusal,
    },
    /// The same value twice on one axis.
    #[error("`{key}` holds the same value twice; its cells would be measured twice")]
    Twice {
        /// Which key.
        key: String,
    },
    /// An axis without values.
    #[error("the grid has 0 scenarios, because `{key}` is an empty list; give it a value")]
    EmptyAxis {
        /// Which key.
        key: String,
    },
    /// Too large a grid.
    #[error("the grid has {cells} scenarios or more; at most {most} are accepted")]
    TooLarge {
        /// How many at least.
        cells: usize,
        /// How many are allowed.
        most: usize,
    },
    /// An override that cannot be applied.
    #[error("`--set {text}` cannot be applied: {why}")]
    Override {
        /// What was typed.
        text: String,
        /// Why not.
        why: String,
    },
}

/// A span of a source text with what a reader needs to find it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    source: String,
    line: usize,
    column: usize,
    text: String,
    width: usize,
}

impl ExperimentError {
    /// `problem` at the bytes `span` of `source`.
    pub fn at(source: &Source, span: Range<usize>, problem: Problem) -> ExperimentError {
        ExperimentError { problem: Box::new(problem), place: Box::new(Place::of(source, span)) }
    }

    /// What is wrong.
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

    /// What to do about it, as a sentence.
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
        let Place { source, line, column, text, width } = &*self.place;
        let gutter = line.to_string().len();
        writeln!(f, "{source}:{line}:{column}: {}", self.problem)?;
        writeln!(f, "  {line} | {text}")?;
        write!(f, "  {:gutter$} | {:indent$}{}", "", "", "^".repeat(*width), indent = column - 1)
    }
}

impl std::error::Error for ExperimentError {}

impl Place {
    fn of(source: &Source, span: Range<usize>) -> Place {
        let text = source.text();
        let start = floor_boundary(text, span.start);
        let end = floor_boundary(text, span.end.max(start));
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let marked = text[start..end.min(line_end)].chars().count();
        Place {
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
