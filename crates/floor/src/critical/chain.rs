//! The chain of objects that made a page load time, from navigation start to the load event.

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

/// The chain that ends with the load event at `loaded_ns`; `None` if the visit has no object that the event waits for.
pub(super) fn chain<'a>(
    page: &Page,
    record: &'a VisitRecord,
    loaded_ns: u64,
) -> Option<Vec<ChainLink<'a>>> {
    let known: BTreeMap<usize, &ObjectRecord> = record
        .objects
        .iter()
        .map(|object| (object.object as usize, object))
        .filter(|(index, _)| *index < page.objects.len())
        .collect();
    let blocking =
        known.iter().filter(|(index, _)| **index == 0 || page.objects[**index].blocks_load);
    let in_time = blocking.filter(|(_, object)| object.done_at_ns <= loaded_ns);
    let (index, _) = in_time.max_by_key(|(_, object)| object.done_at_ns)?;
    let mut links = Vec::new();
    let (mut index, mut arrived, mut bytes, mut computed) =
        (*index, u64::MAX, page.objects[*index].body_bytes, loaded_ns);
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
    Some(links)
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
