//! Single loads over time: requests and phases of objects, and windows.
//!
//! Windows are shown one plot per load: congestion window, slow start threshold, segments in flight and
//! retransmissions, of the connection with the most samples; below them the states of the radio. Time before
//! navigation start is negative: the change of a window since the previous visit is the effect of idleness.

use std::collections::BTreeMap;

use record::{EventKind, ObjectRecord, Proxied, Series, WindowSample};
use serde::Serialize;

use super::data::{ChosenLoad, FigureData, PlotData, PlotError, PointRow, Shape};
use super::definition::{Show, Viewpoint};
use crate::judge::ClauseError;
use report::mechanism::{self, level, thinned};

/// The axis of time.
const TIME: &str = "time since navigation start (s)";

/// A phase of an object.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct PhaseRow {
    panel: String,
    line: String,
    row: usize,
    name: String,
    part: &'static str,
    from: f64,
    to: f64,
}

/// The requests of single loads, or the phases of their objects.
pub(super) fn timelines(data: &FigureData<'_>, show: &Show) -> Result<PlotData, PlotError> {
    let of = show.of.parse().map_err(|_| ClauseError::Invalid(show.of.clone()))?;
    let shown = data.median_loads(show)?;
    let (mut requested, mut phases) = (Vec::new(), Vec::new());
    for one in &shown {
        match of {
            Viewpoint::Requests => requested.extend(requests(one, &data.objects(one.load)?)),
            Viewpoint::Client => phases.extend(at_client(one, &data.objects(one.load)?)),
            Viewpoint::Proxy => phases.extend(at_proxy(one, &data.events(one.load)?)),
        }
    }
    let mut plot = match of {
        Viewpoint::Requests => {
            let axes = ["requests, in their order", "sent (s)"];
            PlotData::new(Shape::Lines, axes, &requested, PointRow::place)
        }
        _ => PlotData::new(Shape::Timelines, [TIME, ""], &phases, |it| [&it.panel, &it.line]),
    };
    plot.remarks = shown.iter().map(ChosenLoad::identity).collect();
    Ok(plot)
}

/// The time at which an object was requested.
fn sent(object: &ObjectRecord) -> u64 {
    let phases = &object.phases;
    let before = phases.blocked_ns + phases.dns_ns + phases.connect_ns + phases.tls_ns;
    object.discovered_at_ns + before
}

fn requests(shown: &ChosenLoad<'_>, objects: &[ObjectRecord]) -> Vec<PointRow> {
    let mut times: Vec<u64> = objects.iter().map(sent).collect();
    times.sort_unstable();
    let request = |(index, ns): (usize, u64)| {
        PointRow::plain(&shown.panel, shown.name, index as f64 + 1.0, shown.load.since(ns))
    };
    times.into_iter().enumerate().map(request).collect()
}

