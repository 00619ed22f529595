//! The ways in which a cell of a suite is measured.

use scenario::{Program, Release, Scenario, World};

/// A clock, a network and a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// Virtual time, simulated TCP, farlink's loader.
    Sim,
    /// The machine's time, the kernel's TCP, farlink's loader.
    Emu,
    /// The same with packets that the emulator releases together, to save processor time.
    Coalesced,
    /// The machine's time, the kernel's TCP, farlink's loader computing as a device that was calibrated to Chromium.
    Calibrated,
    /// The machine's time, the kernel's TCP, a real Chromium.
    Chromium,
}

impl Way {
    /// All of them, in the order of measurement: quick ones come first and predict the duration of the rest.
    pub const ALL: [Way; 5] = [Way::Sim, Way::Emu, Way::Coalesced, Way::Calibrated, Way::Chromium];

    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Way::Sim => "sim",
            Way::Emu => "emu",
            Way::Coalesced => "emu, coalesced",
            Way::Calibrated => "emu, calibrated",
            Way::Chromium => "chromium",
        }
    }

    /// The scenario of `cell` measured this way; the calibrated device is filled in by the suite.
    pub fn of(self, cell: &Scenario) -> Scenario {
        let mut scenario = cell.clone();
        (scenario.world, scenario.release, scenario.client.program) = match self {
            Way::Sim => (World::Sim, Release::Single, Program::Loader),
            Way::Emu | Way::Calibrated => (World::Emu, Release::Single, Program::Loader),
            Way::Coalesced => (World::Emu, Release::Coalesced, Program::Loader),
            Way::Chromium => (World::Emu, Release::Single, Program::Chromium),
        };
        scenario
    }

    /// Returns true if `cell` can be measured this way at all: a browser lacks some of the loader's features.
    pub fn can(self, cell: &Scenario) -> bool {
        self.of(cell).contradiction().is_none()
    }
}
