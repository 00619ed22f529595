//! Sums over a visit's requests and connections. A store keeps them where it keeps nothing else of a visit.

use crate::{EarlyMetrics, VisitRecord};

/// Sums over a visit's requests and connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisitFigures {
    /// Objects requested from a server.
    pub requests: u64,
    /// Objects that did not arrive.
    pub requests_failed: u64,
    /// Connections opened or used.
    pub connections: u64,
    /// Connections that flow control held back for over 1 % of their busy time.
    pub connections_flow_limited: u64,
    /// Bytes of bodies, after transfer decoding.
    pub body_bytes: u64,
    /// Retransmitted segments in both directions; `None` unless known for every connection.
    pub retransmits: Option<u64>,
    /// The first contentful paint, or the estimated first render if nothing paints.
    pub first_render_ns: Option<u64>,
    /// The mean arrival of a byte; `None` if nothing arrived.
    pub byte_index_ns: Option<u64>,
}

impl VisitFigures {
    /// The figures of a record with all its details.
    pub fn of(record: &VisitRecord) -> VisitFigures {
        let (objects, connections) = (&record.objects, &record.connections);
        let byte_index = EarlyMetrics::of(record).map(|early| early.byte_index.as_nanos());
        VisitFigures {
            requests: objects.iter().filter(|it| it.protocol != "cache").count() as u64,
            requests_failed: objects.iter().filter(|it| it.error.is_some()).count() as u64,
            connections: connections.len() as u64,
            connections_flow_limited: connections.iter().filter(|it| it.is_flow_limited()).count()
                as u64,
            body_bytes: objects.iter().map(|it| it.body_bytes).sum(),
            retransmits: record.retransmits(),
            first_render_ns: record.first_render_ns(),
            byte_index_ns: byte_index.map(|ns| u64::try_from(ns).unwrap_or(u64::MAX)),
        }
    }
}
