//! The page load whose floor is asked for.

use std::collections::BTreeSet;
use std::time::Duration;

use page::{After, Edge, Object, ObjectId, Page};

/// A page, and what is particular to one load of it.
///
/// The page must be the one that was loaded: where think or compute times were varied for a visit,
/// with the varied values.
#[derive(Clone, Copy, Debug)]
pub struct PageLoad<'a> {
    /// What was loaded.
    pub page: &'a Page,
    /// The client's main-thread time on each object between its arrival and the load event; empty:
    /// none.
    pub object_work: &'a [Duration],
    /// The objects that the browser's cache answered, without asking anybody.
    pub from_cache: &'a BTreeSet<ObjectId>,
    /// The objects that a proxy may answer by itself.
    pub at_proxy: &'a BTreeSet<ObjectId>,
}

/// Who finds out what the page consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discovery {
    /// The client, as the objects arrive that name others.
    ByClient,
    /// Nobody has to: everything is known at the beginning, as if all were pushed.
    Known,
}

/// The client's own work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// As the page's edges and the load's object work give it.
    AsGiven,
    /// None: the client is infinitely fast.
    None,
}

impl PageLoad<'_> {
    /// Whether the load event waits for an object by itself. There is none without the document.
    pub(super) fn blocks(&self, index: usize) -> bool {
        index == 0 || self.page.objects[index].blocks_load
    }

    pub(super) fn is_cached(&self, index: usize) -> bool {
        self.from_cache.contains(&ObjectId(index as u32))
    }

    pub(super) fn is_at_proxy(&self, index: usize) -> bool {
        self.at_proxy.contains(&ObjectId(index as u32))
    }

    /// Whether the client works at all.
    pub(super) fn has_work(&self) -> bool {
        let edges = self.page.objects.iter().flat_map(|object| &object.waits_for);
        let mut spans =
            edges.map(|edge| edge.compute.value).chain(self.object_work.iter().copied());
        spans.any(|span| span > Duration::ZERO)
    }

    /// The work between an arrival and the request that it leads to.
    pub(super) fn edge_work(&self, edge: &Edge, compute: Compute) -> Duration {
        match compute {
            Compute::AsGiven => edge.compute.value,
            Compute::None => Duration::ZERO,
        }
    }

    /// The work between an object's arrival and the load event.
    pub(super) fn own_work(&self, index: usize, compute: Compute) -> Duration {
        match compute {
            Compute::AsGiven => self.object_work.get(index).copied().unwrap_or_default(),
            Compute::None => Duration::ZERO,
        }
    }
}

impl Discovery {
    /// Whether an object is needed because another was found through it. A client that knows
    /// everything finds nothing: then only what the load event waits for by itself counts.
    pub(super) fn needs(self, leader: usize, load: &PageLoad<'_>) -> bool {
        match self {
            Discovery::ByClient => true,
            Discovery::Known => load.blocks(leader),
        }
    }
}

/// How many bytes of `leader` must have arrived for `edge`.
pub(super) fn prefix_bytes(edge: &Edge, leader: &Object) -> u64 {
    match edge.after {
        After::Head => 0,
        After::Bytes(bytes) => bytes.min(leader.body_bytes),
        After::End => leader.body_bytes,
    }
}
