//! One entry of a HAR: the exchange's times, its initiator, and the fields that later steps need.
//!
//! Instants are microseconds since the Unix epoch, spans microseconds. A span of -1 (HAR's "does not apply") and a
//! missing one are `None`.

use base64::Engine;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;
use url::Url;

use super::log::{bytes, field, number, text, truth};
use crate::Error;

/// Longest plausible span: a day. Larger values are something other than a span.
const LONGEST_MS: f64 = 86_400_000.0;

/// Largest plausible object: 4 GiB.
const LARGEST_BYTES: u64 = 1 << 32;

/// Maximum rounding error of the sum of seven spans in whole milliseconds.
const ROUNDING_MS: f64 = 4.0;

/// HTTP headers in their order; names in lower case.
#[derive(Clone, Debug, Default)]
pub(super) struct Headers(pub Vec<(String, String)>);

/// `timings`, with `connect` meaning TCP alone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HarTimings {
    pub blocked: Option<i64>,
    pub dns: Option<i64>,
    pub connect: Option<i64>,
    pub tls: Option<i64>,
    pub send: Option<i64>,
    pub wait: Option<i64>,
    pub receive: Option<i64>,
}

/// One exchange.
#[derive(Clone, Debug)]
pub(super) struct HarEntry {
    /// Index in `log.entries`.
    pub index: usize,
    pub pageref: Option<String>,
    pub started: i64,
    pub timings: HarTimings,
    pub method: String,
    pub url_text: String,
    /// `None` if the URL is not one that a browser could fetch over HTTP.
    pub url: Option<Url>,
    pub response_version: String,
    pub request_headers: Headers,
    pub response_headers: Headers,
    pub request_headers_size: Option<u64>,
    pub response_headers_size: Option<u64>,
    pub request_body_size: Option<u64>,
    pub status: i64,
    pub redirect_url: Option<String>,
    pub mime: String,
    pub content_size: Option<u64>,
    /// The body, decoded, if it is a text that may name other objects.
    pub body_text: Option<String>,
    pub body_size: Option<u64>,
    pub transfer_size: Option<u64>,
    pub resource_type: Option<String>,
    pub priority: Option<String>,
    pub initiator: Initiator,
    /// The browser says that its cache (memory, disk, prefetch) answered.
    pub from_cache: bool,
    /// A service worker answered.
    pub by_service_worker: bool,
    /// A service worker's own request on behalf of the page.
    pub is_worker_fetch: bool,
    /// It was aborted before its response was complete.
    pub aborted: bool,
    pub pushed: bool,
    /// True if the load event waited for it; `None` unless the tool says so (farlink does).
    pub delays_load: Option<bool>,
    /// Implausible spans, taken as unknown.
    pub odd: Vec<OddSpan>,
}

/// An implausible span.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OddSpan {
    /// Its name in `timings`.
    pub field: &'static str,
    /// Its recorded value.
    pub ms: f64,
}

impl Headers {
    /// First value of the header `name` (in lower case).
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

impl HarTimings {
    /// Time from the start of the entry to the first byte of its response.
    fn to_head(self) -> i64 {
        [self.blocked, self.dns, self.connect, self.tls, self.send, self.wait]
            .into_iter()
            .flatten()
            .sum()
    }
}

impl HarEntry {
    /// Arrival of the first byte of the response.
    pub fn head_at(&self) -> i64 {
        self.started + self.timings.to_head()
    }

    /// Arrival of the last byte of the response.
    pub fn end_at(&self) -> i64 {
        self.head_at() + self.timings.receive.unwrap_or(0)
    }

    /// The URL without its fragment, for comparing links.
    pub fn address(&self) -> String {
        address(&self.url_text)
    }
}

/// The body in `content`, if it is a text that may name other objects.
fn body_text(content: &Value) -> Option<String> {
    const NAMING: [&str; 5] = ["html", "css", "javascript", "ecmascript", "json"];
    let stated = text(field(content, "mimeType")).unwrap_or_default().to_lowercase();
    let body =
        text(field(content, "text")).filter(|_| NAMING.iter().any(|n| stated.contains(n)))?;
    match text(field(content, "encoding")) {
        None => Some(body.to_owned()),
        Some(encoding) if encoding.eq_ignore_ascii_case("base64") => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(body.trim()).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        }
        Some(_) => None,
    }
}

