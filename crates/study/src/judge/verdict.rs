//! Verdicts: a claim is confirmed if every clause of its criterion holds.

use std::collections::BTreeMap;
use std::fmt;

use rayon::prelude::*;

use super::clauses::{ClaimClauses, Clause};
use super::frame::{Grounds, Sources};
use super::{Clauses, Fault, Finding, Found, Frame, Measured, Outcome};
use crate::{Claim, Strength};

/// Outcome of judging a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Every clause holds.
    Confirmed,
    /// A clause fails.
    Refuted,
    /// No clause fails, but one is inconclusive.
    Inconclusive,
    /// The document does not say enough for a test.
    Untestable,
    /// Not judged: the missing features or runs.
    Open(Vec<String>),
}

/// A claim, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Its name.
    pub id: String,
    /// The verdict on it.
    pub verdict: Verdict,
    /// Clause by clause; an open or untestable claim may have some.
    pub findings: Vec<Found>,
    /// The loads behind it.
    pub grounds: Grounds,
    /// The interpretation of its criterion.
    pub reading: Option<String>,
}

/// The result of a clause if no load has the requested quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Silence {
    /// All requested cells were run: the case did not occur, so the runs are inconclusive.
    Undecided,
    /// It may occur in cells that were left out.
    Missing,
}

/// Judges all claims of a study. A clause about a case that did not occur in any load is inconclusive.
///
/// # Errors
/// An unreadable clause, with its claim and the reason.
pub fn judge(
    claims: &[Claim],
    clauses: &Clauses,
    measured: &Measured,
    tables: &BTreeMap<String, String>,
) -> Result<Vec<Judged>, (String, Fault)> {
    let sources = Sources { measured, terms: &clauses.terms, tables };
    let one = |claim: &Claim| {
        judge_claim(claim, clauses.of(&claim.id), sources, Silence::Undecided)
            .map_err(|fault| (claim.id.clone(), fault))
    };
    // All are judged before any fault is reported, so that it is always the same one of several.
    let all: Vec<_> = claims.par_iter().map(one).collect();
    all.into_iter().collect()
}

/// Judges the claims for which `measured` has the cells: a claim that needs others is open. The clauses
/// themselves are known to be valid, since whole grids can be [judged](judge) by them.
pub(super) fn judge_covered(
    claims: &[Claim],
    clauses: &Clauses,
    measured: &Measured,
    tables: &BTreeMap<String, String>,
) -> Vec<Judged> {
    let sources = Sources { measured, terms: &clauses.terms, tables };
    let one = |claim: &Claim| {
        let entry = clauses.of(&claim.id);
        judge_claim(claim, entry, sources, Silence::Missing).unwrap_or_else(|fault| {
            let verdict = match claim.strength {
                Strength::Untestable => Verdict::Untestable,
                _ => Verdict::Open(vec![fault.to_string()]),
            };
            Judged { verdict, ..Judged::unheard(claim, entry) }
        })
    };
    claims.par_iter().map(one).collect()
}

fn judge_claim(
    claim: &Claim,
    entry: Option<&ClaimClauses>,
    sources: Sources<'_>,
    silence: Silence,
) -> Result<Judged, Fault> {
    let mut judged = Judged::unheard(claim, entry);
    let mut waits_for = match entry {
        Some(entry) => entry.waits_for.clone(),
        None => vec!["its clauses".to_owned()],
    };
    for (index, clause) in entry.iter().flat_map(|entry| &entry.clauses).enumerate() {
        let name = format!("{}/{index}", claim.id);
        match judge_clause(clause, &name, sources) {
            Ok((finding, grounds)) => {
                judged.findings.push(Found { clause: clause.to_string(), finding });
                judged.grounds.add(grounds);
            }
            Err(Fault::Clause(why)) => return Err(Fault::Clause(why)),
            Err(Fault::Nothing(what)) if silence == Silence::Undecided => {
                let finding = Finding::silent(&what);
                judged.findings.push(Found { clause: clause.to_string(), finding });
            }
            Err(missing) => waits_for.push(missing.to_string()),
        }
    }
    waits_for.sort();
    waits_for.dedup();
    judged.verdict = match claim.strength {
        Strength::Untestable => Verdict::Untestable,
        _ if !waits_for.is_empty() => Verdict::Open(waits_for),
        _ => of_findings(&judged.findings),
    };
    Ok(judged)
}

pub(super) fn judge_clause(
    clause: &Clause,
    name: &str,
    sources: Sources<'_>,
) -> Result<(Finding, Grounds), Fault> {
    let leaves = clause.test.leaves();
    let frame = Frame::new(sources, leaves, clause.grid.as_deref(), &clause.filter)?;
    let finding = match clause.cases {
        None => clause.test.judge(&frame, None, name)?,
        Some(cases) => {
            let labels = frame.cases().to_vec();
            let least = cases.least(labels.len());
            let each: Vec<_> = (0..labels.len()).map(Some).collect();
            let findings = clause.test.judge_cases(&frame, &each, name);
            let (mut found, mut nothing) = (Vec::new(), None);
            for (label, finding) in labels.into_iter().zip(findings) {
                match finding {
                    Ok(finding) => found.push((label, finding)),
                    Err(fault @ Fault::Nothing(_)) => nothing = Some(fault),
                    Err(fault) => return Err(fault),
                }
            }
            // Inconclusive cases count neither way, unless too few are left.
            if let Some(fault) = nothing.filter(|_| found.len() < least) {
                return Err(fault);
            }
            Finding::over_cases(found, least)
        }
    };
    Ok((finding, frame.grounds))
}

pub(super) fn of_findings(findings: &[Found]) -> Verdict {
    let has = |outcome| findings.iter().any(|found| found.finding.outcome == outcome);
    match () {
        () if has(Outcome::Fails) => Verdict::Refuted,
        () if has(Outcome::Inconclusive) => Verdict::Inconclusive,
        () if has(Outcome::Holds) => Verdict::Confirmed,
        () => Verdict::Open(vec!["a clause that decides".to_owned()]),
    }
}

impl Judged {
    /// A claim before judging.
    fn unheard(claim: &Claim, entry: Option<&ClaimClauses>) -> Judged {
        Judged {
            id: claim.id.clone(),
            verdict: Verdict::Open(Vec::new()),
            findings: Vec::new(),
            grounds: Grounds::default(),
            reading: entry.and_then(|entry| entry.reading.clone()),
        }
    }
}

impl Grounds {
    fn add(&mut self, other: Grounds) {
        self.experiments.extend(other.experiments);
        self.loads = self.loads.max(other.loads);
        self.failed = self.failed.max(other.failed);
    }
}

impl Verdict {
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
