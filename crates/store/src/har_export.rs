//! HAR 1.2 of a visit (<http://www.softwareishard.com/blog/har-12-spec/>).
//!
//! Fields that HAR 1.2 lacks have the names of waterfall-tools' extended schema, which is WebPageTest's.
//!
//! Data unknown for a simulated visit are the specification's "does not apply": header lists are empty (their sizes
//! are given), `content.size` is the encoded size. Our own fields begin with `_`, as the specification requires.
//! Dates are a fixed start of the plan plus virtual time, so that the same visit gives the same file.

use std::time::Duration;

use jiff::Timestamp;
use page::{After, Object, Page};
use record::{ObjectRecord, Paint, Phases, VisitOutcome, VisitRecord};
use scenario::{Scenario, VERSION};

use crate::{Store, StoreError, VisitKey};

mod format;

#[cfg(test)]
mod tests;

use format::{
    CallFrame, Creator, Entry, HarCache, HarContent, HarPage, HarPair, HarRequest, Initiator, Log,
    MeasuredPage, PageTimings, Response, Stack, Timings,
};

pub use format::Har;

/// Start of every plan: 2026-01-01T00:00:00Z, in seconds since 1970. Virtual time is added to it.
const PLAN_START_S: u64 = 1_767_225_600;

/// The specification's "does not apply" or "not known".
const NOT_APPLICABLE: f64 = -1.0;

/// A visit with its context.
#[derive(Clone, Copy, Debug)]
pub struct HarVisit<'a> {
    /// The visit's record.
    pub record: &'a VisitRecord,
    /// The scenario.
    pub scenario: Option<&'a Scenario>,
    /// The journey's seed.
    pub seed: u64,
    /// The page, if available: it knows the initiators of requests.
    pub page: Option<&'a Page>,
}

/// The HAR of a journey's visits, in order.
pub fn har(visits: &[HarVisit<'_>]) -> Har {
    let creator = Creator { name: "farlink", version: VERSION };
    let pages = visits.iter().map(har_page).collect();
    let entries = visits.iter().flat_map(entries).collect();
    Har { log: Log { version: "1.2", creator, pages, entries } }
}

/// The HAR of a stored visit, as the file's text.
pub fn of_stored(store: &Store, key: VisitKey) -> Result<String, StoreError> {
    let (journey, record) = (store.journey(key)?, store.record(key)?);
    let visit = HarVisit {
        record: &record,
        scenario: Some(&journey.scenario),
        seed: journey.seed,
        page: None,
    };
    Ok(har(&[visit]).to_json())
}

fn page_id(record: &VisitRecord) -> String {
    format!("visit_{}", record.index)
}

fn har_page(visit: &HarVisit<'_>) -> HarPage {
    let record = visit.record;
    let named = visit.page.map(|p| p.name.clone());
    let asked = record.page.clone().or(visit.scenario.map(|s| s.page.spec.clone()));
    HarPage {
        started_date_time: date(record.started_at_ns),
        id: page_id(record),
        title: named
            .or(asked)
            .or(record.objects.first().map(|o| o.url.clone()))
            .unwrap_or_default(),
        page_timings: PageTimings {
            on_content_load: NOT_APPLICABLE,
            on_load: record.plt_ns().map_or(NOT_APPLICABLE, ms),
        },
        scenario: visit.scenario.cloned(),
        seed: visit.seed.to_string(),
        view: record.view.clone(),
        failure: match &record.outcome {
            VisitOutcome::Loaded { .. } => None,
            VisitOutcome::Failed { reason } => Some(reason.clone()),
        },
        measured: measured(record),
    }
}

fn measured(record: &VisitRecord) -> MeasuredPage {
    let painted = |of: fn(&Paint) -> Option<u64>| record.paint.as_ref().and_then(of).map(ms);
    MeasuredPage {
        ttfb: record.ttfb_ns.map(ms),
        render: record.first_render_ns().map(ms),
        first_contentful_paint: painted(|paint| paint.first_contentful_paint_ns),
        largest_contentful_paint: painted(|paint| paint.largest_contentful_paint_ns),
        speed_index: painted(|paint| paint.speed_index_ns),
        load_time: record.plt_ns().map(ms),
        bytes_in: record.wire_bytes_down,
        bytes_out: record.wire_bytes_up,
    }
}

/// The entries in the order in which the requests were made, as readers of HARs expect.
fn entries(visit: &HarVisit<'_>) -> Vec<Entry> {
    let behind = record::waited_behind(&visit.record.objects);
    let mut objects: Vec<(&ObjectRecord, u64)> = visit.record.objects.iter().zip(behind).collect();
    objects.sort_by_key(|(o, _)| (o.discovered_at_ns, o.object));
    objects.into_iter().map(|(object, behind)| entry(visit, object, behind)).collect()
}

fn entry(visit: &HarVisit<'_>, object: &ObjectRecord, behind_ns: u64) -> Entry {
    let is_cached = object.protocol == "cache";
    Entry {
        pageref: page_id(visit.record),
        started_date_time: date(object.discovered_at_ns),
        time: ms(object.phases.total_ns()),
        request: request(visit, object),
        response: response(visit, object),
        cache: HarCache {},
        timings: timings(object, behind_ns),
        connection: object.connection.map(|id| id.to_string()),
        priority: object.priority.clone(),
        resource_type: object.kind.to_lowercase(),
        initiator: initiator(visit, object),
        delays_load: described(visit, object).map(|object| object.blocks_load),
        from_cache: is_cached.then_some("memory"),
        render_blocking: if object.blocks_render { "blocking" } else { "non_blocking" },
        bytes_in: object.response_header_bytes + object.body_bytes,
        is_secure: object.url.starts_with("https:"),
    }
}

/// The page's own description of the object.
fn described<'a>(visit: &HarVisit<'a>, object: &ObjectRecord) -> Option<&'a Object> {
    visit.page?.objects.get(object.object as usize).filter(|o| o.url == object.url)
}