/// `url` up to its fragment, as spelt.
pub(super) fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or(url)
}

/// `url` without its fragment, normalised.
pub(super) fn address(url: &str) -> String {
    match Url::parse(url) {
        Ok(mut url) => {
            url.set_fragment(None);
            url.into()
        }
        Err(_) => without_fragment(url).to_owned(),
    }
}

/// A span in milliseconds as microseconds; `None` if implausible.
pub(super) fn micros(ms: f64) -> Option<i64> {
    (ms.abs() <= LONGEST_MS).then(|| (ms * 1000.0).round() as i64)
}

/// Parses an ISO 8601 instant; one without an offset is taken as UTC.
pub(super) fn instant(text: &str) -> Option<i64> {
    let parsed = text.trim().parse::<Timestamp>().ok().or_else(|| {
        let civil = text.trim().parse::<DateTime>().ok()?;
        TimeZone::UTC.to_timestamp(civil).ok()
    })?;
    Some(parsed.as_microsecond())
}

/// Reader of one file's entries, aware of the recording tool's conventions.
pub(super) struct EntryReader<'a> {
    name: &'a str,
    tls_beside_connect: bool,
    /// True if some entry has a span of an exchange: then an entry without any was none.
    tells_spans: bool,
    /// True if `_transferSize` is above 0 in some entry: then 0 means that nothing crossed the wire.
    tells_transfers: bool,
}

