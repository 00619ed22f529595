//! Arms in the order of a median, with ties, and those that are not ranked because they did not load the whole page.

use std::collections::BTreeMap;

use record::VisitOutcome;
use scenario::MeasuredVisit;
use statistics::{Comparison, ComparisonVerdict, NoInterval, Pair, Sample, compare};

use super::{LoadKey, RankedInput, SMALL};

/// Arms by rank, best first.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    ranks: Vec<Vec<RankedArm>>,
}

/// An arm at its rank.
#[derive(Clone, Debug)]
pub struct RankedArm {
    /// Index of the arm.
    pub arm: usize,
    /// Its median, in nanoseconds.
    pub median_ns: f64,
    /// The comparison with the best arm; `None` for the best itself, and for an arm without a load in common
    /// with it.
    pub behind: Option<Comparison>,
}

/// Kind of difference between two arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gap {
    /// Every pair of loads took the same time.
    None,
    /// Too small to matter.
    Small,
    /// Possibly due to chance.
    Unclear,
    /// Too few repetitions to tell it from chance.
    Untested,
    /// Certain, and large enough to matter.
    Clear,
}

impl Ranking {
    /// Ranks arms by the values of their loads; arms without any are left out.
    pub(super) fn of(arms: &[(usize, BTreeMap<LoadKey, f64>)], seed: u64) -> Ranking {
        let median =
            |values: &BTreeMap<LoadKey, f64>| Some(Sample::new(values.values().copied())?.median());
        let mut sorted: Vec<(f64, usize, &BTreeMap<LoadKey, f64>)> =
            arms.iter().filter_map(|(arm, values)| Some((median(values)?, *arm, values))).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let Some(&(_, _, best)) = sorted.first() else { return Ranking::default() };
        let mut ranks: Vec<Vec<RankedArm>> = Vec::new();
        let mut leader = best;
        for (place, &(median_ns, arm, values)) in sorted.iter().enumerate() {
            let behind = if place == 0 { None } else { versus(best, values, seed) };
            let placed = RankedArm { arm, median_ns, behind };
            let apart = || match std::ptr::eq(leader, best) {
                true => behind,
                false => versus(leader, values, seed),
            };
            match ranks.last_mut() {
                Some(rank) if apart().is_none_or(|gap| Gap::of(&gap) != Gap::Clear) => {
                    rank.push(placed);
                }
                _ => {
                    ranks.push(vec![placed]);
                    leader = values;
                }
            }
        }
        Ranking { ranks }
    }

    /// The arms of each rank.
    pub fn ranks(&self) -> &[Vec<RankedArm>] {
        &self.ranks
    }

    /// The arms of the first rank, the least median first.
    pub fn first(&self) -> &[RankedArm] {
        self.ranks.first().map_or(&[], Vec::as_slice)
    }

    /// All arms, the least median first.
    pub fn placed(&self) -> impl Iterator<Item = &RankedArm> {
        self.ranks.iter().flatten()
    }

    /// The arm that is first alone.
    pub fn winner(&self) -> Option<usize> {
        match self.first() {
            [only] if self.ranks.len() > 1 => Some(only.arm),
            _ => None,
        }
    }

    /// The rank of an arm, from 0.
    pub fn rank(&self, arm: usize) -> Option<usize> {
        self.ranks.iter().position(|rank| rank.iter().any(|placed| placed.arm == arm))
    }
}

impl Gap {
    /// The kind of difference in a comparison.
    pub fn of(comparison: &Comparison) -> Gap {
        let is_small = match comparison.interval {
            Ok(interval) => interval.low > -SMALL && interval.high < SMALL,
            Err(_) => true,
        };
        match (comparison.verdict, comparison.interval) {
            (ComparisonVerdict::Same, _) => Gap::None,
            (_, Err(NoInterval::TooFew { .. })) => Gap::Untested,
            (ComparisonVerdict::First | ComparisonVerdict::Second, _)
                if comparison.advantage < SMALL =>
            {
                Gap::Small
            }
            (ComparisonVerdict::First | ComparisonVerdict::Second, _) => Gap::Clear,
            (ComparisonVerdict::Unclear, _) if is_small => Gap::Small,
            (ComparisonVerdict::Unclear, _) => Gap::Unclear,
        }
    }
}

