//! Observed journeys: each is observed once, for any number of readers.

use std::cell::RefCell;
use std::sync::Arc;

use scenario::Scenario;
use testbed::tour::Observed;
use testbed::worlds::Worlds;

/// The worlds with the journeys that were observed.
pub struct ObservedJourneys<'a> {
    worlds: &'a Worlds,
    seen: RefCell<Vec<Arc<Observed>>>,
}

impl<'a> ObservedJourneys<'a> {
    /// No journey observed yet.
    pub fn new(worlds: &'a Worlds) -> ObservedJourneys<'a> {
        ObservedJourneys { worlds, seen: RefCell::default() }
    }

    /// A journey with everything that crossed its wires.
    ///
    /// # Errors
    /// If it cannot be observed: [`Worlds::observe`].
    pub fn observe(&self, scenario: &Scenario, seed: u64) -> Result<Arc<Observed>, String> {
        let is_it =
            |journey: &&Arc<Observed>| journey.seed == seed && *journey.scenario == *scenario;
        if let Some(seen) = self.seen.borrow().iter().find(is_it) {
            return Ok(Arc::clone(seen));
        }
        let observed = Arc::new(self.worlds.observe(scenario, seed)?);
        self.seen.borrow_mut().push(Arc::clone(&observed));
        Ok(observed)
    }
}