impl<'a> EntryReader<'a> {
    /// Derives from all `entries` whether `ssl` lies inside `connect`.
    ///
    /// HAR 1.2 section "timings" says that it does; Firefox writes it beside. `time`, the sum of all spans, tells:
    /// each entry with a TLS handshake has a vote.
    pub fn new(name: &'a str, entries: &[Value]) -> EntryReader<'a> {
        let votes: i64 = entries.iter().map(tls_vote).sum();
        let transfers =
            |entry| bytes(field(field(entry, "response"), "_transferSize")).is_some_and(|n| n > 0);
        EntryReader {
            name,
            tls_beside_connect: votes > 0,
            tells_spans: entries.iter().any(has_spans),
            tells_transfers: entries.iter().any(transfers),
        }
    }

    /// Parses one entry.
    pub fn read(&self, index: usize, value: &Value) -> Result<HarEntry, Error> {
        let wrong = |field: &str, problem: &str| Error::Entry {
            name: self.name.to_owned(),
            entry: index,
            field: field.to_owned(),
            problem: problem.to_owned(),
        };
        let request = value.get("request").ok_or_else(|| wrong("request", "is missing"))?;
        let response = field(value, "response");
        let content = field(response, "content");
        let url_text = text(field(request, "url"))
            .ok_or_else(|| wrong("request.url", "is missing or empty"))?;
        let started = text(field(value, "startedDateTime"))
            .and_then(instant)
            .ok_or_else(|| wrong("startedDateTime", "is not an ISO 8601 date and time"))?;
        let own = |name: &str| field(value, name);
        let size = |at: &str, value: &Value| match bytes(value) {
            Some(bytes) if bytes > LARGEST_BYTES => Err(wrong(
                at,
                &format!(
                    "{bytes} bytes exceed the maximum of {LARGEST_BYTES}; correct it or remove the entry"
                ),
            )),
            known => Ok(known),
        };
        let (timings, odd) = self.timings(value);
        let status = number(field(response, "status")).unwrap_or(0.0) as i64;
        Ok(HarEntry {
            index,
            pageref: text(own("pageref")).map(str::to_owned),
            started,
            timings,
            method: text(field(request, "method")).unwrap_or("GET").to_uppercase(),
            url_text: url_text.to_owned(),
            url: Url::parse(url_text).ok().filter(|u| {
                matches!(u.scheme(), "http" | "https")
                    && u.host_str().is_some_and(|h| !h.is_empty())
            }),
            response_version: version(response, own("_protocol")),
            request_headers: headers(field(request, "headers")),
            response_headers: headers(field(response, "headers")),
            request_headers_size: size("request.headersSize", field(request, "headersSize"))?
                .filter(|n| *n > 0),
            response_headers_size: size("response.headersSize", field(response, "headersSize"))?
                .filter(|n| *n > 0),
            request_body_size: size("request.bodySize", field(request, "bodySize"))?,
            status,
            redirect_url: text(field(response, "redirectURL")).map(str::to_owned),
            mime: mime(text(field(content, "mimeType")).unwrap_or_default()),
            content_size: size("response.content.size", field(content, "size"))?,
            body_text: body_text(content),
            body_size: size("response.bodySize", field(response, "bodySize"))?,
            transfer_size: size("response._transferSize", field(response, "_transferSize"))?
                .or(size("_transferSize", own("_transferSize"))?)
                .or(size("_bytesIn", own("_bytesIn"))?),
            resource_type: text(own("_resourceType")).map(str::to_lowercase),
            priority: ["_initialPriority", "_initial_priority", "_priority"]
                .into_iter()
                .find_map(|name| text(own(name)))
                .map(str::to_owned),
            initiator: read(value),
            from_cache: self.is_from_cache(value),
            by_service_worker: by_service_worker(value),
            is_worker_fetch: false,
            aborted: aborted(value, status),
            pushed: truth(own("_was_pushed")),
            delays_load: own("_delaysLoad").as_bool(),
            odd,
        })
    }

    /// Returns true if no request was made, by a tool's mark or because nothing of an exchange is recorded.
    fn is_from_cache(&self, entry: &Value) -> bool {
        let response = field(entry, "response");
        let has_content = bytes(field(field(response, "content"), "size")).is_some_and(|n| n > 0);
        let crossed_nothing = self.tells_transfers
            && has_content
            && bytes(field(response, "_transferSize")) == Some(0);
        says_cached(entry) || crossed_nothing || (self.tells_spans && !has_spans(entry))
    }

    fn timings(&self, value: &Value) -> (HarTimings, Vec<OddSpan>) {
        let timings = field(value, "timings");
        let mut odd = Vec::new();
        let mut span = |name: &'static str| span(name, field(timings, name), &mut odd);
        let (connect, tls) = (span("connect"), span("ssl"));
        // QUIC's handshake is TLS's, and a socket may have been opened ahead: Chrome writes connect = ssl for both,
        // up to its clock's grain, and no time of TCP's own is left.
        let connect = match (connect, tls) {
            (Some(connect), Some(tls)) if !self.tls_beside_connect => {
                Some(connect - tls).map(|tcp| if tcp < tls / 100 { 0 } else { tcp.max(0) })
            }
            (connect, _) => connect,
        };
        let timings = HarTimings {
            blocked: span("blocked"),
            dns: span("dns"),
            connect,
            tls,
            send: span("send"),
            wait: span("wait"),
            receive: span("receive"),
        };
        (timings, odd)
    }
}

/// A span of `timings`: absent or -1 is `None`; a clock's slip of less than 1 ms below zero is zero. An implausible
/// one, below -1 or over a day, is `None` as well, and recorded in `odd`.
fn span(name: &'static str, value: &Value, odd: &mut Vec<OddSpan>) -> Option<i64> {
    let ms = number(value).filter(|ms| *ms != -1.0)?;
    let micros = if ms <= 0.0 { Some(0) } else { micros(ms) };
    if ms < -1.0 || micros.is_none() {
        odd.push(OddSpan { field: name, ms });
        return None;
    }
    micros
}

/// Returns true if an entry has any span of an exchange: Firefox writes none for responses from its cache.
fn has_spans(entry: &Value) -> bool {
    let timings = field(entry, "timings");
    ["send", "wait", "receive", "connect"]
        .into_iter()
        .any(|name| number(field(timings, name)).is_some_and(|ms| ms != -1.0))
}

/// +1 if `time` implies that `ssl` lies beside `connect`, -1 if inside, 0 if undecided.
fn tls_vote(entry: &Value) -> i64 {
    let timings = field(entry, "timings");
    let span = |name: &str| number(field(timings, name)).unwrap_or(0.0).max(0.0);
    let ssl = span("ssl");
    let Some(time) = number(field(entry, "time")).filter(|_| ssl > 0.0) else { return 0 };
    let inside: f64 =
        ["blocked", "dns", "connect", "send", "wait", "receive"].into_iter().map(span).sum();
    let off = |sum: f64| (time - sum).abs();
    match off(inside) < off(inside + ssl) {
        true => -1,
        false if off(inside + ssl) <= ROUNDING_MS => 1,
        false => 0,
    }
}

/// The protocol as the tool wrote it, in lower case; WebPageTest's `_protocol` is more reliable.
fn version(message: &Value, protocol: &Value) -> String {
    text(protocol)
        .or_else(|| text(field(message, "httpVersion")))
        .unwrap_or_default()
        .to_lowercase()
}

/// `text/html; charset=utf-8` as `text/html`.
fn mime(value: &str) -> String {
    value.split(';').next().unwrap_or_default().trim().to_lowercase()
}

fn headers(list: &Value) -> Headers {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let pair = |header: &Value| {
        let name = text(field(header, "name"))?.to_lowercase();
        Some((name, field(header, "value").as_str().unwrap_or_default().to_owned()))
    };
    Headers(list.iter().filter_map(pair).collect())
}

/// Marks by which tools say that no request was made: Chrome, WebPageTest, chrome-har, Safari; older ones say it
/// beside the status.
fn says_cached(entry: &Value) -> bool {
    let response = field(entry, "response");
    let said = |value: &Value, words: &[&str]| {
        let value = text(value).unwrap_or_default().to_lowercase();
        words.iter().any(|word| value.contains(word))
    };
    text(field(entry, "_fromCache")).is_some()
        || ["_fromDiskCache", "_fromMemoryCache", "_cached"]
            .into_iter()
            .any(|name| truth(field(entry, name)))
        || ["fromDiskCache", "fromPrefetchCache"]
            .into_iter()
            .any(|name| truth(field(response, name)))
        || said(field(entry, "_fetchType"), &["memory cache", "disk cache"])
        || said(field(response, "_fetchType"), &["memory cache", "disk cache"])
        || said(
            field(response, "statusText"),
            &["from cache", "from memory cache", "from disk cache", "(cached)"],
        )
}

/// Marks by which tools say that a service worker answered.
fn by_service_worker(entry: &Value) -> bool {
    let response = field(entry, "response");
    ["fromServiceWorker", "_fetchedViaServiceWorker"]
        .into_iter()
        .any(|name| truth(field(response, name)))
        || [field(entry, "_fetchType"), field(response, "_fetchType")]
            .into_iter()
            .any(|kind| text(kind).is_some_and(|kind| kind.eq_ignore_ascii_case("service worker")))
}

/// Marks by which tools say that a request was aborted, though a status had arrived: Playwright, Chrome. A response
/// without a body is complete with its head.
fn aborted(entry: &Value, status: i64) -> bool {
    let response = field(entry, "response");
    let failed =
        ["_failureText", "_error"].into_iter().any(|name| text(field(response, name)).is_some());
    let is_bodiless = matches!(status, 204 | 205 | 304) || (300..400).contains(&status);
    truth(field(entry, "_wasAborted")) || (failed && !is_bodiless)
}

// Initiator of an entry, as far as it is recorded.
//
// Chrome writes an object (`{type, url, lineNumber, stack}`, the stack with asynchronous parents);
// chrome-har and WebPageTest write the URL as a string with the line beside it, chrome-har also the
// whole object as text in `_initiator_detail`.

/// Maximum number of asynchronous parents followed. Longer chains are timers that re-arm themselves.
const DEEPEST_STACK: usize = 32;

/// A place in a resource that caused a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceLocation {
    pub url: String,
    /// Line in that resource, if stated.
    pub line: Option<u32>,
}

