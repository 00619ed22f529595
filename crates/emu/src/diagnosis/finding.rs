//! What came of an attempt.

use super::Capability;

/// What came of trying one capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was tried.
    pub capability: Capability,
    /// How it went.
    pub outcome: Outcome,
}

/// How an attempt went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Well; some detail worth telling.
    Works(String),
    /// Not at all.
    Missing(Lack),
    /// It was not made for want of another one.
    Untried(Capability),
}

/// What is amiss, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// Why it does not work.
    pub why: String,
    /// A command that mends it, or advice where there is none; run by root.
    pub remedy: String,
}

impl Lack {
    /// For `map_err` and the like.
    pub(super) fn new(why: impl Into<String>, remedy: impl Into<String>) -> Lack {
        Lack { why: why.into(), remedy: remedy.into() }
    }
}
