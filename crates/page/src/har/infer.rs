//! Infers what revealed an entry where the recording does not say.
//!
//! In this order:
//! 1. A `Referer` that names a stylesheet: the sheet (browsers send the sheet's URL for its fonts
//!    and images; Referrer Policy section 3).
//! 2. The document that the `Referer` names, else the page's document, if it was still arriving when
//!    the entry was requested: its parser found it.
//! 3. Otherwise the script that had finished last before the request (for what a sheet can ask for,
//!    the script or sheet) within [`PROMPT`]: what a script asks for, it asks for when it runs. The
//!    true cause always is among those that had finished; a later, unrelated finish may hide it.
//! 4. The document: our default.

use super::cause::{Cause, Graph, Point};
use super::discovery::CLOCK_GRAIN;
use crate::{Kind, Provenance};

/// A script or sheet that finished longer than this before a request is not taken for its cause
/// over the document.
const PROMPT: i64 = 1_000_000;

/// The likeliest cause of `child`.
pub(super) fn cause(graph: &Graph<'_>, child: usize) -> Cause {
    let started = graph.entries[child].started;
    let referer = graph.entries[child].request_headers.get("referer");
    let named = referer.and_then(|url| graph.resolve(url, child)).filter(|at| *at != child);
    if let Some(parent) = named.filter(|at| graph.kinds[*at] == Kind::Stylesheet) {
        return Cause { parent, point: Point::End, provenance: Provenance::Inferred };
    }
    let named = named.filter(|at| graph.kinds[*at] == Kind::Document);
    let owner = named.unwrap_or_else(|| graph.document(child));
    let owner_end = graph.entries[owner].end_at();
    let still_arriving = started < owner_end - CLOCK_GRAIN;
    let point = match graph.kinds[owner] {
        Kind::Document => Point::Inside(None),
        _ => Point::End,
    };
    let provenance = match named.is_some() || still_arriving {
        true => Provenance::Inferred,
        false => Provenance::Defaulted,
    };
    let by_owner = Cause { parent: owner, point, provenance };
    if still_arriving {
        return by_owner;
    }
    match latest_finished(graph, child, owner_end) {
        Some(parent) => Cause { parent, point: Point::End, provenance: Provenance::Inferred },
        None => by_owner,
    }
}

/// The plausible parent of `child` that finished last before it, after the document's end.
fn latest_finished(graph: &Graph<'_>, child: usize, owner_end: i64) -> Option<usize> {
    let started = graph.entries[child].started;
    (0..child)
        .filter(|at| can_reveal(graph.kinds[*at], graph.kinds[child]))
        .map(|at| (graph.entries[at].end_at(), at))
        .filter(|(end, _)| *end <= started + CLOCK_GRAIN && *end >= owner_end)
        .filter(|(end, _)| started - *end <= PROMPT)
        .max_by_key(|(end, at)| (*end, std::cmp::Reverse(*at)))
        .map(|(_, at)| at)
}

fn can_reveal(parent: Kind, child: Kind) -> bool {
    match parent {
        Kind::Script => true,
        Kind::Stylesheet => matches!(child, Kind::Font | Kind::Image | Kind::Stylesheet),
        _ => false,
    }
}
