//! What came of an attempt.

use super::Capability;

/// What came of trying one capability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was tried.
    pub capability: Capability,
    /// Some detail worth telling, or what is amiss.
    pub outcome: Result<String, Lack>,
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
