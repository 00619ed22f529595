//! A cell of a suite with all its measurements, and the figures by which a model is measured.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use net::Network;
use scenario::{Route, Scenario, choice};
use statistics::Sample;
use store::{Store, StoreError};
use testbed::tour::Library;

use super::lantern;
use super::suite::{Part, PartPlan, Suite};
use crate::suite::MeasuredWorld;

/// One scenario, measured in several ways. Times are milliseconds.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The scenario, for the simulated world.
    pub scenario: Arc<Scenario>,
    /// True if the network loses packets at random.
    pub lossy: bool,
    /// True if the network takes no time at all, so that the page load time is the client's own.
    pub unlimited: bool,
    /// True if a browser's load event comes earlier than the page states ([`page::browsable::Browsable::is_loaded_early`]).
    pub is_loaded_early: bool,
    /// Prediction of the Lantern-like model.
    pub lantern_ms: f64,
    /// The measurements, by way.
    pub measured: BTreeMap<MeasuredWorld, Measured>,
}

/// Measurements of a cell in one way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Page load times of the loads that count; `None` if there are none.
    pub plt: Option<Sample>,
    /// Their first renders: painted by Chromium, estimated of farlink's loader.
    pub first_render: Option<Sample>,
    /// Number of planned loads that are not in the store.
    pub missing: u64,
    /// Reasons why loads failed, each with its number of loads; includes loads in which the emulator was late
    /// at every attempt.
    pub failures: BTreeMap<String, u64>,
    /// Number of attempts that were discarded because the emulator was late.
    pub repeated: u64,
}

impl Measured {
    /// Loads that failed.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Adds more loads.
    fn add(&mut self, more: Measured) {
        let both = |one: &Option<Sample>, other: &Option<Sample>| {
            let values = one.iter().chain(other).flat_map(Sample::values);
            Sample::new(values.copied())
        };
        self.plt = both(&self.plt, &more.plt);
        self.first_render = both(&self.first_render, &more.first_render);
        self.missing += more.missing;
        self.repeated += more.repeated;
        for (reason, count) in more.failures {
            *self.failures.entry(reason).or_default() += count;
        }
    }

    fn fail(&mut self, reason: Option<String>) {
        if let Some(reason) = reason {
            *self.failures.entry(reason).or_default() += 1;
        }
    }
}

impl Cell {
    /// The sample of a way.
    pub fn plt(&self, way: MeasuredWorld) -> Option<&Sample> {
        self.measured.get(&way)?.plt.as_ref()
    }

    /// The number of loads that count in a way.
    pub fn loads(&self, way: MeasuredWorld) -> usize {
        self.plt(way).map_or(0, |sample| sample.values().len())
    }

    /// A label that distinguishes it from other cells, for people.
    pub fn label(&self) -> String {
        let Scenario { page, stack, route, .. } = &*self.scenario;
        let by = if *route == Route::default() { String::new() } else { format!(", {route}") };
        format!("{}, {}, {}/{}{by}", page.spec, self.network(), stack.protocol, stack.tls)
    }

    /// Its network, for people.
    pub fn network(&self) -> String {
        self.scenario.network.to_string()
    }
}

/// The cells of `suite` with their measurements in `store`, and the plans of their additional loads.
///
/// # Errors
/// If the store cannot be read.
///
/// # Panics
/// If a page or network of the suite can no longer be opened: the suite was checked with them.
pub fn gather(
    store: &Store,
    suite: &Suite,
    library: &Library,
) -> Result<(Vec<Cell>, Vec<PartPlan>), StoreError> {
    let mut cells = gather_first(store, suite, library)?;
    let more = suite.more_plans(&cells);
    take_over(&mut cells, store, suite, &more)?;
    Ok((cells, more))
}

/// The cells of `suite` with the measurements of its [first plans](Suite::plans).
///
/// # Errors
/// If the store cannot be read.
///
/// # Panics
/// As [`gather`].
pub fn gather_first(
    store: &Store,
    suite: &Suite,
    library: &Library,
) -> Result<Vec<Cell>, StoreError> {
    let empty = |part: &Part| {
        let is_browsed = part.loads.chromium > 0;
        part.cells
            .iter()
            .map(move |scenario| empty(scenario, library, is_browsed))
            .collect::<Vec<_>>()
    };
    let mut cells: Vec<Cell> = suite.parts.iter().flat_map(empty).collect();
    take_over(&mut cells, store, suite, &suite.plans())?;
    Ok(cells)
}

/// Adds the measurements of these plans to the suite's cells.
fn take_over(
    cells: &mut [Cell],
    store: &Store,
    suite: &Suite,
    plans: &[PartPlan],
) -> Result<(), StoreError> {
    for part_plan in plans {
        let first: usize = suite.parts[..part_plan.part].iter().map(|part| part.cells.len()).sum();
        let measured = measured(store, part_plan)?;
        for (cell, measured) in part_plan.cells.iter().zip(measured) {
            cells[first + cell].measured.entry(part_plan.way).or_default().add(measured);
        }
    }
    Ok(())
}

fn empty(scenario: &Arc<Scenario>, library: &Library, is_browsed: bool) -> Cell {
    let known = "a suite names pages, networks and browsers that exist";
    let network = library.network_of(scenario).expect(known);
    let page = library.page_of(scenario).expect(known);
    let policy = browser::Policy::named(&scenario.client.browser).expect(known);
    let connections = scenario.stack.connections_per_host.map(|limit| limit as usize);
    let connections = connections.unwrap_or(policy.connections_per_host);
    let lantern = lantern::page_load_time(&page, &network, &scenario.stack, connections);
    Cell {
        scenario: Arc::clone(scenario),
        lossy: links(&network).any(|link| !link.loss.is_none()),
        unlimited: links(&network).all(|link| {
            link.delay == Duration::ZERO && link.rate == net::Rate::UNLIMITED && link.loss.is_none()
        }),
        is_loaded_early: is_browsed
            && page::browsable::browsable(&page).is_ok_and(|written| written.is_loaded_early),
        lantern_ms: lantern.as_secs_f64() * 1e3,
        measured: BTreeMap::new(),
    }
}

