//! Requests: their objects, hosts and times.

use std::collections::BTreeSet;

use record::{ObjectRecord, Phases};

use super::means::{of_page, round_trip};
use super::{Load, arrived, span};

/// Payload of a segment with TCP timestamps.
const SEGMENT_BYTES: u64 = 1448;

/// The kind of objects that pages request after loading.
const SENT: &str = "Data";

pub(super) fn hosts(objects: &[ObjectRecord]) -> f64 {
    let host = |url: &str| url.split('/').nth(2).map(str::to_owned);
    let hosts: BTreeSet<String> = objects.iter().filter_map(|object| host(&object.url)).collect();
    hosts.len() as f64
}

/// Number of the page's objects whose kind is selected.
pub(super) fn of_kinds(objects: &[ObjectRecord], is_meant: impl Fn(&str) -> bool) -> f64 {
    let of_page = objects.iter().filter(|object| object.kind != SENT);
    of_page.filter(|object| is_meant(&object.kind)).count() as f64
}

/// True for scripts and style sheets.
pub(super) fn is_code(kind: &str) -> bool {
    ["Script", "Stylesheet"].contains(&kind)
}

/// The share of objects, in per cent, for which a span takes at least this many round trips.
pub(super) fn over_rtt(load: Load<'_>, of: impl Fn(&Phases) -> u64, times: f64) -> Option<f64> {
    let limit = times * round_trip(load.connections, load.visit.started_at_ns)? as f64;
    let all = of_page(load).count();
    let over = of_page(load).filter(|object| of(&object.phases) as f64 >= limit).count();
    (all > 0).then(|| 100.0 * over as f64 / all as f64)
}

/// The share of requests, in per cent, that fit a segment.
pub(super) fn in_segment(objects: &[ObjectRecord]) -> Option<f64> {
    let bytes = |it: &ObjectRecord| it.request_header_bytes + it.request_body_bytes;
    let fits = arrived(objects).filter(|object| bytes(object) <= SEGMENT_BYTES).count();
    let all = arrived(objects).count();
    (all > 0).then(|| 100.0 * fits as f64 / all as f64)
}

/// The gaps between one of the page's requests and the next, in ns.
fn between(load: Load<'_>) -> Vec<u64> {
    let mut sent: Vec<u64> = of_page(load).map(|object| span(object).0).collect();
    sent.sort_unstable();
    sent.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Number of gaps longer than a round trip.
pub(super) fn gaps(load: Load<'_>) -> Option<f64> {
    let limit = round_trip(load.connections, load.visit.started_at_ns)?;
    Some(between(load).into_iter().filter(|gap| *gap > limit).count() as f64)
}

/// The longest gap, in per cent of all together.
pub(super) fn longest_gap(load: Load<'_>) -> Option<f64> {
    let gaps = between(load);
    let (longest, all) = (gaps.iter().max()?, gaps.iter().sum::<u64>());
    (all > 0).then(|| 100.0 * *longest as f64 / all as f64)
}
