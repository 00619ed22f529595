//! Why pages took longer than the floor: the mean load time of each cell, split by cause.

use std::fmt::Write;

use record::PathCause;
use serde::Serialize;
use store::critical::ExcessByCause;

use super::answer::span;
use super::cells::{ReportCell, ms};
use super::escape::html;
use super::summary::ReportSummary;

/// Share of the largest load time below which a part has no column.
const LEAST_SHARE: f64 = 0.005;

/// A part of a load time: its name for the style sheet and for readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LoadTimePart {
    /// Name of its colour.
    pub name: &'static str,
    /// Its name for readers.
    pub words: &'static str,
}

/// Mean load time of a cell's visits that have a critical path, by part. Times are milliseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeanLoadTime {
    visits: u32,
    total: f64,
    /// Floor of a client that knows the page.
    known: f64,
    /// Excess of the floor of a client that discovers it.
    discovery: f64,
    causes: [f64; PathCause::ALL.len()],
}

impl MeanLoadTime {
    /// The means over a cell's visits; `excess` has that of each.
    pub fn of(
        cell: &ReportCell,
        excess: impl Fn(u64, u32) -> Option<ExcessByCause>,
    ) -> MeanLoadTime {
        let mut mean = MeanLoadTime::default();
        for (_, visit, plt) in cell.loaded() {
            let key = visit.key;
            let Some((floors, causes)) = visit.floors.zip(excess(key.journey, key.visit)) else {
                continue;
            };
            mean.visits += 1;
            let weight = 1.0 / f64::from(mean.visits);
            let add = |mean: &mut f64, value: f64| *mean += (value - *mean) * weight;
            add(&mut mean.total, plt);
            add(&mut mean.known, ms(floors.oracle_ns));
            add(&mut mean.discovery, ms(floors.graph_ns - floors.oracle_ns));
            for (mean, cause) in mean.causes.iter_mut().zip(PathCause::ALL) {
                add(mean, causes.get(&cause).copied().unwrap_or(0) as f64 / 1e6);
            }
        }
        mean
    }

    /// Its parts in the order of [`parts`].
    fn parts(&self) -> impl Iterator<Item = f64> {
        [self.known, self.discovery].into_iter().chain(self.causes)
    }
}

/// All parts that a load time can have.
fn parts() -> impl Iterator<Item = LoadTimePart> {
    let floor = [
        LoadTimePart { name: "floor", words: "floor, all objects known" },
        LoadTimePart { name: "discovery", words: "floor: discovery" },
    ];
    let causes = PathCause::ALL.into_iter();
    floor
        .into_iter()
        .chain(causes.map(|cause| LoadTimePart { name: cause.name(), words: cause.words() }))
}

/// The load times of all cells by part, as far as these are large enough to show.
#[derive(Serialize)]
pub struct LoadTimes {
    /// The parts.
    pub parts: Vec<LoadTimePart>,
    /// One row a cell that has them.
    pub cells: Vec<LoadTimeRow>,
}

/// The mean load time of a cell.
#[derive(Serialize)]
pub struct LoadTimeRow {
    /// Index of the arm.
    pub arm: usize,
    /// Index of the condition.
    pub condition: usize,
    /// Its mean, milliseconds.
    pub total: f64,
    /// Milliseconds of each part; they sum to the mean.
    pub parts: Vec<f64>,
}

impl LoadTimes {
    /// Gathers those of a run. Parts that are small everywhere are one, `other`.
    pub fn of(summary: &ReportSummary) -> LoadTimes {
        let cells: Vec<&ReportCell> =
            summary.cells.iter().filter(|cell| cell.load_time.visits > 0).collect();
        let is_large = |at: usize, part: &LoadTimePart| {
            let large = |cell: &&ReportCell| {
                let share = cell.load_time.parts().nth(at).unwrap_or(0.0) / cell.load_time.total;
                share.abs() > LEAST_SHARE
            };
            part.name != PathCause::Other.name() && cells.iter().any(large)
        };
        let (shown, rest): (Vec<_>, Vec<_>) =
            parts().enumerate().partition(|(at, part)| is_large(*at, part));
        let row = |cell: &&ReportCell| {
            let all: Vec<f64> = cell.load_time.parts().collect();
            let rest: f64 = rest.iter().map(|(at, _)| all[*at]).sum();
            let shown = shown.iter().map(|(at, _)| all[*at]);
            LoadTimeRow {
                arm: cell.arm,
                condition: cell.condition,
                total: cell.load_time.total,
                parts: shown.chain([rest]).collect(),
            }
        };
        let rows = cells.iter().map(row).collect();
        let other = LoadTimePart { name: PathCause::Other.name(), words: PathCause::Other.words() };
        LoadTimes {
            parts: shown.iter().map(|(_, part)| *part).chain([other]).collect(),
            cells: rows,
        }
    }
}

/// The section: stacked bars, drawn by the script, and the same as a table.
pub fn section(summary: &ReportSummary) -> String {
    let times = LoadTimes::of(summary);
    if times.cells.is_empty() {
        return String::new();
    }
    format!(
        "<section class=\"chart\"><h2>Why it took so long</h2><div id=\"causes\" class=\"charts\"></div>\
         <p class=\"small\">Mean load time = floor + excess by cause, along the critical path of each load; the parts sum exactly. \
         The floor is what physics requires: grey if all objects were known from the start, then what their discovery one after another adds.</p>\
         <details class=\"print\"><summary>The same as a table</summary>{}</details>{}</section>\n",
        table(summary, &times),
        super::html::sql(&format!(
            "SELECT journey, visit, cause, sum(excess_ns) / 1e6 AS excess_ms\nFROM critical_step WHERE run_id = {}\nGROUP BY journey, visit, cause;",
            summary.run.id.0
        )),
    )
}

fn table(summary: &ReportSummary, times: &LoadTimes) -> String {
    let mut text = String::from(
        "<div class=\"wide\" tabindex=\"0\"><table class=\"figures plain\"><thead><tr><th>condition</th><th>arm</th>",
    );
    for part in &times.parts {
        let _ = write!(text, "<th class=\"n\">{}</th>", html(part.words));
    }
    text.push_str("<th class=\"n\">load time</th></tr></thead><tbody>");
    for row in &times.cells {
        let (condition, arm) = (&summary.conditions[row.condition].label, &summary.arms[row.arm]);
        let _ = write!(text, "<tr><th>{}</th><th>{}</th>", html(condition), html(arm));
        for part in row.parts.iter().chain([&row.total]) {
            let figure = if part.abs() < 0.5 { "-".to_owned() } else { span(part * 1e6) };
            let _ = write!(text, "<td class=\"n\">{figure}</td>");
        }
        text.push_str("</tr>");
    }
    text + "</tbody></table></div>"
}
