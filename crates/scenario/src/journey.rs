//! The unit of execution: one journey, from its description to its records.

use std::sync::Arc;

use chance::Source;
use record::VisitRecord;

use crate::Scenario;

/// Everything that determines one journey (with the version of farlink).
#[derive(Clone, Debug, PartialEq)]
pub struct JourneyPlan {
    /// Position in the plan, from 0: cell by cell, repetition by repetition, whatever the order of execution.
    /// It keys the journey's rows.
    pub position: u64,
    /// Index of the scenario in the plan.
    pub cell: u32,
    /// Index of the repetition. A label: randomness depends on `seed` alone.
    pub repetition: u32,
    /// The seed of all the journey's random streams.
    pub seed: u64,
    /// The scenario to run.
    pub scenario: Arc<Scenario>,
}

/// Result of a journey.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JourneyResult {
    /// Its visits, in order.
    pub visits: Vec<MeasuredVisit>,
    /// Notes for readers: anything modelled, defaulted or not shaped. One sentence each.
    pub notes: Vec<String>,
    /// Reason for an early end of the journey, if it ended early.
    pub failure: Option<String>,
}

/// A visit with its physical limits.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredVisit {
    /// Record of the visit.
    pub record: VisitRecord,
    /// Lower bounds of its PLT; `None` if none was computed.
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
/// The first repetition has the plan's own seed, so that any journey can be rerun alone by giving its seed to a
/// plan of one repetition. Seeds have 63 bits, which SQLite and TOML can hold.
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
