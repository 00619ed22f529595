//! Errors in files of bth2013's programs.

use std::fmt;

use thiserror::Error;

/// Failed to read a file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}{place}: {message}")]
pub struct FileError {
    /// The file.
    pub file: String,
    /// Position in the file.
    pub place: Place,
    /// The mistake, and what was expected.
    pub message: String,
    /// The remedy.
    pub hint: Option<String>,
}

/// Position in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole: something is missing.
    Whole,
    /// A line, from 1.
    Line(usize),
    /// A variable, with its value and line.
    Variable(String, usize),
    /// A key.
    Key(String),
    /// An option of a program.
    Option(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Whole => Ok(()),
            Place::Line(line) => write!(f, ":{line}"),
            Place::Variable(name, line) => write!(f, ":{line}: {name}"),
            Place::Key(key) => write!(f, ": `{key}`"),
            Place::Option(option) => write!(f, " {option}"),
        }
    }
}