/// The rows of an object: consecutive parts that begin at `from`, each with its end.
fn parts<const N: usize>(
    (panel, line): (&str, &str),
    (row, name): (usize, &str),
    mut from: f64,
    until: [(&'static str, f64); N],
) -> Vec<PhaseRow> {
    let mut rows = Vec::new();
    for (part, to) in until {
        if to > from {
            let (panel, line, name) = (panel.to_owned(), line.to_owned(), name.to_owned());
            rows.push(PhaseRow { panel, line, row, name, part, from, to });
        }
        from = from.max(to);
    }
    rows
}

fn at_client(shown: &ChosenLoad<'_>, objects: &[ObjectRecord]) -> Vec<PhaseRow> {
    let load = shown.load;
    let mut sorted: Vec<&ObjectRecord> = objects.iter().collect();
    sorted.sort_by_key(|object| (sent(object), object.object));
    let of_object = |(index, object): (usize, &ObjectRecord)| {
        let phases = &object.phases;
        let (asked, handed) = (sent(object), sent(object) + phases.send_ns);
        let until = [
            ("init", load.since(asked)),
            ("send", load.since(handed)),
            ("wait", load.since(handed + phases.wait_ns)),
            ("receive", load.since(handed + phases.wait_ns + phases.receive_ns)),
        ];
        let from = load.since(object.discovered_at_ns);
        parts((&shown.panel, shown.name), (index + 1, object.url.as_str()), from, until)
    };
    sorted.into_iter().enumerate().flat_map(of_object).collect()
}

fn at_proxy(shown: &ChosenLoad<'_>, events: &[record::TcpEvent]) -> Vec<PhaseRow> {
    let load = shown.load;
    let proxied = events.iter().filter(|event| event.kind == EventKind::Proxied);
    let mut asked: Vec<Proxied> =
        proxied.filter_map(|event| Proxied::read(event.at_ns, &event.detail)).collect();
    // Of several proxies, the one that the client talked to.
    asked.retain(|it| it.behind == 0);
    asked.sort_by_key(|it| it.asked_at_ns);
    let of_request = |(index, it): (usize, &Proxied)| {
        let (first, last) = (it.origin_first_ns?, it.origin_last_ns?);
        let until = [
            ("to the origin's first byte", load.since(first)),
            ("download", load.since(last)),
            ("to the client", load.since(it.client_last_ns?)),
        ];
        let from = load.since(it.asked_at_ns);
        Some(parts((&shown.panel, shown.name), (index + 1, it.url.as_str()), from, until))
    };
    asked.iter().enumerate().filter_map(of_request).flatten().collect()
}

/// A value of a window, or a state of the radio.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct WindowRow {
    panel: String,
    line: &'static str,
    x: f64,
    y: Option<u32>,
    until: Option<f64>,
    part: &'static str,
    name: String,
}

/// The windows of single loads.
pub(super) fn windows(data: &FigureData<'_>, show: &Show) -> Result<PlotData, PlotError> {
    let (mut rows, mut remarks) = (Vec::new(), Vec::new());
    for one in data.median_loads(show)? {
        let series = data.series(one.load)?;
        let (number, samples) =
            busiest(&series).ok_or_else(|| ClauseError::TooFewLoads("windows".to_owned()))?;
        rows.extend(window_rows(&one, &series, &samples));
        remarks.push(format!("{}, its connection {number}", one.identity()));
    }
    let mut plot =
        PlotData::new(Shape::Windows, [TIME, "segments"], &rows, |it| [&it.panel, it.line]);
    plot.remarks = remarks;
    Ok(plot)
}

/// The connection with the most samples; the first in case of a tie.
fn busiest(series: &Series) -> Option<(u32, Vec<&WindowSample>)> {
    let mut by_connection: BTreeMap<u32, Vec<&WindowSample>> = BTreeMap::new();
    for sample in &series.windows {
        by_connection.entry(sample.connection).or_default().push(sample);
    }
    by_connection.into_iter().rev().max_by_key(|(_, samples)| samples.len())
}

fn window_rows(one: &ChosenLoad<'_>, series: &Series, samples: &[&WindowSample]) -> Vec<WindowRow> {
    let start = one.load.visit.started_at_ns;
    let end = one.load.end_ns();
    let since = |ns: u64| (ns as f64 - start as f64) / 1e9;
    let panel = match one.panel.as_str() {
        "" => one.name.to_owned(),
        panel => format!("{panel}, {}", one.name),
    };
    let value = |line, x, y| {
        let (panel, name) = (panel.clone(), String::new());
        WindowRow { panel, line, x, y: Some(y), until: None, part: "", name }
    };
    let within: Vec<&&WindowSample> = samples.iter().filter(|it| it.at_ns <= end).collect();
    let mut rows = Vec::new();
    for row in thinned(within.iter().map(|sample| short(sample, since(sample.at_ns))).collect()) {
        let x = row.at_ms / 1e3;
        rows.push(value("congestion window", x, row.cwnd));
        rows.extend(row.ssthresh.map(|it| value("slow start threshold", x, it)));
        rows.push(value("in the network", x, row.in_flight));
    }
    for pair in within.windows(2).filter(|pair| pair[1].retransmits > pair[0].retransmits) {
        let more = pair[1].retransmits - pair[0].retransmits;
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        rows.push(value("sent again", since(pair[1].at_ns), more));
    }
    rows.extend(radio(series, end).into_iter().map(|(from, until, state)| WindowRow {
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
fn short(sample: &WindowSample, at_s: f64) -> mechanism::WindowState {
    mechanism::WindowState {
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
    fn parts_follow_each_other_and_empty_ones_are_left_out() {
        let until = [("a", 1.0), ("b", 1.0), ("c", 2.5)];
        let found = parts(("p", "l"), (3, "n"), 0.5, until);
        let spans: Vec<(&str, f64, f64)> =
            found.iter().map(|part| (part.part, part.from, part.to)).collect();
        assert_eq!(spans, [("a", 0.5, 1.0), ("c", 1.0, 2.5)]);
        assert_eq!((found[0].row, found[0].name.as_str()), (3, "n"));
    }

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
