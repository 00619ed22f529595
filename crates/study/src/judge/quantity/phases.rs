//! Phases of a load's objects: percentiles, and the times and concurrency of requests.

use record::ObjectRecord;

use super::{arrived, seconds, span};
use statistics::Sample;

/// Limit below which an object counts as blocked briefly.
const BRIEFLY_NS: u64 = 50_000_000;

/// A percentile over the objects that arrived, type 7.
pub(super) fn middle(
    objects: &[ObjectRecord],
    q: f64,
    of: impl Fn(&ObjectRecord) -> u64,
) -> Option<f64> {
    let values = arrived(objects).map(|object| seconds(of(object)));
    Sample::new(values).map(|sample| sample.quantile(q))
}

/// The largest share of an object's time, in per cent, that handing over its request took.
pub(super) fn send_share(objects: &[ObjectRecord]) -> Option<f64> {
    let share = |object: &ObjectRecord| {
        100.0 * object.phases.send_ns as f64 / (object.phases.total_ns() as f64).max(1.0)
    };
    arrived(objects).map(share).reduce(f64::max)
}

/// The share of objects, in per cent, that were blocked briefly.
pub(super) fn blocked_briefly(objects: &[ObjectRecord]) -> Option<f64> {
    let all = arrived(objects).count();
    let briefly = arrived(objects).filter(|object| object.phases.blocked_ns < BRIEFLY_NS).count();
    (all > 0).then(|| 100.0 * briefly as f64 / all as f64)
}

/// The maximum number of concurrent requests, each from leaving the client to its last byte; at equal times,
/// ends count before beginnings.
pub(super) fn concurrency(objects: &[ObjectRecord]) -> Option<f64> {
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

/// Time at which nine tenths of the requests had been sent, from the end of the document.
pub(super) fn requested_after_document(objects: &[ObjectRecord]) -> Option<f64> {
    let (document, others) = objects.split_first()?;
    let end = span(document).1;
    let sent = arrived(others).map(|object| seconds(span(object).0.saturating_sub(end)));
    Sample::new(sent).map(|sample| sample.quantile(0.9))
}

/// Time at which half of the objects had arrived.
pub(super) fn half_of_objects(objects: &[ObjectRecord], started_at_ns: u64) -> Option<f64> {
    let ends = arrived(objects).map(|object| seconds(span(object).1.saturating_sub(started_at_ns)));
    Sample::new(ends).map(|sample| sample.median())
}

#[cfg(test)]
mod tests {
    use record::Phases;

    use super::*;
    use crate::judge::quantity::{Load, Quantity, tests::any};

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
        quantity
            .of(Load { visit: &visit, objects, connections: &[], events: &[], series: None })
            .unwrap()
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
}
