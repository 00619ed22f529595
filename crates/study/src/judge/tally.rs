//! Counts of verdicts: each fact has weight one, however many claims are about it.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use super::{ClaimResult, StudyResult, Verdict};
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
    /// Facts with a sign, an order or a mechanism, of those judged.
    pub with_sign: f64,
    /// Of these, reproduced, whatever the size.
    pub reproduced: f64,
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

impl Tally {
    /// Counts a study's verdicts.
    pub fn of(result: &StudyResult, counted: Counted) -> Tally {
        let is_blind = |index| result.is_non_discriminating(index);
        Tally::of_claims(&result.study.claims, &result.claims, counted, is_blind)
    }

    /// Counts the verdicts `judged` on `claims`; `is_blind` tells which do not discriminate.
    pub fn of_claims(
        claims: &[Claim],
        judged: &[ClaimResult],
        counted: Counted,
        is_blind: impl Fn(usize) -> bool,
    ) -> Tally {
        let mut facts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let numbered = claims.iter().enumerate();
        for (index, claim) in numbered.filter(|(_, claim)| counted.takes(claim)) {
            facts.entry(&claim.fact).or_default().push(index);
        }
        let mut tally = Tally::default();
        for claims in facts.values() {
            tally.facts += 1.0;
            tally.claims += claims.len();
            for index in claims {
                let share = 1.0 / claims.len() as f64;
                let judged = &judged[*index];
                if let Some(is_right) = judged.reproduces.filter(|_| !judged.verdict.is_open()) {
                    tally.with_sign += share;
                    tally.reproduced += if is_right { share } else { 0.0 };
                }
                let field = match &judged.verdict {
                    _ if is_blind(*index) => &mut tally.non_discriminating,
                    Verdict::Confirmed => &mut tally.confirmed,
                    Verdict::Refuted => &mut tally.refuted,
                    Verdict::Inconclusive => &mut tally.inconclusive,
                    Verdict::Open(_) => &mut tally.open,
                    Verdict::Untestable => &mut tally.untestable,
                };
                *field += share;
            }
        }
        tally
    }

    /// Confirmed to non-discriminating, in this order.
    pub fn counts(&self) -> [f64; 6] {
        let Tally { confirmed, refuted, inconclusive, open, untestable, .. } = *self;
        [confirmed, refuted, inconclusive, open, untestable, self.non_discriminating]
    }

    /// The share, in per cent, of facts with a sign, an order or a mechanism that are reproduced, whatever the size.
    pub fn reproduced_rate(&self) -> Option<f64> {
        (self.with_sign > 0.0).then(|| 100.0 * self.reproduced / self.with_sign)
    }

    /// The confirmed share, in per cent, of what has been judged and discriminates; inconclusive verdicts stay
    /// in the denominator.
    pub fn rate(&self) -> Option<f64> {
        let judged = self.confirmed + self.refuted + self.inconclusive;
        (judged > 0.0).then(|| 100.0 * self.confirmed / judged)
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.claims += other.claims;
        self.facts += other.facts;
        self.confirmed += other.confirmed;
        self.refuted += other.refuted;
        self.inconclusive += other.inconclusive;
        self.open += other.open;
        self.untestable += other.untestable;
        self.non_discriminating += other.non_discriminating;
        self.with_sign += other.with_sign;
        self.reproduced += other.reproduced;
    }
}

/// A share in per cent, or `-`.
pub fn percentage(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{share:.0} %"))
}
