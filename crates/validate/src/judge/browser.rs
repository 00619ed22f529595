//! farlink's loader against Chromium, both over the emulated network.
//!
//! On a quick network, a page load is mostly the browser's own work, which differs between machines. Therefore
//! a cell counts only if Chromium takes more than [`NETWORK_RULES`] times as long as over a network that takes
//! no time. The others are shown with the browser's share.

use crate::cell::Cell;
use crate::suite::Needs;
use crate::way::Way;
use statistics::Sample;

/// Ratio to the load without a network above which the network determines the load time.
pub const NETWORK_RULES: f64 = 5.0;

/// One cell, loaded by both.
#[derive(Clone, Debug, PartialEq)]
pub struct BrowserCell {
    /// Index among the suite's cells.
    pub cell: usize,
    /// The way in which farlink's loader computes: as a calibrated device if there is one.
    pub way: Way,
    /// Median PLT of farlink's loader, in ms.
    pub loader_ms: f64,
    /// Median PLT of Chromium, in ms.
    pub chromium_ms: f64,
    /// Median PLT of Chromium over a network that takes no time, in ms, if the suite has that cell.
    pub unlimited_ms: Option<f64>,
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
        self.unlimited_ms.map(|ms| (ms / self.chromium_ms).min(1.0))
    }
}

/// The cells that both have loaded, except those without a network.
pub fn browser_cells(cells: &[Cell], needs: &Needs) -> Vec<BrowserCell> {
    let measured = cells.iter().enumerate().filter(|(_, cell)| !cell.unlimited);
    measured.filter_map(|(index, cell)| browser_cell(cells, index, cell, needs)).collect()
}

fn browser_cell(cells: &[Cell], index: usize, cell: &Cell, needs: &Needs) -> Option<BrowserCell> {
    let median = |cell: &Cell, way| cell.plt(way).map(Sample::median);
    let chromium_ms = median(cell, Way::Chromium)?;
    let unlimited = cells.iter().find(|other| other.unlimited && same_load(other, cell));
    let unlimited_ms = unlimited.and_then(|other| median(other, Way::Chromium));
    let calibrated = cell.plt(Way::Calibrated).is_some();
    let way = if calibrated { Way::Calibrated } else { Way::Emu };
    let enough = cell.loads(Way::Chromium) >= needs.chromium
        && cell.loads(way) >= needs.chromium.min(needs.emu_lossless);
    Some(BrowserCell {
        cell: index,
        way,
        loader_ms: median(cell, way)?,
        chromium_ms,
        unlimited_ms,
        counts: enough && unlimited_ms.is_some_and(|ms| chromium_ms > NETWORK_RULES * ms),
    })
}

/// True if two cells differ in the network alone.
fn same_load(one: &Cell, other: &Cell) -> bool {
    let (one, other) = (&one.scenario, &other.scenario);
    one.page == other.page && one.stack == other.stack && one.client == other.client
}

/// The median relative error of the cells that count, and their number.
pub fn median_error(cells: &[BrowserCell]) -> (Option<f64>, usize) {
    let errors: Vec<f64> = cells.iter().filter(|c| c.counts).map(|c| c.deviation().abs()).collect();
    let count = errors.len();
    (Sample::new(errors).map(|sample| sample.median()), count)
}
