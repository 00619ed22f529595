//! Influence of chance on a study's verdicts: the frequency of each verdict with as few loads as the study
//! made.
//!
//! A deep run repeats each cell far more often than the study did. Cut into portions of the study's own size,
//! it amounts to as many studies, each with its own chance; each is judged like the study's own run.

use std::fmt;

use super::hearing::HearingError;
use super::inquiry::{Inquiry, portions};
use super::{Measured, Verdict};
use crate::Depth;

/// Maximum number of portions to judge; the share is then known to some 10 %.
const MOST: u32 = 20;

/// Frequencies of a claim's verdicts with as few loads as the study made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chance {
    /// The verdicts, in the order of the portions.
    pub verdicts: Vec<Verdict>,
}

impl Chance {
    /// Number of portions with this verdict.
    pub fn count(&self, verdict: &Verdict) -> usize {
        self.verdicts.iter().filter(|it| *it == verdict).count()
    }
}

/// `confirmed 17 of 20, inconclusive 3`
impl fmt::Display for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut kinds: Vec<&Verdict> = self.verdicts.iter().collect();
        kinds.sort();
        kinds.dedup();
        kinds.sort_by_key(|kind| std::cmp::Reverse(self.count(kind)));
        for (index, kind) in kinds.into_iter().enumerate() {
            let (name, count) = (kind.name(), self.count(kind));
            match index {
                0 => write!(f, "{name} {count} of {}", self.verdicts.len())?,
                _ => write!(f, ", {name} {count}")?,
            }
        }
        Ok(())
    }
}

impl Inquiry<'_> {
    /// The chances of all claims in a deep run; empty for other runs, and for a run with fewer loads than the
    /// study's.
    pub(super) fn chances(&self, measured: &Measured) -> Result<Vec<Chance>, HearingError> {
        let Depth::Deep(loads) = self.manner.depth else { return Ok(Vec::new()) };
        let mut own = portions(&self.plans_at(Depth::Usual)?);
        own.retain(|id, _| measured.run(id).is_some() && !self.clauses.quantities(id).is_empty());
        let whole = own.values().map(|portion| loads.get() / portion.loads.max(1)).min();
        let whole = whole.unwrap_or(0).min(MOST);
        if whole == 0 {
            return Ok(Vec::new());
        }
        let mut chances = vec![Chance::default(); self.study.claims.len()];
        for index in 0..whole {
            let judged = self.judge(&measured.portion(&own, index))?;
            for (chance, judged) in chances.iter_mut().zip(judged) {
                chance.verdicts.push(judged.verdict);
            }
        }
        Ok(chances)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commonest_verdict_comes_first() {
        let verdicts = [Verdict::Confirmed, Verdict::Refuted, Verdict::Refuted];
        let chance = Chance { verdicts: verdicts.to_vec() };
        assert_eq!(chance.to_string(), "refuted 2 of 3, confirmed 1");
        assert_eq!(Chance::default().to_string(), "");
    }
}
