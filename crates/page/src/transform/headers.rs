//! Headers that the operator of a site adds: `Link: rel=preload` (W3C, "Preload") on the document, `Cache-Control` (RFC 9111, RFC 8246)
//! on what has a version in its name. Third parties are not the operator's.

use crate::{After, Edge, Kind, Object, Page, Provenance};

/// Length of `Link: <>;rel=preload;as=script` with its line end, without the URL.
const LINK_BYTES: usize = 32;

/// Length of `Cache-Control: max-age=31536000, immutable` with its line end.
const CACHE_CONTROL_BYTES: u32 = 44;

/// Names the site's sheets, scripts and fonts that another object than the document names in the document's head. What they reveal
/// still waits for what named them before: a script that arrives early does not run early.
pub(super) fn preload_own_site(page: &mut Page) -> String {
    let document = page.document();
    let named = Edge {
        object: document,
        after: After::Head,
        compute: Default::default(),
        provenance: Provenance::Defaulted,
    };
    let mut count = 0;
    for index in document.0 as usize + 1..page.objects.len() {
        let object = &page.objects[index];
        let is_late = object.waits_for.iter().any(|edge| edge.object != document);
        if !(is_late && is_preloaded(object) && page.is_own(object.host)) {
            continue;
        }
        let length = LINK_BYTES + object.url.len();
        page.objects[document.0 as usize].response_header_bytes += length as u32;
        let earlier = std::mem::replace(&mut page.objects[index].waits_for, vec![named.clone()]);
        for revealed in &mut page.objects[index + 1..] {
            wait_also(&mut revealed.waits_for, index, &earlier);
        }
        count += 1;
    }
    format!("{count} late objects named in the document's head")
}

/// Makes what waits for the object at `index` wait for `earlier`, too, and for the work after those: one span counts after the last arrival,
/// which is theirs more often than the preloaded object's.
fn wait_also(edges: &mut Vec<Edge>, index: usize, earlier: &[Edge]) {
    if edges.iter().all(|edge| edge.object.0 as usize != index) {
        return;
    }
    let works = earlier.iter().map(|edge| edge.compute.value);
    let work = works.max().unwrap_or_default();
    let new: Vec<Edge> = earlier
        .iter()
        .filter(|edge| edges.iter().all(|own| own.object != edge.object))
        .cloned()
        .collect();
    let mut compute = edges[0].compute;
    compute.value += work;
    edges.extend(new);
    edges.iter_mut().for_each(|edge| edge.compute = compute);
}

fn is_preloaded(object: &Object) -> bool {
    object.method == "GET"
        && object.status == 200
        && object.blocks_load
        && matches!(object.kind, Kind::Stylesheet | Kind::Script | Kind::Font)
}

/// Lets browsers keep the site's static objects.
pub(super) fn cache_own_site(page: &mut Page) -> String {
    let own: Vec<bool> = page.objects.iter().map(|object| page.is_own(object.host)).collect();
    let mut count = 0;
    for (object, is_own) in page.objects.iter_mut().zip(own) {
        let is_static = object.method == "GET"
            && object.status == 200
            && matches!(
                object.kind,
                Kind::Stylesheet | Kind::Script | Kind::Image | Kind::Font | Kind::Media
            );
        if is_own && is_static && !object.cacheable {
            object.cacheable = true;
            object.response_header_bytes += CACHE_CONTROL_BYTES;
            count += 1;
        }
    }
    format!("{count} more objects may be kept by browsers")
}
