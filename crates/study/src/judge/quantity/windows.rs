//! Servers' data in flight, and the windows that limited it.
//!
//! Each sample is taken to hold until the next one.

use std::collections::BTreeMap;

use record::{Series, WindowSample};

use super::{Load, seconds};

/// Fraction of its previous value at or below which a threshold counts as dropped.
const DROPPED_TO: f64 = 0.7;

/// The load's time: from navigation start to the load event.
fn span(load: Load<'_>) -> Option<(u64, u64)> {
    let start = load.visit.started_at_ns;
    Some((start, start + load.visit.plt_ns?))
}

/// Samples, with the time that each holds within the load.
fn stays(series: &Series, span: (u64, u64)) -> impl Iterator<Item = (&WindowSample, u64)> {
    stood(series, span).map(|(sample, from, until)| (sample, until - from))
}

/// Samples, with beginning and end of the time that each holds, within the span.
pub fn stood(
    series: &Series,
    (start, end): (u64, u64),
) -> impl Iterator<Item = (&WindowSample, u64, u64)> {
    series.windows.iter().enumerate().map(move |(index, sample)| {
        let next = series.windows.get(index + 1);
        let next = next.filter(|next| next.connection == sample.connection);
        let until = next.map_or(end, |next| next.at_ns.min(end));
        let from = sample.at_ns.max(start);
        (sample, from, until.max(from))
    })
}

/// The mean of the bytes in flight over the load, all connections together.
pub(super) fn in_flight(load: Load<'_>) -> Option<f64> {
    let span = span(load)?;
    let stays = stays(recorded(load)?, span);
    let area: f64 = stays.map(|(sample, ns)| sample.in_flight_bytes as f64 * ns as f64).sum();
    (span.1 > span.0).then(|| area / (span.1 - span.0) as f64)
}

/// Time at which half of the maximum bytes in flight were in flight, in s from navigation start.
pub(super) fn half_of_in_flight(load: Load<'_>) -> Option<f64> {
    let (start, end) = span(load)?;
    let mut samples: Vec<&WindowSample> = recorded(load)?.windows.iter().collect();
    samples.sort_by_key(|sample| sample.at_ns);
    let mut by_connection: BTreeMap<u32, u64> = BTreeMap::new();
    let mut sums: Vec<(u64, u64)> = Vec::new();
    for sample in samples.into_iter().filter(|sample| sample.at_ns <= end) {
        by_connection.insert(sample.connection, sample.in_flight_bytes);
        sums.push((sample.at_ns, by_connection.values().sum()));
    }
    sums.retain(|(at, _)| *at >= start);
    let most = sums.iter().map(|(_, sum)| *sum).max()?;
    let (at, _) = sums.into_iter().find(|(_, sum)| 2 * *sum >= most)?;
    (most > 0).then(|| seconds(at - start))
}

/// The share of the busy time, in per cent, in which a condition holds.
fn filled(load: Load<'_>, is_so: impl Fn(&WindowSample) -> bool) -> Option<f64> {
    let busy = stays(recorded(load)?, span(load)?)
        .filter(|(sample, _)| sample.in_flight > 0 || sample.unsent_bytes > 0);
    let (mut all, mut so) = (0, 0);
    for (sample, ns) in busy {
        all += ns;
        so += if is_so(sample) { ns } else { 0 };
    }
    (all > 0).then(|| 100.0 * so as f64 / all as f64)
}

/// The share of the busy time, in per cent, in which at least 0.8 windows were in flight.
pub(super) fn filled_mostly(load: Load<'_>) -> Option<f64> {
    filled(load, |sample| 5 * sample.in_flight >= 4 * sample.cwnd)
}

/// The share of the busy time, in per cent, in which more than the window was in flight.
pub(super) fn overfilled(load: Load<'_>) -> Option<f64> {
    filled(load, |sample| sample.in_flight > sample.cwnd)
}

/// Number of times that a slow start threshold fell by 30 % or more since the previous visit. An infinite one
/// does not count.
pub(super) fn threshold_drops(load: Load<'_>) -> Option<f64> {
    let dropped = |pair: &&[WindowSample]| {
        let (Some(from), Some(to)) = (pair[0].ssthresh, pair[1].ssthresh) else { return false };
        pair[0].connection == pair[1].connection && f64::from(to) <= DROPPED_TO * f64::from(from)
    };
    Some(recorded(load)?.windows.windows(2).filter(dropped).count() as f64)
}

/// The series, if it includes windows.
fn recorded(load: Load<'_>) -> Option<&Series> {
    load.series.filter(|series| !series.windows.is_empty())
}
