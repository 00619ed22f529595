//! A page load, the input of the floor.

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
