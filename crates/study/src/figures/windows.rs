//! Windows over time, one plot per load: congestion window, slow start threshold, segments in flight and
//! retransmissions, of the connection with the most samples; below them the states of the radio.
//!
//! Time before navigation start is negative: the change of a window since the previous visit is the effect of
//! idleness.

use std::collections::BTreeMap;

use record::{Series, WindowSample};
use serde::Serialize;

use super::drawn::{Drawn, Row, Shape, Undrawn};
use super::kind::Windows;
use super::single::{Chosen, chosen};
use super::sources::Evidence;
use crate::judge::Fault;
use report::mechanism::{self, level, thinned};

/// A state from `x` on: a number of segments until the next row of its line, or a radio's state until `until`.
/// Times are s since navigation start.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Stand {
    panel: String,
    line: &'static str,
    x: f64,
    /// Segments.
    y: Option<u32>,
    until: Option<f64>,
    /// Connectivity level of the radio.
    part: &'static str,
    /// The state's name.
    name: String,
}

impl Row for Stand {
    fn panel(&self) -> &str {
        &self.panel
    }

    fn line(&self) -> &str {
        self.line
    }
}

/// The figure.
///
/// # Errors
/// A store that cannot be read, or that has no windows of the loads.
pub fn drawn(evidence: &Evidence<'_>, show: &Windows) -> Result<Drawn, Undrawn> {
    let shown = chosen(evidence, &show.scope, &show.at, &show.lines)?;
    let (mut rows, mut remarks) = (Vec::new(), Vec::new());
    for one in &shown {
        let series = evidence.loads.series(one.load)?.unwrap_or_default();
        let (number, samples) =
            busiest(&series).ok_or_else(|| Fault::Nothing("windows".to_owned()))?;
        rows.extend(stands(one, &series, &samples));
        remarks.push(format!("{}, its connection {number}", one.identity()));
    }
    let mut drawn =
        Drawn::new(Shape::Windows, "time since navigation start (s)", "segments", &rows);
    drawn.remarks = remarks;
    Ok(drawn)
}

/// The connection with the most samples; the first in case of a tie.
fn busiest(series: &Series) -> Option<(u32, Vec<&WindowSample>)> {
    let mut by_connection: BTreeMap<u32, Vec<&WindowSample>> = BTreeMap::new();
    for sample in &series.windows {
        by_connection.entry(sample.connection).or_default().push(sample);
    }
    by_connection.into_iter().rev().max_by_key(|(_, samples)| samples.len())
}

fn stands(one: &Chosen<'_>, series: &Series, samples: &[&WindowSample]) -> Vec<Stand> {
    let start = one.load.visit.started_at_ns;
    let end = start + one.load.visit.plt_ns.unwrap_or(0);
    let since = |ns: u64| (ns as f64 - start as f64) / 1e9;
    let panel = match one.panel.as_str() {
        "" => one.arm.name.clone(),
        panel => format!("{panel}, {}", one.arm.name),
    };
    let stand = |line, x, y| {
        let (panel, name) = (panel.clone(), String::new());
        Stand { panel, line, x, y: Some(y), until: None, part: "", name }
    };
    let within: Vec<&&WindowSample> = samples.iter().filter(|it| it.at_ns <= end).collect();
    let mut rows = Vec::new();
    for row in thinned(within.iter().map(|sample| short(sample, since(sample.at_ns))).collect()) {
        let x = row.at_ms / 1e3;
        rows.push(stand("congestion window", x, row.cwnd));
        rows.extend(row.ssthresh.map(|it| stand("slow start threshold", x, it)));
        rows.push(stand("in the network", x, row.in_flight));
    }
    for pair in within.windows(2).filter(|pair| pair[1].retransmits > pair[0].retransmits) {
        let more = pair[1].retransmits - pair[0].retransmits;
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        rows.push(stand("sent again", since(pair[1].at_ns), more));
    }
    rows.extend(radio(series, end).into_iter().map(|(from, until, state)| Stand {
        panel: panel.clone(),
        line: "radio",
        x: since(from),
        y: None,
        until: Some(since(until)),
        part: level(state),
        name: state.to_owned(),
    }));
    rows
}

/// A sample in the form of the reports' window plots.
fn short(sample: &WindowSample, at_s: f64) -> mechanism::Row {
    mechanism::Row {
        at_ms: at_s * 1e3,
        connection: 0,
        cwnd: sample.cwnd,
        ssthresh: sample.ssthresh,
        in_flight: sample.in_flight,
        srtt_ms: None,
        rto_ms: 0.0,
    }
}

/// The states of the radio until the end, each with its beginning and end.
fn radio(series: &Series, end: u64) -> Vec<(u64, u64, &str)> {
    let steps = &series.radio;
    let Some(first) = steps.first() else { return Vec::new() };
    let begins = std::iter::once((series.since_ns, first.from.as_str()))
        .chain(steps.iter().map(|step| (step.at_ns, step.to.as_str())));
    let ends = steps.iter().map(|step| step.at_ns).chain([end]);
    let spans = begins.zip(ends).map(|((from, state), to)| (from, to.min(end), state));
    spans.filter(|(from, to, _)| from < to).collect()
}

#[cfg(test)]
mod tests {
    use record::RadioStep;

    use super::*;

    #[test]
    fn a_radios_states_fill_the_time() {
        let step = |at_ns, from: &str, to: &str| {
            let (from, to) = (from.to_owned(), to.to_owned());
            RadioStep { at_ns, from, to, ..RadioStep::default() }
        };
        let radio_steps = vec![step(10, "idle", "promotion"), step(30, "promotion", "DCH")];
        let mut series = Series { since_ns: 5, radio: radio_steps, ..Series::default() };
        let spans = [(5, 10, "idle"), (10, 30, "promotion"), (30, 50, "DCH")];
        assert_eq!(radio(&series, 50), spans);
        assert_eq!(radio(&series, 20), [(5, 10, "idle"), (10, 20, "promotion")]);
        series.radio.clear();
        assert_eq!(radio(&series, 50), []);
    }

    #[test]
    fn the_first_of_the_busiest_connections_is_shown() {
        let of = |connection| WindowSample { connection, ..WindowSample::default() };
        let series = Series { windows: [1, 2, 2, 3, 3].map(of).to_vec(), ..Series::default() };
        assert_eq!(busiest(&series).map(|(number, samples)| (number, samples.len())), Some((2, 2)));
        assert!(busiest(&Series::default()).is_none());
    }
}
