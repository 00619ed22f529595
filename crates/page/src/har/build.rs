//! Builds a page from the selected entries, with its origin in one line and cautions about the recording.

use std::sync::Arc;
use std::time::Duration;

use super::cause::CauseGraph;
use super::entry::HarEntry;
use super::hosts::{self, Hosts};
use super::log::HarLog;
use super::select::Selection;
use super::{discovery, exchange};
use crate::{
    BodyCoding, BodySource, Caution, Edge, Kind, Object, Page, PageSummary, RecordedTimes,
    Recording, rendering,
};

/// Slack in microseconds: entries that end later than this after the load event did not hold it up.
const LOAD_SLACK: i64 = 50_000;

/// Builds the page of `selection`.
pub(super) fn page(name: &str, log: &HarLog, selection: Selection<'_>) -> Page {
    let entries = &selection.kept[..];
    let kinds: Vec<Kind> = entries.iter().map(|entry| exchange::kind(entry)).collect();
    let sizes: Vec<(u64, BodySource)> =
        entries.iter().map(|entry| super::exchange::body(entry)).collect();
    let bodies: Vec<u64> = sizes.iter().map(|(bytes, _)| *bytes).collect();
    let graph = CauseGraph::new(entries, &kinds, selection.loaded_at);
    let hosts = Hosts::of(entries, graph.document(entries.len()));
    let (edges, by_rank) = discovery::edges(&graph, &bodies);
    let objects: Vec<Object> = entries
        .iter()
        .zip(edges)
        .enumerate()
        .map(|(at, (entry, waits_for))| Object {
            blocks_load: at == 0
                || entry
                    .delays_load
                    .unwrap_or_else(|| blocks_load(entry, kinds[at], selection.loaded_at)),
            body_bytes: bodies[at],
            body_source: sizes[at].1,
            coding: exchange::coding(entry, bodies[at]),
            ..object(entry, kinds[at], &hosts, waits_for)
        })
        .collect();
    let stated: Vec<Option<bool>> =
        (0..entries.len()).map(|child| blocks_render(&graph, child)).collect();
    let cautions = cautions(&selection, &objects);
    let measured_hosts = hosts.measured();
    let recording = recording(entries, &by_rank);
    let mut page = Page {
        name: name.to_owned(),
        origin: String::new(),
        hosts: hosts.into_hosts(),
        objects,
        skipped: selection.skipped.clone(),
        cautions,
        recorded_network: None,
        recording: Some(Arc::new(recording)),
    };
    rendering::mark(&mut page, &stated);
    let recording =
        HarRecording { log, kept: entries, measured_hosts, loaded: selection.loaded_at.is_some() };
    page.origin = origin(&recording, &page.summary());
    page
}

/// Times of the entries, from the start of the first.
fn recording(entries: &[&HarEntry], by_rank: &[bool]) -> Recording {
    let began = entries[0].started;
    let since = |at: i64| micros(at - began);
    let times = |(entry, by_rank): (&&HarEntry, &bool)| RecordedTimes {
        started: since(entry.started),
        lookup: micros(entry.timings.dns.unwrap_or_default()),
        connect: hosts::handshake(entry).map(micros),
        tls: match hosts::is_quic(&entry.response_version) {
            true => None,
            false => entry.timings.tls.filter(|span| *span > 0).map(micros),
        },
        wait: entry.timings.wait.map(micros),
        head_at: since(entry.head_at()),
        end_at: since(entry.end_at()),
        from_cache: entry.from_cache,
        is_placed_by_rank: *by_rank,
    };
    let mut objects: Vec<RecordedTimes> = entries.iter().zip(by_rank).map(times).collect();
    objects[0].lookup += micros(entries[0].timings.blocked.unwrap_or_default());
    Recording { objects }
}

/// A span in microseconds; zero if negative.
fn micros(span: i64) -> Duration {
    Duration::from_micros(span.max(0) as u64)
}

/// The object of `entry`, without the fields that need the whole page.
fn object(entry: &HarEntry, kind: Kind, hosts: &Hosts, waits_for: Vec<Edge>) -> Object {
    let host = hosts.id(entry);
    let (request_head, request_known) = super::exchange::request_head(entry);
    let (response_head, response_known) = super::exchange::response_head(entry);
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
        coding: BodyCoding::Identity,
        think: discovery::think(entry.timings.wait, hosts.round_trip(host)),
        waits_for,
        priority: exchange::priority(entry, kind),
        blocks_load: true,
        blocks_render: false,
        cacheable: super::exchange::cacheable(entry),
    }
}

/// Fields of the request, without HTTP/2's and SPDY's pseudo-header fields.
fn request_fields(entry: &HarEntry) -> Vec<(String, String)> {
    let fields = entry.request_headers.0.iter();
    fields.filter(|(name, _)| !name.starts_with(':')).cloned().collect()
}

