//! Verdicts: a claim is confirmed if every clause of its criterion holds.

use std::collections::BTreeMap;
use std::fmt;

use rayon::prelude::*;

use super::{
    ClaimClauses, Clause, ClauseError, ClauseResult, Clauses, Dataset, Finding, LoadCount,
    Measurements, Sources, TestOutcome,
};
use crate::{Claim, Strength};

/// Verdict on a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Every clause holds.
    Confirmed,
    /// A clause fails.
    Refuted,
    /// The repetitions do not decide.
    Inconclusive,
    /// The study does not say enough for a test.
    Untestable,
    /// Not judged: what it waits for.
    Open(Vec<String>),
}

/// A claim's verdict, with the findings behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimResult {
    /// The claim.
    pub id: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Its clauses with their findings, as far as they could be evaluated.
    pub findings: Vec<ClauseResult>,
    /// True if all of them have the published sign, order or mechanism, whatever the size; `None` if the claim is about a size alone, or
    /// was not judged.
    pub reproduces: Option<bool>,
    /// The most loads that one of them was evaluated on.
    pub loads: LoadCount,
    /// The reading of an ambiguous criterion.
    pub reading: Option<String>,
}

/// Treatment of clauses that too few loads have a quantity for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TooFew {
    /// They are inconclusive.
    Inconclusive,
    /// They wait for loads.
    Missing,
}

/// The verdicts on claims, in their order; `tables` are the study's files.
pub fn judge_claims(
    claims: &[Claim],
    clauses: &Clauses,
    measurements: &Measurements,
    tables: &BTreeMap<String, String>,
) -> Result<Vec<ClaimResult>, (String, ClauseError)> {
    let sources = Sources { measurements, terms: &clauses.terms, tables };
    let one = |claim: &Claim| {
        judge_claim(claim, clauses.of(&claim.id), sources, TooFew::Inconclusive)
            .map_err(|error| (claim.id.clone(), error))
    };
    // All are judged before any error is reported, so that it is always the same one of several.
    let all: Vec<_> = claims.par_iter().map(one).collect();
    all.into_iter().collect()
}

/// The verdicts on part of a study's cells: clauses that need others are open, not mistakes.
pub(super) fn judge_covered(
    claims: &[Claim],
    clauses: &Clauses,
    measurements: &Measurements,
    tables: &BTreeMap<String, String>,
) -> Vec<ClaimResult> {
    let sources = Sources { measurements, terms: &clauses.terms, tables };
    let one = |claim: &Claim| {
        let entry = clauses.of(&claim.id);
        judge_claim(claim, entry, sources, TooFew::Missing).unwrap_or_else(|error| ClaimResult {
            verdict: claim.verdict(|| Verdict::Open(vec![error.to_string()])),
            ..ClaimResult::without(claim, entry)
        })
    };
    claims.par_iter().map(one).collect()
}

fn judge_claim(
    claim: &Claim,
    entry: Option<&ClaimClauses>,
    sources: Sources<'_>,
    too_few: TooFew,
) -> Result<ClaimResult, ClauseError> {
    let mut result = ClaimResult::without(claim, entry);
    let mut waits_for = match entry {
        Some(entry) => entry.waits_for.clone(),
        None => vec!["its clauses".to_owned()],
    };
    for (index, clause) in entry.iter().flat_map(|entry| &entry.clauses).enumerate() {
        let finding = match judge_clause(clause, &format!("{}/{index}", claim.id), sources) {
            Ok((finding, loads)) => {
                result.loads.all = result.loads.all.max(loads.all);
                result.loads.failed = result.loads.failed.max(loads.failed);
                finding
            }
            Err(mistake @ ClauseError::Invalid(_)) => return Err(mistake),
            Err(ClauseError::TooFewLoads(what)) if too_few == TooFew::Inconclusive => {
                Finding::of_too_few_loads(&what)
            }
            Err(missing) => {
                waits_for.push(missing.to_string());
                continue;
            }
        };
        result.findings.push(ClauseResult { clause: clause.to_string(), finding });
    }
    waits_for.sort();
    waits_for.dedup();
    let mut signs = result.findings.iter().filter_map(|found| found.finding.reproduces).peekable();
    result.reproduces = signs.peek().is_some().then(|| signs.all(|is_right| is_right));
    result.verdict = claim.verdict(|| match waits_for.is_empty() {
        true => Verdict::of_findings(&result.findings),
        false => Verdict::Open(waits_for),
    });
    Ok(result)
}

/// The finding of a clause, and the loads behind it; `name` names its random stream.
pub(super) fn judge_clause(
    clause: &Clause,
    name: &str,
    sources: Sources<'_>,
) -> Result<(Finding, LoadCount), ClauseError> {
    let leaves = clause.criterion.leaves();
    let dataset = Dataset::new(sources, leaves, clause.grid.as_deref(), &clause.filter)?;
    let Some(cases) = clause.cases else {
        return Ok((clause.criterion.judge(&dataset, name)?, dataset.loads));
    };
    let labels = dataset.cases().to_vec();
    let all = labels.len();
    let each: Vec<_> = (0..labels.len()).map(Some).collect();
    let findings = clause.criterion.judge_cases(&dataset, &each, name);
    let (mut found, mut too_few) = (Vec::new(), None);
    for (label, finding) in labels.into_iter().zip(findings) {
        match finding {
            Ok(finding) => found.push((label, finding)),
            Err(error @ ClauseError::TooFewLoads(_)) => too_few = Some(error),
            Err(error) => return Err(error),
        }
    }
    // Cases with too few loads or without an event count neither way, unless too few are left.
    let least = cases.least(all, found.len());
    match too_few.filter(|_| found.len() < least) {
        Some(error) => Err(error),
        None => Ok((Finding::over_cases(found, least), dataset.loads)),
    }
}

impl Claim {
    /// The verdict if it can be tested.
    fn verdict(&self, tested: impl FnOnce() -> Verdict) -> Verdict {
        match self.strength {
            Strength::Untestable => Verdict::Untestable,
            _ => tested(),
        }
    }
}

impl ClaimResult {
    /// A claim that has not been judged.
    fn without(claim: &Claim, entry: Option<&ClaimClauses>) -> ClaimResult {
        ClaimResult {
            id: claim.id.clone(),
            verdict: Verdict::Open(Vec::new()),
            findings: Vec::new(),
            reproduces: None,
            loads: LoadCount::default(),
            reading: entry.and_then(|entry| entry.reading.clone()),
        }
    }
}

impl Verdict {
    /// The verdict by all findings together.
    pub(super) fn of_findings(findings: &[ClauseResult]) -> Verdict {
        let has = |outcome| findings.iter().any(|found| found.finding.outcome == outcome);
        match () {
            () if has(TestOutcome::Fails) => Verdict::Refuted,
            () if has(TestOutcome::Inconclusive) => Verdict::Inconclusive,
            () if has(TestOutcome::Holds) => Verdict::Confirmed,
            () => Verdict::Open(vec!["a clause that decides".to_owned()]),
        }
    }

    /// True if it has not been judged.
    pub fn is_open(&self) -> bool {
        matches!(self, Verdict::Open(_))
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Confirmed => "confirmed",
            Verdict::Refuted => "refuted",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Untestable => "untestable",
            Verdict::Open(_) => "open",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Open(reasons) => write!(f, "open: waits for {}", reasons.join(", ")),
            settled => f.write_str(settled.name()),
        }
    }
}
