//! farlink's loader against Chromium, both over the emulated network; bias by property; coalesced packets.
//!
//! On a quick network, a page load is mostly the browser's own work, which differs between machines. Therefore
//! a cell counts only if the network's part of Chromium's load is [`NETWORK_RULES`] times as long as its own work: what
//! it takes over a network that takes no time, less what the page replays (think times and scripts), which a loader
//! without a processor shows. Nor does a cell count whose load event the page cannot delay in a browser as it was recorded: a page that
//! reloads itself, say. The others are shown with the browser's share.

use std::collections::BTreeMap;

use scenario::{Client, Scenario};
use statistics::Sample;

use super::comparison::Comparison;
use super::comparison::MEDIAN;
use super::is_same_but_protocol;
use crate::cell::Cell;
use crate::suite::MeasuredWorld;
use crate::suite::Needs;
use crate::target::ChromiumFigure;

/// Ratio of the network's part to the browser's own work above which the network determines the load time.
pub const NETWORK_RULES: f64 = 4.0;

/// The device that takes no time: a load by it without a network is what the page replays.
const NO_DEVICE: &str = "zero";

/// One cell, loaded by both.
#[derive(Clone, Debug, PartialEq)]
pub struct BrowserCell {
    /// Index among the suite's cells.
    pub cell: usize,
    /// The way in which farlink's loader computes: as a calibrated device if there is one.
    pub way: MeasuredWorld,
    /// Median PLT of farlink's loader, in ms.
    pub loader_ms: f64,
    /// Median PLT of Chromium, in ms.
    pub chromium_ms: f64,
    /// Median first render in ms: as the loader estimates it, and as Chromium paints it.
    pub first_render_ms: Option<[f64; 2]>,
    /// Median PLT of Chromium over a network that takes no time, in ms, if the suite has that cell.
    pub unlimited_ms: Option<f64>,
    /// Replayed part of that: median PLT of the loader without network and device; zero if the suite does not have that
    /// cell.
    pub replayed_ms: f64,
    /// True if it counts.
    pub counts: bool,
}

impl BrowserCell {
    /// Relative excess of the loader's time: 0.02 is 2 % too slow.
    pub fn deviation(&self) -> f64 {
        self.loader_ms / self.chromium_ms - 1.0
    }

    /// The share of Chromium's PLT that is the browser's own.
    pub fn browser_share(&self) -> Option<f64> {
        self.own_ms().map(|ms| (ms / self.chromium_ms).min(1.0))
    }

    /// The browser's own work, in ms.
    fn own_ms(&self) -> Option<f64> {
        Some((self.unlimited_ms? - self.replayed_ms).max(0.0))
    }

    /// True if the network determines the load time.
    fn is_ruled_by_network(&self) -> bool {
        let parts = self.unlimited_ms.zip(self.own_ms());
        parts.is_some_and(|(unlimited, own)| self.chromium_ms - unlimited > NETWORK_RULES * own)
    }
}

/// The cells that both have loaded, except those without a network.
pub fn browser_cells(cells: &[Cell], needs: &Needs) -> Vec<BrowserCell> {
    let measured = cells.iter().enumerate().filter(|(_, cell)| !cell.unlimited);
    measured.filter_map(|(index, cell)| browser_cell(cells, index, cell, needs)).collect()
}

fn browser_cell(cells: &[Cell], index: usize, cell: &Cell, needs: &Needs) -> Option<BrowserCell> {
    let median = |cell: &Cell, way| cell.plt(way).map(Sample::median);
    let chromium_ms = median(cell, MeasuredWorld::Chromium)?;
    let unlimited = || cells.iter().filter(|other| other.unlimited && same_load(other, cell));
    let unlimited_ms = unlimited().find_map(|other| median(other, MeasuredWorld::Chromium));
    let without_device = |other: &&Cell| other.scenario.client.device == NO_DEVICE;
    let replayed_ms =
        unlimited().filter(without_device).find_map(|other| median(other, MeasuredWorld::Emu));
    let first_render = |way| Some(cell.measured.get(&way)?.first_render.as_ref()?.median());
    let calibrated = cell.plt(MeasuredWorld::Calibrated).is_some();
    let way = if calibrated { MeasuredWorld::Calibrated } else { MeasuredWorld::Emu };
    let enough = cell.loads(MeasuredWorld::Chromium) >= needs.chromium
        && cell.loads(way) >= needs.chromium.min(needs.emu_lossless);
    let mut browser = BrowserCell {
        cell: index,
        way,
        loader_ms: median(cell, way)?,
        chromium_ms,
        first_render_ms: first_render(way)
            .zip(first_render(MeasuredWorld::Chromium))
            .map(Into::into),
        unlimited_ms,
        replayed_ms: replayed_ms.unwrap_or_default(),
        counts: false,
    };
    browser.counts = enough && browser.is_ruled_by_network() && !cell.is_loaded_early;
    Some(browser)
}

/// True if two cells differ in the network and the device alone.
fn same_load(one: &Cell, other: &Cell) -> bool {
    let (one, other) = (&one.scenario, &other.scenario);
    let client = |scenario: &Scenario| Client {
        device: String::new(),
        device_digest: None,
        ..scenario.client.clone().into_inner()
    };
    one.page == other.page && one.stack == other.stack && client(one) == client(other)
}

