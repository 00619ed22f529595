//! What is wrong with a study's folder.

use thiserror::Error;

/// Failed to read a study.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StudyError {
    /// No study of that name.
    #[error("unknown study `{name}`; known: {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
        /// The closest known name, if one is close.
        nearest: Option<String>,
    },
    /// A file that must be there is not.
    #[error("{study}/{file} is missing{}", .named_by.as_ref().map_or_else(String::new, |by| format!(", which {by} names")))]
    Missing {
        /// Which study.
        study: String,
        /// Which file of its folder.
        file: String,
        /// What names it, unless every study has it.
        named_by: Option<String>,
    },
    /// A file is not TOML, or its keys are not those of its kind.
    #[error("{study}/{file}: {message}")]
    Syntax {
        /// Which study.
        study: String,
        /// Which file of its folder.
        file: String,
        /// The reader's words, with line and column.
        message: String,
    },
    /// One entry of a file says what cannot be.
    #[error("{study}/{file}: `{entry}`: {field}: {why}")]
    Field {
        /// Which study.
        study: String,
        /// Which file of its folder.
        file: String,
        /// The entry's id.
        entry: String,
        /// Which key of it.
        field: String,
        /// What it says, and what it should.
        why: String,
    },
}

impl StudyError {
    /// What to do about it, as a sentence.
    pub fn hint(&self) -> Option<String> {
        match self {
            StudyError::Unknown { nearest, .. } => {
                nearest.as_ref().map(|name| format!("did you mean `{name}`?"))
            }
            _ => None,
        }
    }
}
