//! The windows of connections over time, and the choice of the connections to draw.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use record::{ConnectionRecord, VisitRecord};
use serde::Serialize;
use tcp::{SenderSample, Trigger};
use testbed::tour::ObservedVisit;
use units::Time;
use world::report::Endpoint;

use super::{rounded, since_start};
use crate::number::grouped;

/// Maximum number of rows of a connection. With more samples, the extreme ones are kept.
pub const MOST_ROWS: usize = 1200;

/// Maximum number of rows kept per bin: its first and last, and the extremes of the drawn values.
const KEPT_A_BIN: usize = 8;

/// State of a connection from an instant on, until the next row of the same connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WindowState {
    /// Beginning, in milliseconds since navigation start.
    pub at_ms: f64,
    /// Index of the connection.
    pub connection: usize,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow start threshold, segments; `None` before the first congestion.
    pub ssthresh: Option<u32>,
    /// Segments believed to be in flight.
    pub in_flight: u32,
    /// Smoothed round trip.
    pub srtt_ms: Option<f64>,
    /// Retransmission timeout, back-off included.
    pub rto_ms: f64,
}

impl WindowState {
    /// Row for a sample of the connection at `at_ms`.
    pub fn of(sample: &SenderSample, at_ms: f64, connection: usize) -> WindowState {
        let stats = &sample.stats;
        let ms = |span: Duration| rounded(span.as_secs_f64() * 1e3);
        WindowState {
            at_ms,
            connection,
            cwnd: stats.cwnd,
            ssthresh: stats.ssthresh,
            in_flight: stats.in_flight,
            srtt_ms: stats.srtt.map(ms),
            rto_ms: ms(stats.rto),
        }
    }

    /// True if nothing but the time differs.
    fn stands_as(&self, other: &WindowState) -> bool {
        *self == WindowState { at_ms: self.at_ms, ..other.clone() }
    }
}

/// Drops rows that repeat the previous state, and thins the rest to at most [`MOST_ROWS`] rows. No peak is
/// lost: rows are sorted into bins of time, each of which keeps its extremes.
pub fn thinned(mut rows: Vec<WindowState>) -> Vec<WindowState> {
    rows.dedup_by(|next, kept| next.stands_as(kept));
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return rows };
    if rows.len() <= MOST_ROWS {
        return rows;
    }
    let (from, span) = (first.at_ms, last.at_ms - first.at_ms);
    let bins = MOST_ROWS / KEPT_A_BIN;
    let bin =
        |row: &WindowState| (((row.at_ms - from) / span * bins as f64) as usize).min(bins - 1);
    let mut kept = BTreeSet::new();
    let mut begin = 0;
    for of_bin in rows.chunk_by(|one, next| bin(one) == bin(next)) {
        kept.extend(extremes(of_bin).map(|index| begin + index));
        begin += of_bin.len();
    }
    let mut index = 0..;
    rows.retain(|_| index.next().is_some_and(|index| kept.contains(&index)));
    rows
}

/// The indices of a bin's rows to keep; the bin must not be empty.
fn extremes(rows: &[WindowState]) -> impl Iterator<Item = usize> + '_ {
    let least = |key: fn(&WindowState) -> u64| (0..rows.len()).min_by_key(move |i| key(&rows[*i]));
    let most = |key: fn(&WindowState) -> u64| (0..rows.len()).max_by_key(move |i| key(&rows[*i]));
    let cwnd = |row: &WindowState| u64::from(row.cwnd);
    let in_flight = |row: &WindowState| u64::from(row.in_flight);
    let ssthresh = |row: &WindowState| row.ssthresh.map_or(u64::MAX, u64::from);
    let rto = |row: &WindowState| row.rto_ms as u64;
    let found = [
        Some(0),
        Some(rows.len() - 1),
        least(cwnd),
        most(cwnd),
        least(in_flight),
        most(in_flight),
        least(ssthresh),
        most(rto),
    ];
    found.into_iter().flatten()
}

// Selection and description of the connections to draw.

/// The protocol without TCP below it.
const QUIC: &str = "h3";

/// A connection whose windows are drawn.
#[derive(Clone, Debug, Serialize)]
pub struct DrawnConnection {
    /// Index in the visit's connections.
    pub connection: usize,
    /// "#0 h2".
    pub name: String,
    /// The host.
    pub host: String,
    /// A summary of its traffic.
    pub carried: String,
}

impl DrawnConnection {
    /// The visit's connection with this number.
    pub fn of(connection: usize, record: &ConnectionRecord) -> DrawnConnection {
        let requests = match record.requests {
            1 => "1 request".to_owned(),
            n => format!("{} requests", grouped(n.into())),
        };
        DrawnConnection {
            connection,
            name: format!("#{connection} {}", record.protocol),
            host: record.host.clone(),
            carried: format!("{requests}, {} KB", grouped(record.bytes_down.div_ceil(1000))),
        }
    }
}

