//! Failures, as the exception that Python callers see.

use export::ExportError;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use report::ReportError;
use scenario::experiment::{ExperimentError, NameError};
use scenario::nearest;
use store::StoreError;
use thiserror::Error;

pyo3::create_exception!(
    farlink,
    FarlinkError,
    PyException,
    "A request that farlink refuses, or that failed. `hint` is its advice, or None."
);

/// Failure of a call from Python.
#[derive(Debug, Error)]
pub enum Failure {
    /// The request is invalid.
    #[error("{message}")]
    Refused {
        /// The reason.
        message: String,
        /// Advice.
        hint: Option<String>,
    },
    /// The experiment is invalid.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A table cannot be read.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// There is no answer.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// Python raised an exception, such as `KeyboardInterrupt`.
    #[error(transparent)]
    Raised(#[from] PyErr),
}

impl Failure {
    /// A refusal without advice.
    pub fn refused(message: impl Into<String>) -> Failure {
        Failure::Refused { message: message.into(), hint: None }
    }

    /// A refusal with advice.
    pub fn with_hint(message: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure::Refused { message: message.into(), hint: Some(hint.into()) }
    }

    /// The refusal of a name that is not among `known`.
    pub fn unknown(what: &str, name: &str, known: &[&str]) -> Failure {
        let hint = match nearest(name, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("known: {}", known.join(", ")),
        };
        Failure::with_hint(format!("there is no {what} `{name}`"), hint)
    }

    fn hint(&self) -> Option<String> {
        match self {
            Failure::Refused { hint, .. } => hint.clone(),
            Failure::Experiment(error) => error.hint(),
            _ => None,
        }
    }
}

impl From<NameError> for Failure {
    fn from(NameError { message, hint }: NameError) -> Failure {
        Failure::Refused { message, hint }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        if let Failure::Raised(raised) = failure {
            return raised;
        }
        let hint = failure.hint();
        let text = match &hint {
            Some(hint) => format!("{failure}\nhint: {hint}"),
            None => failure.to_string(),
        };
        let error = FarlinkError::new_err(text);
        let noted = Python::attach(|py| error.value(py).setattr("hint", hint));
        noted.map_or_else(|raised| raised, |()| error)
    }
}
