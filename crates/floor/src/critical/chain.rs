//! The chain of objects that made a page load time or a first render, from navigation start on.

use std::collections::BTreeMap;

use page::{After, Page};
use record::{ObjectRecord, VisitRecord};

use super::revealing_bytes;

/// One object of the chain.
pub(super) struct ChainLink<'a> {
    pub(super) record: &'a ObjectRecord,
    /// Its index in the page.
    pub(super) index: usize,
    /// Time at which the client waits for it.
    pub(super) wanted_ns: u64,
    /// Time at which the bytes that the chain waits for had arrived.
    pub(super) arrived_ns: u64,
    /// Number of these bytes.
    pub(super) bytes: u64,
    /// End of the client's compute that followed.
    pub(super) computed_ns: u64,
}

/// The object that a load event at `loaded_ns` waited for: the last of those that it waits for.
pub(super) fn last_of_load(page: &Page, record: &VisitRecord, loaded_ns: u64) -> Option<usize> {
    let known = known(page, record);
    let blocking =
        known.iter().filter(|(index, _)| **index == 0 || page.objects[**index].blocks_load);
    let in_time = blocking.filter(|(_, object)| object.done_at_ns <= loaded_ns);
    in_time.max_by_key(|(_, object)| object.done_at_ns).map(|(index, _)| *index)
}

/// The object that a first render at `rendered_ns` waited for: the last of those that block it, or the document, which had begun.
pub(super) fn last_of_render(page: &Page, record: &VisitRecord, rendered_ns: u64) -> Option<usize> {
    let known = known(page, record);
    let blocking =
        known.iter().filter(|(_, object)| object.blocks_render && object.done_at_ns <= rendered_ns);
    let last = blocking.max_by_key(|(_, object)| object.done_at_ns).map(|(index, _)| *index);
    last.or_else(|| known.contains_key(&0).then_some(0))
}

/// The visit's objects that the page has, by their index.
fn known<'a>(page: &Page, record: &'a VisitRecord) -> BTreeMap<usize, &'a ObjectRecord> {
    let all = record.objects.iter().map(|object| (object.object as usize, object));
    all.filter(|(index, _)| *index < page.objects.len()).collect()
}

/// The chain that ends with the object `last` and the client's work until `until_ns`.
pub(super) fn chain<'a>(
    page: &Page,
    record: &'a VisitRecord,
    until_ns: u64,
    last: usize,
) -> Vec<ChainLink<'a>> {
    let known = known(page, record);
    let mut links = Vec::new();
    let (mut index, mut arrived, mut bytes, mut computed) =
        (last, u64::MAX, page.objects[last].body_bytes, until_ns);
    loop {
        let object = known[&index];
        let ended = object.discovered_at_ns + object.phases.total_ns();
        let wanted_ns = object.discovered_at_ns.clamp(record.started_at_ns, computed);
        let arrived_ns = arrived.min(ended).clamp(wanted_ns, computed);
        links.push(ChainLink {
            record: object,
            index,
            wanted_ns,
            arrived_ns,
            bytes,
            computed_ns: computed,
        });
        let Some((leader, at)) = leader(page, &known, object, index) else { break };
        bytes = revealing_bytes(page, leader, index);
        (index, arrived, computed) = (leader, at, wanted_ns);
    }
    // The time before the first object was wanted is its own.
    if let Some(first) = links.last_mut() {
        first.wanted_ns = record.started_at_ns;
    }
    links.reverse();
    links
}

/// The object whose arrival revealed another, and when it had arrived. A real browser does not say: there it is the one whose
/// part arrived last of those that the page names.
fn leader(
    page: &Page,
    known: &BTreeMap<usize, &ObjectRecord>,
    object: &ObjectRecord,
    index: usize,
) -> Option<(usize, u64)> {
    if let (Some(leader), Some(at)) = (object.revealed_by, object.revealed_at_ns) {
        let leader = leader as usize;
        return (leader < index && known.contains_key(&leader)).then_some((leader, at));
    }
    let edges = page.objects[index].waits_for.iter();
    let arrivals = edges.filter_map(|edge| {
        let leader = edge.object.0 as usize;
        let record = known.get(&leader).filter(|_| leader < index)?;
        let ended = record.discovered_at_ns + record.phases.total_ns();
        let at = match edge.after {
            After::Head => ended - record.phases.receive_ns,
            After::Bytes(_) | After::End => ended,
        };
        Some((leader, at.min(object.discovered_at_ns)))
    });
    arrivals.max_by_key(|(_, at)| *at)
}
