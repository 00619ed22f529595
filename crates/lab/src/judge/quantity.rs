//! What is measured of a load: named queries over the store's rows.

use record::{ConnectionRecord, ObjectRecord};

use crate::scenario::choice;
use crate::store::VisitRow;

choice! {
    /// A number that a load has. Times are in seconds, sizes in bytes.
    pub enum Quantity, "quantity" {
        /// The page load time; a load that failed has none.
        Plt = "plt",
        /// The document's first byte.
        Ttfb = "ttfb",
        /// Load time over its physical floor.
        Excess = "over_floor",
        /// Whether the load failed: 100 or 0, so that a mean is a share in per cent.
        Failed = "failed",
        /// Requests that were sent.
        Requests = "requests",
        /// Connections that were opened.
        Connections = "connections",
        /// Bytes of bodies.
        BodyBytes = "body_bytes",
        /// Bytes on the wire towards the client, headers of every layer included.
        BytesDown = "bytes_down",
        /// The other way.
        BytesUp = "bytes_up",
        /// Segments that were sent again, both ways.
        Retransmits = "retransmits",
        /// Average throughput in kbit/s: bytes towards the client over the load time.
        Throughput = "throughput",
        /// Objects that arrived in a second of the load.
        ObjectRate = "object_rate",
        /// From the first connection's SYN until it may carry a request, TLS included.
        SetUp = "set_up",
        /// Mean time of an object from its discovery to its last byte.
        ObjectTime = "object_time",
        /// Median time of an object before its request: blocked, name, connection, TLS.
        Init = "init",
        /// Median time of an object from its request to its first byte.
        Wait = "wait",
        /// Median time of an object from its first byte to its last.
        Receive = "receive",
        /// Median of before the request and until the first byte together.
        InitAndWait = "init_and_wait",
        /// The largest share of an object's time, in per cent, that handing over its request took.
        SendShare = "send_share",
        /// The 75th percentile of objects' time blocked.
        Blocked75 = "blocked_p75",
        /// The share of objects, in per cent, that were blocked for less than 50 ms.
        BlockedBriefly = "blocked_below_50ms",
        /// Requests under way at a time, at most.
        Concurrency = "concurrency",
        /// By when nine tenths of the requests were sent, from the end of the document.
        RequestedAfterDocument = "requested_after_document",
        /// By when half of the objects had arrived.
        HalfOfObjects = "half_of_objects",
    }
    not_yet {}
}

/// A load as it lies in the store.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// The visit's own row.
    pub visit: &'a VisitRow,
    /// Its objects.
    pub objects: &'a [ObjectRecord],
    /// Its connections.
    pub connections: &'a [ConnectionRecord],
}

impl Quantity {
    /// Whether it takes more than the visit's own row.
    pub fn needs_objects(self) -> bool {
        use Quantity::*;
        !matches!(
            self,
            Plt | Ttfb
                | Excess
                | Failed
                | Requests
                | Connections
                | BodyBytes
                | BytesDown
                | BytesUp
                | Retransmits
                | Throughput
        )
    }

    /// Its value for a load; none if the load has no such thing.
    pub fn of(self, load: Load<'_>) -> Option<f64> {
        let Load { visit, objects, connections } = load;
        let plt = visit.plt_ns.map(seconds);
        match self {
            Quantity::Plt => plt,
            Quantity::Ttfb => visit.ttfb_ns.map(seconds),
            Quantity::Excess => Some(plt? / seconds(visit.floors?.graph_ns)),
            Quantity::Failed => Some(if plt.is_none() { 100.0 } else { 0.0 }),
            Quantity::Requests => Some(visit.requests as f64),
            Quantity::Connections => Some(visit.connections as f64),
            Quantity::BodyBytes => Some(visit.body_bytes as f64),
            Quantity::BytesDown => Some(visit.wire_bytes_down as f64),
            Quantity::BytesUp => Some(visit.wire_bytes_up as f64),
            Quantity::Retransmits => Some(visit.retransmits as f64),
            Quantity::Throughput => Some(visit.wire_bytes_down as f64 * 8.0 / 1e3 / plt?),
            Quantity::ObjectRate => Some(arrived(objects).count() as f64 / plt?),
            Quantity::SetUp => set_up(connections),
            Quantity::ObjectTime => mean(arrived(objects).map(|o| o.phases.total_ns())),
            Quantity::Init => middle(objects, 0.5, before_request),
            Quantity::Wait => middle(objects, 0.5, |o| o.phases.wait_ns),
            Quantity::Receive => middle(objects, 0.5, |o| o.phases.receive_ns),
            Quantity::InitAndWait => middle(objects, 0.5, |o| before_request(o) + o.phases.wait_ns),
            Quantity::SendShare => arrived(objects).map(send_share).reduce(f64::max),
            Quantity::Blocked75 => middle(objects, 0.75, |o| o.phases.blocked_ns),
            Quantity::BlockedBriefly => blocked_briefly(objects),
            Quantity::Concurrency => concurrency(objects),
            Quantity::RequestedAfterDocument => requested_after_document(objects),
            Quantity::HalfOfObjects => half_of_objects(objects, visit.started_at_ns),
        }
    }
}

const BRIEFLY_NS: u64 = 50_000_000;

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn arrived(objects: &[ObjectRecord]) -> impl Iterator<Item = &ObjectRecord> {
    objects.iter().filter(|object| object.error.is_none() && object.protocol != "cache")
}

fn before_request(object: &ObjectRecord) -> u64 {
    let phases = object.phases;
    phases.blocked_ns + phases.dns_ns + phases.connect_ns + phases.tls_ns
}