/// The connections that carried most, with their windows.
pub fn busiest(
    record: &VisitRecord,
    visit: &ObservedVisit<'_>,
    most: usize,
) -> (Vec<DrawnConnection>, Vec<WindowState>) {
    let servers = servers(record, visit);
    let carried = |index: &usize| {
        let connection = &record.connections[*index];
        connection.bytes_down + connection.bytes_up
    };
    let mut chosen: Vec<usize> =
        (0..record.connections.len()).filter(|index| servers.contains_key(index)).collect();
    chosen.sort_by_key(|index| std::cmp::Reverse(carried(index)));
    chosen.truncate(most);
    chosen.sort_unstable();
    let drawn = chosen.iter().map(|index| DrawnConnection::of(*index, &record.connections[*index]));
    let rows = chosen.iter().flat_map(|index| rows(record, *index, servers[index]));
    (drawn.collect(), rows.collect())
}

/// The servers' ends of the record's TCP connections. The first connection to a host that the visit opened is
/// the first that the record has as opened to it, and so on; a connection that was kept from an earlier visit
/// is matched by its opening time.
fn servers<'a>(record: &VisitRecord, visit: &ObservedVisit<'a>) -> BTreeMap<usize, &'a Endpoint> {
    let ends = visit.connections();
    let is_new = |at: Time| visit.includes(at);
    let mut opened: BTreeMap<&str, Vec<Option<&Endpoint>>> = BTreeMap::new();
    for (client, server) in ends.iter().filter(|(client, _)| is_new(client.opened_at)) {
        opened.entry(visit.host(client.peer)).or_default().push(*server);
    }
    let mut opened: BTreeMap<&str, _> =
        opened.into_iter().map(|(host, ends)| (host, ends.into_iter())).collect();
    let kept = |connection: &ConnectionRecord| {
        let its = ends.iter().filter(|(client, _)| {
            !is_new(client.opened_at) && visit.host(client.peer) == connection.host
        });
        its.min_by_key(|(client, _)| client.opened_at.as_nanos().abs_diff(connection.opened_at_ns))
    };
    let connections = record.connections.iter().enumerate();
    let over_tcp = connections.filter(|(_, of)| of.protocol != QUIC);
    let server = over_tcp.filter_map(|(index, connection)| {
        let server = match is_new(Time::from_nanos(connection.opened_at_ns)) {
            true => opened.get_mut(connection.host.as_str())?.next()?,
            false => kept(connection)?.1,
        };
        Some((index, server?))
    });
    server.collect()
}

/// A connection's windows from navigation start to the visit's end. Samples of the kernel's tracepoint are left
/// out: they show the state before a segment, and no timeouts.
fn rows(record: &VisitRecord, connection: usize, server: &Endpoint) -> Vec<WindowState> {
    let ends = record.events.last().map_or(Time::NEVER, |last| Time::from_nanos(last.at_ns));
    let during = server.series.iter().filter(|sample| {
        sample.trigger != Trigger::Probe
            && sample.at.as_nanos() >= record.started_at_ns
            && sample.at <= ends
    });
    let row = |sample: &tcp::SenderSample| {
        WindowState::of(sample, since_start(record, sample.at.as_nanos()), connection)
    };
    thinned(during.map(row).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row(at_ms: f64, cwnd: u32, in_flight: u32) -> WindowState {
        let (ssthresh, srtt_ms) = (None, Some(50.0));
        WindowState { at_ms, connection: 0, cwnd, ssthresh, in_flight, srtt_ms, rto_ms: 250.0 }
    }

    #[test]
    fn what_says_nothing_new_is_left_out() {
        let rows = vec![row(0.0, 10, 1), row(1.0, 10, 1), row(2.0, 10, 2), row(3.0, 10, 1)];
        let times: Vec<f64> = thinned(rows).iter().map(|row| row.at_ms).collect();
        assert_eq!(times, [0.0, 2.0, 3.0]);
        assert_eq!(thinned(Vec::new()), []);
    }

    proptest! {
        #[test]
        fn no_peak_is_lost(values in prop::collection::vec((1..5000u32, 0..5000u32), 1..6000)) {
            let rows: Vec<WindowState> =
                (0..).zip(&values).map(|(at, (cwnd, flight))| row(f64::from(at), *cwnd, *flight)).collect();
            let thin = thinned(rows.clone());
            prop_assert!(thin.len() <= MOST_ROWS);
            prop_assert!(thin.windows(2).all(|two| two[0].at_ms < two[1].at_ms));
            prop_assert!(thin.iter().all(|row| rows.contains(row)));
            let highest = |rows: &[WindowState], of: fn(&WindowState) -> u32| rows.iter().map(of).max();
            let lowest = |rows: &[WindowState], of: fn(&WindowState) -> u32| rows.iter().map(of).min();
            for of in [|row: &WindowState| row.cwnd, |row: &WindowState| row.in_flight] {
                prop_assert_eq!(highest(&thin, of), highest(&rows, of));
                prop_assert_eq!(lowest(&thin, of), lowest(&rows, of));
            }
        }
    }
}
