//! The unit of execution: one journey, from its description to its records.

use std::sync::Arc;

use chance::Source;
use record::VisitRecord;

use crate::Scenario;

/// All that determines one journey (with the version of farlink).
#[derive(Clone, Debug, PartialEq)]
pub struct JourneyPlan {
    /// Place in the plan, from 0: cell by cell, repetition by repetition, whatever the order of
    /// execution. It keys the journey's rows.
    pub position: u64,
    /// Which scenario of the plan, from 0.
    pub cell: u32,
    /// Which repetition, from 0. A label: chance depends on `seed` alone.
    pub repetition: u32,
    /// The seed of all the journey's random streams.
    pub seed: u64,
    /// What to run.
    pub scenario: Arc<Scenario>,
}

/// What a journey leaves behind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JourneyResult {
    /// Its visits, in order.
    pub visits: Vec<MeasuredVisit>,
    /// What a reader must know: what was modelled, defaulted or not shaped. One sentence each.
    pub notes: Vec<String>,
    /// Why the journey ended early, if it did.
    pub failure: Option<String>,
}

/// A visit with its physical limits.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredVisit {
    /// What happened.
    pub record: VisitRecord,
    /// The lower bounds of its PLT; `None` where no bound was worked out.
    pub floors: Option<Floors>,
}

/// Lower bounds of the page load time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floors {
    /// The client discovers the graph; compute as given.
    pub graph_ns: u64,
    /// Everything is known at the start (push); compute as given.
    pub oracle_ns: u64,
    /// The client discovers the graph; compute costs nothing.
    pub graph_without_compute_ns: u64,
    /// Everything is known at the start; compute costs nothing.
    pub oracle_without_compute_ns: u64,
}

/// Runs one journey: a pure function of its plan. A panic fails that journey alone.
pub trait Execute: Sync {
    /// The journey's result.
    fn execute(&self, journey: &JourneyPlan) -> JourneyResult;
}

impl<F: Fn(&JourneyPlan) -> JourneyResult + Sync> Execute for F {
    fn execute(&self, journey: &JourneyPlan) -> JourneyResult {
        self(journey)
    }
}

/// The seed of repetition `repetition` of every arm of a plan with this `seed`.
///
/// The first repetition has the plan's own seed, so that any journey can be run again alone by giving
/// its seed to a plan of one repetition. Seeds have 63 bits: SQLite and TOML hold them as they are.
pub fn seed_of(seed: u64, repetition: u32) -> u64 {
    match repetition {
        0 => seed,
        _ => Source::new(seed, u64::from(repetition)).stream("repetition").next_u64() >> 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_differ_by_repetition_and_fit_63_bits() {
        let seeds: Vec<u64> = (0..1000).map(|r| seed_of(1, r)).collect();
        assert_eq!(seeds[0], 1);
        assert!(seeds.iter().all(|s| *s < 1 << 63));
        assert_eq!(seeds.iter().collect::<std::collections::BTreeSet<_>>().len(), 1000);
    }

    #[test]
    fn neighbouring_plans_share_no_repetition() {
        let of = |seed| (0..100).map(move |r| seed_of(seed, r));
        let one: std::collections::BTreeSet<u64> = of(1).collect();
        assert!(of(2).all(|s| !one.contains(&s)));
    }
}