/// Returns true if the load event waited for the entry. Entries that started after the event, or were still arriving
/// when it fired, did not hold it up; nor did kinds that never do.
fn blocks_load(entry: &HarEntry, kind: Kind, loaded_at: Option<i64>) -> bool {
    let in_time =
        loaded_at.is_none_or(|at| entry.started <= at && entry.end_at() <= at + LOAD_SLACK);
    in_time && exchange::can_block_load(entry, kind)
}

/// Recorded evidence on whether the first paint waits for `child`: from the document's text, or from a script as the
/// initiator.
fn blocks_render(graph: &CauseGraph<'_>, child: usize) -> Option<bool> {
    let asked_for = graph.asked_for(child);
    let document = graph.document(child);
    let may_block = matches!(graph.kinds[child], Kind::Stylesheet | Kind::Script);
    if may_block && graph.entries[document].body_text.is_some() {
        return Some(graph.mention(document, asked_for).is_some_and(|mention| mention.blocks));
    }
    let by_script = graph.entries[asked_for].initiator.kind.as_deref() == Some("script");
    by_script.then_some(false)
}

/// Share of cached responses, in percent, from which a recording counts as one of a warm cache.
const WARM_PERCENT: usize = 10;

/// Cautions for a page of these objects, one per entry.
pub(super) fn cautions(selection: &Selection<'_>, objects: &[Object]) -> Vec<Caution> {
    let entries = &selection.kept[..];
    let several = selection.others.split_first().map(|_| Caution::SeveralPages {
        read: selection.page.clone().unwrap_or_default(),
        others: selection.others.clone(),
    });
    let status = objects.iter().find(|object| object.kind != Kind::Redirect).map(|o| o.status);
    let status = status.filter(|status| *status >= 400);
    let found = [
        several,
        status.map(|status| Caution::DocumentStatus { status }),
        no_sizes(objects),
        warm_cache(entries),
        odd_spans(entries),
    ];
    found.into_iter().flatten().collect()
}

fn no_sizes(objects: &[Object]) -> Option<Caution> {
    let has_body = |object: &&Object| object.method == "GET" && object.status == 200;
    let of = objects.iter().filter(has_body).count();
    let without = objects.iter().filter(has_body).filter(|object| object.body_bytes == 0).count();
    (without * 2 > of).then_some(Caution::NoSizes { without, of })
}

fn warm_cache(entries: &[&HarEntry]) -> Option<Caution> {
    let cached = entries.iter().filter(|entry| entry.from_cache).count();
    let revalidated = entries.iter().filter(|entry| entry.status == 304).count();
    let is_warm = (cached + revalidated) * 100 >= entries.len() * WARM_PERCENT;
    (is_warm && cached + revalidated > 0).then_some(Caution::WarmCache {
        cached,
        revalidated,
        of: entries.len(),
    })
}

fn odd_spans(entries: &[&HarEntry]) -> Option<Caution> {
    let mut odd = entries.iter().flat_map(|entry| entry.odd.iter().map(move |odd| (entry, odd)));
    let (entry, span) = odd.next()?;
    let first = format!(
        "{} ms in timings.{} of entry {} (counted from 0)",
        span.ms, span.field, entry.index
    );
    Some(Caution::OddSpans { count: odd.count() + 1, first })
}

/// Input of the summary, beside the page itself.
pub(super) struct HarRecording<'a> {
    pub log: &'a HarLog,
    pub kept: &'a [&'a HarEntry],
    pub measured_hosts: usize,
    pub loaded: bool,
}

/// The `origin` of a page read from a HAR.
pub(super) fn origin(recording: &HarRecording<'_>, page: &PageSummary) -> String {
    let HarRecording { log, kept, measured_hosts, loaded } = recording;
    let count = |test: fn(&HarEntry) -> bool| kept.iter().filter(|e| test(e)).count();
    let skipped: usize = page.skipped.values().sum();
    let notes = [
        (skipped, "skipped"),
        (count(|e| e.status == 304), "revalidated (304, as recorded: no body)"),
        (count(|e| e.from_cache), "from a cache (taken as fetched)"),
        (count(|e| e.pushed), "pushed by the server (taken as requested)"),
    ];
    let mut parts = vec![format!("HAR by {}, {} entries", log.creator, log.entries.len())];
    let notes = notes.into_iter().filter(|(count, _)| *count > 0);
    parts.extend(notes.map(|(count, what)| format!("{count} {what}")));
    parts.push(format!(
        "edges: {} stated, {} read in bodies, {} inferred, {} by default",
        page.edges.measured, page.edges.read, page.edges.inferred, page.edges.defaulted
    ));
    parts.push(format!("round trips of {measured_hosts} of {} hosts measured", page.hosts));
    if !loaded {
        parts.push("no load event recorded".to_owned());
    }
    parts.join("; ")
}
