//! Infers what revealed an entry where the recording does not say.
//!
//! In this order:
//! 1. A `Referer` that names a stylesheet: the sheet (browsers send the sheet's URL for its fonts
//!    and images; Referrer Policy section 3).
//! 2. What no parser finds: a font comes from the sheet, data from the script, that had finished
//!    last before the request.
//! 3. The document that the `Referer` names, else the page's document, if the entry was requested
//!    while it was arriving or within [`PARSING`] of its end: its parser found it.
//! 4. The script (for an image or a sheet also the sheet) that had finished last between the
//!    document's end and the request, at most [`PROMPT`] before it: what a script asks for, it asks
//!    for when it runs.
//! 5. The document: our default.
//!
//! Steps 3 and 4 can mistake a script's early request for the parser's, and take a later, unrelated
//! finish for the cause; that is why such edges are marked inferred.

use super::cause::{Cause, Graph, Point};
use super::discovery::CLOCK_GRAIN;
use crate::{Kind, Provenance};

/// A parser lags so far behind the bytes: a document of 50 KB at 1 ms a KB (WProf, NSDI 2013).
const PARSING: i64 = 50_000;

/// A script or sheet that finished longer than this before a request is not taken for its cause
/// over the document.
const PROMPT: i64 = 1_000_000;

/// The likeliest cause of `child`.
pub(super) fn cause(graph: &Graph<'_>, child: usize) -> Cause {
    let started = graph.entries[child].started;
    let inferred = |parent, point| Cause { parent, point, provenance: Provenance::Inferred };
    let referer = graph.entries[child].request_headers.get("referer");
    let named = referer.and_then(|url| graph.resolve(url, child));
    if let Some(sheet) = named.filter(|at| graph.kinds[*at] == Kind::Stylesheet) {
        return inferred(sheet, Point::End);
    }
    let named = named.filter(|at| graph.kinds[*at] == Kind::Document);
    let owner = named.unwrap_or_else(|| graph.document(child));
    let owner_end = graph.entries[owner].end_at();
    let by_owner = match graph.kinds[owner] {
        Kind::Document => inferred(owner, Point::Inside(None)),
        _ => inferred(owner, Point::End),
    };
    let parents = parents_of(graph.kinds[child]);
    let found_by_parser = !matches!(graph.kinds[child], Kind::Font | Kind::Data);
    if found_by_parser && started < owner_end + PARSING {
        return by_owner;
    }
    let since = match found_by_parser {
        true => owner_end.max(started - PROMPT),
        false => i64::MIN,
    };
    match latest_finished(graph, child, parents, since) {
        Some(parent) => inferred(parent, Point::End),
        None if named.is_some() => by_owner,
        None => Cause { provenance: Provenance::Defaulted, ..by_owner },
    }
}

/// The entry of one of `kinds` that finished last before `child` started, not before `since`.
fn latest_finished(graph: &Graph<'_>, child: usize, kinds: &[Kind], since: i64) -> Option<usize> {
    let latest = graph.entries[child].started + CLOCK_GRAIN;
    (0..child)
        .filter(|at| kinds.contains(&graph.kinds[*at]))
        .map(|at| (graph.entries[at].end_at(), at))
        .filter(|(end, _)| (since..=latest).contains(end))
        .max_by_key(|(end, at)| (*end, std::cmp::Reverse(*at)))
        .map(|(_, at)| at)
}

/// What can reveal an object of this kind, other than a document.
fn parents_of(kind: Kind) -> &'static [Kind] {
    match kind {
        Kind::Font => &[Kind::Stylesheet],
        Kind::Image | Kind::Stylesheet => &[Kind::Script, Kind::Stylesheet],
        _ => &[Kind::Script],
    }
}
