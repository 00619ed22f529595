//! A page load, the input of the floor, and the bytes that its load event waits for.

use std::collections::BTreeSet;
use std::time::Duration;

use page::{After, Edge, Object, ObjectId, Page};

/// A page and the parameters of one load of it.
///
/// The page must be the one that was loaded: with the varied values, if think or compute times were varied for a visit.
#[derive(Clone, Copy, Debug)]
pub struct PageLoad<'a> {
    /// The loaded page.
    pub page: &'a Page,
    /// The client's main-thread time on each object between its arrival and the load event; empty means none.
    pub object_work: &'a [Duration],
    /// Objects served from the browser's cache without a request.
    pub from_cache: &'a BTreeSet<ObjectId>,
    /// Objects that a proxy may answer by itself.
    pub at_proxy: &'a BTreeSet<ObjectId>,
}

/// Party that discovers the page's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discovery {
    /// The client, as objects arrive that reference others.
    ByClient,
    /// None: everything is known at the start, as if all objects were pushed.
    Known,
}

/// The client's compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// As in the page's edges and the load's object work.
    AsGiven,
    /// None: the client is infinitely fast.
    None,
}

impl PageLoad<'_> {
    /// True if the load event waits for the object itself. Without the document there is no load event.
    pub(super) fn blocks(&self, index: usize) -> bool {
        index == 0 || self.page.objects[index].blocks_load
    }

    pub(super) fn is_cached(&self, index: usize) -> bool {
        self.from_cache.contains(&ObjectId(index as u32))
    }

    pub(super) fn is_at_proxy(&self, index: usize) -> bool {
        self.at_proxy.contains(&ObjectId(index as u32))
    }

    /// True if the client computes at all.
    pub(super) fn has_work(&self) -> bool {
        let edges = self.page.objects.iter().flat_map(|object| &object.waits_for);
        let mut spans =
            edges.map(|edge| edge.compute.value).chain(self.object_work.iter().copied());
        spans.any(|span| span > Duration::ZERO)
    }

    /// Compute between an arrival and the request that it triggers.
    pub(super) fn edge_work(&self, edge: &Edge, compute: Compute) -> Duration {
        match compute {
            Compute::AsGiven => edge.compute.value,
            Compute::None => Duration::ZERO,
        }
    }

    /// Compute between an object's arrival and the load event.
    pub(super) fn own_work(&self, index: usize, compute: Compute) -> Duration {
        match compute {
            Compute::AsGiven => self.object_work.get(index).copied().unwrap_or_default(),
            Compute::None => Duration::ZERO,
        }
    }
}

impl Discovery {
    /// True if an object is needed because another is discovered through it. A client that knows everything
    /// discovers nothing: only objects that block the load event count.
    pub(super) fn needs(self, leader: usize, load: &PageLoad<'_>) -> bool {
        match self {
            Discovery::ByClient => true,
            Discovery::Known => load.blocks(leader),
        }
    }
}

/// Bytes of `leader` that must have arrived for `edge`.
pub(super) fn prefix_bytes(edge: &Edge, leader: &Object) -> u64 {
    match edge.after {
        After::Head => 0,
        After::Bytes(bytes) => bytes.min(leader.body_bytes),
        After::End => leader.body_bytes,
    }
}

// Bytes of a page that the load event waits for, and what each part of them sets off.
//
// An object that blocks the load event is needed whole. Any other is needed up to the byte that reveals a
// needed one, and not at all if no needed one waits for it. Each object's needed bytes are cut where something
// waits for them.

/// Cuts of each object of a page, ordered by position. An object without cuts is not needed.
pub(super) struct ObjectNeeds(Vec<Vec<ByteCut>>);

/// Consequences of the arrival of an object's bytes up to `position`.
pub(super) struct ByteCut {
    /// Offset in the object's body.
    pub(super) position: u64,
    /// Objects that wait for this cut, with the client's compute in between.
    pub(super) followers: Vec<(usize, Duration)>,
    /// The client's compute on the object before the load event, if this is the end of an object that blocks it.
    pub(super) last_work: Option<Duration>,
}

impl ObjectNeeds {
    /// Needs of the load event. Edges lead to earlier objects only, so one pass from the last object to the
    /// first sees every follower before its leader.
    pub(super) fn of(load: &PageLoad<'_>, discovery: Discovery, compute: Compute) -> ObjectNeeds {
        let objects = &load.page.objects;
        let mut needs: Vec<Vec<ByteCut>> = objects.iter().map(|_| Vec::new()).collect();
        for (index, object) in objects.iter().enumerate().rev() {
            if load.blocks(index) {
                let last_work = Some(load.own_work(index, compute));
                let position = object.body_bytes;
                needs[index].push(ByteCut { position, followers: Vec::new(), last_work });
            }
            if needs[index].is_empty() {
                continue;
            }
            in_order(&mut needs[index]);
            for edge in &object.waits_for {
                let leader = edge.object.0 as usize;
                if discovery.needs(leader, load) {
                    let position = prefix_bytes(edge, &objects[leader]);
                    let followers = vec![(index, load.edge_work(edge, compute))];
                    needs[leader].push(ByteCut { position, followers, last_work: None });
                }
            }
        }
        ObjectNeeds(needs)
    }

    /// The cuts of an object, by their position in its body.
    pub(super) fn cuts(&self, index: usize) -> &[ByteCut] {
        &self.0[index]
    }

    pub(super) fn is_needed(&self, index: usize) -> bool {
        !self.0[index].is_empty()
    }
}

/// Sorts cuts by position and merges those at the same position.
fn in_order(cuts: &mut Vec<ByteCut>) {
    cuts.sort_by_key(|cut| cut.position);
    cuts.dedup_by(|next, cut| {
        let same = next.position == cut.position;
        if same {
            cut.followers.append(&mut next.followers);
            cut.last_work = cut.last_work.or(next.last_work);
        }
        same
    });
}
