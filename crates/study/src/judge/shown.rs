//! Tests of causes by runs.

use super::frame::Sources;
use super::hearing::{HearingError, Shown};
use super::inquiry::Inquiry;
use super::verdict::{judge_clause, of_findings};
use super::{Cause, Fault, Finding, Found, Judged, Measured, Outcome, Verdict};
use crate::{CAUSES, Depth};

impl Inquiry<'_> {
    /// The verdicts on a cause; `published` holds the measurements of the study's own laboratory. A cause that
    /// is tested by its claims' verdicts may apply to some claims and not to others.
    pub(super) fn shown(
        &self,
        cause: &Cause,
        published: &Measured,
    ) -> Result<Vec<Shown>, HearingError> {
        let there = match cause.is_elsewhere() {
            true => {
                // Causes are run with the study's depth (`study run --causes`), whatever the depth at which its
                // claims are judged.
                let depth = cause.loads.map_or(Depth::Usual, Depth::Loads);
                let mut plans = self.plans_at(depth)?;
                let wanted = self.clauses.experiments_of(cause);
                plans.retain(|(id, _)| wanted.contains(id));
                Some(self.measured(cause.laboratory, &plans, published)?)
            }
            false => None,
        };
        let measured = there.as_ref().unwrap_or(published);
        match cause.clauses.is_empty() {
            true => self.come_to(cause, measured),
            false => Ok(vec![self.by_clauses(cause, measured)?]),
        }
    }

    fn by_clauses(&self, cause: &Cause, measured: &Measured) -> Result<Shown, HearingError> {
        let (findings, waits_for) = self.findings(cause, measured)?;
        let verdict = match waits_for.is_empty() {
            true => of_findings(&findings),
            false => Verdict::Open(waits_for),
        };
        Ok(Shown { cause: cause.clone(), verdict, findings })
    }

    /// The results of a cause's clauses, and what is missing for them.
    fn findings(
        &self,
        cause: &Cause,
        measured: &Measured,
    ) -> Result<(Vec<Found>, Vec<String>), HearingError> {
        let sources = Sources { measured, terms: &self.clauses.terms, tables: &self.study.files };
        let (mut findings, mut waits_for) = (Vec::new(), Vec::new());
        for (index, clause) in cause.clauses.iter().enumerate() {
            let name = format!("cause of {}/{index}", cause.of[0]);
            match judge_clause(clause, &name, sources) {
                Ok((finding, _)) => findings.push(Found { clause: clause.to_string(), finding }),
                Err(fault @ Fault::Clause(_)) => {
                    return Err(self.unreadable(CAUSES, name, fault));
                }
                Err(missing) => waits_for.push(missing.to_string()),
            }
        }
        Ok((findings, waits_for))
    }

    /// The verdicts on a cause's claims where it shows, grouped: as expected, not as expected, and waiting for
    /// something.
    fn come_to(&self, cause: &Cause, measured: &Measured) -> Result<Vec<Shown>, HearingError> {
        let mut groups: Vec<Shown> = Vec::new();
        for judged in self.judge(measured)?.iter().filter(|it| cause.of.contains(&it.id)) {
            let (verdict, found) = found(cause, judged);
            let known = groups.iter_mut().find(|group| group.verdict == verdict);
            let group = match known {
                Some(group) => group,
                None => {
                    let cause = Cause { of: Vec::new(), ..cause.clone() };
                    groups.push(Shown { cause, verdict, findings: Vec::new() });
                    groups.last_mut().expect("it was just put there")
                }
            };
            group.cause.of.push(judged.id.clone());
            group.findings.extend(found);
        }
        Ok(groups)
    }
}

/// The verdict on a cause by one of its claims, with the finding behind it.
fn found(cause: &Cause, judged: &Judged) -> (Verdict, Option<Found>) {
    if let Verdict::Open(missing) = &judged.verdict {
        let missing = missing.iter().map(|what| format!("{what}{}", cause.place()));
        return (Verdict::Open(missing.collect()), None);
    }
    let name = judged.verdict.name();
    let (verdict, outcome) = match cause.come_to.iter().any(|expected| expected == name) {
        true => (Verdict::Confirmed, Outcome::Holds),
        false => (Verdict::Refuted, Outcome::Fails),
    };
    let note = Some(format!("it is {name}"));
    let clause = format!("{} there {}", judged.id, cause.come_to.join(" or "));
    let finding = Finding { outcome, figures: Vec::new(), note };
    (verdict, Some(Found { clause, finding }))
}
