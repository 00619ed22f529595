//! Causes of entries: a redirect, the initiator, a body that names the URL, or an inference.

use std::collections::BTreeMap;

use super::discovery::CLOCK_GRAIN;
use super::entry::{self, HarEntry};
use super::exchange;
use super::infer;
use super::text::{Mention, Mentions};
use crate::{Kind, ObjectPriority, Provenance};

/// Point in the parent that reveals the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RevealPoint {
    /// The response's head, which states a redirect's target.
    Head,
    /// A reference somewhere in a document, at this line if it is stated.
    Inside(Option<u32>),
    /// A reference in the text of a document, with its end and the length of the text.
    Read { at: usize, of: usize },
    /// The end: a script runs, and a sheet is applied, when it is complete.
    End,
}

/// One reason why an entry was requested. Entries are identified by their index in the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DiscoveryCause {
    pub parent: usize,
    pub point: RevealPoint,
    pub provenance: Provenance,
}

/// The page's entries by start, with indices for later steps.
pub(super) struct CauseGraph<'a> {
    pub entries: &'a [&'a HarEntry],
    pub kinds: &'a [Kind],
    /// Time at which the load event fired.
    pub loaded_at: Option<i64>,
    addresses: BTreeMap<String, Vec<usize>>,
    mentions: Mentions,
    /// Entry that each entry's `Referer` names.
    named: Vec<Option<usize>>,
    /// Entry that redirected to this one.
    redirected_from: Vec<Option<usize>>,
    /// Entry that this one redirected to.
    redirected_to: Vec<Option<usize>>,
}

