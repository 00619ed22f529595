//! The report's tables.

use std::fmt::Write;

use crate::cell::Cell;
use crate::cell::percent;
use crate::judge::{Bias, BrowserCell, CoalescedCell, Judgement, Row, SubjectResult};
use crate::suite::MeasuredWorld;
use crate::target::{TargetOutcome, TargetResult};
use report::escape::html;
use report::number::ms;

/// One row per target.
pub fn verdicts(verdicts: &[TargetResult]) -> String {
    let mut table = head(&[
        ("target", false),
        ("limit", true),
        ("measured", true),
        ("rests on", true),
        ("verdict", false),
    ]);
    for verdict in verdicts {
        let gauge = verdict.target.gauge;
        let class = if verdict.outcome == TargetOutcome::Missed { "bad" } else { "" };
        let _ = write!(
            table,
            "<tr><th scope=\"row\">{}</th>{}{}{}<td class=\"{class}\">{}</td></tr>",
            html(&gauge.describe()),
            number(&verdict.target.demand()),
            number(&or_dash(verdict.value.map(|value| gauge.show(value)))),
            number(&verdict.basis.to_string()),
            html(&verdict.say()),
        );
    }
    end(table)
}

/// One row per figure, one column per model.
pub fn figures(rows: &[Row]) -> String {
    let mut table = head(&[
        ("against emulation", false),
        ("rests on", true),
        ("simulation", true),
        ("emulation against itself", true),
        ("Lantern-like model", true),
    ]);
    for row in rows {
        let show = |value: Option<f64>| number(&or_dash(value.map(|v| row.figure.show(v))));
        let _ = write!(
            table,
            "<tr><th scope=\"row\">{}</th>{}{}{}{}</tr>",
            html(row.figure.describe()),
            number(&row.basis.to_string()),
            show(row.sim),
            show(row.emu),
            show(row.lantern),
        );
    }
    end(table)
}

/// One row per group of cells.
pub fn biases(biases: &[Bias]) -> String {
    let mut table = head(&[("by", false), ("", false), ("cells", true), ("bias", true)]);
    for bias in biases {
        let _ = write!(
            table,
            "<tr><th scope=\"row\">{}</th><td>{}</td>{}{}</tr>",
            html(bias.key),
            html(&bias.value),
            number(&bias.cells.to_string()),
            number(&signed(bias.median)),
        );
    }
    end(table)
}

/// One row per cell, the worst first.
pub fn cells(judgement: &Judgement, cells: &[Cell]) -> String {
    let mut table = head(&[
        ("cell", false),
        ("loads<br>sim / emu", true),
        ("sim p25, p50, p75<br>ms", true),
        ("emu p25, p50, p75<br>ms", true),
        ("error<br>of p50", true),
        ("chance<br>makes", true),
        ("Lantern-like model's<br>error", true),
        ("failed /<br>repeated", true),
    ]);
    let mut subjects: Vec<&SubjectResult> = judgement.subjects.iter().collect();
    subjects.sort_by(|a, b| b.errors[1].total_cmp(&a.errors[1]));
    for subject in subjects {
        let cell = &cells[subject.cell];
        let quartiles = |times: [f64; 3]| times.map(ms).join(", ");
        let emu = cell.measured.get(&MeasuredWorld::Emu).cloned().unwrap_or_default();
        let _ = write!(
            table,
            "<tr><th scope=\"row\">{}</th>{}{}{}{}{}{}{}</tr>",
            html(&cell.label()),
            number(&format!(
                "{} / {}",
                cell.loads(MeasuredWorld::Sim),
                cell.loads(MeasuredWorld::Emu)
            )),
            number(&quartiles(subject.sim_ms)),
            number(&quartiles(subject.emu_ms)),
            number(&signed(subject.sim_ms[1] / subject.emu_ms[1] - 1.0)),
            number(&percent(subject.noise[1])),
            number(&percent(subject.lantern_error)),
            number(&format!("{} / {}", emu.failed(), emu.repeated)),
        );
    }
    end(table)
}

