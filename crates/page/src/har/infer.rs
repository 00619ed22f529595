//! Inference of causes that neither the recording nor a recorded body states.
//!
//! In this order:
//! 1. A `Referer` that names a stylesheet: the sheet (browsers send the sheet's URL for its fonts
//!    and images; Referrer Policy section 3).
//! 2. The document that the `Referer` names, else the page's document, if the entry was requested
//!    while it was arriving or within [`PARSING`] of its end: its parser found it. (Not a font or
//!    data, which no parser finds.)
//! 3. Of all documents that had begun and all sheets, scripts and data that had ended by then, the
//!    most likely one: by the kinds of both, by whether the `Referer` names it or its origin, by whether
//!    both belong to one site, one window, and by the time that has passed.
//!
//! The weights of step 3 are a conditional logit's (McFadden, "Conditional logit analysis of
//! qualitative choice behavior", 1974), fitted to 33 recordings of 2010 to 2026 that state
//! initiators, in tenths; docs/pages.md says how often it is right about pages it has not seen. A
//! guess remains a guess: such edges are marked inferred.

use super::cause::{CauseGraph, DiscoveryCause, RevealPoint};
use super::discovery::CLOCK_GRAIN;
use crate::{Kind, Provenance};

/// Time from a document's end within which its parser and scanner act: of 980 requests that recordings show so soon
/// after, the document had caused 97 %.
const PARSING: i64 = 300_000;

/// The entry that the `Referer` names.
const NAMED: i32 = 50;
/// A document of the origin that the `Referer` names.
const OF_THE_ORIGIN: i32 = 40;
/// A document of the same site; anything else of the same site.
const SITE_OF_DOCUMENT: i32 = 25;
const SITE: i32 = 34;
/// Requested by the same document.
const WINDOW: i32 = 19;
/// The script that ended last.
const LATEST_SCRIPT: i32 = 7;
/// The page's document, once the load event has fired.
const MAIN_AFTER_LOAD: i32 = -19;
/// A document as a script's cause, for each doubling of the milliseconds since its end.
const SCRIPT_LATE: i32 = -5;

/// Most likely cause of `child`.
pub(super) fn cause(graph: &CauseGraph<'_>, child: usize) -> DiscoveryCause {
    let started = graph.entries[child].started;
    let named = graph.named(child);
    if let Some(sheet) = named.filter(|at| graph.kinds[*at] == Kind::Stylesheet) {
        return to(graph, sheet, Provenance::Inferred);
    }
    let main = graph.document(child);
    let named_document = named.filter(|at| graph.kinds[*at] == Kind::Document);
    let owner = named_document.unwrap_or(main);
    let found_by_parser = !matches!(graph.kinds[child], Kind::Font | Kind::Data);
    if found_by_parser && started < graph.entries[owner].end_at() + PARSING {
        return to(graph, owner, Provenance::Inferred);
    }
    let choice =
        CauseChoice { graph, child, main, named, latest_script: latest_script(graph, child) };
    let candidates = (0..child).filter(|parent| choice.is_possible(*parent));
    let scored = candidates.map(|at| (choice.score(at), graph.entries[at].end_at(), at));
    match scored.max() {
        Some((_, _, at)) if at == main && named.is_none() => to(graph, at, Provenance::Defaulted),
        Some((_, _, at)) => to(graph, at, Provenance::Inferred),
        None => to(graph, owner, Provenance::Defaulted),
    }
}

fn to(graph: &CauseGraph<'_>, parent: usize, provenance: Provenance) -> DiscoveryCause {
    let point = match graph.kinds[parent] {
        Kind::Document => RevealPoint::Inside(None),
        _ => RevealPoint::End,
    };
    DiscoveryCause { parent, point, provenance }
}

/// One entry whose cause is sought.
struct CauseChoice<'a> {
    graph: &'a CauseGraph<'a>,
    child: usize,
    /// The page's document.
    main: usize,
    /// Entry that the `Referer` names.
    named: Option<usize>,
    latest_script: Option<usize>,
}

