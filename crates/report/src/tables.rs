//! The report's tables: every figure of a chart, those without one, and the energy of radios.

use std::fmt::Write;

use record::RadioRecord;
use statistics::{Comparison, Sample, percent};

use super::cells::{Described, ReportCell};
use super::escape::html;
use super::number::{count, grouped, ms, ratio};
use super::summary::ReportSummary;
use super::waterfall::{PHASES, Waterfall};
use crate::answer::Answers;
use crate::answer::{Answer, ArmStanding, Gap, Moment, span};

/// One row per cell.
pub fn cells(summary: &ReportSummary) -> String {
    let mut table = String::from(
        "<div class=\"wide\" tabindex=\"0\"><table class=\"figures\"><thead><tr>\
         <th>condition</th><th>arm</th>\
         <th class=\"n\">loads</th><th class=\"n\">median PLT<br>ms</th>\
         <th class=\"n\">95 % interval<br>of the median, ms</th><th class=\"n\">p90<br>ms</th>\
         <th class=\"n\">floor<br>ms</th><th class=\"n\">PLT / floor</th>\
         <th class=\"n\">TTFB<br>ms</th>",
    );
    let sights = sights(summary);
    for sight in &sights {
        let _ = write!(table, "<th class=\"n\">{}</th>", sight.heading);
    }
    table.push_str(
        "<th class=\"n\">connec-<br>tions</th><th class=\"n\">received<br>KB</th>\
         <th class=\"n\">retrans-<br>missions</th><th class=\"n\">failed<br>objects</th>\
         <th class=\"n\">failed<br>loads</th></tr></thead><tbody>",
    );
    for group in summary.cells.chunk_by(|one, next| one.condition == next.condition) {
        let condition = condition_label(summary, group[0].condition);
        let mut heading = format!(
            "<tr class=\"first\"><th scope=\"rowgroup\" rowspan=\"{}\">{condition}</th>",
            group.len()
        );
        for cell in group {
            table.push_str(&heading);
            table.push_str(&cell_columns(summary, cell, &sights));
            heading = "<tr>".to_owned();
        }
    }
    table.push_str("</tbody></table></div>");
    table
}

/// A column on the moment at which a visitor sees something.
struct VisualColumn {
    heading: &'static str,
    of: fn(&Described) -> Option<f64>,
}

/// The columns for which some cell has values: a browser paints, the loader estimates.
fn sights(summary: &ReportSummary) -> Vec<VisualColumn> {
    let paints = summary.cells.iter().any(ReportCell::paints);
    let render = if paints { "first cont.<br>paint, ms" } else { "first render<br>(est.), ms" };
    let all = [
        VisualColumn { heading: render, of: |d| d.first_render },
        VisualColumn { heading: "largest cont.<br>paint, ms", of: |d| d.largest_paint },
        VisualColumn { heading: "Speed<br>Index, ms", of: |d| d.speed_index },
        VisualColumn { heading: "ByteIndex<br>ms", of: |d| d.byte_index },
    ];
    let described: Vec<Described> =
        summary.cells.iter().filter_map(|cell| cell.describe(&summary.run)).collect();
    all.into_iter().filter(|sight| described.iter().any(|d| (sight.of)(d).is_some())).collect()
}

/// A cell's row from its arm on.
fn cell_columns(summary: &ReportSummary, cell: &ReportCell, sights: &[VisualColumn]) -> String {
    let columns = match cell.describe(&summary.run) {
        Some(described) => figures(&described, sights),
        None => number("-".to_owned()).repeat(9 + sights.len()),
    };
    let failed = [cell.objects_failed(), cell.failures()].map(|count| {
        let class = if count > 0 { "n bad" } else { "n" };
        format!("<td class=\"{class}\">{count}</td>")
    });
    format!(
        "<th scope=\"row\">{}</th>{}{columns}{}</tr>",
        arm_label(summary, cell.arm),
        number(cell.loaded().count().to_string()),
        failed.concat(),
    )
}

fn figures(described: &Described, sights: &[VisualColumn]) -> String {
    let median = described.plt.median();
    let interval = match described.interval {
        Ok(interval) => format!("{} - {}", ms(interval.low), ms(interval.high)),
        Err(statistics::NoInterval::NoSpread) => "no spread".to_owned(),
        Err(_) => "too few".to_owned(),
    };
    let or_dash = |value: Option<String>| value.unwrap_or("-".to_owned());
    let mut columns = vec![
        ms(median),
        interval,
        ms(described.plt.quantile(0.9)),
        or_dash(described.floor.map(ms)),
        or_dash(described.floor.filter(|f| *f > 0.0).map(|floor| ratio(median / floor))),
        or_dash(described.ttfb.map(ms)),
    ];
    columns.extend(sights.iter().map(|sight| or_dash((sight.of)(described).map(ms))));
    columns.extend([
        count(described.connections),
        grouped((described.wire_bytes_down / 1000.0).round() as u64),
        or_dash(described.retransmits.map(count)),
    ]);
    columns.into_iter().map(number).collect()
}