/// One row per pair of protocols, the worst first.
pub fn pairs(judgement: &Judgement, cells: &[Cell]) -> String {
    let mut table = head(&[
        ("cell", false),
        ("against", false),
        ("emu<br>PLT ratio", true),
        ("sim<br>PLT ratio", true),
        ("error of<br>log ratio", true),
        ("Lantern-like model's<br>error", true),
    ]);
    let mut pairs: Vec<_> = judgement.pairs.iter().collect();
    pairs.sort_by(|a, b| (b.sim - b.emu).abs().total_cmp(&(a.sim - a.emu).abs()));
    for pair in pairs {
        let _ = write!(
            table,
            "<tr><th scope=\"row\">{}</th><td>{}</td>{}{}{}{}</tr>",
            html(&cells[pair.first].label()),
            cells[pair.second].scenario.stack.protocol,
            number(&format!("{:.3}", pair.emu.exp())),
            number(&format!("{:.3}", pair.sim.exp())),
            number(&signed(pair.sim - pair.emu)),
            number(&signed(pair.lantern - pair.emu)),
        );
    }
    end(table)
}

/// One row per cell that a browser loaded, the worst first.
pub fn browser(browser: &[BrowserCell], cells: &[Cell]) -> String {
    let mut table = head(&[
        ("cell", false),
        ("Chromium<br>ms", true),
        ("loader<br>ms", true),
        ("error", true),
        ("browser's<br>share", true),
        ("counts", false),
    ]);
    let mut rows: Vec<&BrowserCell> = browser.iter().collect();
    rows.sort_by(|a, b| b.deviation().abs().total_cmp(&a.deviation().abs()));
    for row in rows {
        let _ = write!(
            table,
            "<tr><th scope=\"row\">{}</th>{}{}{}{}<td>{}</td></tr>",
            html(&cells[row.cell].label()),
            number(&ms(row.chromium_ms)),
            number(&ms(row.loader_ms)),
            number(&signed(row.deviation())),
            number(&or_dash(row.browser_share().map(percent))),
            if row.counts { "yes" } else { "no" },
        );
    }
    end(table)
}

/// One row per cell that was emulated both ways, the largest difference first.
pub fn coalesced(coalesced: &[CoalescedCell], cells: &[Cell]) -> String {
    let mut table = head(&[
        ("cell", false),
        ("one by one<br>ms", true),
        ("together<br>ms", true),
        ("difference", true),
    ]);
    let mut rows: Vec<&CoalescedCell> = coalesced.iter().collect();
    rows.sort_by(|a, b| b.deviation().abs().total_cmp(&a.deviation().abs()));
    for row in rows {
        let _ = write!(
            table,
            "<tr><th scope=\"row\">{}</th>{}{}{}</tr>",
            html(&cells[row.cell].label()),
            number(&ms(row.single_ms)),
            number(&ms(row.coalesced_ms)),
            number(&signed(row.deviation())),
        );
    }
    end(table)
}

fn head(columns: &[(&str, bool)]) -> String {
    let column = |(name, numeric): &(&str, bool)| {
        let class = if *numeric { " class=\"n\"" } else { "" };
        format!("<th{class}>{name}</th>")
    };
    let columns: String = columns.iter().map(column).collect();
    format!(
        "<div class=\"wide\" tabindex=\"0\"><table class=\"figures plain\"><thead><tr>{columns}</tr></thead><tbody>"
    )
}

fn end(mut table: String) -> String {
    table.push_str("</tbody></table></div>");
    table
}

fn number(text: &str) -> String {
    format!("<td class=\"n\">{}</td>", html(text))
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or("-".to_owned())
}

/// A deviation with its sign.
fn signed(deviation: f64) -> String {
    let sign = if deviation >= 0.0 { "+" } else { "-" };
    format!("{sign}{}", percent(deviation.abs()))
}
