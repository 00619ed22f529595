//! Network traffic, second by second: loads aligned at their beginnings, and averaged.
//!
//! The store knows when each body began and ended to arrive, not when each of its bytes did: bytes are spread
//! evenly between. A load that is over counts as 0 in the seconds that others still take, and as complete where
//! a share is shown. Bytes in flight are taken from the recorded windows.

use std::collections::BTreeMap;

use record::{ObjectRecord, Series};
use serde::Serialize;

use super::drawn::{Drawn, Shape, Undrawn, row};
use super::kind::{Flow, Over, Seconds};
use super::loads::Load;
use super::sources::{Evidence, Which};
use crate::judge::{Fault, spread, stood};

/// A second of a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Second {
    panel: String,
    line: String,
    /// Its end, in s since the beginning.
    x: f64,
    y: f64,
    low: Option<f64>,
    high: Option<f64>,
}

row!(Second);

/// Amounts by second since the beginning.
type Amounts = Vec<f64>;

/// The figure.
///
/// # Errors
/// A store that cannot be read.
pub fn drawn(evidence: &Evidence<'_>, show: &Seconds) -> Result<Drawn, Undrawn> {
    let mut rows = Vec::new();
    let several = show.scope.on.len() > 1;
    for grid in &show.scope.on {
        for arm in &show.lines {
            let which = Which { arm: &arm.arm, grid, narrowed: &show.scope.filter };
            evidence.grid(which)?;
            let all = amounts(evidence, which, show)?;
            if all.is_empty() {
                let (arm, grid) = (which.arm.to_owned(), which.grid.to_owned());
                return Err(Fault::NoLoads { arm, grid }.into());
            }
            let panel = if several { show.scope.called(grid) } else { String::new() };
            let second = |(index, y): (usize, f64)| Second {
                panel: panel.clone(),
                line: arm.name.clone(),
                x: index as f64 + 1.0,
                y,
                low: None,
                high: None,
            };
            rows.extend(average(&all, show.of).into_iter().enumerate().map(second));
        }
    }
    Ok(Drawn::new(Shape::Seconds, "time since the beginning (s)", show.of.axis(), &rows))
}

/// The amounts of each load, or of each journey.
fn amounts(
    evidence: &Evidence<'_>,
    which: Which<'_>,
    show: &Seconds,
) -> Result<Vec<Amounts>, Undrawn> {
    let mut begun: BTreeMap<(i64, u64, u32), (u64, Amounts)> = BTreeMap::new();
    for load in evidence.loads.all(|facts| evidence.is_meant(facts, which)) {
        let key = load.visit.key;
        let visit = match show.over {
            Over::Visit => key.visit,
            Over::Journey => 0,
        };
        // Visits are in order: the first of a journey is its beginning.
        let (from, amounts) = begun
            .entry((key.run.0, key.journey, visit))
            .or_insert_with(|| (load.visit.started_at_ns, Vec::new()));
        if show.of == Flow::InFlight {
            let series = evidence.loads.series(load)?.filter(|series| !series.windows.is_empty());
            let series = series.ok_or_else(|| Fault::Nothing(show.of.to_string()))?;
            in_flight(&series, load, *from, amounts);
        } else {
            for object in evidence.loads.objects(load)? {
                show.of.add(&object, *from, amounts);
            }
        }
        extend_to_end(load, *from, amounts);
    }
    Ok(begun.into_values().map(|(_, amounts)| amounts).collect())
}

/// Adds kilobytes times seconds, since `from_ns`, until the load event.
fn in_flight(series: &Series, load: &Load, from_ns: u64, amounts: &mut Amounts) {
    let end = load.visit.started_at_ns + load.visit.plt_ns.unwrap_or(0);
    for (sample, from, until) in stood(series, (from_ns.max(series.since_ns), end)) {
        let since = |ns: u64| ns.saturating_sub(from_ns) as f64 / 1e9;
        let kilobytes = sample.in_flight_bytes as f64 / 1e3;
        spread(amounts, since(from), since(until), kilobytes * (since(until) - since(from)));
    }
}

/// Extends the amounts to the last second of a load, even if nothing crossed in it.
fn extend_to_end(load: &Load, from_ns: u64, amounts: &mut Amounts) {
    let plt = load.visit.plt_ns.unwrap_or(0);
    let end = (load.visit.started_at_ns + plt).saturating_sub(from_ns) as f64 / 1e9;
    let seconds = end.ceil() as usize;
    if amounts.len() < seconds {
        amounts.resize(seconds, 0.0);
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
