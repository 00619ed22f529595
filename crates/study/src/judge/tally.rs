//! Counts of verdicts: each fact has weight one, however many claims are about it.

use std::collections::BTreeMap;

use super::{Hearing, Judged, Verdict};
use crate::{Claim, Strength};

/// Number of facts with each verdict. The claims of a fact share its weight, so numbers may be fractional.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Claims.
    pub claims: usize,
    /// Facts.
    pub facts: f64,
    /// Confirmed facts.
    pub confirmed: f64,
    /// Refuted facts.
    pub refuted: f64,
    /// Inconclusive facts.
    pub inconclusive: f64,
    /// Facts not judged yet.
    pub open: f64,
    /// Facts that cannot be judged.
    pub untestable: f64,
    /// Confirmed by every wrong laboratory, so that judging them means nothing.
    pub non_discriminating: f64,
}

/// Selection of claims to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Claims that state a finding.
    Findings,
    /// Findings that the study supports strongly.
    Strong,
    /// Claims that restate an input of the laboratory.
    Restatements,
}

impl Counted {
    fn takes(self, claim: &Claim) -> bool {
        match self {
            Counted::Findings => !claim.restates_inputs,
            Counted::Strong => !claim.restates_inputs && claim.strength == Strength::Strong,
            Counted::Restatements => claim.restates_inputs,
        }
    }
}

/// Accessor of the tally's field in which a claim is counted.
type Counter = fn(&mut Tally) -> &mut f64;

/// The field for a claim's verdict.
fn counter(judged: &Judged) -> Counter {
    match judged.verdict {
        Verdict::Confirmed => |tally| &mut tally.confirmed,
        Verdict::Refuted => |tally| &mut tally.refuted,
        Verdict::Inconclusive => |tally| &mut tally.inconclusive,
        Verdict::Open(_) => |tally| &mut tally.open,
        Verdict::Untestable => |tally| &mut tally.untestable,
    }
}

impl Tally {
    /// Counts a study's verdicts.
    pub fn of(hearing: &Hearing, counted: Counted) -> Tally {
        let mut facts: BTreeMap<&str, Vec<Counter>> = BTreeMap::new();
        let judged = hearing.study.claims.iter().zip(&hearing.judged).enumerate();
        for (index, (claim, judged)) in judged.filter(|(_, (claim, _))| counted.takes(claim)) {
            let counter: Counter = match hearing.is_non_discriminating(index) {
                true => |tally| &mut tally.non_discriminating,
                false => counter(judged),
            };
            facts.entry(&claim.fact).or_default().push(counter);
        }
        let mut tally = Tally::default();
        facts.values().for_each(|claims| tally.fact(claims));
        tally
    }

    fn fact(&mut self, claims: &[Counter]) {
        self.facts += 1.0;
        self.claims += claims.len();
        for counter in claims {
            *counter(self) += 1.0 / claims.len() as f64;
        }
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Tally) -> Tally {
        Tally {
            claims: self.claims + other.claims,
            facts: self.facts + other.facts,
            confirmed: self.confirmed + other.confirmed,
            refuted: self.refuted + other.refuted,
            inconclusive: self.inconclusive + other.inconclusive,
            open: self.open + other.open,
            untestable: self.untestable + other.untestable,
            non_discriminating: self.non_discriminating + other.non_discriminating,
        }
    }

    /// The confirmed share, in per cent, of what has been judged and discriminates; inconclusive verdicts stay
    /// in the denominator.
    pub fn rate(&self) -> Option<f64> {
        let judged = self.confirmed + self.refuted + self.inconclusive;
        (judged > 0.0).then(|| 100.0 * self.confirmed / judged)
    }
}
