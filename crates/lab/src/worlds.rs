//! Every world there is, behind one executor: a journey runs in the world that its scenario names.

use std::sync::Arc;

use crate::experiment::Refusal;
use crate::journey::{Execute, JourneyPlan, JourneyResult};
use crate::scenario::{Scenario, World};
use crate::simulate::Simulator;
use crate::tour::{Library, Observed};

/// All worlds over one library.
pub struct Worlds {
    library: Arc<Library>,
    simulator: Simulator,
}

impl Default for Worlds {
    fn default() -> Worlds {
        let library = Arc::new(Library::default());
        Worlds { simulator: Simulator::new(Arc::clone(&library)), library }
    }
}

impl Worlds {
    /// The pages and networks that scenarios name.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Checks that a scenario can be run here, and prepares its page.
    ///
    /// # Errors
    /// An unknown name, with what was probably meant; a world that this machine cannot make.
    pub fn prepare(&self, scenario: &Scenario) -> Result<(), Refusal> {
        self.library.prepare(scenario)
    }

    /// Runs a journey with everything that crosses its wires.
    ///
    /// # Errors
    /// If it cannot be run, or not to its end.
    pub fn observe(&self, scenario: &Scenario, seed: u64) -> Result<Observed, String> {
        self.simulator.observe(scenario, seed)
    }
}

impl Execute for Worlds {
    fn execute(&self, journey: &JourneyPlan) -> JourneyResult {
        match journey.scenario.world {
            World::Sim => self.simulator.execute(journey),
            World::Emu => JourneyResult {
                failure: Some("the world `emu` cannot be made here".to_owned()),
                ..JourneyResult::default()
            },
        }
    }
}