fn links(network: &Network) -> impl Iterator<Item = &net::LinkConfig> {
    network.up_links().chain(network.down_links())
}

/// The measurements in the latest run of a plan, cell by cell: the first visit of each journey.
fn measured(store: &Store, part_plan: &PartPlan) -> Result<Vec<Measured>, StoreError> {
    let plan = &part_plan.plan;
    let mut measured = vec![Measured::default(); plan.cells().len()];
    measured.iter_mut().for_each(|cell| cell.missing = u64::from(plan.repetitions()));
    let Some(run) = store.run_of_plan(&plan.digest())? else { return Ok(measured) };
    let mut plts = vec![Vec::new(); measured.len()];
    let mut renders = vec![Vec::new(); measured.len()];
    let mut cell_of = BTreeMap::new();
    for journey in store.journeys(run.id)? {
        let Some(cell) = measured.get_mut(journey.cell as usize) else { continue };
        cell.missing = cell.missing.saturating_sub(1);
        cell_of.insert(journey.position, journey.cell as usize);
        cell.fail(journey.failure);
    }
    for visit in store.visits(run.id)?.into_iter().filter(|visit| visit.key.visit == 0) {
        let Some(cell) = cell_of.get(&visit.key.journey) else { continue };
        let ms = |ns| ns as f64 / 1e6;
        plts[*cell].extend(visit.plt_ns.map(ms));
        renders[*cell].extend(visit.first_render_ns().map(ms));
        measured[*cell].fail(visit.failure);
        if let Some(emulation) = store.emulation(visit.key)? {
            measured[*cell].repeated += u64::from(emulation.attempts.saturating_sub(1));
        }
    }
    for (cell, (plts, renders)) in measured.iter_mut().zip(plts.into_iter().zip(renders)) {
        (cell.plt, cell.first_render) = (Sample::new(plts), Sample::new(renders));
    }
    Ok(measured)
}

// The figures by which a model is measured, and their names in suites and reports.

choice! {
    /// A statistic over the cells of a suite: the distance of one set of page load times from another.
    pub enum Figure, "figure" {
        /// Median over pairs of cells of the error of log(PLT of one protocol / PLT of the other).
        RatioMedian = "ratio_median",
        /// 95th percentile of the same.
        RatioP95 = "ratio_p95",
        /// Share of the pairs that differ by more than [`DIFFERS`] in which the same protocol is ahead.
        RatioSign = "ratio_sign",
        /// Median over the cells without random loss of the relative error of the median PLT.
        LosslessMedian = "lossless_median",
        /// 95th percentile of the same.
        LosslessP95 = "lossless_p95",
        /// Median over the cells with random loss, and over p25, p50 and p75 of each, of the relative error of
        /// that quantile, net of the effect of chance alone.
        LossyMedian = "lossy_median",
        /// 95th percentile of the same.
        LossyP95 = "lossy_p95",
        /// As `lossy_median`, with the effect of chance.
        LossyGrossMedian = "lossy_gross_median",
        /// As `lossy_p95`, with the effect of chance.
        LossyGrossP95 = "lossy_gross_p95",
        /// Pearson's correlation of the logarithms of the median PLTs.
        Pearson = "pearson",
        /// Spearman's rank correlation of the median PLTs.
        Spearman = "spearman",
        /// The least of the rank correlations within one network.
        SpearmanWithin = "spearman_within",
    }
    not_yet {}
}

/// Ratio of protocols from which on their order matters: 5 %.
pub const DIFFERS: f64 = 0.05;

/// Direction in which a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// An error.
    Less,
    /// A share or a correlation.
    More,
}

impl Figure {
    /// Description, for people.
    pub fn describe(self) -> &'static str {
        match self {
            Figure::RatioMedian => "log ratio of protocols, median error",
            Figure::RatioP95 => "log ratio of protocols, p95 error",
            Figure::RatioSign => "the same protocol ahead, where they differ by over 5 %",
            Figure::LosslessMedian => "PLT without loss, median error",
            Figure::LosslessP95 => "PLT without loss, p95 error",
            Figure::LossyMedian => "PLT quartiles with loss, median error net of chance",
            Figure::LossyP95 => "PLT quartiles with loss, p95 error net of chance",
            Figure::LossyGrossMedian => "PLT quartiles with loss, median error",
            Figure::LossyGrossP95 => "PLT quartiles with loss, p95 error",
            Figure::Pearson => "Pearson correlation of log PLT",
            Figure::Spearman => "Spearman correlation of PLT",
            Figure::SpearmanWithin => "Spearman correlation within a network, the least",
        }
    }

    /// The direction that is better.
    pub fn better(self) -> Better {
        match self {
            Figure::RatioSign | Figure::Pearson | Figure::Spearman | Figure::SpearmanWithin => {
                Better::More
            }
            _ => Better::Less,
        }
    }

    /// A value of it for people: correlations as they are, all else in per cent.
    pub fn show(self, value: f64) -> String {
        match self {
            Figure::Pearson | Figure::Spearman | Figure::SpearmanWithin => format!("{value:.4}"),
            _ => percent(value),
        }
    }
}

/// A share as a percentage.
pub fn percent(share: f64) -> String {
    match share.abs() {
        s if s >= 0.0995 => format!("{:.0} %", share * 100.0),
        _ => format!("{:.2} %", share * 100.0),
    }
}
