//! Effect on page load times of an emulator that releases packets together rather than one by one.

use crate::cell::Cell;
use crate::way::Way;
use statistics::Sample;

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
        let (single_ms, coalesced_ms) = (median(Way::Emu)?, median(Way::Coalesced)?);
        Some(CoalescedCell { cell: index, single_ms, coalesced_ms })
    };
    cells.iter().enumerate().filter_map(compared).collect()
}

/// The median and the 95th percentile of the deviations' absolute values.
pub fn coalesced_difference(cells: &[CoalescedCell]) -> Option<[f64; 2]> {
    let sample = Sample::new(cells.iter().map(|cell| cell.deviation().abs()))?;
    Some([sample.median(), sample.quantile(0.95)])
}
