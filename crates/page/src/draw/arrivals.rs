//! What origins take to answer, and what is sent after loading.

use std::time::Duration;

use chance::Stream;

use super::priors::{Beacons, Distribution, Origin};
use crate::har::kinds_by_default;
use crate::{After, Edge, Estimate, Kind, Object, ObjectId, Page, Provenance};

/// For how long a site goes on sending: a study's interval between two sites.
const SENDING: Duration = Duration::from_secs(60);

/// Gives each object its origin's time.
pub(super) fn think(origin: &Origin, page: &mut Page, stream: &mut Stream) {
    let Distribution::ExponentialCut = origin.think_ms.distribution;
    for object in &mut page.objects {
        let drawn = -origin.think_ms.mean * libm::log(1.0 - stream.unit());
        let millis = drawn.min(origin.think_ms.most);
        object.think = Estimate::inferred(Duration::from_micros((millis * 1000.0) as u64));
    }
}

/// Adds beacons to a site that is drawn to have them: the first a period after everything else is there, each further one a period after the last.
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

/// A POST to the document's host that is answered without a body.
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
