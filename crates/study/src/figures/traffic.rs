//! Network traffic, second by second: loads aligned at their beginnings, and averaged.
//!
//! The store knows when each body began and ended to arrive, not when each of its bytes did: bytes are spread
//! evenly between. A load that is over counts as 0 in the seconds that others still take, and as complete where
//! a share is shown. Bytes in flight are taken from the recorded windows.

use std::collections::BTreeMap;

use record::{ObjectRecord, Series, WindowSample};

use super::data::{
    FigureData, PlotData, PlotError, PointRow, Selection, Shape, SingleLoad, selections,
};
use super::definition::{Flow, Over, Show};
use crate::judge::{ClauseError, spread};

/// Amounts by second.
type Amounts = Vec<f64>;

/// The means of all loads of each arm, second by second.
pub(super) fn seconds(data: &FigureData<'_>, show: &Show) -> Result<PlotData, PlotError> {
    let flow: Flow = show.of.parse().map_err(|_| ClauseError::Invalid(show.of.clone()))?;
    let mut rows = Vec::new();
    for which in selections(show) {
        let all = amounts(data, which, flow, show.over)?;
        if all.is_empty() {
            return Err(which.is_empty().into());
        }
        let panel = show.scope.panel(which.grid);
        let second = |(index, y): (usize, f64)| {
            PointRow::plain(&panel, &which.line.name, index as f64 + 1.0, y)
        };
        rows.extend(average(&all, flow).into_iter().enumerate().map(second));
    }
    let axes = ["time since the beginning (s)", flow.axis()];
    Ok(PlotData::new(Shape::Seconds, axes, &rows, PointRow::place))
}

/// The amounts of each visit or journey.
fn amounts(
    data: &FigureData<'_>,
    which: Selection<'_>,
    flow: Flow,
    over: Over,
) -> Result<Vec<Amounts>, PlotError> {
    let mut begun: BTreeMap<(i64, u64, u32), (u64, Amounts)> = BTreeMap::new();
    for load in data.loads(which)? {
        let key = load.visit.key;
        let visit = match over {
            Over::Visit => key.visit,
            Over::Journey => 0,
        };
        // Visits are in order: the first of a journey is its beginning.
        let (from, amounts) = begun
            .entry((key.run.0, key.journey, visit))
            .or_insert_with(|| (load.visit.started_at_ns, Vec::new()));
        if flow == Flow::InFlight {
            let series = data.series(load)?;
            if series.windows.is_empty() {
                return Err(ClauseError::TooFewLoads(flow.to_string()).into());
            }
            in_flight(&series, load, *from, amounts);
        } else {
            data.objects(load)?.iter().for_each(|object| flow.add(object, *from, amounts));
        }
        // The load's last second, though nothing may have happened in it.
        let seconds = (load.end_ns().saturating_sub(*from) as f64 / 1e9).ceil() as usize;
        amounts.resize(amounts.len().max(seconds), 0.0);
    }
    Ok(begun.into_values().map(|(_, amounts)| amounts).collect())
}

/// Adds kilobytes in flight, on average over each second. Each sample holds until the connection's next one.
fn in_flight(series: &Series, load: &SingleLoad, from_ns: u64, amounts: &mut Amounts) {
    let (start, end) = (from_ns.max(series.since_ns), load.end_ns());
    let since = |ns: u64| ns.saturating_sub(from_ns) as f64 / 1e9;
    for (index, sample) in series.windows.iter().enumerate() {
        let is_next = |next: &&WindowSample| next.connection == sample.connection;
        let next = series.windows.get(index + 1).filter(is_next);
        let from = sample.at_ns.max(start);
        let until = next.map_or(end, |next| next.at_ns.min(end)).max(from);
        let kilobytes = sample.in_flight_bytes as f64 / 1e3;
        spread(amounts, since(from), since(until), kilobytes * (since(until) - since(from)));
    }
}

/// The average over all, second by second.
fn average(all: &[Amounts], of: Flow) -> Vec<f64> {
    let seconds = all.iter().map(Vec::len).max().unwrap_or(0);
    let mut sums = vec![0.0; seconds];
    for amounts in all {
        let whole: f64 = amounts.iter().sum();
        let mut so_far = 0.0;
        for (second, sum) in sums.iter_mut().enumerate() {
            let amount = amounts.get(second).copied().unwrap_or(0.0);
            so_far += amount;
            *sum += match of {
                Flow::Throughput | Flow::Requests | Flow::InFlight => amount,
                Flow::Completeness if whole > 0.0 => 100.0 * so_far / whole,
                Flow::Completeness => 100.0,
            };
        }
    }
    sums.into_iter().map(|sum| sum / all.len() as f64).collect()
}

impl Flow {
    fn axis(self) -> &'static str {
        match self {
            Flow::Throughput => "mean throughput of bodies (kbit/s)",
            Flow::Requests => "requests sent in the second, mean",
            Flow::Completeness => "objects that have arrived, mean (%)",
            Flow::InFlight => "mean bytes in flight (kB)",
        }
    }

    /// Adds an object's amounts to the seconds since `from_ns`.
    fn add(self, object: &ObjectRecord, from_ns: u64, amounts: &mut Amounts) {
        let since = |ns: u64| ns.saturating_sub(from_ns) as f64 / 1e9;
        let phases = &object.phases;
        let last = since(object.discovered_at_ns + phases.total_ns());
        let first = last - phases.receive_ns as f64 / 1e9;
        let before = phases.blocked_ns + phases.dns_ns + phases.connect_ns + phases.tls_ns;
        let sent = since(object.discovered_at_ns + before);
        match self {
            Flow::Throughput => {
                spread(amounts, first.max(0.0), last, object.body_bytes as f64 * 8.0 / 1e3);
            }
            Flow::Requests => spread(amounts, sent, sent, 1.0),
            Flow::Completeness => spread(amounts, last, last, 1.0),
            Flow::InFlight => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_averaged_over_all_loads() {
        let all = [vec![8.0, 4.0], vec![4.0]];
        assert_eq!(average(&all, Flow::Throughput), [6.0, 2.0]);
        // The second load is complete after a second, the first by two thirds.
        let complete = average(&all, Flow::Completeness);
        assert!((complete[0] - (200.0 / 3.0 + 100.0) / 2.0).abs() < 1e-9);
        assert_eq!(complete[1], 100.0);
    }
}
