//! Counts over a page by provenance.

use std::collections::BTreeMap;

use crate::{BodySource, Page, Provenance, SkipReason};

/// Number of values of one sort, by provenance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Stated by the source.
    pub measured: usize,
    /// Read in recorded bodies.
    pub read: usize,
    /// Derived from other values.
    pub inferred: usize,
    /// Our default.
    pub defaulted: usize,
}

/// Contents of a page, and the share of them that its source states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Objects.
    pub requests: usize,
    /// Servers.
    pub hosts: usize,
    /// Total size of all bodies on the wire.
    pub body_bytes: u64,
    /// Edges of the graph.
    pub edges: Counts,
    /// Server think times.
    pub think: Counts,
    /// Head sizes.
    pub headers: Counts,
    /// Objects that the load event waits for.
    pub blocking: usize,
    /// Sources of the bodies' sizes.
    pub body_sources: BTreeMap<BodySource, usize>,
    /// Entries of the source that are not objects.
    pub skipped: BTreeMap<SkipReason, usize>,
}

impl Counts {
    fn of(values: impl Iterator<Item = Provenance>) -> Counts {
        let mut counts = Counts::default();
        for value in values {
            match value {
                Provenance::Measured => counts.measured += 1,
                Provenance::Read => counts.read += 1,
                Provenance::Inferred => counts.inferred += 1,
                Provenance::Defaulted => counts.defaulted += 1,
            }
        }
        counts
    }

    /// Total.
    pub fn total(&self) -> usize {
        self.measured + self.read + self.inferred + self.defaulted
    }
}

impl Page {
    /// Counts over this page.
    pub fn summary(&self) -> Summary {
        let objects = &self.objects;
        let mut body_sources = BTreeMap::new();
        for object in objects {
            *body_sources.entry(object.body_source).or_default() += 1;
        }
        let mut skipped = BTreeMap::new();
        for entry in &self.skipped {
            *skipped.entry(entry.reason).or_default() += 1;
        }
        Summary {
            requests: objects.len(),
            hosts: self.hosts.len(),
            body_bytes: self.body_bytes(),
            edges: Counts::of(objects.iter().flat_map(|o| &o.waits_for).map(|e| e.provenance)),
            think: Counts::of(objects.iter().map(|o| o.think.provenance)),
            headers: Counts::of(objects.iter().map(|o| o.header_provenance)),
            blocking: objects.iter().filter(|o| o.blocks_load).count(),
            body_sources,
            skipped,
        }
    }
}
