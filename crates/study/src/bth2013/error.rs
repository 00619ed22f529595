//! What is wrong with a file of bth2013's programs.

use std::fmt;

use thiserror::Error;

/// Failed to read a file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}{place}: {message}")]
pub struct FileError {
    /// Which file.
    pub file: String,
    /// Where in it.
    pub place: Place,
    /// What is there, and what was expected.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

/// Where in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nowhere: something is missing.
    Whole,
    /// A line, from 1.
    Line(usize),
    /// What a variable is set to, and on which line.
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