/// Recorded cause of an entry; empty if there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Initiator {
    /// Each resource that had to be loaded: one for a parser's request, each script on the stack for a script's.
    pub places: Vec<SourceLocation>,
    /// `_initiator_type` or `type`: `parser`, `script`, `preload`, `preflight`, `other`.
    pub kind: Option<String>,
}

/// Parses the initiator of an entry.
pub(super) fn read(entry: &Value) -> Initiator {
    let own = field(entry, "_initiator");
    let detail = text(field(entry, "_initiator_detail"))
        .and_then(|detail| serde_json::from_str::<Value>(detail).ok());
    if own.is_object() {
        return from_object(own);
    }
    let mut initiator = detail.as_ref().map(from_object).unwrap_or_default();
    if let Some(url) = text(own) {
        // WebPageTest and chrome-har count lines from 1 here; only the order matters.
        let line = line(field(entry, "_initiator_line"));
        add(&mut initiator.places, url, line);
    }
    if initiator.kind.is_none() {
        initiator.kind = text(field(entry, "_initiator_type")).map(str::to_lowercase);
    }
    initiator
}

fn from_object(object: &Value) -> Initiator {
    let mut places = Vec::new();
    if let Some(url) = text(field(object, "url")) {
        add(&mut places, url, line(field(object, "lineNumber")));
    }
    let mut stack = field(object, "stack");
    for _ in 0..DEEPEST_STACK {
        let frames = field(stack, "callFrames").as_array().map(Vec::as_slice).unwrap_or_default();
        for frame in frames {
            if let Some(url) = text(field(frame, "url")) {
                add(&mut places, url, line(field(frame, "lineNumber")));
            }
        }
        stack = field(stack, "parent");
    }
    Initiator { places, kind: text(field(object, "type")).map(str::to_lowercase) }
}

