//! Turns causes into edges: the part of the parent that must have arrived, and the client's work after it.
//!
//! The rule is chosen so that the network of the recording stays out of the graph:
//!
//! - A reference inside a document lies at a **position in document order**, never at "the bytes that
//!   had arrived by then", which a longer round trip would shift. Where initiators state lines that
//!   distinguish the references, the position is the line's share of the last line referred to;
//!   where the document's text was recorded, it is the reference's place in the text;
//!   otherwise the references are spread evenly over the document in the order of their requests.
//! - The client's **work** is the gap from the parent's end (a redirect's head) to the entry's start.
//!   An entry starts before its `blocked`, `dns` and `connect`, so none of them is in it. A request
//!   made while its document was still arriving has none: there, waiting for bytes cannot be
//!   distinguished from work, and counting it as work would put the recording's round trips into the graph.
//! - Spans are rounded to [`RESOLUTION`]; most HARs state starts to the millisecond only.
//!
//! Remaining differences between two recordings: work on an early reference that outlasts the rest of the document's
//! arrival over the shorter round trip and not over the longer one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::cause::{CauseGraph, DiscoveryCause, RevealPoint};
use crate::{After, Edge, Kind, ObjectId, Provenance, SizeEstimate};

/// HARs state starts truncated to the millisecond: an entry may seem to start too early by up to this much.
pub(super) const CLOCK_GRAIN: i64 = 1000;

/// Work and think times are multiples of this, in microseconds.
const RESOLUTION: i64 = 100;

/// Edges of all entries, and whether the place of each in its document is only known by rank; `bodies` are the
/// responses' sizes in the same order.
pub(super) fn edges(graph: &CauseGraph<'_>, bodies: &[u64]) -> (Vec<Vec<Edge>>, Vec<bool>) {
    let causes: Vec<Vec<DiscoveryCause>> = (0..graph.entries.len())
        .map(|child| if child == 0 { Vec::new() } else { graph.causes(child) })
        .collect();
    let positions = positions(graph, &causes, bodies);
    let edges_of = |(child, causes): (usize, &Vec<DiscoveryCause>)| {
        let compute = work(graph, child, causes);
        let edge = |cause: &DiscoveryCause| Edge {
            object: ObjectId(cause.parent as u32),
            after: match cause.point {
                RevealPoint::Head => After::Head,
                RevealPoint::Inside(_) | RevealPoint::Read { .. } if bodies[cause.parent] > 0 => {
                    After::Bytes(positions.bytes[&(cause.parent, child)])
                }
                RevealPoint::Inside(_) | RevealPoint::Read { .. } | RevealPoint::End => After::End,
            },
            compute,
            provenance: cause.provenance,
        };
        causes.iter().map(edge).collect()
    };
    let edges: Vec<Vec<Edge>> = causes.iter().enumerate().map(edges_of).collect();
    let by_rank = |(child, edges): (usize, &Vec<Edge>)| match &edges[..] {
        [only] => positions.by_rank.contains(&child) && matches!(only.after, After::Bytes(_)),
        _ => false,
    };
    let by_rank = edges.iter().enumerate().map(by_rank).collect();
    (edges, by_rank)
}

/// Places of references in documents.
#[derive(Default)]
struct Positions {
    /// Bytes of the document up to each reference inside it, by (document, child).
    bytes: BTreeMap<(usize, usize), u64>,
    /// Children whose place is only known by their rank.
    by_rank: BTreeSet<usize>,
}

/// Time from the last of an entry's causes to its start.
fn work(graph: &CauseGraph<'_>, child: usize, causes: &[DiscoveryCause]) -> SizeEstimate {
    // Without any durations the gap is mostly network.
    if graph.entries.iter().all(|entry| entry.timings.wait.is_none()) {
        return SizeEstimate::defaulted(Duration::ZERO);
    }
    let started = graph.entries[child].started;
    let reached = |cause: &DiscoveryCause| {
        let parent = graph.entries[cause.parent];
        match cause.point {
            RevealPoint::Head => Some(parent.head_at()),
            RevealPoint::End => Some(parent.end_at()),
            RevealPoint::Inside(_) | RevealPoint::Read { .. } => {
                Some(parent.end_at()).filter(|end| *end <= started + CLOCK_GRAIN)
            }
        }
    };
    match causes.iter().filter_map(reached).max() {
        Some(last) => SizeEstimate::inferred(rounded(started - last)),
        None => SizeEstimate::defaulted(Duration::ZERO),
    }
}

