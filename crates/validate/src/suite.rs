//! A suite: scenarios, the ways and number of their measurements, and demands on the outcome. Some ship with farlink.
//!
//! Suites are parsed by [`super::read`]; a `Suite` that exists is valid.

use std::sync::Arc;

use scenario::experiment::Source;
use scenario::{Order, Plan, Program, Release, Scenario, World, choice};

use super::target::Target;
use crate::cell::Cell;
use crate::judge::chance_of_median;

/// A suite.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// The seed of all its plans.
    pub seed: u64,
    /// Number of concurrent emulated loads by farlink's loader.
    pub side_by_side: u32,
    /// The device that stands in for Chromium; if `None`, the scenarios' own does.
    pub calibrated: Option<Calibrated>,
    /// The scenarios, in parts.
    pub parts: Vec<Part>,
    /// The demands.
    pub targets: Vec<Target>,
    /// Minimum data for a verdict.
    pub needs: Needs,
    /// Additional loads of cells whose load times scatter.
    pub more_loads: Option<MoreLoads>,
    /// The text it was read from.
    pub text: String,
}

/// A device that was calibrated to Chromium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibrated {
    /// A profile, or a file.
    pub device: String,
    /// The file's digest.
    pub digest: Option<String>,
}

/// Scenarios that are measured equally often.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Loads of each cell in each way.
    pub loads: Loads,
    /// Its scenarios, for the simulated world.
    pub cells: Vec<Arc<Scenario>>,
}

/// Number of loads of each cell of a part. 0: not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loads {
    /// In simulation.
    pub sim: u32,
    /// In emulation, by farlink's loader.
    pub emu: u32,
    /// In emulation, by farlink's loader, packets released together.
    pub coalesced: u32,
    /// In emulation, by Chromium.
    pub chromium: u32,
}

/// Additional loads of each cell whose emulated load times scatter: where queues overflow, a few loads do not tell the median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoreLoads {
    /// Relative error of the emulated median due to chance from which on a cell gets them.
    pub beyond: f64,
    /// Number of them in each way in which the part is measured.
    pub loads: Loads,
}

/// Minimum data for a verdict. Cells with fewer loads are shown but do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Cells (or pairs of cells, or quantiles) behind a figure.
    pub cells: usize,
    /// Emulated loads of a cell without random loss.
    pub emu_lossless: usize,
    /// Simulated loads of a cell with random loss.
    pub sim_lossy: usize,
    /// Emulated loads of a cell with random loss.
    pub emu_lossy: usize,
    /// Loads of a cell by Chromium.
    pub chromium: usize,
}

/// One run of a validation: a part, measured in one way.
#[derive(Clone, Debug)]
pub struct PartPlan {
    /// Index of the part.
    pub part: usize,
    /// The way.
    pub way: MeasuredWorld,
    /// For each of the plan's cells, its index among the part's cells.
    pub cells: Vec<usize>,
    /// The plan.
    pub plan: Plan,
}

impl Loads {
    /// Loads of each cell in this way.
    pub fn of(self, way: MeasuredWorld) -> u32 {
        match way {
            MeasuredWorld::Sim => self.sim,
            MeasuredWorld::Emu => self.emu,
            MeasuredWorld::Coalesced => self.coalesced,
            // The loader is compared with the browser, so it needs as many loads.
            MeasuredWorld::Calibrated | MeasuredWorld::Chromium => self.chromium,
        }
    }
}

impl Suite {
    /// The plans to run first, in this order.
    pub fn plans(&self) -> Vec<PartPlan> {
        let plan = |(index, way)| {
            let part = &self.parts[index];
            self.plan(index, way, "", self.seed, part.loads.of(way), 0..part.cells.len())
        };
        self.parts_by_way().filter_map(plan).collect()
    }

    /// The plans of additional loads, given the suite's cells with the loads of [`Suite::plans`].
    pub fn more_plans(&self, cells: &[Cell]) -> Vec<PartPlan> {
        let Some(more) = self.more_loads else { return Vec::new() };
        let mut numbered = cells.iter().enumerate();
        let scattered: Vec<Vec<usize>> = self
            .parts
            .iter()
            .map(|part| {
                let of_part = numbered.by_ref().take(part.cells.len()).enumerate();
                let scatters = |(place, (index, cell))| {
                    self.scatters(index, cell, more.beyond).then_some(place)
                };
                of_part.filter_map(scatters).collect()
            })
            .collect();
        let plan = |(index, way): (usize, MeasuredWorld)| {
            let repetitions = self.parts[index].loads.of(way).min(1) * more.loads.of(way);
            let cells = scattered[index].iter().copied();
            // Another seed: the same loads again would tell nothing.
            self.plan(index, way, ", more loads", self.seed ^ 1, repetitions, cells)
        };
        self.parts_by_way().filter_map(plan).collect()
    }

