//! The figures that the charts are drawn from, as `assets/validate.js` reads them.

use serde::Serialize;

use crate::cell::Cell;
use crate::judge::Judgement;

/// All data that the script needs. Times are milliseconds; protocols are indices.
#[derive(Serialize)]
pub struct Charts {
    protocols: Vec<String>,
    loads: Vec<PltPoint>,
    browser: Vec<PltPoint>,
    ratios: Vec<ProtocolRatio>,
    errors: Vec<ErrorDistribution>,
}

/// A page load time by a model (`y`) over that of the reference (`x`).
#[derive(Serialize)]
struct PltPoint {
    label: String,
    protocol: usize,
    /// Kind of cell: "lossy".
    kind: &'static str,
    x: f64,
    y: f64,
}

/// A log ratio of protocols, simulated over emulated.
#[derive(Serialize)]
struct ProtocolRatio {
    label: String,
    kind: &'static str,
    x: f64,
    y: f64,
}

/// Relative errors of one model, in ascending order.
#[derive(Serialize)]
struct ErrorDistribution {
    model: &'static str,
    errors: Vec<f64>,
}

impl Charts {
    /// The figures of a judgement of `cells`.
    pub fn of(judgement: &Judgement, cells: &[Cell]) -> Charts {
        let mut protocols: Vec<String> =
            cells.iter().map(|cell| cell.scenario.stack.protocol.to_string()).collect();
        protocols.sort();
        protocols.dedup();
        let point = |cell: usize, kind, x, y| {
            let name = cells[cell].scenario.stack.protocol.name();
            let protocol = protocols.iter().position(|p| p == name).unwrap_or(0);
            PltPoint { label: cells[cell].label(), protocol, kind, x, y }
        };
        let kind = |cell: usize| if cells[cell].lossy { "with loss" } else { "without loss" };
        let subjects = judgement.subjects.iter();
        let loads = subjects.map(|s| point(s.cell, kind(s.cell), s.emu_ms[1], s.sim_ms[1]));
        let browser = judgement.browser.iter().map(|b| {
            let kind = if b.counts { "counts" } else { "the browser's own work" };
            point(b.cell, kind, b.chromium_ms, b.loader_ms)
        });
        let ratios = judgement.pairs.iter().map(|pair| {
            let label =
                format!("{} against {}", cells[pair.first].label(), other(cells, pair.second));
            ProtocolRatio { label, kind: kind(pair.first), x: pair.emu, y: pair.sim }
        });
        Charts {
            loads: loads.collect(),
            browser: browser.collect(),
            ratios: ratios.collect(),
            errors: distributions(judgement),
            protocols,
        }
    }
}

/// Name of a pair's second cell: the protocol, in which alone it differs.
fn other(cells: &[Cell], cell: usize) -> &'static str {
    cells[cell].scenario.stack.protocol.name()
}

/// The errors of the median page load time: of the simulation, by chance alone, and of the Lantern-like model.
fn distributions(judgement: &Judgement) -> Vec<ErrorDistribution> {
    let of = |model, error: fn(&crate::SubjectResult) -> f64| {
        let mut errors: Vec<f64> = judgement.subjects.iter().map(error).collect();
        errors.sort_by(f64::total_cmp);
        ErrorDistribution { model, errors }
    };
    vec![
        of("simulation", |subject| subject.errors[1]),
        of("emulation against itself", |subject| subject.noise[1]),
        of("Lantern-like model", |subject| subject.lantern_error),
    ]
}
