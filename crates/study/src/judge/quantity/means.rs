//! Means over a load's objects and connections.
//!
//! Only objects found before the load event count: later ones are not part of the page.

use record::{ConnectionRecord, ObjectRecord};

use super::{Load, arrived, before_request, seconds};

/// The objects that were found before the load event.
pub(super) fn of_page<'a>(load: Load<'a>) -> impl Iterator<Item = &'a ObjectRecord> {
    let end = load.visit.plt_ns.map(|plt| load.visit.started_at_ns + plt);
    arrived(load.objects).filter(move |object| end.is_none_or(|end| object.discovered_at_ns < end))
}

/// The mean of a span over the page's objects.
pub(super) fn mean(load: Load<'_>, span: impl Fn(&ObjectRecord) -> u64) -> Option<f64> {
    super::mean(of_page(load).map(span))
}

/// The share of a span in objects' total time, in per cent.
pub(super) fn share(load: Load<'_>, span: impl Fn(&ObjectRecord) -> u64) -> Option<f64> {
    let all: u64 = of_page(load).map(|object| object.phases.total_ns()).sum();
    let part: u64 = of_page(load).map(span).sum();
    (all > 0).then(|| 100.0 * part as f64 / all as f64)
}

/// The mean time from an object's discovery to its first byte.
pub(super) fn first_byte(load: Load<'_>) -> Option<f64> {
    let until = |object: &ObjectRecord| {
        before_request(object) + object.phases.send_ns + object.phases.wait_ns
    };
    mean(load, until)
}

/// The mean TCP handshake.
pub(super) fn open(connections: &[ConnectionRecord]) -> Option<f64> {
    let opened = connections.iter().filter_map(|it| Some(it.connected_at_ns? - it.opened_at_ns));
    super::mean(opened)
}

/// The mean of the windows at the visit's end.
pub(super) fn window(connections: &[ConnectionRecord]) -> Option<f64> {
    let sum: u32 = connections.iter().map(|it| it.cwnd_down).sum();
    (!connections.is_empty()).then(|| f64::from(sum) / connections.len() as f64)
}

/// The share of the servers' busy time, in per cent, in which a flow-control window was full.
pub(super) fn flow_limited(connections: &[ConnectionRecord]) -> Option<f64> {
    let busy: u64 = connections.iter().map(|it| it.busy_ns).sum();
    let limited: u64 = connections.iter().map(|it| it.flow_limited_ns.min(it.busy_ns)).sum();
    (busy > 0).then(|| 100.0 * limited as f64 / busy as f64)
}

/// The shortest round trip during the load: that of one of its own TCP handshakes, or else of a connection's
/// segments.
pub(super) fn round_trip(connections: &[ConnectionRecord], since_ns: u64) -> Option<u64> {
    let own = connections.iter().filter(|it| it.opened_at_ns >= since_ns);
    let handshakes = own.filter_map(|it| Some(it.connected_at_ns? - it.opened_at_ns));
    let segments = connections.iter().map(|it| it.srtt_down_ns).filter(|srtt| *srtt > 0);
    handshakes.min().or(segments.min())
}

/// A time since the load began, in s.
pub(super) fn since_start(load: Load<'_>, at_ns: u64) -> f64 {
    seconds(at_ns.saturating_sub(load.visit.started_at_ns))
}