fn line(value: &Value) -> Option<u32> {
    number(value).filter(|n| (0.0..4e9).contains(n)).map(|n| n as u32)
}

/// Adds a place unless it is known; the first line stated for it is kept.
fn add(places: &mut Vec<SourceLocation>, url: &str, line: Option<u32>) {
    match places.iter_mut().find(|place| place.url == url) {
        Some(place) => place.line = place.line.or(line),
        None => places.push(SourceLocation { url: url.to_owned(), line }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn timings(time: f64, connect: f64, ssl: f64) -> HarTimings {
        let entry = json!({
            "startedDateTime": "2024-05-01T10:00:00Z",
            "time": time,
            "request": {"url": "https://a.test/"},
            "timings": {"blocked": 1, "dns": 2, "connect": connect, "ssl": ssl, "send": 0,
                "wait": 30, "receive": 5},
        });
        EntryReader::new("a", std::slice::from_ref(&entry)).read(0, &entry).unwrap().timings
    }

    #[test]
    fn connect_means_tcp_alone_wherever_tls_was_written() {
        let inside = timings(83.0, 45.0, 20.0);
        assert_eq!((inside.connect, inside.tls), (Some(25_000), Some(20_000)));
        let beside = timings(103.0, 45.0, 20.0);
        assert_eq!((beside.connect, beside.tls), (Some(45_000), Some(20_000)));
        let neither = timings(500.0, 45.0, 20.0);
        assert_eq!(neither.connect, Some(25_000), "HAR 1.2 says inside");
        let quic = timings(83.0, 45.000_2, 45.0);
        assert_eq!((quic.connect, quic.tls), (Some(0), Some(45_000)));
    }

    #[test]
    fn dates_come_in_several_spellings() {
        let utc = instant("2010-10-05T08:55:37.807Z").unwrap();
        for same in [
            "2010-10-05T01:55:37.807-07:00",
            "2010-10-05T01:55:37.807-0700",
            "2010-10-05T08:55:37.807000+00:00",
            "2010-10-05T08:55:37.807",
            " 2010-10-05 08:55:37.807Z ",
        ] {
            assert_eq!(instant(same), Some(utc), "{same}");
        }
        assert_eq!(instant("05/10/2010"), None);
    }

    fn place(url: &str, line: Option<u32>) -> SourceLocation {
        SourceLocation { url: url.to_owned(), line }
    }

    #[test]
    fn reads_chromes_object_with_its_asynchronous_parents() {
        let entry = json!({"_initiator": {"type": "script", "stack": {
            "callFrames": [{"url": "http://a/lib.js", "lineNumber": 3}, {"url": "http://a/lib.js"}],
            "parent": {"callFrames": [{"url": "http://a/app.js", "lineNumber": 9}]}}}});
        let read = read(&entry);
        assert_eq!(read.kind.as_deref(), Some("script"));
        assert_eq!(
            read.places,
            [place("http://a/lib.js", Some(3)), place("http://a/app.js", Some(9))]
        );
    }

    #[test]
    fn reads_a_url_with_its_line_also_as_text() {
        let entry = json!({"_initiator": "http://a/", "_initiator_line": "12"});
        assert_eq!(read(&entry).places, [place("http://a/", Some(12))]);
        let detail = r#"{"type":"parser","url":"http://a/","lineNumber":11}"#;
        let entry = json!({"_initiator": "http://a/", "_initiator_line": 12,
            "_initiator_detail": detail});
        assert_eq!(read(&entry).places, [place("http://a/", Some(11))]);
    }

    #[test]
    fn nothing_is_nothing() {
        assert_eq!(read(&json!({"_initiator": {"type": "other"}})).places, []);
        assert_eq!(read(&json!({"_initiator": ""})), Initiator::default());
    }
}
