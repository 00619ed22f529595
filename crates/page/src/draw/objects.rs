//! A drawn site's objects: their numbers by type, sizes, hosts, and arrival.

use std::time::Duration;

use chance::RandomStream;

use super::by_fraction;
use super::priors::{
    Beacons, DocumentIs, Domains, OriginPrior, Others, PriorDistribution, Priors, Rounding, Sizes,
    Weight,
};
use super::{Objects, SiteTotals};
use crate::har::kinds_by_default;
use crate::{After, Edge, Kind, Object, ObjectId, Page, Provenance, SizeEstimate};

/// Counts of a drawn site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ObjectCounts {
    /// Includes the document.
    pub text: u64,
    pub js_css: u64,
    pub images_other: u64,
    pub domains: u64,
}

impl ObjectCounts {
    pub fn objects(self) -> u64 {
        self.text + self.js_css + self.images_other
    }
}

pub(super) fn draw_counts(
    priors: &Priors,
    site: &SiteTotals,
    stream: &mut RandomStream,
) -> ObjectCounts {
    let Rounding::ByFraction = priors.counts.rounding;
    let (text, js_css, images_other) = match (site.objects, &priors.types) {
        (Objects::ByType { text, js_css, images_other }, _) => (
            by_fraction(text, stream),
            by_fraction(js_css, stream),
            by_fraction(images_other, stream),
        ),
        (Objects::InAll(objects), types) => {
            let objects = by_fraction(objects, stream);
            let share = |share: f64| objects as f64 * share;
            let [text, js_css] =
                types.as_ref().map_or([1.0, 0.0], |types| [share(types.text), share(types.js_css)]);
            let text = by_fraction(text, stream);
            let js_css = by_fraction(js_css, stream).min(objects.saturating_sub(text));
            (text, js_css, objects.saturating_sub(text + js_css))
        }
    };
    let counts = ObjectCounts { text: text.max(1), js_css, images_other, domains: 1 };
    let domains = by_fraction(site.domains, stream).clamp(1, counts.objects());
    ObjectCounts { domains, ..counts }
}

// Distribution of a site's bytes over its objects: random weights, scaled to the sum.

/// Bytes of each object by type; the document is not among the texts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ObjectSizes {
    pub document: u64,
    pub text: Vec<u64>,
    pub js_css: Vec<u64>,
    pub images_other: Vec<u64>,
}

pub(super) fn draw_sizes(
    sizes: &Sizes,
    counts: &ObjectCounts,
    bytes: f64,
    stream: &mut RandomStream,
) -> ObjectSizes {
    let types = [
        (sizes.text, counts.text),
        (sizes.js_css, counts.js_css),
        (sizes.images_other, counts.images_other),
    ];
    let weights: Vec<f64> =
        types.iter().flat_map(|(of, count)| weights(*of, *count, stream)).collect();
    let mut all = share_out(bytes.round() as u64, &weights, sizes.least_bytes);
    let images_other = all.split_off((counts.text + counts.js_css) as usize);
    let js_css = all.split_off(counts.text as usize);
    let DocumentIs::LargestText = sizes.document;
    let largest = all.iter().enumerate().max_by_key(|(_, bytes)| **bytes);
    let document = all.remove(largest.map_or(0, |(index, _)| index));
    ObjectSizes { document, text: all, js_css, images_other }
}

/// Log-normal weights: the logarithm's mean is chosen such that the weights' mean is `mean`.
fn weights(of: Weight, count: u64, stream: &mut RandomStream) -> Vec<f64> {
    let Weight { mean, sigma_log } = of;
    let mut draw = || mean * libm::exp(sigma_log * stream.normal() - sigma_log * sigma_log / 2.0);
    (0..count).map(|_| draw()).collect()
}

/// Whole numbers in proportion to the weights, none below `least`, that sum to `total` if that suffices for the
/// minimum.
fn share_out(total: u64, weights: &[f64], least: u64) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    let share = |weight: &f64| ((total as f64 * weight / sum) as u64).max(least);
    let mut shares: Vec<u64> = weights.iter().map(share).collect();
    // The largest compensates for rounding and the minimum, as the change is relatively smallest there.
    let given: u64 = shares.iter().sum();
    if let Some(largest) = shares.iter_mut().max() {
        *largest = (*largest + total).saturating_sub(given).max(least);
    }
    shares
}

// Assignment of objects to hosts.

/// Hosts of all objects except the document, which the first host serves. Each host serves at least one object.
pub(super) fn draw_hosts(
    domains: &Domains,
    counts: &ObjectCounts,
    stream: &mut RandomStream,
) -> Vec<u32> {
    let Others::Zipf = domains.others;
    let [least, most] = domains.own_share;
    let share = least + (most - least) * stream.unit();
    let objects = counts.objects();
    let others = counts.domains - 1;
    let elsewhere = match others {
        0 => 0,
        _ => (objects - (objects as f64 * share).round() as u64).clamp(others, objects - 1),
    };
    let mut hosts = vec![0; (objects - 1 - elsewhere) as usize];
    hosts.extend(1..=others as u32);
    hosts.extend((others..elsewhere).map(|_| zipf(others, stream)));
    shuffle(&mut hosts, stream);
    hosts
}

/// A rank of `1..=ranks`, with a probability in proportion to 1/rank.
fn zipf(ranks: u64, stream: &mut RandomStream) -> u32 {
    let harmonic: f64 = (1..=ranks).map(|rank| 1.0 / rank as f64).sum();
    let mut left = stream.unit() * harmonic;
    for rank in 1..ranks {
        left -= 1.0 / rank as f64;
        if left < 0.0 {
            return rank as u32;
        }
    }
    ranks as u32
}

/// Fisher-Yates shuffle.
fn shuffle(hosts: &mut [u32], stream: &mut RandomStream) {
    for last in (1..hosts.len()).rev() {
        hosts.swap(last, stream.below(last as u64 + 1) as usize);
    }
}

// Think times of origins, and beacons after loading.

/// Time for which a site continues to send: a study's interval between two sites.
const SENDING: Duration = Duration::from_secs(60);

/// Draws the think time of each object.
pub(super) fn think(origin: &OriginPrior, page: &mut Page, stream: &mut RandomStream) {
    let PriorDistribution::ExponentialCut = origin.think_ms.distribution;
    for object in &mut page.objects {
        let drawn = -origin.think_ms.mean * libm::log(1.0 - stream.unit());
        let millis = drawn.min(origin.think_ms.most);
        object.think = SizeEstimate::inferred(Duration::from_micros((millis * 1000.0) as u64));
    }
}

/// Adds beacons to a site that is drawn to have them: the first one period after everything else has arrived, further
/// ones at that period.
pub(super) fn beacons(beacons: &Beacons, page: &mut Page, stream: &mut RandomStream) {
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
            compute: SizeEstimate::inferred(period),
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
