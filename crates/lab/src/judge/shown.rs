//! Whether a run shows why claims are not confirmed.

use super::frame::Sources;
use super::hearing::{HearingError, Shown};
use super::inquiry::Inquiry;
use super::verdict::{judge_clause, of_findings};
use super::{Cause, Fault, Finding, Found, Measured, Outcome, Verdict};
use crate::study::CAUSES;

impl Inquiry<'_> {
    /// Whether a run shows a cause; `published` is what the study's own laboratory measured.
    pub(super) fn shown(&self, cause: &Cause, published: &Measured) -> Result<Shown, HearingError> {
        let there = match cause.is_elsewhere() {
            true => {
                let mut plans = self.plans(cause.loads)?;
                let wanted = self.clauses.experiments_of(cause);
                plans.retain(|(id, _)| wanted.contains(id));
                Some(self.measured(cause.laboratory, &plans, published)?)
            }
            false => None,
        };
        let measured = there.as_ref().unwrap_or(published);
        let (findings, waits_for) = match cause.clauses.is_empty() {
            true => self.come_to(cause, measured)?,
            false => self.findings(cause, measured)?,
        };
        let verdict = match waits_for.is_empty() {
            true => of_findings(&findings),
            false => Verdict::Open(waits_for),
        };
        Ok(Shown { cause: cause.clone(), verdict, findings })
    }

    /// What the clauses of a cause come to, and what is missing for them.
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

    /// What the claims of a cause come to where it shows, and what is missing for that.
    fn come_to(
        &self,
        cause: &Cause,
        measured: &Measured,
    ) -> Result<(Vec<Found>, Vec<String>), HearingError> {
        let (mut findings, mut waits_for) = (Vec::new(), Vec::new());
        for judged in self.judge(measured)?.iter().filter(|it| cause.of.contains(&it.id)) {
            if let Verdict::Open(missing) = &judged.verdict {
                waits_for.extend(missing.iter().map(|what| format!("{what}{}", cause.place())));
                continue;
            }
            let name = judged.verdict.name();
            let is_expected = cause.come_to.iter().any(|expected| expected == name);
            let outcome = if is_expected { Outcome::Holds } else { Outcome::Fails };
            let note = Some(format!("it is {name}"));
            let clause = format!("{} there {}", judged.id, cause.come_to.join(" or "));
            findings
                .push(Found { clause, finding: Finding { outcome, figures: Vec::new(), note } });
        }
        waits_for.dedup();
        Ok((findings, waits_for))
    }
}
