//! One entry of a HAR: the exchange's times and the fields that later steps ask for.
//!
//! Instants are microseconds since the Unix epoch, spans microseconds. A span of -1 (HAR's "does not
//! apply") and a missing one are `None`.

use base64::Engine;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;
use url::Url;

use super::initiator::{self, Initiator};
use super::json::{bytes, field, number, text, truth};
use crate::Error;

/// The longest span taken for one: a day. Beyond it a field holds something else than a span.
const LONGEST_MS: f64 = 86_400_000.0;

/// Seven spans in whole milliseconds may miss their sum by so much.
const ROUNDING_MS: f64 = 4.0;

/// HTTP headers in the order in which they stand; names in lower case.
#[derive(Clone, Debug, Default)]
pub(super) struct Headers(pub Vec<(String, String)>);

/// `timings`, with `connect` meaning TCP alone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timings {
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
pub(super) struct Entry {
    /// Index in `log.entries`.
    pub index: usize,
    pub pageref: Option<String>,
    pub started: i64,
    pub timings: Timings,
    pub method: String,
    pub url_text: String,
    /// `None` where the URL is none that a browser could fetch over HTTP.
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
    /// The body, decoded, where it is a text that may name other objects.
    pub body_text: Option<String>,
    pub body_size: Option<u64>,
    pub transfer_size: Option<u64>,
    pub resource_type: Option<String>,
    pub priority: Option<String>,
    pub initiator: Initiator,
    /// The browser says that its cache (memory, disk, prefetch) answered.
    pub from_cache: bool,
    pub pushed: bool,
}

impl Headers {
    /// The first value of the header `name` (in lower case).
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

impl Timings {
    /// From the start of the entry to the first byte of its answer.
    fn to_head(self) -> i64 {
        [self.blocked, self.dns, self.connect, self.tls, self.send, self.wait]
            .into_iter()
            .flatten()
            .sum()
    }
}

impl Entry {
    /// When the first byte of the answer came.
    pub fn head_at(&self) -> i64 {
        self.started + self.timings.to_head()
    }

    /// When the last byte of the answer came.
    pub fn end_at(&self) -> i64 {
        self.head_at() + self.timings.receive.unwrap_or(0)
    }

    /// The URL without its fragment, as links are compared.
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

/// `url` up to its fragment, as it is spelt.
pub(super) fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or(url)
}

/// `url` without its fragment and in one spelling.
pub(super) fn address(url: &str) -> String {
    match Url::parse(url) {
        Ok(mut url) => {
            url.set_fragment(None);
            url.into()
        }
        Err(_) => without_fragment(url).to_owned(),
    }
}

/// A span in milliseconds as microseconds; `None` where it is no span.
pub(super) fn micros(ms: f64) -> Option<i64> {
    (ms.abs() <= LONGEST_MS).then(|| (ms * 1000.0).round() as i64)
}

/// An ISO 8601 instant; one without an offset is taken as UTC.
pub(super) fn instant(text: &str) -> Option<i64> {
    let parsed = text.trim().parse::<Timestamp>().ok().or_else(|| {
        let civil = text.trim().parse::<DateTime>().ok()?;
        Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp())
    })?;
    Some(parsed.as_microsecond())
}

/// Reads entries of one file, whose habits it knows.
pub(super) struct Reader<'a> {
    name: &'a str,
    tls_beside_connect: bool,
}

