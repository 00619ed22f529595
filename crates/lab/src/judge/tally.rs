//! Verdicts, counted: a fact weighs one, however many claims there are of it.

use std::collections::BTreeMap;

use super::{Hearing, Judged, Verdict};
use crate::study::{Claim, Strength};

/// How many facts came to which verdict. The claims of a fact share its weight, so a number may be a part.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Claims.
    pub claims: usize,
    /// Facts.
    pub facts: f64,
    /// Of those, confirmed.
    pub confirmed: f64,
    /// Refuted.
    pub refuted: f64,
    /// Inconclusive.
    pub inconclusive: f64,
    /// Not judged yet.
    pub open: f64,
    /// Beyond judging.
    pub untestable: f64,
}

/// Which claims are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Those that say something of the world.
    Findings,
    /// Of those, the ones that the study supports strongly.
    Strong,
    /// Those that say again what went into the laboratory.
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

impl Tally {
    /// Counts a study's verdicts.
    pub fn of(hearing: &Hearing, counted: Counted) -> Tally {
        let mut facts: BTreeMap<&str, Vec<&Judged>> = BTreeMap::new();
        for (claim, judged) in hearing.study.claims.iter().zip(&hearing.judged) {
            if counted.takes(claim) {
                facts.entry(&claim.fact).or_default().push(judged);
            }
        }
        let mut tally = Tally::default();
        facts.values().for_each(|claims| tally.fact(claims));
        tally
    }

    fn fact(&mut self, claims: &[&Judged]) {
        self.facts += 1.0;
        self.claims += claims.len();
        let weight = 1.0 / claims.len() as f64;
        for judged in claims {
            let counter = match judged.verdict {
                Verdict::Confirmed => &mut self.confirmed,
                Verdict::Refuted => &mut self.refuted,
                Verdict::Inconclusive => &mut self.inconclusive,
                Verdict::Open(_) => &mut self.open,
                Verdict::Untestable => &mut self.untestable,
            };
            *counter += weight;
        }
    }

    /// Both together.
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
        }
    }

    /// The confirmed share, in per cent, of what has been judged; what is inconclusive stays in the denominator.
    pub fn rate(&self) -> Option<f64> {
        let judged = self.confirmed + self.refuted + self.inconclusive;
        (judged > 0.0).then(|| 100.0 * self.confirmed / judged)
    }
}