/// Kinds of causes of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ParentKind {
    Main,
    Frame,
    Sheet,
    Script,
    Data,
}

impl CauseChoice<'_> {
    fn parent(&self, at: usize) -> Option<ParentKind> {
        if at == self.main {
            return Some(ParentKind::Main);
        }
        match self.graph.kinds[at] {
            Kind::Document => Some(ParentKind::Frame),
            Kind::Stylesheet => Some(ParentKind::Sheet),
            Kind::Script => Some(ParentKind::Script),
            Kind::Data => Some(ParentKind::Data),
            _ => None,
        }
    }

    /// Returns true if enough of it had arrived when the child was requested.
    fn is_possible(&self, at: usize) -> bool {
        let latest = self.graph.entries[self.child].started + CLOCK_GRAIN;
        match self.parent(at) {
            None => false,
            Some(ParentKind::Main) => true,
            Some(ParentKind::Frame) => self.graph.entries[at].head_at() <= latest,
            Some(parent) => {
                likelihood(parent, self.graph.kinds[self.child]).is_some()
                    && self.graph.entries[at].end_at() <= latest
            }
        }
    }

    fn score(&self, at: usize) -> i32 {
        let Some(parent) = self.parent(at) else { return i32::MIN };
        let (graph, child) = (self.graph, self.child);
        let is_document = matches!(parent, ParentKind::Main | ParentKind::Frame);
        let kind = graph.kinds[child];
        let mut score = likelihood(parent, kind).unwrap_or(0);
        let mut add = |holds: bool, weight: i32| score += if holds { weight } else { 0 };
        let is_named = self.named == Some(at);
        add(is_named, NAMED);
        add(is_document && !is_named && graph.is_origin_named(child, at), OF_THE_ORIGIN);
        let site_weight = if is_document { SITE_OF_DOCUMENT } else { SITE };
        add(graph.site(child) == graph.site(at), site_weight);
        let window = self.named.filter(|named| graph.kinds[*named] == Kind::Document);
        add(!is_document && window.is_some() && graph.named(at) == window, WINDOW);
        add(self.latest_script == Some(at), LATEST_SCRIPT);
        let started = graph.entries[child].started;
        let after_load = graph.loaded_at.is_some_and(|loaded| started > loaded);
        add(parent == ParentKind::Main && after_load, MAIN_AFTER_LOAD);
        let millis = ((started - graph.entries[at].end_at()).max(0) / 1000) as u64;
        add(is_document && kind == Kind::Script, SCRIPT_LATE * (1 + millis).ilog2() as i32);
        score
    }
}

fn latest_script(graph: &CauseGraph<'_>, child: usize) -> Option<usize> {
    let latest = graph.entries[child].started + CLOCK_GRAIN;
    let scripts = (0..child).filter(|at| graph.kinds[*at] == Kind::Script);
    let ended = scripts.map(|at| (graph.entries[at].end_at(), at));
    ended.filter(|(end, _)| *end <= latest).max().map(|(_, at)| at)
}

/// Weight of one kind as the cause of another; `None` if impossible.
fn likelihood(parent: ParentKind, child: Kind) -> Option<i32> {
    let weights: [Option<i32>; 9] = match parent {
        ParentKind::Main => [25, 21, 5, 7, -10, 12, 12, 16, -3].map(Some),
        ParentKind::Frame => [17, 15, -10, -4, -15, -4, -1, 8, -2].map(Some),
        ParentKind::Sheet => {
            [None, Some(-12), Some(-6), Some(18), None, None, Some(-3), Some(-9), None]
        }
        ParentKind::Script => [-6, -5, 9, -16, 27, 8, -7, 0, 10].map(Some),
        ParentKind::Data => [-36, -20, 3, -5, -3, -16, -10, -15, -5].map(Some),
    };
    weights[match child {
        Kind::Script => 0,
        Kind::Image => 1,
        Kind::Stylesheet => 2,
        Kind::Font => 3,
        Kind::Data => 4,
        Kind::Document => 5,
        Kind::Media => 6,
        Kind::Redirect => 7,
        Kind::Other => 8,
    }]
}