/// Compares the loads that the arms have in common.
fn versus(
    first: &BTreeMap<LoadKey, f64>,
    second: &BTreeMap<LoadKey, f64>,
    seed: u64,
) -> Option<Comparison> {
    let pairs = first
        .iter()
        .filter_map(|(place, value)| Some(Pair { first: *value, second: *second.get(place)? }));
    compare(&pairs.collect::<Vec<_>>(), seed)
}

/// Compares every arm with every other: the rows of a matrix, in the order of `arms`.
pub fn matrix(arms: &[BTreeMap<LoadKey, f64>], seed: u64) -> Vec<Vec<Option<Comparison>>> {
    let row =
        |one: &BTreeMap<LoadKey, f64>| arms.iter().map(|other| versus(one, other, seed)).collect();
    arms.iter().map(row).collect()
}

// Arms that did not load the whole page.

/// Objects and loads that an arm lost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shortfall {
    /// Loads that were made.
    pub loads: u64,
    /// Loads that did not reach the load event.
    pub failed_loads: u64,
    /// Loads that reached the load event without some of their objects.
    pub partial_loads: u64,
    /// The most objects that one load lacks.
    pub most_objects: u64,
    /// An object that failed, with the reason.
    pub example: Option<(String, String)>,
    /// The reason why loads failed, if they did.
    pub why: Option<String>,
}

/// An arm that is not ranked, with the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Incomplete {
    /// The arm's name.
    pub name: String,
    /// The reason: "1 object failed in 6 of 6 loads (https://a.test/b.css: ...)".
    pub why: String,
}

impl Shortfall {
    /// True if every load was complete.
    pub fn is_nothing(&self) -> bool {
        self.failed_loads == 0 && self.partial_loads == 0
    }

    /// Counts a visit.
    pub fn take(&mut self, visit: &MeasuredVisit) {
        let example = || {
            let object = visit.record.objects.iter().find(|object| object.error.is_some())?;
            Some((object.url.clone(), object.error.clone()?))
        };
        match &visit.record.outcome {
            VisitOutcome::Failed { reason } => self.failed(reason),
            VisitOutcome::Loaded { .. } => self.loaded(visit.figures().requests_failed, example),
        }
    }

    /// Counts a load that reached the load event without `objects` of its objects.
    pub fn loaded(&mut self, objects: u64, example: impl FnOnce() -> Option<(String, String)>) {
        self.loads += 1;
        self.partial_loads += u64::from(objects > 0);
        self.most_objects = self.most_objects.max(objects);
        if objects > 0 && self.example.is_none() {
            self.example = example();
        }
    }

    /// Counts a load that failed.
    pub fn failed(&mut self, why: &str) {
        self.loads += 1;
        self.failed_loads += 1;
        self.why.get_or_insert_with(|| why.to_owned());
    }

    fn sentence(&self) -> String {
        let Shortfall { loads, failed_loads, partial_loads, most_objects, example, why } = self;
        let mut parts = Vec::new();
        if *failed_loads > 0 {
            let why = why.as_deref().map_or(String::new(), |why| format!(" ({why})"));
            parts.push(format!("{failed_loads} of {loads} loads failed{why}"));
        }
        if *partial_loads > 0 {
            let objects = match most_objects {
                1 => "1 object".to_owned(),
                n => format!("up to {n} objects"),
            };
            let example = example.as_ref();
            let example = example.map_or(String::new(), |(url, why)| format!(" ({url}: {why})"));
            parts.push(format!("{objects} failed in {partial_loads} of {loads} loads{example}"));
        }
        parts.join("; ")
    }
}

impl Incomplete {
    /// The arm with its reason, if it is not ranked.
    pub(super) fn of(arm: &RankedInput) -> Option<Incomplete> {
        (!arm.shortfall.is_nothing())
            .then(|| Incomplete { name: arm.name.clone(), why: arm.shortfall.sentence() })
    }
}