    /// Returns true if all emulated loads of the cell at `index` are there and chance moves their median by more than `beyond`.
    fn scatters(&self, index: usize, cell: &Cell, beyond: f64) -> bool {
        let complete = cell.measured.get(&MeasuredWorld::Emu).is_some_and(|emu| emu.missing == 0);
        let chance =
            cell.plt(MeasuredWorld::Emu).map_or(0.0, |emu| chance_of_median(emu, self.seed, index));
        complete && chance > beyond
    }

    /// The indices of the parts, once for each way.
    fn parts_by_way(&self) -> impl Iterator<Item = (usize, MeasuredWorld)> {
        let parts = self.parts.len();
        MeasuredWorld::ALL.into_iter().flat_map(move |way| (0..parts).map(move |part| (part, way)))
    }

    fn plan(
        &self,
        index: usize,
        way: MeasuredWorld,
        suffix: &str,
        seed: u64,
        repetitions: u32,
        cells: impl Iterator<Item = usize>,
    ) -> Option<PartPlan> {
        let part = &self.parts[index];
        let cells: Vec<usize> = cells.filter(|cell| way.can(&part.cells[*cell])).collect();
        let lacks_device = way == MeasuredWorld::Calibrated && self.calibrated.is_none();
        if repetitions == 0 || cells.is_empty() || lacks_device {
            return None;
        }
        let name = format!("{}: {}, {}{suffix}", self.name, part.name, way.name());
        let scenarios = cells.iter().map(|cell| self.scenario(&part.cells[*cell], way)).collect();
        let plan = Plan::new(name, seed, repetitions, Order::Alternated, scenarios);
        Some(PartPlan { part: index, way, cells, plan })
    }

    /// `cell` measured this way.
    fn scenario(&self, cell: &Scenario, way: MeasuredWorld) -> Scenario {
        let mut scenario = way.of(cell);
        if let (MeasuredWorld::Calibrated, Some(calibrated)) = (way, &self.calibrated) {
            let Calibrated { device, digest } = calibrated.clone();
            (scenario.client.device, scenario.client.device_digest) = (device, digest);
        }
        scenario
    }
}

choice! {
    /// A suite of farlink's own.
    pub enum Shipped, "suite" {
        /// A few minutes: for every change.
        Quick = "quick",
        /// Up to two hours: the published one.
        Full = "full",
        /// Some minutes: radios in front of the links.
        Radio = "radio",
        /// Some minutes: proxies between clients and servers.
        Routes = "routes",
        /// Some twenty minutes: a satellite, bare and behind a PEP.
        Pep = "pep",
        /// The pages that `--page` names: four protocols over five networks, some with Chromium.
        Pages = "pages",
    }
    not_yet {}
}

impl Shipped {
    /// Its text.
    pub fn source(self) -> Source {
        let text = match self {
            Shipped::Quick => include_str!("../suites/quick.toml"),
            Shipped::Full => include_str!("../suites/full.toml"),
            Shipped::Radio => include_str!("../suites/radio.toml"),
            Shipped::Routes => include_str!("../suites/routes.toml"),
            Shipped::Pep => include_str!("../suites/pep.toml"),
            Shipped::Pages => include_str!("../suites/pages.toml"),
        };
        Source::new(format!("the suite {self}"), text)
    }
}

/// A clock, a network and a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MeasuredWorld {
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

impl MeasuredWorld {
    /// All of them, in the order of measurement: quick ones come first and predict the duration of the rest.
    pub const ALL: [MeasuredWorld; 5] = [
        MeasuredWorld::Sim,
        MeasuredWorld::Emu,
        MeasuredWorld::Coalesced,
        MeasuredWorld::Calibrated,
        MeasuredWorld::Chromium,
    ];

    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            MeasuredWorld::Sim => "sim",
            MeasuredWorld::Emu => "emu",
            MeasuredWorld::Coalesced => "emu, coalesced",
            MeasuredWorld::Calibrated => "emu, calibrated",
            MeasuredWorld::Chromium => "chromium",
        }
    }

    /// The scenario of `cell` measured this way; the calibrated device is filled in by the suite.
    pub fn of(self, cell: &Scenario) -> Scenario {
        let mut scenario = cell.clone();
        (scenario.world, scenario.release, scenario.client.program) = match self {
            MeasuredWorld::Sim => (World::Sim, Release::Single, Program::Loader),
            MeasuredWorld::Emu | MeasuredWorld::Calibrated => {
                (World::Emu, Release::Single, Program::Loader)
            }
            MeasuredWorld::Coalesced => (World::Emu, Release::Coalesced, Program::Loader),
            MeasuredWorld::Chromium => (World::Emu, Release::Single, Program::Chromium),
        };
        scenario
    }

    /// Returns true if `cell` can be measured this way at all: a browser lacks some of the loader's features.
    pub fn can(self, cell: &Scenario) -> bool {
        self.of(cell).contradiction().is_none()
    }
}
