//! The report's tables: every figure that a chart shows, and those that none does.

use std::fmt::Write;

use super::cells::{Cell, Described};
use super::escape::html;
use super::number::{count, grouped, ms, ratio};
use super::summary::Summary;
use super::verdicts::{Answer, sentence};
use super::waterfall::{PHASES, Waterfall};

/// One row a cell.
pub fn cells(summary: &Summary) -> String {
    let mut table = String::from(
        "<div class=\"wide\"><table class=\"figures\"><thead><tr>\
         <th>condition</th><th>arm</th>\
         <th class=\"n\">loads</th><th class=\"n\">median PLT<br>ms</th>\
         <th class=\"n\">95 % interval<br>of the median, ms</th><th class=\"n\">p90<br>ms</th>\
         <th class=\"n\">floor<br>ms</th><th class=\"n\">PLT / floor</th>\
         <th class=\"n\">TTFB<br>ms</th><th class=\"n\">connec-<br>tions</th>\
         <th class=\"n\">received<br>KB</th><th class=\"n\">retrans-<br>missions</th>\
         <th class=\"n\">failures</th></tr></thead><tbody>",
    );
    for group in summary.cells.chunk_by(|one, next| one.condition == next.condition) {
        let condition = condition_label(summary, group[0].condition);
        let mut heading = format!(
            "<tr class=\"first\"><th scope=\"rowgroup\" rowspan=\"{}\">{condition}</th>",
            group.len()
        );
        for cell in group {
            table.push_str(&heading);
            table.push_str(&cell_columns(summary, cell));
            heading = "<tr>".to_owned();
        }
    }
    table.push_str("</tbody></table></div>");
    table
}

/// A cell's row from its arm on.
fn cell_columns(summary: &Summary, cell: &Cell) -> String {
    let columns = match cell.describe(summary.run.seed) {
        Some(described) => figures(&described),
        None => number("-".to_owned()).repeat(9),
    };
    let failures = cell.failures();
    let class = if failures > 0 { "n bad" } else { "n" };
    format!(
        "<th scope=\"row\">{}</th>{}{columns}<td class=\"{class}\">{failures}</td></tr>",
        arm_label(summary, cell.arm),
        number(cell.loaded().count().to_string()),
    )
}

fn figures(described: &Described) -> String {
    let median = described.plt.median();
    let interval = match described.interval {
        Ok(interval) => format!("{} - {}", ms(interval.low), ms(interval.high)),
        Err(crate::statistics::NoInterval::NoSpread) => "no spread".to_owned(),
        Err(_) => "too few".to_owned(),
    };
    let or_dash = |value: Option<String>| value.unwrap_or("-".to_owned());
    [
        ms(median),
        interval,
        ms(described.plt.quantile(0.9)),
        or_dash(described.floor.map(ms)),
        or_dash(described.floor.filter(|f| *f > 0.0).map(|floor| ratio(median / floor))),
        or_dash(described.ttfb.map(ms)),
        count(described.connections),
        grouped((described.wire_bytes_down / 1000.0).round() as u64),
        or_dash(described.retransmits.map(count)),
    ]
    .map(number)
    .concat()
}

/// The arm with its colour's mark.
fn arm_label(summary: &Summary, arm: usize) -> String {
    format!("<span class=\"arm a{}\"></span>{}", arm % ARM_COLOURS, html(&summary.arms[arm]))
}

/// How many colours `report.css` has for arms.
const ARM_COLOURS: usize = 8;

fn condition_label(summary: &Summary, condition: usize) -> String {
    let label = &summary.conditions[condition].label;
    html(if label.is_empty() { "all" } else { label })
}

fn number(text: String) -> String {
    format!("<td class=\"n\">{}</td>", html(&text))
}

/// One row a comparison.
pub fn answers(summary: &Summary, answers: &[Answer]) -> String {
    let mut table =
        String::from("<table><thead><tr><th>condition</th><th>answer</th></tr></thead><tbody>");
    for answer in answers {
        let _ = write!(
            table,
            "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
            condition_label(summary, answer.condition),
            html(&sentence(summary, answer)),
        );
    }
    table.push_str("</tbody></table>");
    table
}

/// One row an object.
pub fn objects(waterfall: &Waterfall) -> String {
    let mut table = String::from(
        "<div class=\"wide\"><table class=\"figures\"><thead><tr><th>object</th><th>kind</th>\
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
