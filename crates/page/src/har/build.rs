//! Builds a page from the selected entries.

use super::cause::Graph;
use super::entry::Entry;
use super::hosts::Hosts;
use super::log::Log;
use super::select::Selection;
use super::{caching, cautions, discovery, kinds, sizes, summary};
use crate::{BodySource, Edge, Kind, Object, Page, rendering};

/// Slack in microseconds: entries that end later than this after the load event did not hold it up.
const LOAD_SLACK: i64 = 50_000;

/// Builds the page of `selection`.
pub(super) fn page(name: &str, log: &Log, selection: Selection<'_>) -> Page {
    let entries = &selection.kept[..];
    let kinds: Vec<Kind> = entries.iter().map(|entry| kinds::kind(entry)).collect();
    let sizes: Vec<(u64, BodySource)> = entries.iter().map(|entry| sizes::body(entry)).collect();
    let bodies: Vec<u64> = sizes.iter().map(|(bytes, _)| *bytes).collect();
    let graph = Graph::new(entries, &kinds, selection.loaded_at);
    let hosts = Hosts::of(entries, graph.document(entries.len()));
    let edges = discovery::edges(&graph, &bodies);
    let objects: Vec<Object> = entries
        .iter()
        .zip(edges)
        .enumerate()
        .map(|(at, (entry, waits_for))| Object {
            blocks_load: at == 0 || blocks_load(entry, kinds[at], selection.loaded_at),
            body_bytes: bodies[at],
            body_source: sizes[at].1,
            ..object(entry, kinds[at], &hosts, waits_for)
        })
        .collect();
    let stated: Vec<Option<bool>> =
        (0..entries.len()).map(|child| blocks_render(&graph, child)).collect();
    let cautions = cautions::cautions(&selection, &objects);
    let measured_hosts = hosts.measured();
    let mut page = Page {
        name: name.to_owned(),
        origin: String::new(),
        hosts: hosts.into_hosts(),
        objects,
        skipped: selection.skipped.clone(),
        cautions,
    };
    rendering::mark(&mut page, &stated);
    let recording = summary::Recording {
        log,
        kept: entries,
        measured_hosts,
        loaded: selection.loaded_at.is_some(),
    };
    page.origin = summary::origin(&recording, &page.summary());
    page
}

/// The object of `entry`, without the fields that need the whole page.
fn object(entry: &Entry, kind: Kind, hosts: &Hosts, waits_for: Vec<Edge>) -> Object {
    let host = hosts.id(entry);
    let (request_head, request_known) = sizes::request_head(entry);
    let (response_head, response_known) = sizes::response_head(entry);
    let path = entry
        .url
        .as_ref()
        .map(|url| url[url::Position::BeforePath..url::Position::AfterQuery].to_owned());
    Object {
        url: entry.url_text.clone(),
        host,
        path: path.unwrap_or_default(),
        method: entry.method.clone(),
        kind,
        status: entry.status as u16,
        request_header_bytes: u32::try_from(request_head).unwrap_or(u32::MAX),
        request_fields: request_fields(entry),
        request_body_bytes: entry.request_body_size.unwrap_or(0),
        response_header_bytes: u32::try_from(response_head).unwrap_or(u32::MAX),
        header_provenance: request_known.max(response_known),
        body_bytes: 0,
        body_source: BodySource::Unknown,
        think: discovery::think(entry.timings.wait, hosts.round_trip(host)),
        waits_for,
        priority: kinds::priority(entry, kind),
        blocks_load: true,
        blocks_render: false,
        cacheable: caching::cacheable(entry),
    }
}

/// Fields of the request, without HTTP/2's and SPDY's pseudo-header fields.
fn request_fields(entry: &Entry) -> Vec<(String, String)> {
    let fields = entry.request_headers.0.iter();
    fields.filter(|(name, _)| !name.starts_with(':')).cloned().collect()
}

/// Returns true if the load event waited for the entry. Entries that started after the event, or were still arriving
/// when it fired, did not hold it up; nor did kinds that never do.
fn blocks_load(entry: &Entry, kind: Kind, loaded_at: Option<i64>) -> bool {
    let in_time =
        loaded_at.is_none_or(|at| entry.started <= at && entry.end_at() <= at + LOAD_SLACK);
    in_time && kinds::can_block_load(entry, kind)
}

/// Recorded evidence on whether the first paint waits for `child`: from the document's text, or from a script as the
/// initiator.
fn blocks_render(graph: &Graph<'_>, child: usize) -> Option<bool> {
    let asked_for = graph.asked_for(child);
    let document = graph.document(child);
    let may_block = matches!(graph.kinds[child], Kind::Stylesheet | Kind::Script);
    if may_block && graph.entries[document].body_text.is_some() {
        return Some(graph.mention(document, asked_for).is_some_and(|mention| mention.blocks));
    }
    let by_script = graph.entries[asked_for].initiator.kind.as_deref() == Some("script");
    by_script.then_some(false)
}