/// The arm with its colour's mark.
fn arm_label(summary: &ReportSummary, arm: usize) -> String {
    format!("<span class=\"arm a{}\"></span>{}", arm % ARM_COLOURS, html(&summary.arms[arm]))
}

/// Number of arm colours in `report.css`.
const ARM_COLOURS: usize = 16;

fn condition_label(summary: &ReportSummary, condition: usize) -> String {
    let label = &summary.conditions[condition].label;
    html(if label.is_empty() { "all" } else { label })
}

fn number(text: String) -> String {
    format!("<td class=\"n\">{}</td>", html(&text))
}

/// The best arms under each condition, by load time and by first render.
pub fn best(summary: &ReportSummary, answers: &Answers) -> String {
    let mut table = String::from(
        "<div class=\"wide\" tabindex=\"0\"><table class=\"figures plain\"><thead><tr><th>condition</th><th>loads first</th><th class=\"n\">median</th>\
         <th>shows something first</th><th class=\"n\">median</th></tr></thead><tbody>",
    );
    for (condition, answer) in answers.answers.iter().enumerate() {
        let _ = write!(table, "<tr><th scope=\"row\">{}</th>", condition_label(summary, condition));
        for moment in [Moment::Load, Moment::Render] {
            let first = answer.ranking(moment).first();
            let names = first.iter().map(|placed| arm_label(summary, placed.arm));
            let median = first.first().map_or("-".to_owned(), |placed| span(placed.median_ns));
            let _ = write!(
                table,
                "<td>{}</td>{}",
                names.collect::<Vec<_>>().join("<br>"),
                number(median)
            );
        }
        table.push_str("</tr>");
    }
    table.push_str("</tbody></table></div>");
    table
}

/// Each arm over all conditions.
pub fn standings(summary: &ReportSummary, answers: &Answers) -> String {
    let mut table = String::from(
        "<div class=\"wide\" tabindex=\"0\"><table class=\"figures plain\"><thead><tr><th>arm</th><th class=\"n\">load time<br>over the best</th>\
         <th class=\"n\">loads first<br>alone</th><th class=\"n\">tied</th><th class=\"n\">first render<br>over the best</th>\
         <th class=\"n\">shows first<br>alone</th><th class=\"n\">tied</th></tr></thead><tbody>",
    );
    let [load, render] = [Moment::Load, Moment::Render].map(|moment| answers.over_all(moment));
    let figures = |one: &ArmStanding| {
        let over = one.over_best.map_or("-".to_owned(), ratio);
        [over, one.wins.to_string(), one.ties.to_string()].map(number).concat()
    };
    for one in load.standings() {
        let other = render.standings().iter().find(|other| other.arm == one.arm);
        let other = other.map_or(String::new(), figures);
        let _ = write!(
            table,
            "<tr><th scope=\"row\">{}</th>{}{other}</tr>",
            arm_label(summary, one.arm),
            figures(one)
        );
    }
    table.push_str("</tbody></table></div>");
    table
}

/// Every arm against every other by load time: the lead of the row's arm over the column's.
pub fn pairwise(summary: &ReportSummary, answer: &Answer) -> String {
    let (order, matrix) = crate::answer::pairwise(summary, answer);
    let headings: String =
        order.iter().map(|arm| format!("<th>{}</th>", arm_label(summary, *arm))).collect();
    let cell = |(one, other): (usize, usize)| match &matrix[one][other] {
        _ if one == other => number(String::new()),
        None => number("-".to_owned()),
        Some(comparison) => number(ahead(comparison)),
    };
    let row = |one: usize| {
        let cells: String = (0..order.len()).map(|other| cell((one, other))).collect();
        format!("<tr><th scope=\"row\">{}</th>{cells}</tr>", arm_label(summary, order[one]))
    };
    format!(
        "<div class=\"wide\" tabindex=\"0\"><table class=\"figures plain\"><thead><tr><th>ahead of</th>{headings}</tr></thead><tbody>{}</tbody></table></div>",
        (0..order.len()).map(row).collect::<String>()
    )
}

fn ahead(comparison: &Comparison) -> String {
    let sign = if comparison.second_ahead { "-" } else { "" };
    let by = format!("{sign}{}", percent(comparison.advantage));
    match Gap::of(comparison) {
        Gap::Clear => by,
        Gap::None => "same".to_owned(),
        Gap::Small => format!("{by} (small)"),
        Gap::Unclear | Gap::Untested => format!("{by} (not clear)"),
    }
}

