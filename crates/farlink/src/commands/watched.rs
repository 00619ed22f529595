//! Journeys that somebody looks at: each is watched once, however many want to see it.

use std::cell::RefCell;
use std::sync::Arc;

use scenario::Scenario;
use testbed::tour::Observed;
use testbed::worlds::Worlds;

/// The worlds with the journeys that were looked at.
pub struct Watched<'a> {
    worlds: &'a Worlds,
    seen: RefCell<Vec<Arc<Observed>>>,
}

impl<'a> Watched<'a> {
    /// Nothing was looked at.
    pub fn new(worlds: &'a Worlds) -> Watched<'a> {
        Watched { worlds, seen: RefCell::default() }
    }

    /// A journey with everything that crossed its wires.
    ///
    /// # Errors
    /// If it cannot be had: [`Worlds::observe`].
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
