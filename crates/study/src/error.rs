//! Errors in a study's folder.

use thiserror::Error;

/// Failed to read a study.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StudyError {
    /// No study of that name.
    #[error("unknown study `{name}`; known: {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// The known names.
        known: String,
        /// The closest known name, if one is close.
        nearest: Option<String>,
    },
    /// A required file is missing.
    #[error("{study}/{file} is missing{}", .named_by.as_ref().map_or_else(String::new, |by| format!(", which {by} names")))]
    Missing {
        /// The study.
        study: String,
        /// The file in its folder.
        file: String,
        /// The file that refers to it, unless every study has it.
        named_by: Option<String>,
    },
    /// Invalid TOML, or keys that a file of this kind does not have.
    #[error("{study}/{file}: {message}")]
    Syntax {
        /// The study.
        study: String,
        /// The file in its folder.
        file: String,
        /// The parser's message, with line and column.
        message: String,
    },
    /// An entry with an invalid value.
    #[error("{study}/{file}: `{entry}`: {field}: {why}")]
    Field {
        /// The study.
        study: String,
        /// The file in its folder.
        file: String,
        /// The entry's id.
        entry: String,
        /// The key.
        field: String,
        /// The value, and what was expected.
        why: String,
    },
}

impl StudyError {
    /// The remedy, as a sentence.
    pub fn hint(&self) -> Option<String> {
        match self {
            StudyError::Unknown { nearest, .. } => {
                nearest.as_ref().map(|name| format!("did you mean `{name}`?"))
            }
            _ => None,
        }
    }
}
