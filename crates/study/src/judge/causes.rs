//! Causes of unconfirmed claims: `causes.toml`.
//!
//! A cause in words alone would be an opinion. Each one therefore states what a run must show if it is the
//! cause: clauses like those of claims, or verdicts of the claims themselves, in some laboratory and with some
//! number of loads. So causes are judged, too.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use serde::Deserialize;

use super::terms::MoreTerms;
use super::{Clause, Clauses, Terms, Verdict};
use crate::{CAUSES, Laboratory, Study, StudyError, StudyExperiment};
use scenario::choice;

choice! {
    /// Origin of a cause.
    pub enum CauseKind, "cause" {
        /// The set-up of the study: its measurement is right, but does not generalize.
        SetUp = "set-up",
        /// A defect of the study: its statement does not follow from its measurement.
        Defect = "defect",
        /// The model: something that the study does not state was chosen otherwise, or is not modelled.
        Ours = "ours",
        /// Chance: too few loads to tell.
        Chance = "chance",
    }
    not_yet {}
}

/// A cause of unconfirmed claims, with the evidence for it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// The claims.
    pub of: Vec<String>,
    /// Origin of the cause.
    pub lies_in: CauseKind,
    /// The explanation.
    pub why: String,
    /// The laboratory in which it shows.
    #[serde(default)]
    pub laboratory: Laboratory,
    /// Number of loads of each cell, if not the study's.
    pub loads: Option<NonZeroU32>,
    /// Clauses that must hold there.
    #[serde(default, rename = "clause")]
    pub clauses: Vec<Clause>,
    /// The verdicts of which each of the claims must get one there.
    #[serde(default)]
    pub come_to: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCauses {
    format: u32,
    #[serde(default)]
    terms: MoreTerms,
    /// Read with the study's set-up.
    #[serde(default, rename = "experiment")]
    _experiments: Vec<StudyExperiment>,
    #[serde(rename = "cause")]
    causes: Vec<Cause>,
}

/// The terms of the claims of `study` extended by those of its causes, and the causes; none if the study has no
/// such file.
pub(super) fn read(study: &Study, terms: Terms) -> Result<(Terms, Vec<Cause>), StudyError> {
    if !study.files.contains_key(CAUSES) {
        return Ok((terms, Vec::new()));
    }
    let raw: RawCauses = study.parsed(CAUSES, |raw: &RawCauses| raw.format)?;
    let terms = study.extended(CAUSES, terms, raw.terms)?;
    for cause in &raw.causes {
        let name = cause.of.first().map_or("", String::as_str);
        if let Some((field, why)) = cause.mistake(study, &terms) {
            return Err(study.wrong(CAUSES, name, field, why));
        }
    }
    Ok((terms, raw.causes))
}

impl Cause {
    /// The invalid field, and why it is invalid.
    fn mistake(&self, study: &Study, terms: &Terms) -> Option<(&'static str, String)> {
        if self.of.is_empty() {
            return Some(("of", "it is the cause of no claim".to_owned()));
        }
        if let Some(other) = self.of.iter().find(|id| !study.has_claim(id)) {
            return Some(("of", format!("claims.toml has no claim `{other}`")));
        }
        if self.clauses.is_empty() == self.come_to.is_empty() {
            let why = "a cause is shown by `clause`, or by what its claims `come_to`";
            return Some(("clause, come_to", why.to_owned()));
        }
        if !self.come_to.is_empty() && !self.is_elsewhere() {
            let why = "the claims come to what they are judged: name a laboratory or loads";
            return Some(("come_to", why.to_owned()));
        }
        let settled = [Verdict::Confirmed, Verdict::Refuted, Verdict::Inconclusive];
        let is_verdict = |name: &String| settled.iter().any(|verdict| verdict.name() == name);
        if let Some(other) = self.come_to.iter().find(|name| !is_verdict(name)) {
            let why = format!("`{other}` is no verdict: confirmed, refuted or inconclusive");
            return Some(("come_to", why));
        }
        let mistake = self.clauses.iter().find_map(|clause| clause.mistake(terms));
        mistake.map(|why| ("clause", why))
    }

    /// True if it shows in other runs than the study's own.
    pub fn is_elsewhere(&self) -> bool {
        self.laboratory != Laboratory::AsPublished || self.loads.is_some()
    }

    /// The laboratory and loads with which it shows, in words; empty for the study's own.
    pub fn place(&self) -> String {
        let laboratory = match self.laboratory {
            Laboratory::AsPublished => String::new(),
            other => format!(" in `{other}`"),
        };
        let loads = self.loads.map_or(String::new(), |loads| format!(" with {loads} loads"));
        format!("{laboratory}{loads}")
    }
}

/// Experiments that causes need besides the study's usual runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CauseRun {
    /// The laboratory.
    pub laboratory: Laboratory,
    /// Number of loads of each cell, if not the study's.
    pub loads: Option<NonZeroU32>,
    /// The study's experiments to run.
    pub experiments: BTreeSet<String>,
}

/// Runs needed to judge the causes of `study`, one for each combination of laboratory and loads.
///
/// # Errors
/// A mistake in its clauses or causes.
pub fn runs_for_causes(study: &Study) -> Result<Vec<CauseRun>, StudyError> {
    let clauses = Clauses::of_study(study)?;
    let mut runs: Vec<CauseRun> = Vec::new();
    for cause in &clauses.causes {
        let experiments = clauses.experiments_of(cause);
        let (laboratory, loads) = (cause.laboratory, cause.loads);
        match runs.iter_mut().find(|run| (run.laboratory, run.loads) == (laboratory, loads)) {
            Some(run) => run.experiments.extend(experiments),
            None => runs.push(CauseRun { laboratory, loads, experiments }),
        }
    }
    Ok(runs)
}
