//! All worlds behind one executor: a journey runs in the world that its scenario names.

use std::path::PathBuf;
use std::sync::Arc;

use chromium::Chromium;
use emu::Wire;

use crate::emulate::{Emulation, Tell};
use crate::simulate::Simulator;
use crate::tour::{Library, Observed};
use scenario::experiment::NameError;
use scenario::{Execute, JourneyPlan, JourneyResult};
use scenario::{Scenario, World};

/// All worlds over one library.
pub struct Worlds {
    library: Arc<Library>,
    simulator: Simulator,
    emulation: Emulation,
}

impl Worlds {
    /// All worlds; `program` is farlink, which starts itself again in the sandboxes of the emulated one,
    /// `chromium` the installed browser, or the reason why there is none.
    pub fn new(program: PathBuf, chromium: Result<Chromium, String>) -> Worlds {
        let library = Arc::new(Library::default());
        Worlds {
            simulator: Simulator::new(Arc::clone(&library)),
            emulation: Emulation::new(Arc::clone(&library), program, chromium),
            library,
        }
    }

    /// The same worlds, with this kind of wires in emulated networks.
    #[must_use]
    pub fn over(self, wire: Wire) -> Worlds {
        Worlds { emulation: self.emulation.over(wire), ..self }
    }

    /// The same worlds; they keep the packets of journeys in real time, which unlike simulated ones cannot be rerun.
    #[must_use]
    pub fn watching(self) -> Worlds {
        Worlds { emulation: self.emulation.watching(), ..self }
    }

    /// The same worlds; they also film real browsers, which costs those time.
    #[must_use]
    pub fn filming(self) -> Worlds {
        Worlds { emulation: self.emulation.filming(), ..self }
    }

    /// The same worlds; they report why an emulation takes long.
    #[must_use]
    pub fn telling(self, tell: Arc<Tell>) -> Worlds {
        Worlds { emulation: self.emulation.telling(tell), ..self }
    }

    /// The pages and networks that scenarios name.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Checks that a scenario can be run here, and prepares its page.
    ///
    /// # Errors
    /// An unknown name, with the likely intended one; a world that this machine does not support.
    pub fn prepare(&self, scenario: &Scenario) -> Result<(), NameError> {
        self.library.prepare(scenario)?;
        match scenario.world {
            World::Sim => Ok(()),
            World::Emu => self.emulation.prepare(scenario),
        }
    }

    /// A journey with all its packets: simulated once more, or as it was [watched](Worlds::watching).
    ///
    /// # Errors
    /// If it cannot be run to its end, or was not watched.
    pub fn observe(&self, scenario: &Scenario, seed: u64) -> Result<Observed, String> {
        match scenario.world {
            World::Sim => self.simulator.observe(scenario, seed),
            World::Emu => self.emulation.observed(scenario, seed),
        }
    }
}

impl Execute for Worlds {
    fn execute(&self, journey: &JourneyPlan) -> JourneyResult {
        match journey.scenario.world {
            World::Sim => self.simulator.execute(journey),
            World::Emu => self.emulation.execute(journey),
        }
    }
}
