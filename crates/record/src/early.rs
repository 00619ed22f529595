//! Early metrics: time until a page has *something*, computed from the graph's arrivals.
//!
//! ByteIndex and ObjectIndex (Bocchi, De Cicco, Rossi, "Measuring the quality of experience of web users", 2016)
//! are the area above the curve of completed bytes or objects over time: the mean arrival, by bytes or by objects.
//! They are models of a person's perception, not measurements: nothing is painted here. The first render is a proxy
//! in the same sense: the document has begun to arrive, and everything that blocks its first paint
//! ([`ObjectRecord::blocks_render`]) has been processed. The load event waits for all of that, so the first render
//! never comes after it.

use std::time::Duration;

use crate::{ObjectRecord, VisitRecord};

/// The early metrics of one visit, each from navigation start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyMetrics {
    /// The mean arrival of a byte.
    pub byte_index: Duration,
    /// The mean arrival of an object.
    pub object_index: Duration,
    /// Time at which the page could first be rendered.
    pub first_render: Duration,
}

impl EarlyMetrics {
    /// The metrics of `visit`; `None` if nothing arrived.
    pub fn of(visit: &VisitRecord) -> Option<EarlyMetrics> {
        let arrived: Vec<&ObjectRecord> =
            visit.objects.iter().filter(|object| object.error.is_none()).collect();
        let first_render = Duration::from_nanos(visit.estimated_render_ns()?);
        let start = visit.started_at_ns;
        let arrival = |object: &ObjectRecord| {
            u128::from((object.discovered_at_ns + object.phases.total_ns()).saturating_sub(start))
        };
        let mean = |weight: &dyn Fn(&ObjectRecord) -> u128| {
            let total: u128 = arrived.iter().map(|object| weight(object)).sum();
            let sum: u128 = arrived.iter().map(|object| weight(object) * arrival(object)).sum();
            span(sum / total.max(1))
        };
        Some(EarlyMetrics {
            byte_index: mean(&|object| u128::from(object.body_bytes)),
            object_index: mean(&|_| 1),
            first_render,
        })
    }
}

fn span(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use crate::{Phases, VisitOutcome};

    use super::*;

    fn object(kind: &str, bytes: u64, arrives_ms: u64) -> ObjectRecord {
        ObjectRecord {
            object: 0,
            url: String::new(),
            method: "GET".to_owned(),
            kind: kind.to_owned(),
            status: 200,
            protocol: "h1".to_owned(),
            connection: None,
            reused: false,
            discovered_at_ns: 1_000_000_000,
            revealed_by: None,
            revealed_at_ns: None,
            phases: Phases { receive_ns: arrives_ms * 1_000_000, ..Phases::default() },
            done_at_ns: 1_000_000_000 + arrives_ms * 1_000_000,
            request_header_bytes: 0,
            request_body_bytes: 0,
            response_header_bytes: 0,
            body_bytes: bytes,
            priority: "Low".to_owned(),
            blocks_render: false,
            error: None,
        }
    }

    fn visit(objects: Vec<ObjectRecord>) -> VisitRecord {
        VisitRecord {
            index: 0,
            view: "cold".to_owned(),
            page: None,
            started_at_ns: 1_000_000_000,
            outcome: VisitOutcome::Loaded { plt_ns: 500_000_000 },
            ttfb_ns: None,
            objects,
            connections: Vec::new(),
            links: Vec::new(),
            events: Vec::new(),
            wire_bytes_down: 0,
            wire_bytes_up: 0,
            queue_drops: 0,
            losses: 0,
            trace_digest: None,
            emulation: None,
            paint: None,
            radio: None,
            series: None,
            activity: crate::NetworkActivity::default(),
        }
    }

    #[test]
    fn the_indices_are_mean_arrivals() {
        let objects = [("Document", 1000, 100), ("Image", 3000, 300), ("Image", 0, 500)];
        let objects = objects.map(|(kind, bytes, arrives)| object(kind, bytes, arrives));
        let early = EarlyMetrics::of(&visit(objects.to_vec())).unwrap();
        assert_eq!(early.byte_index, Duration::from_millis(250));
        assert_eq!(early.object_index, Duration::from_millis(300));
    }

    #[test]
    fn the_first_render_waits_for_what_blocks_it_and_for_nothing_else() {
        let render = |objects: Vec<ObjectRecord>| {
            EarlyMetrics::of(&visit(objects)).unwrap().first_render.as_millis()
        };
        let mut document = object("Document", 1000, 40);
        document.phases.wait_ns = 60_000_000;
        let late = object("Stylesheet", 10, 400);
        let script = ObjectRecord { priority: "High".to_owned(), ..object("Script", 10, 450) };
        let unblocked = vec![document.clone(), late.clone(), script.clone()];
        assert_eq!(render(unblocked), 60, "the document's first byte");
        let blocking = ObjectRecord { blocks_render: true, ..object("Stylesheet", 10, 220) };
        assert_eq!(render(vec![document.clone(), blocking.clone(), late, script]), 220);
        let failed = ObjectRecord { error: Some("reset".to_owned()), ..blocking };
        assert_eq!(render(vec![document, failed]), 60);
    }
}