impl<'a> CauseGraph<'a> {
    /// Indexes `entries`, which are sorted by start.
    pub fn new(
        entries: &'a [&'a HarEntry],
        kinds: &'a [Kind],
        loaded_at: Option<i64>,
    ) -> CauseGraph<'a> {
        let mut addresses: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, entry) in entries.iter().enumerate() {
            addresses.entry(entry.address()).or_default().push(at);
        }
        let mentions = Mentions::of(entries, kinds, addresses.keys());
        let (redirected_from, redirected_to) =
            (vec![None; entries.len()], vec![None; entries.len()]);
        let mut graph = CauseGraph {
            entries,
            kinds,
            loaded_at,
            addresses,
            mentions,
            named: vec![None; entries.len()],
            redirected_from,
            redirected_to,
        };
        graph.chain_redirects();
        graph.named = (0..entries.len())
            .map(|child| graph.resolve(entries[child].request_headers.get("referer")?, child))
            .collect();
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

    /// The latest entry for `url` before `child`; a redirect is replaced by its target.
    pub fn resolve(&self, url: &str, child: usize) -> Option<usize> {
        let candidates = self.addresses.get(&entry::address(url))?;
        let mut found = candidates.iter().rev().find(|at| **at < child).copied()?;
        while let Some(next) = self.redirected_to[found].filter(|next| *next < child) {
            found = next;
        }
        Some(found)
    }

    /// Entry that the `Referer` of `child` names.
    pub fn named(&self, child: usize) -> Option<usize> {
        self.named[child]
    }

    /// Returns true if the `Referer` of `child`, possibly cut to its origin, has the host of `at`.
    pub fn is_origin_named(&self, child: usize, at: usize) -> bool {
        let referer = self.entries[child].request_headers.get("referer");
        let host = referer.and_then(|url| url.split("://").nth(1)?.split(['/', ':']).next());
        host.is_some_and(|host| host == self.host(at))
    }

    /// Registrable part of an entry's host name, as far as its labels tell.
    pub fn site(&self, at: usize) -> &str {
        site(self.host(at))
    }

    fn host(&self, at: usize) -> &str {
        self.entries[at].url.as_ref().and_then(|url| url.host_str()).unwrap_or_default()
    }

    /// The document itself, after any redirects.
    pub fn document(&self, child: usize) -> usize {
        let mut at = 0;
        while let Some(next) = self.redirected_to[at].filter(|next| *next < child) {
            at = next;
        }
        at
    }

    /// All causes of `child`, which is not the first entry; at least one.
    pub fn causes(&self, child: usize) -> Vec<DiscoveryCause> {
        if let Some(parent) = self.redirected_from[child] {
            return vec![DiscoveryCause {
                parent,
                point: RevealPoint::Head,
                provenance: Provenance::Measured,
            }];
        }
        let stated = self.stated(child);
        match stated.is_empty() {
            true => vec![self.read(child).unwrap_or_else(|| infer::cause(self, child))],
            false => stated,
        }
    }

    /// First request of the chain of redirects that led to `child`.
    pub fn asked_for(&self, child: usize) -> usize {
        let mut first = child;
        while let Some(before) = self.redirected_from[first] {
            first = before;
        }
        first
    }

    /// Reference to `child` in the text of the entry `by`.
    pub fn mention(&self, by: usize, child: usize) -> Option<Mention> {
        self.mentions.get(by, &self.entries[child].address())
    }

    /// The body that names `child` and arrived in time: references that browsers follow before a script's text,
    /// earlier bodies before later ones.
    fn read(&self, child: usize) -> Option<DiscoveryCause> {
        if self.mentions.is_empty() {
            return None;
        }
        let latest = self.entries[child].started + CLOCK_GRAIN;
        let there_at = |parent: usize| match self.kinds[parent] {
            Kind::Document => self.entries[parent].head_at(),
            _ => self.entries[parent].end_at(),
        };
        let in_time = (0..child).filter(|parent| there_at(*parent) <= latest);
        let naming = in_time.filter_map(|parent| Some((parent, self.mention(parent, child)?)));
        let (parent, mention) = naming.min_by_key(|(parent, m)| (!m.is_followed, *parent))?;
        let point = match self.kinds[parent] {
            Kind::Document => RevealPoint::Read { at: mention.at, of: mention.of },
            _ => RevealPoint::End,
        };
        Some(DiscoveryCause { parent, point, provenance: Provenance::Read })
    }

    fn stated(&self, child: usize) -> Vec<DiscoveryCause> {
        let mut causes: Vec<DiscoveryCause> = Vec::new();
        for place in &self.entries[child].initiator.places {
            let Some(parent) = self.resolve(&place.url, child) else { continue };
            if causes.iter().any(|cause| cause.parent == parent) {
                continue;
            }
            let point = match self.kinds[parent] {
                Kind::Document => match self.mention(parent, child) {
                    Some(mention) => RevealPoint::Read { at: mention.at, of: mention.of },
                    None => RevealPoint::Inside(place.line),
                },
                _ => RevealPoint::End,
            };
            causes.push(DiscoveryCause { parent, point, provenance: Provenance::Measured });
        }
        if let ([document], "script") = (&causes[..], self.initiator(child))
            && self.kinds[document.parent] == Kind::Document
        {
            let blockers = self.script_blockers(child, document.parent);
            causes.extend(blockers);
        }
        causes
    }

    /// Kind of the initiator, or "".
    fn initiator(&self, at: usize) -> &str {
        self.entries[at].initiator.kind.as_deref().unwrap_or_default()
    }

    /// Causes of `child` beside the inline script of `document` that requested it: the sheets and scripts before that script,
    /// which it waits for (HTML, "a style sheet that is blocking scripts", "pending parsing-blocking script").
    fn script_blockers(&self, child: usize, document: usize) -> Vec<DiscoveryCause> {
        let line = |at: usize| self.entries[at].initiator.places.first().and_then(|it| it.line);
        let is_before = |at: usize| line(at).zip(line(child)).is_none_or(|(at, child)| at <= child);
        let is_blocking = |at: usize| match self.kinds[at] {
            Kind::Stylesheet => self.is_at_least(at, ObjectPriority::High),
            Kind::Script => self.is_at_least(at, ObjectPriority::Medium),
            _ => false,
        };
        let latest = self.entries[child].started + CLOCK_GRAIN;
        let is_blocker = |at: &usize| {
            let parents = self.entries[*at].initiator.places.iter();
            is_blocking(*at)
                && self.initiator(*at) == "parser"
                && parents.filter_map(|it| self.resolve(&it.url, *at)).eq([document])
                && self.entries[*at].end_at() <= latest
                && is_before(*at)
        };
        let cause = |parent: usize| DiscoveryCause {
            parent,
            point: RevealPoint::End,
            provenance: Provenance::Inferred,
        };
        (0..child).filter(is_blocker).map(cause).collect()
    }

    /// True if an entry states at least this priority. Chrome gives sheets for other media and asynchronous scripts a lower
    /// one, since nothing waits for them.
    fn is_at_least(&self, at: usize, least: ObjectPriority) -> bool {
        let word = self.entries[at].priority.as_deref();
        word.and_then(exchange::stated_priority).is_some_and(|stated| stated <= least)
    }
}

fn redirect_target(entry: &HarEntry, kind: Kind) -> Option<String> {
    if kind != Kind::Redirect {
        return None;
    }
    let target = entry.redirect_url.as_deref().or(entry.response_headers.get("location"))?;
    let target = entry.url.as_ref()?.join(target).ok()?;
    Some(entry::address(target.as_str()))
}

/// Last two labels of a host name; three if the country registers names below `co`, `com` and the like.
fn site(host: &str) -> &str {
    const SECOND: [&str; 6] = ["co", "com", "org", "net", "ac", "gov"];
    let mut dots = host.rmatch_indices('.').map(|(at, _)| at);
    let (Some(last), Some(second)) = (dots.next(), dots.next()) else { return host };
    let is_sold_below = host.len() - last == 3 && SECOND.contains(&&host[second + 1..last]);
    let start = match is_sold_below {
        true => dots.next().map_or(0, |third| third + 1),
        false => second + 1,
    };
    &host[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_what_is_registered() {
        let sites = ["www.shop.example", "a.b.co.uk", "b.co.uk", "localhost", "x.y.z.de"].map(site);
        assert_eq!(sites, ["shop.example", "b.co.uk", "b.co.uk", "localhost", "z.de"]);
    }
}