/// The objects that revealed this one: the one that names it, or all that had to run.
fn initiator(visit: &HarVisit<'_>, object: &ObjectRecord) -> Option<Initiator> {
    let edges = &described(visit, object)?.waits_for;
    let parent = |edge: &page::Edge| visit.page?.objects.get(edge.object.0 as usize);
    let url_of = |edge: &page::Edge| parent(edge).map(|parent| parent.url.clone());
    let is_redirect =
        |edge: &page::Edge| parent(edge).is_none_or(|parent| parent.kind == page::Kind::Redirect);
    match &edges[..] {
        [] => None,
        [edge] if edge.after == After::Head && is_redirect(edge) => {
            Some(Initiator { kind: "redirect", url: url_of(edge), stack: None })
        }
        [edge] => Some(Initiator { kind: "parser", url: url_of(edge), stack: None }),
        several => {
            let call_frames = several.iter().filter_map(url_of).map(|url| CallFrame { url });
            let stack = Some(Stack { call_frames: call_frames.collect() });
            Some(Initiator { kind: "script", url: None, stack })
        }
    }
}

/// Size of a head as HTTP/1.1 text, which HAR asks for; as sent, if the page's description is not at hand.
fn head_size(described: Option<u32>, sent: u64) -> i64 {
    size(described.map_or(sent, u64::from))
}

fn request(visit: &HarVisit<'_>, object: &ObjectRecord) -> HarRequest {
    let described = described(visit, object).map(|object| object.request_header_bytes);
    HarRequest {
        method: object.method.clone(),
        url: object.url.clone(),
        http_version: http_version(&object.protocol),
        cookies: [],
        headers: [],
        query_string: query(&object.url),
        headers_size: head_size(described, object.request_header_bytes),
        headers_transfer_size: object.request_header_bytes,
        body_size: size(object.request_body_bytes),
    }
}

fn response(visit: &HarVisit<'_>, object: &ObjectRecord) -> Response {
    let described = described(visit, object).map(|object| object.response_header_bytes);
    Response {
        status: object.status,
        status_text: status_text(object.status),
        http_version: http_version(&object.protocol),
        cookies: [],
        headers: [],
        content: HarContent { size: object.body_bytes, mime_type: mime_type(&object.kind) },
        redirect_url: redirect_target(visit, object).unwrap_or_default(),
        headers_size: head_size(described, object.response_header_bytes),
        headers_transfer_size: object.response_header_bytes,
        body_size: size(object.body_bytes),
        transfer_size: size(object.response_header_bytes + object.body_bytes),
        error: object.error.clone(),
    }
}

/// Target of a redirect: the object that waits for it.
fn redirect_target(visit: &HarVisit<'_>, object: &ObjectRecord) -> Option<String> {
    if !(300..400).contains(&object.status) || object.status == 304 {
        return None;
    }
    let waits = |o: &&Object| o.waits_for.iter().any(|edge| edge.object.0 == object.object);
    visit.page?.objects.iter().find(waits).map(|o| o.url.clone())
}

fn timings(object: &ObjectRecord, behind_ns: u64) -> Timings {
    let Phases { blocked_ns, dns_ns, connect_ns, tls_ns, send_ns, wait_ns, receive_ns } =
        object.phases;
    let connected = connect_ns + tls_ns > 0;
    let only = |applies: bool, ns: u64| if applies { ms(ns) } else { NOT_APPLICABLE };
    Timings {
        blocked: ms(blocked_ns),
        dns: only(connected || dns_ns > 0, dns_ns),
        connect: only(connected, connect_ns + tls_ns),
        ssl: only(tls_ns > 0, tls_ns),
        send: ms(send_ns),
        wait: ms(wait_ns),
        receive: ms(receive_ns),
        behind: (behind_ns > 0).then(|| ms(behind_ns)),
    }
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

fn size(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Virtual time as a date.
fn date(at_ns: u64) -> String {
    let since_epoch = Duration::from_secs(PLAN_START_S) + Duration::from_nanos(at_ns);
    let date = Timestamp::UNIX_EPOCH.saturating_add(since_epoch).unwrap_or(Timestamp::MAX);
    // Six digits, as browsers write.
    format!("{date:.6}")
}

fn http_version(protocol: &str) -> &'static str {
    match protocol {
        "h1.0" => "HTTP/1.0",
        "h1" | "h1-pipelined" => "HTTP/1.1",
        "h2" => "HTTP/2",
        "h3" => "HTTP/3",
        "spdy" => "SPDY/3.1",
        "spdy/3" => "SPDY/3",
        "spdy/2" => "SPDY/2",
        _ => "",
    }
}

/// The registered phrase (RFC 9110 section 15) of the statuses that are likely in a load.
fn status_text(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        403 => "Forbidden",
        404 => "Not Found",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "",
    }
}

/// The usual media type of a kind of response; the page model keeps no finer one.
fn mime_type(kind: &str) -> &'static str {
    match kind {
        "Document" => "text/html",
        "Stylesheet" => "text/css",
        "Script" => "text/javascript",
        "Image" => "image/*",
        "Font" => "font/woff2",
        "Data" => "application/json",
        _ => "application/octet-stream",
    }
}

fn query(url: &str) -> Vec<HarPair> {
    let without_fragment = url.split('#').next().unwrap_or(url);
    let Some((_, query)) = without_fragment.split_once('?') else { return Vec::new() };
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        HarPair { name: name.to_owned(), value: value.to_owned() }
    };
    query.split('&').filter(|part| !part.is_empty()).map(pair).collect()
}