impl<'a> Reader<'a> {
    /// Learns from all `entries` whether `ssl` lies inside `connect`.
    ///
    /// HAR 1.2 section "timings" says that it does; Firefox writes it beside. `time`, the sum of all
    /// spans, tells: each entry with a TLS handshake has a vote.
    pub fn new(name: &'a str, entries: &[Value]) -> Reader<'a> {
        let votes: i64 = entries.iter().map(tls_vote).sum();
        Reader { name, tls_beside_connect: votes > 0 }
    }

    /// Reads one entry.
    pub fn read(&self, index: usize, value: &Value) -> Result<Entry, Error> {
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
        Ok(Entry {
            index,
            pageref: text(own("pageref")).map(str::to_owned),
            started,
            timings: self.timings(index, value)?,
            method: text(field(request, "method")).unwrap_or("GET").to_uppercase(),
            url_text: url_text.to_owned(),
            url: Url::parse(url_text).ok().filter(|u| {
                matches!(u.scheme(), "http" | "https")
                    && u.host_str().is_some_and(|h| !h.is_empty())
            }),
            response_version: version(response, own("_protocol")),
            request_headers: headers(field(request, "headers")),
            response_headers: headers(field(response, "headers")),
            request_headers_size: bytes(field(request, "headersSize")).filter(|n| *n > 0),
            response_headers_size: bytes(field(response, "headersSize")).filter(|n| *n > 0),
            request_body_size: bytes(field(request, "bodySize")),
            status: number(field(response, "status")).unwrap_or(0.0) as i64,
            redirect_url: text(field(response, "redirectURL")).map(str::to_owned),
            mime: mime(text(field(content, "mimeType")).unwrap_or_default()),
            content_size: bytes(field(content, "size")),
            body_text: body_text(content),
            body_size: bytes(field(response, "bodySize")),
            transfer_size: bytes(field(response, "_transferSize"))
                .or_else(|| bytes(own("_transferSize")))
                .or_else(|| bytes(own("_bytesIn"))),
            resource_type: text(own("_resourceType")).map(str::to_lowercase),
            priority: ["_initialPriority", "_initial_priority", "_priority"]
                .into_iter()
                .find_map(|name| text(own(name)))
                .map(str::to_owned),
            initiator: initiator::read(value),
            from_cache: from_cache(value),
            pushed: truth(own("_was_pushed")),
        })
    }

    fn timings(&self, index: usize, value: &Value) -> Result<Timings, Error> {
        let timings = field(value, "timings");
        let span = |name: &str| self.span(index, name, field(timings, name));
        let (connect, tls) = (span("connect")?, span("ssl")?);
        // QUIC's handshake is TLS's, and a socket may have been opened ahead: Chrome writes connect =
        // ssl for both, up to its clock's grain, and no time of TCP's own is left.
        let connect = match (connect, tls) {
            (Some(connect), Some(tls)) if !self.tls_beside_connect => {
                Some(connect - tls).map(|tcp| if tcp < tls / 100 { 0 } else { tcp.max(0) })
            }
            (connect, _) => connect,
        };
        Ok(Timings {
            blocked: span("blocked")?,
            dns: span("dns")?,
            connect,
            tls,
            send: span("send")?,
            wait: span("wait")?,
            receive: span("receive")?,
        })
    }

    /// A span of `timings`: absent or -1 is `None`; a clock's slip of less than 1 ms below zero is
    /// zero; anything below -1 is refused, as it would move the rest of the page.
    fn span(&self, index: usize, name: &str, value: &Value) -> Result<Option<i64>, Error> {
        let wrong = |problem: String| Error::Entry {
            name: self.name.to_owned(),
            entry: index,
            field: format!("timings.{name}"),
            problem,
        };
        match number(value) {
            None => Ok(None),
            Some(-1.0) => Ok(None),
            Some(ms) if ms < -1.0 => Err(wrong(format!(
                "is {ms} ms; a time is 0 or more, or -1 where it does not apply"
            ))),
            Some(ms) if ms <= 0.0 => Ok(Some(0)),
            Some(ms) => micros(ms)
                .map(Some)
                .ok_or_else(|| wrong(format!("is {ms} ms; a time of one exchange is under a day"))),
        }
    }
}

/// +1 if `time` says that `ssl` lies beside `connect`, -1 if inside, 0 if it says nothing.
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

/// The protocol as the tool wrote it, in lower case; WebPageTest's `_protocol` is the better word.
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

/// The words by which tools say that no request was made. A service worker's answer counts as one
/// from cache: what it fetched itself stands in entries of its own.
fn from_cache(entry: &Value) -> bool {
    let response = field(entry, "response");
    text(field(entry, "_fromCache")).is_some()
        || truth(field(entry, "_fromDiskCache"))
        || ["fromDiskCache", "fromServiceWorker", "fromPrefetchCache", "_fetchedViaServiceWorker"]
            .into_iter()
            .any(|name| truth(field(response, name)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn timings(time: f64, connect: f64, ssl: f64) -> Timings {
        let entry = json!({
            "startedDateTime": "2024-05-01T10:00:00Z",
            "time": time,
            "request": {"url": "https://a.test/"},
            "timings": {"blocked": 1, "dns": 2, "connect": connect, "ssl": ssl, "send": 0,
                "wait": 30, "receive": 5},
        });
        Reader::new("a", std::slice::from_ref(&entry)).read(0, &entry).unwrap().timings
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
}
