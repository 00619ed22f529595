//! A cell of a suite with everything that was measured of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use net::Network;

use super::repeat;
use super::suite::{PartPlan, Suite};
use super::toy_model;
use super::way::Way;
use crate::scenario::Scenario;
use crate::simulate::Simulator;
use crate::statistics::Sample;
use crate::store::{Store, StoreError};

/// One scenario, measured in several ways. Times are milliseconds.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The scenario, for the simulated world.
    pub scenario: Arc<Scenario>,
    /// Whether the network loses packets at random.
    pub lossy: bool,
    /// Whether the network takes no time at all: what the page load then takes is the client's own.
    pub unlimited: bool,
    /// What the toy model says.
    pub toy_ms: f64,
    /// What was measured, by way.
    pub measured: BTreeMap<Way, Measured>,
}

/// What was measured of a cell in one way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Page load times of the loads that count; `None` if there are none.
    pub plt: Option<Sample>,
    /// Loads that were planned and are not in the store.
    pub missing: u64,
    /// Loads that failed, those included that were late at every attempt.
    pub failed: u64,
    /// Attempts that were thrown away because the emulator was late.
    pub repeated: u64,
}

impl Cell {
    /// The sample of a way.
    pub fn plt(&self, way: Way) -> Option<&Sample> {
        self.measured.get(&way)?.plt.as_ref()
    }

    /// How many loads count in a way.
    pub fn loads(&self, way: Way) -> usize {
        self.plt(way).map_or(0, |sample| sample.values().len())
    }

    /// What tells it from other cells, for people.
    pub fn label(&self) -> String {
        let Scenario { page, stack, .. } = &*self.scenario;
        format!("{}, {}, {}/{}", page.spec, self.network(), stack.protocol, stack.tls)
    }

    /// Its network, for people.
    pub fn network(&self) -> String {
        self.scenario.network.to_string()
    }
}

/// The cells of `suite` with what `store` holds of them.
///
/// # Errors
/// If the store cannot be read.
///
/// # Panics
/// If a page or network of the suite cannot be opened any more: the suite was checked with them.
pub fn gather(
    store: &Store,
    suite: &Suite,
    simulator: &Simulator,
) -> Result<Vec<Cell>, StoreError> {
    let mut parts: Vec<Vec<Cell>> = suite
        .parts
        .iter()
        .map(|part| part.cells.iter().map(|scenario| empty(scenario, simulator)).collect())
        .collect();
    for part_plan in suite.plans() {
        let measured = measured(store, &part_plan)?;
        for (cell, measured) in part_plan.cells.iter().zip(measured) {
            parts[part_plan.part][*cell].measured.insert(part_plan.way, measured);
        }
    }
    Ok(parts.into_iter().flatten().collect())
}

fn empty(scenario: &Arc<Scenario>, simulator: &Simulator) -> Cell {
    let known = "a suite names pages, networks and browsers that exist";
    let network = simulator.network(scenario).expect(known);
    let page = simulator.page(scenario).expect(known);
    let policy = browser::Policy::named(&scenario.client.browser).expect(known);
    let connections = scenario.stack.connections_per_host.map(|limit| limit as usize);
    let connections = connections.unwrap_or(policy.connections_per_host);
    let toy = toy_model::page_load_time(&page, &network, &scenario.stack, connections);
    Cell {
        scenario: Arc::clone(scenario),
        lossy: links(&network).any(|link| !link.loss.is_none()),
        unlimited: links(&network).all(|link| {
            link.delay == Duration::ZERO && link.rate == net::Rate::UNLIMITED && link.loss.is_none()
        }),
        toy_ms: toy.as_secs_f64() * 1e3,
        measured: BTreeMap::new(),
    }
}

fn links(network: &Network) -> impl Iterator<Item = &net::LinkConfig> {
    network.up_links().chain(network.down_links())
}

/// What the latest run of a plan holds, cell by cell: the first visit of each journey.
fn measured(store: &Store, part_plan: &PartPlan) -> Result<Vec<Measured>, StoreError> {
    let plan = &part_plan.plan;
    let mut measured = vec![Measured::default(); plan.cells().len()];
    measured.iter_mut().for_each(|cell| cell.missing = u64::from(plan.repetitions()));
    let Some(run) = store.run_of_plan(&plan.digest())? else { return Ok(measured) };
    let mut plts = vec![Vec::new(); measured.len()];
    let mut cell_of = BTreeMap::new();
    for journey in store.journeys(run.id)? {
        let Some(cell) = measured.get_mut(journey.cell as usize) else { continue };
        cell.missing = cell.missing.saturating_sub(1);
        cell.repeated += repeat::thrown_away(&journey.notes);
        cell.failed += u64::from(journey.failure.is_some());
        if journey.failure.is_none() {
            cell_of.insert(journey.position, journey.cell as usize);
        }
    }
    for visit in store.visits(run.id)?.into_iter().filter(|visit| visit.key.visit == 0) {
        let Some(cell) = cell_of.get(&visit.key.journey) else { continue };
        match visit.plt_ns {
            Some(plt_ns) => plts[*cell].push(plt_ns as f64 / 1e6),
            None => measured[*cell].failed += 1,
        }
    }
    for (cell, plts) in measured.iter_mut().zip(plts) {
        cell.plt = Sample::new(plts);
    }
    Ok(measured)
}
