//! Selection and description of the connections to draw.

use std::collections::BTreeMap;

use record::{ConnectionRecord, VisitRecord};
use serde::Serialize;
use tcp::Trigger;
use units::Time;
use world::report::Endpoint;

use super::since_start;
use super::windows::{Row, thinned};
use crate::number::grouped;
use testbed::tour::ObservedVisit;

/// The protocol without TCP below it.
const QUIC: &str = "h3";

/// A connection whose windows are drawn.
#[derive(Clone, Debug, Serialize)]
pub struct Drawn {
    /// Index in the visit's connections.
    pub connection: usize,
    /// "#0 h2".
    pub name: String,
    /// The host.
    pub host: String,
    /// A summary of its traffic.
    pub carried: String,
}

impl Drawn {
    /// The visit's connection with this number.
    pub fn of(connection: usize, record: &ConnectionRecord) -> Drawn {
        let requests = match record.requests {
            1 => "1 request".to_owned(),
            n => format!("{} requests", grouped(n.into())),
        };
        Drawn {
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
) -> (Vec<Drawn>, Vec<Row>) {
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
    let drawn = chosen.iter().map(|index| Drawn::of(*index, &record.connections[*index]));
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
fn rows(record: &VisitRecord, connection: usize, server: &Endpoint) -> Vec<Row> {
    let ends = record.events.last().map_or(Time::NEVER, |last| Time::from_nanos(last.at_ns));
    let during = server.series.iter().filter(|sample| {
        sample.trigger != Trigger::Probe
            && sample.at.as_nanos() >= record.started_at_ns
            && sample.at <= ends
    });
    let row = |sample: &tcp::Sample| {
        Row::of(sample, since_start(record, sample.at.as_nanos()), connection)
    };
    thinned(during.map(row).collect())
}
