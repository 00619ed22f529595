//! Result of a trial.

use super::Capability;

/// Result of trying one capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The capability tried.
    pub capability: Capability,
    /// Outcome of the trial.
    pub outcome: Outcome,
}

/// Outcome of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It works; with a detail to report.
    Works(String),
    /// It does not work.
    Missing(Lack),
    /// Not tried, because this other capability is missing.
    Untried(Capability),
}

/// A missing prerequisite, and its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// Reason why it does not work.
    pub why: String,
    /// A command that fixes it, to be run by root, or advice if there is none.
    pub remedy: String,
}

impl Lack {
    /// For `map_err` and the like.
    pub(super) fn new(why: impl Into<String>, remedy: impl Into<String>) -> Lack {
        Lack { why: why.into(), remedy: remedy.into() }
    }
}