/// When the request left the client, and when its last byte came.
fn span(object: &ObjectRecord) -> (u64, u64) {
    let from = object.discovered_at_ns + before_request(object);
    (from, object.discovered_at_ns + object.phases.total_ns())
}

fn mean(values: impl Iterator<Item = u64>) -> Option<f64> {
    let (mut sum, mut count) = (0, 0_u64);
    values.for_each(|ns| {
        sum += ns;
        count += 1;
    });
    (count > 0).then(|| seconds(sum) / count as f64)
}

/// A percentile over the objects that arrived, type 7.
fn middle(objects: &[ObjectRecord], q: f64, of: impl Fn(&ObjectRecord) -> u64) -> Option<f64> {
    let values = arrived(objects).map(|object| seconds(of(object)));
    crate::statistics::Sample::new(values).map(|sample| sample.quantile(q))
}

fn send_share(object: &ObjectRecord) -> f64 {
    100.0 * object.phases.send_ns as f64 / (object.phases.total_ns() as f64).max(1.0)
}

fn blocked_briefly(objects: &[ObjectRecord]) -> Option<f64> {
    let all = arrived(objects).count();
    let briefly = arrived(objects).filter(|object| object.phases.blocked_ns < BRIEFLY_NS).count();
    (all > 0).then(|| 100.0 * briefly as f64 / all as f64)
}

fn set_up(connections: &[ConnectionRecord]) -> Option<f64> {
    let first = connections.iter().min_by_key(|connection| connection.opened_at_ns)?;
    let ready = first.secured_at_ns.or(first.connected_at_ns)?;
    Some(seconds(ready.saturating_sub(first.opened_at_ns)))
}

/// The most requests between whose leaving and last byte one moment lies; at one moment ends come first.
fn concurrency(objects: &[ObjectRecord]) -> Option<f64> {
    let mut changes: Vec<(u64, i32)> =
        arrived(objects).map(span).flat_map(|(from, to)| [(from, 1), (to, -1)]).collect();
    changes.sort_unstable();
    let mut under_way = 0;
    let counts = changes.into_iter().map(|(_, change)| {
        under_way += change;
        under_way
    });
    counts.max().map(f64::from)
}

fn requested_after_document(objects: &[ObjectRecord]) -> Option<f64> {
    let (document, others) = objects.split_first()?;
    let end = span(document).1;
    let sent = arrived(others).map(|object| seconds(span(object).0.saturating_sub(end)));
    crate::statistics::Sample::new(sent).map(|sample| sample.quantile(0.9))
}

fn half_of_objects(objects: &[ObjectRecord], started_at_ns: u64) -> Option<f64> {
    let ends = arrived(objects).map(|object| seconds(span(object).1.saturating_sub(started_at_ns)));
    crate::statistics::Sample::new(ends).map(|sample| sample.median())
}

#[cfg(test)]
mod tests {
    use record::Phases;

    use super::*;
    use crate::toy;

    /// A load and an object of it.
    fn any() -> (VisitRow, ObjectRecord) {
        let filled = toy::filled_store(&toy::plan(1));
        let visit = filled.store.visits(filled.run).unwrap().remove(0);
        let object = filled.store.objects(visit.key).unwrap().remove(0);
        (visit, object)
    }

    fn object(discovered_ms: u64, blocked_ms: u64, wait_ms: u64, receive_ms: u64) -> ObjectRecord {
        let ms = |n: u64| n * 1_000_000;
        let (_, mut object) = any();
        object.discovered_at_ns = ms(discovered_ms);
        object.phases = Phases {
            blocked_ns: ms(blocked_ms),
            wait_ns: ms(wait_ms),
            receive_ns: ms(receive_ms),
            ..Phases::default()
        };
        object
    }

    fn of(quantity: Quantity, objects: &[ObjectRecord]) -> f64 {
        let (visit, _) = any();
        quantity.of(Load { visit: &visit, objects, connections: &[] }).unwrap()
    }

    #[test]
    fn objects_by_hand() {
        // A document from 0 to 100 ms, then two requests, at 100 and at 160 ms, that overlap.
        let objects = [object(0, 0, 80, 20), object(100, 0, 50, 100), object(100, 60, 40, 10)];
        let near = |quantity, expected: f64| {
            let value = of(quantity, &objects);
            assert!((value - expected).abs() < 1e-9, "{quantity}: {value}");
        };
        near(Quantity::Wait, 0.05);
        near(Quantity::Receive, 0.02);
        near(Quantity::InitAndWait, 0.08);
        near(Quantity::ObjectTime, 0.36 / 3.0);
        near(Quantity::Concurrency, 2.0);
        near(Quantity::BlockedBriefly, 200.0 / 3.0);
        near(Quantity::RequestedAfterDocument, 0.054);
        near(Quantity::HalfOfObjects, 0.21);
    }

    #[test]
    fn a_load_that_failed_has_no_time() {
        let (mut visit, _) = any();
        let of = |quantity: Quantity, visit: &VisitRow| {
            quantity.of(Load { visit, objects: &[], connections: &[] })
        };
        assert_eq!(of(Quantity::Failed, &visit), Some(0.0));
        assert_eq!(of(Quantity::SetUp, &visit), None);
        visit.plt_ns = None;
        assert_eq!(of(Quantity::Plt, &visit), None);
        assert_eq!(of(Quantity::Throughput, &visit), None);
        assert_eq!(of(Quantity::Failed, &visit), Some(100.0));
    }
}
