//! Energy of radios, cell by cell.

use std::fmt::Write;

use record::RadioRecord;

use super::cells::Cell;
use super::escape::html;
use super::number::{count, grouped};
use super::summary::Summary;
use statistics::Sample;

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
pub fn section(summary: &Summary) -> String {
    let rows: String = summary.cells.iter().filter_map(|cell| row(summary, cell)).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<section><h2>The radio</h2><div class=\"wide\"><table class=\"figures plain\"><thead><tr><th>cell</th>\
         <th class=\"n\">visit<br>J</th><th class=\"n\">its tail<br>J</th><th class=\"n\">promotions</th>\
         <th class=\"n\">s in each state</th></tr></thead><tbody>{rows}</tbody></table></div>\
         <p class=\"small\">Medians over the loads. The visit: from navigation start to its end. The tail: what the radio \
         spends after that until it has come to rest, if nothing else is sent.</p></section>\n"
    )
}

fn row(summary: &Summary, cell: &Cell) -> Option<String> {
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
