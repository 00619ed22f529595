//! What each entry was caused by: a redirect, its initiator, or what can be inferred.

use std::collections::BTreeMap;

use super::entry::{self, Entry};
use super::infer;
use crate::{Kind, Provenance};

/// The point in the parent that reveals the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// A redirect's target stands in the response's head.
    Head,
    /// A reference somewhere in a document, at this line if it is stated.
    Inside(Option<u32>),
    /// A script runs, and a sheet is applied, when it is whole.
    End,
}

/// One reason why an entry was requested. Entries are named by their place in the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub parent: usize,
    pub point: Point,
    pub provenance: Provenance,
}

/// The page's entries by start, with what later steps look up.
pub(super) struct Graph<'a> {
    pub entries: &'a [&'a Entry],
    pub kinds: &'a [Kind],
    addresses: BTreeMap<String, Vec<usize>>,
    /// The entry that redirected to this one.
    redirected_from: Vec<Option<usize>>,
    /// The entry that this one redirected to.
    redirected_to: Vec<Option<usize>>,
}

impl<'a> Graph<'a> {
    /// Indexes `entries`, which are sorted by start.
    pub fn new(entries: &'a [&'a Entry], kinds: &'a [Kind]) -> Graph<'a> {
        let mut addresses: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, entry) in entries.iter().enumerate() {
            addresses.entry(entry.address()).or_default().push(at);
        }
        let none = vec![None; entries.len()];
        let mut graph =
            Graph { entries, kinds, addresses, redirected_from: none.clone(), redirected_to: none };
        graph.chain_redirects();
        graph
    }

    /// Joins each redirect to the next request for its target that no other redirect has claimed.
    fn chain_redirects(&mut self) {
        for at in 0..self.entries.len() {
            let Some(target) = redirect_target(self.entries[at], self.kinds[at]) else { continue };
            let next = self.addresses.get(&target).and_then(|candidates| {
                candidates.iter().find(|c| **c > at && self.redirected_from[**c].is_none()).copied()
            });
            if let Some(next) = next {
                self.redirected_from[next] = Some(at);
                self.redirected_to[at] = Some(next);
            }
        }
    }

    /// The latest entry for `url` before `child`; a redirect stands for what it led to.
    pub fn resolve(&self, url: &str, child: usize) -> Option<usize> {
        let candidates = self.addresses.get(&entry::address(url))?;
        let mut found = candidates.iter().rev().find(|at| **at < child).copied()?;
        while let Some(next) = self.redirected_to[found].filter(|next| *next < child) {
            found = next;
        }
        Some(found)
    }

    /// The document itself, behind the redirects that may come before it.
    pub fn document(&self, child: usize) -> usize {
        let mut at = 0;
        while let Some(next) = self.redirected_to[at].filter(|next| *next < child) {
            at = next;
        }
        at
    }

    /// All causes of `child`, which is not the first entry; at least one.
    pub fn causes(&self, child: usize) -> Vec<Cause> {
        if let Some(parent) = self.redirected_from[child] {
            return vec![Cause { parent, point: Point::Head, provenance: Provenance::Measured }];
        }
        let stated = self.stated(child);
        if stated.is_empty() { vec![infer::cause(self, child)] } else { stated }
    }

    fn stated(&self, child: usize) -> Vec<Cause> {
        let mut causes: Vec<Cause> = Vec::new();
        for place in &self.entries[child].initiator.places {
            let Some(parent) = self.resolve(&place.url, child) else { continue };
            if causes.iter().any(|cause| cause.parent == parent) {
                continue;
            }
            let point = match self.kinds[parent] {
                Kind::Document => Point::Inside(place.line),
                _ => Point::End,
            };
            causes.push(Cause { parent, point, provenance: Provenance::Measured });
        }
        causes
    }
}

fn redirect_target(entry: &Entry, kind: Kind) -> Option<String> {
    if kind != Kind::Redirect {
        return None;
    }
    let target = entry.redirect_url.as_deref().or(entry.response_headers.get("location"))?;
    let target = entry.url.as_ref()?.join(target).ok()?;
    Some(entry::address(target.as_str()))
}