/// One row per object.
pub fn objects(waterfall: &Waterfall) -> String {
    let mut table = String::from(
        "<div class=\"wide\" tabindex=\"0\"><table class=\"figures\"><thead><tr><th>object</th><th>kind</th>\
         <th class=\"n\">status</th><th>on</th><th class=\"n\">bytes</th>\
         <th class=\"n\">discovered<br>ms</th>",
    );
    for phase in PHASES {
        let _ = write!(table, "<th class=\"n\">{phase}<br>ms</th>");
    }
    table.push_str("<th class=\"n\">done<br>ms</th></tr></thead><tbody>");
    for row in &waterfall.objects {
        let error = row.error.as_deref().map(|e| format!(" ({e})")).unwrap_or_default();
        let _ = write!(
            table,
            "<tr><td class=\"url\">{}{}</td><td>{}</td>{}<td>{}</td>{}{}{}{}</tr>",
            html(&row.url),
            html(&error),
            html(&row.kind),
            number(row.status.to_string()),
            html(&row.carrier),
            number(grouped(row.bytes)),
            number(ms(row.start)),
            row.phases.map(|span| number(ms(span))).concat(),
            number(ms(row.done)),
        );
    }
    table.push_str("</tbody></table></div>");
    table
}

/// Names with values, side by side.
pub fn facts<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    format!("<dl>{}</dl>", definitions(pairs))
}

/// Names with long values, one below the other.
pub fn long_facts<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    format!("<dl class=\"full\">{}</dl>", definitions(pairs))
}

fn definitions<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let pair = |(name, value): (&str, String)| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>", html(name), html(&value))
    };
    pairs.into_iter().map(pair).collect()
}

// Energy of radios, cell by cell.

/// The radio records of one cell's visits.
#[derive(Clone, Debug, Default)]
pub struct Radios(Vec<RadioRecord>);

impl Radios {
    /// Adds the record of a visit.
    pub fn take(&mut self, radio: RadioRecord) {
        self.0.push(radio);
    }

    fn median(&self, of: impl Fn(&RadioRecord) -> f64) -> Option<f64> {
        Some(Sample::new(self.0.iter().map(of))?.median())
    }

    /// The states that occurred in any visit, with the median time spent in each, in seconds.
    fn states(&self) -> Vec<(String, f64)> {
        let mut names: Vec<&str> =
            self.0.iter().flat_map(|r| &r.states).map(|s| s.state.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let span = |name: &str, radio: &RadioRecord| {
            let state = radio.states.iter().find(|state| state.state == name);
            state.map_or(0.0, |state| state.span_ns as f64 / 1e9)
        };
        let median = |name: &str| Some((name.to_owned(), self.median(|radio| span(name, radio))?));
        names.into_iter().filter_map(median).collect()
    }
}

/// The section; empty if no network has a radio.
pub fn section(summary: &ReportSummary) -> String {
    let rows: String = summary.cells.iter().filter_map(|cell| row(summary, cell)).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<section><h2>The radio</h2><div class=\"wide\" tabindex=\"0\"><table class=\"figures plain\"><thead><tr><th>cell</th>\
         <th class=\"n\">visit<br>J</th><th class=\"n\">its tail<br>J</th><th class=\"n\">promotions</th>\
         <th class=\"n\">s in each state</th></tr></thead><tbody>{rows}</tbody></table></div>\
         <p class=\"small\">Medians over the loads. The visit: from navigation start to its end. The tail: what the radio \
         spends after that until it has come to rest, if nothing else is sent.</p></section>\n"
    )
}

fn row(summary: &ReportSummary, cell: &ReportCell) -> Option<String> {
    let radios = &cell.radios;
    let joules = |of: fn(&RadioRecord) -> u64| radios.median(move |radio| of(radio) as f64 / 1e6);
    let states = radios.states();
    let states = states.iter().map(|(state, seconds)| format!("{state} {seconds:.2}"));
    let states = states.collect::<Vec<_>>().join(", ");
    let condition = &summary.conditions[cell.condition].label;
    let label = [summary.arms[cell.arm].as_str(), condition].join(" ");
    let mut row = format!("<tr><th scope=\"row\">{}</th>", html(label.trim()));
    for text in [
        energy(joules(|radio| radio.energy_uj)?),
        energy(joules(|radio| radio.tail_uj)?),
        count(radios.median(|radio| f64::from(radio.promotions))?),
        states,
    ] {
        let _ = write!(row, "<td class=\"n\">{}</td>", html(&text));
    }
    Some(row + "</tr>")
}

/// Joules to three significant digits.
fn energy(joules: f64) -> String {
    match joules {
        j if j >= 99.95 => grouped(j.round() as u64),
        j if j >= 9.995 => format!("{j:.1}"),
        j => format!("{j:.2}"),
    }
}