/// A figure over the cells that count, and the number of cells or pairs that it rests on.
pub fn chromium_figure(
    figure: ChromiumFigure,
    cells: &[Cell],
    browser: &[BrowserCell],
) -> (Option<f64>, usize) {
    let counting = || browser.iter().filter(|cell| cell.counts);
    let errors: Vec<f64> = match figure {
        ChromiumFigure::Median | ChromiumFigure::P95 => {
            counting().map(|cell| cell.deviation().abs()).collect()
        }
        ChromiumFigure::RatioMedian | ChromiumFigure::RatioP95 => ratio_errors(cells, browser),
        ChromiumFigure::FirstRenderMedian => counting()
            .filter_map(|cell| cell.first_render_ms)
            .map(|[estimated, painted]| (estimated / painted - 1.0).abs())
            .collect(),
    };
    let share = match figure {
        ChromiumFigure::P95 | ChromiumFigure::RatioP95 => 0.95,
        _ => 0.5,
    };
    let basis = errors.len();
    (Sample::new(errors).map(|sample| sample.quantile(share)), basis)
}

/// The errors of the log ratios of protocols, over pairs of cells that count.
fn ratio_errors(cells: &[Cell], browser: &[BrowserCell]) -> Vec<f64> {
    let counting: Vec<&BrowserCell> = browser.iter().filter(|cell| cell.counts).collect();
    let mut errors = Vec::new();
    for (index, one) in counting.iter().enumerate() {
        for other in &counting[index + 1..] {
            if is_same_but_protocol(&cells[one.cell], &cells[other.cell]) {
                let ratio = |ms: fn(&BrowserCell) -> f64| (ms(one) / ms(other)).ln();
                errors.push((ratio(|cell| cell.loader_ms) - ratio(|cell| cell.chromium_ms)).abs());
            }
        }
    }
    errors
}

// Errors in one direction: by protocol, network and security.

/// The signed error of a group of cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Bias {
    /// Name of the property that the cells have in common: "protocol".
    pub key: &'static str,
    /// Its value: "h2".
    pub value: String,
    /// Number of cells.
    pub cells: usize,
    /// Median of log(model / reference): 0.02 is 2 % too slow.
    pub median: f64,
}

/// A property that cells can have in common, with its accessor.
type CellProperty = (&'static str, fn(&Scenario) -> String);

/// Properties by which cells are grouped.
const KEYS: [CellProperty; 3] = [
    ("protocol", |scenario| scenario.stack.protocol.to_string()),
    ("TLS", |scenario| scenario.stack.tls.to_string()),
    ("network", |scenario| scenario.network.to_string()),
];

/// The bias of every group; `scenario_of` gives the scenario of each subject.
pub fn biases<'a>(
    comparison: &Comparison<'_>,
    scenario_of: impl Fn(usize) -> &'a Scenario,
) -> Vec<Bias> {
    let mut biases = Vec::new();
    for (key, value_of) in KEYS {
        let mut groups: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for subject in 0..comparison.subjects.len() {
            let deviation =
                comparison.model[subject][MEDIAN] - comparison.reference[subject][MEDIAN];
            groups.entry(value_of(scenario_of(subject))).or_default().push(deviation);
        }
        biases.extend(groups.into_iter().filter_map(|(value, deviations)| {
            let cells = deviations.len();
            Some(Bias { key, value, cells, median: Sample::new(deviations)?.median() })
        }));
    }
    biases
}

// Effect on page load times of an emulator that releases packets together rather than one by one.

/// One cell, emulated both ways.
#[derive(Clone, Debug, PartialEq)]
pub struct CoalescedCell {
    /// Index among the suite's cells.
    pub cell: usize,
    /// Median PLT with packets that leave one by one, in ms.
    pub single_ms: f64,
    /// Median PLT with packets that leave together, in ms.
    pub coalesced_ms: f64,
}

impl CoalescedCell {
    /// Relative slowdown by coalesced packets: 0.02 is 2 %.
    pub fn deviation(&self) -> f64 {
        self.coalesced_ms / self.single_ms - 1.0
    }
}

/// The cells that were emulated both ways.
pub fn coalesced_cells(cells: &[Cell]) -> Vec<CoalescedCell> {
    let compared = |(index, cell): (usize, &Cell)| {
        let median = |way| cell.plt(way).map(Sample::median);
        let (single_ms, coalesced_ms) =
            (median(MeasuredWorld::Emu)?, median(MeasuredWorld::Coalesced)?);
        Some(CoalescedCell { cell: index, single_ms, coalesced_ms })
    };
    cells.iter().enumerate().filter_map(compared).collect()
}

/// The median and the 95th percentile of the deviations' absolute values.
pub fn coalesced_difference(cells: &[CoalescedCell]) -> Option<[f64; 2]> {
    let sample = Sample::new(cells.iter().map(|cell| cell.deviation().abs()))?;
    Some([sample.median(), sample.quantile(0.95)])
}
