//! A judgement as tables for a terminal.

use statistics::Sample;
use validate::{Cell, Judgement, Outcome, Way, coalesced_difference, percent};

use crate::show::table::Table;
use crate::show::units::{counted, span_f64};

/// Cells, ratios, figures and verdicts.
pub fn all(judgement: &Judgement, cells: &[Cell]) -> String {
    let tables = [
        loads(judgement, cells),
        ratios(judgement, cells),
        figures(judgement),
        verdicts(judgement),
    ];
    let tables = tables.map(|table| format!("{table}\n\n")).concat();
    tables.trim_end().to_owned() + "\n" + &coalesced(judgement)
}

/// Median page load times.
fn loads(judgement: &Judgement, cells: &[Cell]) -> Table {
    let mut table =
        Table::new(&["cell", "sim", "emu", "sim/emu", "chromium", "loader/chromium", "toy"]);
    for (index, cell) in cells.iter().enumerate() {
        let browser = judgement.browser.iter().find(|browser| browser.cell == index);
        let median = |way| cell.plt(way).map(Sample::median);
        let (sim, emu, chromium) = (median(Way::Sim), median(Way::Emu), median(Way::Chromium));
        let ratio = |one: Option<f64>, other: Option<f64>| {
            or_dash(one.zip(other).map(|(one, other)| format!("{:.3}", one / other)))
        };
        table.row([
            cell.label(),
            or_dash(sim.map(ms)),
            or_dash(emu.map(ms)),
            ratio(sim, emu),
            or_dash(chromium.map(ms)),
            or_dash(browser.map(|browser| format!("{:.3}", 1.0 + browser.deviation()))),
            ms(cell.toy_ms),
        ]);
    }
    table
}

/// Ratios of protocols.
fn ratios(judgement: &Judgement, cells: &[Cell]) -> Table {
    let mut table =
        Table::new(&["PLT ratio of protocols", "against", "sim", "emu", "error", "toy"]);
    for pair in &judgement.pairs {
        table.row([
            cells[pair.first].label(),
            cells[pair.second].scenario.stack.protocol.to_string(),
            format!("{:.3}", pair.sim.exp()),
            format!("{:.3}", pair.emu.exp()),
            percent(pair.sim - pair.emu),
            format!("{:.3}", pair.toy.exp()),
        ]);
    }
    table
}

fn figures(judgement: &Judgement) -> Table {
    let mut table = Table::new(&["against emulation", "of", "sim", "emu itself", "toy"]);
    for row in &judgement.rows {
        let show = |value: Option<f64>| or_dash(value.map(|v| row.figure.show(v)));
        table.row([
            row.figure.describe().to_owned(),
            row.basis.to_string(),
            show(row.sim),
            show(row.emu),
            show(row.toy),
        ]);
    }
    table
}

/// The error from releasing packets together, if it was measured.
fn coalesced(judgement: &Judgement) -> String {
    let Some([median, p95]) = coalesced_difference(&judgement.coalesced) else {
        return String::new();
    };
    format!(
        "\nan emulator that releases packets together changes PLTs by {} at the median, {} at p95 ({})\n",
        percent(median),
        percent(p95),
        counted(judgement.coalesced.len(), "cell"),
    )
}

fn verdicts(judgement: &Judgement) -> Table {
    let mut table = Table::new(&["target", "limit", "measured", "verdict"]);
    for verdict in &judgement.verdicts {
        let gauge = verdict.target.gauge;
        let said = verdict.say();
        table.row([
            gauge.describe(),
            verdict.target.demand(),
            or_dash(verdict.value.map(|value| gauge.show(value))),
            if verdict.outcome == Outcome::Missed { said.to_uppercase() } else { said },
        ]);
    }
    table
}

fn ms(value: f64) -> String {
    span_f64(value * 1e6)
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or("-".to_owned())
}
