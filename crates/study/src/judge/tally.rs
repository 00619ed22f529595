//! Verdicts, counted: a fact weighs one, however many claims there are of it.

use std::collections::BTreeMap;

use super::{Hearing, Judged, Verdict};
use crate::{Claim, Strength};

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
    /// Confirmed by every wrong laboratory: to judge them says nothing.
    pub non_discriminating: f64,
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

/// Where in a tally a claim is counted.
type Counter = fn(&mut Tally) -> &mut f64;

/// By its verdict.
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
            non_discriminating: self.non_discriminating + other.non_discriminating,
        }
    }

    /// The confirmed share, in per cent, of what has been judged and tells something; what is inconclusive stays in the denominator.
    pub fn rate(&self) -> Option<f64> {
        let judged = self.confirmed + self.refuted + self.inconclusive;
        (judged > 0.0).then(|| 100.0 * self.confirmed / judged)
    }
}
