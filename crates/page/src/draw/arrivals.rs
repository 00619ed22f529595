//! Think times of origins, and beacons after loading.

use std::time::Duration;

use chance::Stream;

use super::priors::{Beacons, Distribution, Origin};
use crate::har::kinds_by_default;
use crate::{After, Edge, Estimate, Kind, Object, ObjectId, Page, Provenance};

/// Time for which a site continues to send: a study's interval between two sites.
const SENDING: Duration = Duration::from_secs(60);

/// Draws the think time of each object.
pub(super) fn think(origin: &Origin, page: &mut Page, stream: &mut Stream) {
    let Distribution::ExponentialCut = origin.think_ms.distribution;
    for object in &mut page.objects {
        let drawn = -origin.think_ms.mean * libm::log(1.0 - stream.unit());
        let millis = drawn.min(origin.think_ms.most);
        object.think = Estimate::inferred(Duration::from_micros((millis * 1000.0) as u64));
    }
}

/// Adds beacons to a site that is drawn to have them: the first one period after everything else has arrived, further
/// ones at that period.
pub(super) fn beacons(beacons: &Beacons, page: &mut Page, stream: &mut Stream) {
    let has_any = stream.happens(beacons.share_of_sites);
    let (Some([least_s, most_s]), Some([least, most])) = (beacons.period_s, beacons.size_bytes)
    else {
        return;
    };
    let period = Duration::from_secs_f64(least_s + (most_s - least_s) * stream.unit());
    let bytes = least + stream.below(most - least + 1);
    if !has_any {
        return;
    }
    let count = (SENDING.as_secs_f64() / period.as_secs_f64()) as u32;
    for number in 1..=count {
        let known = page.objects.len() as u32;
        let after = match number {
            1 => 0..known,
            _ => known - 1..known,
        };
        let edge = |object| Edge {
            object: ObjectId(object),
            after: After::End,
            compute: Estimate::inferred(period),
            provenance: Provenance::Inferred,
        };
        let beacon = beacon(&page.objects[0], number, bytes, after.map(edge).collect());
        page.objects.push(beacon);
    }
}

/// A POST to the document's host with an empty response.
fn beacon(document: &Object, number: u32, bytes: u64, waits_for: Vec<Edge>) -> Object {
    let path = format!("/beacon/{number}");
    Object {
        url: format!("{}{}", document.url.trim_end_matches('/'), path),
        path,
        method: "POST".to_owned(),
        kind: Kind::Data,
        status: 204,
        request_body_bytes: bytes,
        body_bytes: 0,
        waits_for,
        priority: kinds_by_default(Kind::Data),
        blocks_load: false,
        cacheable: false,
        ..document.clone()
    }
}
