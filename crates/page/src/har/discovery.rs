//! Turns causes into edges: how much of the parent must have arrived, and the client's work after.
//!
//! The rule is chosen so that the network of the recording stays out of the graph:
//!
//! - A reference inside a document lies at a **position in document order**, never at "the bytes that
//!   had arrived by then", which a longer round trip would shift. Where initiators state lines that
//!   tell the references apart, the position is the line's share of the last line referred to;
//!   otherwise the references that were requested before the document's end are spread evenly over
//!   it in the order of their requests, and those requested after it wait for its end.
//! - The **work** is the gap from the parent's point to the entry's start, the start of `blocked`,
//!   `dns` and `connect`, so none of them is in it. For a line the point's time comes from
//!   [`Arrival`]. For an even spread the true position is not known, and waiting for bytes cannot be
//!   told from work: before the document's end all is taken as waiting.
//! - Spans are rounded to [`RESOLUTION`]: HARs mostly state starts to the millisecond.
//!
//! What can still differ between two recordings: work that outlasts the rest of the document's
//! arrival in one of them and not in the other, where no line tells the position.

use std::collections::BTreeMap;
use std::time::Duration;

use super::arrival::Arrival;
use super::cause::{Cause, Graph, Point};
use crate::{After, Edge, Estimate, Kind, ObjectId, Provenance};

/// HARs state starts to the millisecond, cut off: so late an entry may seem to start too early.
pub(super) const CLOCK_GRAIN: i64 = 1000;

/// Work and think time are multiples of this, in microseconds.
pub(super) const RESOLUTION: i64 = 100;

/// A span in microseconds, rounded; zero where it is negative.
pub(super) fn rounded(span: i64) -> Duration {
    let steps = (span.max(0) + RESOLUTION / 2) / RESOLUTION;
    Duration::from_micros((steps * RESOLUTION) as u64)
}

/// A parent's point as it goes into an edge, and when it was reached.
struct Reached {
    after: After,
    at: i64,
    /// Whether `at` is only a lower bound.
    vague: bool,
}

/// The edges of all entries; `arrivals` are the responses' in the same order.
pub(super) fn edges(graph: &Graph<'_>, arrivals: &[Arrival], bodies: &[u64]) -> Vec<Vec<Edge>> {
    let causes: Vec<Vec<Cause>> = (0..graph.entries.len())
        .map(|child| if child == 0 { Vec::new() } else { graph.causes(child) })
        .collect();
    let positions = positions(graph, &causes, bodies);
    let reach = |child: usize, cause: &Cause| -> Reached {
        let parent = graph.entries[cause.parent];
        match (cause.point, positions.get(&(cause.parent, child))) {
            (Point::Head, _) => Reached { after: After::Head, at: parent.head_at(), vague: false },
            (_, Some(Position::Line(bytes))) => Reached {
                after: After::Bytes(*bytes),
                at: arrivals[cause.parent].at(*bytes),
                vague: false,
            },
            (_, Some(Position::Rank(bytes))) => {
                Reached { after: After::Bytes(*bytes), at: parent.head_at(), vague: true }
            }
            _ => Reached { after: After::End, at: parent.end_at(), vague: false },
        }
    };
    let mut edges = Vec::with_capacity(causes.len());
    for (child, causes) in causes.iter().enumerate() {
        let reached: Vec<Reached> = causes.iter().map(|cause| reach(child, cause)).collect();
        let compute = work(graph.entries[child].started, &reached);
        let edge = |(cause, reached): (&Cause, &Reached)| Edge {
            object: ObjectId(cause.parent as u32),
            after: reached.after,
            compute,
            provenance: cause.provenance,
        };
        edges.push(causes.iter().zip(&reached).map(edge).collect());
    }
    edges
}

/// The span from the last point reached to the request.
fn work(started: i64, reached: &[Reached]) -> Estimate {
    let last = reached.iter().filter(|r| !r.vague).map(|r| r.at).max();
    match last {
        Some(last) => Estimate::inferred(rounded(started - last)),
        None => Estimate::defaulted(Duration::ZERO),
    }
}

/// Where in a document a reference lies.
enum Position {
    /// By its line.
    Line(u64),
    /// By its rank among the references.
    Rank(u64),
}

/// The position of each reference inside a document, by (document, child).
fn positions(
    graph: &Graph<'_>,
    causes: &[Vec<Cause>],
    bodies: &[u64],
) -> BTreeMap<(usize, usize), Position> {
    let mut by_document: BTreeMap<usize, Vec<(usize, Option<u32>)>> = BTreeMap::new();
    for (child, causes) in causes.iter().enumerate() {
        for cause in causes.iter().filter(|c| graph.kinds[c.parent] == Kind::Document) {
            if let Point::Inside(line) = cause.point {
                by_document.entry(cause.parent).or_default().push((child, line));
            }
        }
    }
    let mut positions = BTreeMap::new();
    for (document, references) in by_document {
        let size = bodies[document];
        let lines = usable_lines(&references);
        let end = graph.entries[document].end_at();
        let ranked: Vec<usize> = references
            .iter()
            .map(|(child, _)| *child)
            .filter(|child| !lines.contains_key(child))
            .filter(|child| graph.entries[*child].started < end - CLOCK_GRAIN)
            .collect();
        let last_line = lines.values().max().copied().unwrap_or(1).max(1);
        for (child, line) in lines {
            let bytes = share(size, u64::from(line), u64::from(last_line));
            positions.insert((document, child), Position::Line(bytes));
        }
        for (rank, child) in ranked.iter().enumerate() {
            let bytes = share(size, rank as u64 + 1, ranked.len() as u64);
            positions.insert((document, *child), Position::Rank(bytes));
        }
    }
    positions
}

/// The lines of references, where they tell at least every second one from the others. A document
/// without line breaks puts all of them on one line, which says nothing.
fn usable_lines(references: &[(usize, Option<u32>)]) -> BTreeMap<usize, u32> {
    let lines: BTreeMap<usize, u32> =
        references.iter().filter_map(|(child, line)| Some((*child, (*line)?))).collect();
    let distinct: std::collections::BTreeSet<u32> = lines.values().copied().collect();
    match distinct.len() >= 2 && distinct.len() * 2 >= lines.len() {
        true => lines,
        false => BTreeMap::new(),
    }
}

/// `part` of `whole` parts of `size`, rounded up, at least 1 byte where there is any.
fn share(size: u64, part: u64, whole: u64) -> u64 {
    let bytes = (u128::from(size) * u128::from(part)).div_ceil(u128::from(whole));
    (bytes as u64).clamp(1.min(size), size)
}

/// The server's own time: `wait` less one round trip to its host.
pub(super) fn think(wait: Option<i64>, (round_trip, known): (i64, Provenance)) -> Estimate {
    match wait {
        Some(wait) => Estimate { value: rounded(wait - round_trip), provenance: known },
        None => Estimate::defaulted(Duration::ZERO),
    }
}