/// Places of all references inside documents.
fn positions(graph: &CauseGraph<'_>, causes: &[Vec<DiscoveryCause>], bodies: &[u64]) -> Positions {
    let mut by_document: BTreeMap<usize, Vec<(usize, Option<u32>)>> = BTreeMap::new();
    for (child, causes) in causes.iter().enumerate() {
        for cause in causes.iter().filter(|c| graph.kinds[c.parent] == Kind::Document) {
            if let RevealPoint::Inside(line) = cause.point {
                by_document.entry(cause.parent).or_default().push((child, line));
            }
        }
    }
    let mut positions = Positions::default();
    for (child, causes) in causes.iter().enumerate() {
        for DiscoveryCause { parent, point, .. } in causes {
            if let RevealPoint::Read { at, of } = *point {
                positions
                    .bytes
                    .insert((*parent, child), share(bodies[*parent], at as u64, of as u64));
            }
        }
    }
    for (document, references) in by_document {
        let size = bodies[document];
        let lines = usable_lines(&references);
        let last_line = lines.values().max().copied().unwrap_or(1);
        let ranked: Vec<usize> = references
            .iter()
            .map(|(child, _)| *child)
            .filter(|child| !lines.contains_key(child))
            .collect();
        for (child, line) in lines {
            positions.bytes.insert((document, child), share(size, line.into(), last_line.into()));
        }
        for (child, rank) in ranked.iter().zip(1..) {
            positions.bytes.insert((document, *child), share(size, rank, ranked.len() as u64));
            positions.by_rank.insert(*child);
        }
    }
    positions
}

/// Lines of references, if they distinguish at least every second one from the others. A document without line breaks
/// has all of them on one line, which is useless.
fn usable_lines(references: &[(usize, Option<u32>)]) -> BTreeMap<usize, u32> {
    let lines: BTreeMap<usize, u32> =
        references.iter().filter_map(|(child, line)| Some((*child, (*line)?))).collect();
    let distinct: BTreeSet<u32> = lines.values().copied().collect();
    match distinct.len() >= 2 && distinct.len() * 2 >= lines.len() {
        true => lines,
        false => BTreeMap::new(),
    }
}

/// `part` of `whole` parts of `size`, rounded up; at least 1 byte if there is any.
fn share(size: u64, part: u64, whole: u64) -> u64 {
    let bytes = (u128::from(size) * u128::from(part)).div_ceil(u128::from(whole));
    (bytes as u64).clamp(1.min(size), size)
}

/// Server think time: `wait` less one round trip to its host.
pub(super) fn think(wait: Option<i64>, (round_trip, known): (i64, Provenance)) -> SizeEstimate {
    match wait {
        Some(wait) => SizeEstimate { value: rounded(wait - round_trip), provenance: known },
        None => SizeEstimate::defaulted(Duration::ZERO),
    }
}

/// A span in microseconds, rounded; zero if negative.
fn rounded(span: i64) -> Duration {
    let steps = (span.max(0) + RESOLUTION / 2) / RESOLUTION;
    Duration::from_micros((steps * RESOLUTION) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_only_where_they_tell_references_apart() {
        let lines = |of: &[u32]| {
            let references: Vec<_> = of.iter().map(|line| Some(*line)).enumerate().collect();
            usable_lines(&references).len()
        };
        assert_eq!(lines(&[10, 20, 20, 300]), 4);
        assert_eq!(lines(&[1, 1, 1]), 0);
        assert_eq!(lines(&[0, 0, 0, 0, 2]), 0);
        assert_eq!(usable_lines(&[(1, None), (2, Some(4)), (3, Some(5))]).len(), 2);
    }

    #[test]
    fn shares_lie_within_the_document() {
        assert_eq!([share(100, 0, 3), share(100, 1, 3), share(100, 3, 3)], [1, 34, 100]);
        assert_eq!(share(0, 1, 2), 0);
        assert_eq!(share(u64::MAX, u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn spans_round_to_a_tenth_of_a_millisecond() {
        assert_eq!(rounded(1049), Duration::from_micros(1000));
        assert_eq!(rounded(1050), Duration::from_micros(1100));
        assert_eq!(rounded(-5000), Duration::ZERO);
    }
}
