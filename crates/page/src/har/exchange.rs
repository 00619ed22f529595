//! Properties of an exchange that no field states alone: kind and priority, freshness, bytes on the wire.

use std::time::SystemTime;

use super::entry::{HarEntry, Headers};
use crate::{BodyCoding, BodySource, Kind, ObjectPriority, Provenance};

/// Kind of the response.
pub(super) fn kind(entry: &HarEntry) -> Kind {
    if is_redirect(entry) {
        return Kind::Redirect;
    }
    entry
        .resource_type
        .as_deref()
        .and_then(from_resource_type)
        .or_else(|| from_mime(&entry.mime))
        .or_else(|| entry.url.as_ref().and_then(|url| from_path(url.path())))
        .unwrap_or(Kind::Other)
}

/// Returns true if the load event may wait for the kind: scripts' fetches, beacons, event streams and preflights
/// never hold it up (HTML standard, "delay the load event").
pub(super) fn can_block_load(entry: &HarEntry, kind: Kind) -> bool {
    let word = entry.resource_type.as_deref().unwrap_or_default();
    let beside = matches!(word, "ping" | "beacon" | "eventsource" | "preflight" | "prefetch");
    !beside && kind != Kind::Data && entry.method != "OPTIONS" && entry.mime != "text/event-stream"
}

/// Priority that the tool states, or Chrome's default for the kind.
pub(super) fn priority(entry: &HarEntry, kind: Kind) -> ObjectPriority {
    entry.priority.as_deref().and_then(stated_priority).unwrap_or(by_kind(kind))
}

fn is_redirect(entry: &HarEntry) -> bool {
    // RFC 9110 section 15.4; 300 and 304 do not redirect.
    matches!(entry.status, 301 | 302 | 303 | 307 | 308)
        && (entry.redirect_url.is_some() || entry.response_headers.get("location").is_some())
}

fn from_resource_type(word: &str) -> Option<Kind> {
    Some(match word {
        "document" => Kind::Document,
        "stylesheet" => Kind::Stylesheet,
        "script" => Kind::Script,
        "image" => Kind::Image,
        "font" => Kind::Font,
        "media" | "texttrack" => Kind::Media,
        "xhr" | "fetch" | "eventsource" | "ping" | "beacon" | "preflight" | "json" => Kind::Data,
        _ => return None,
    })
}

fn from_mime(mime: &str) -> Option<Kind> {
    Some(match mime {
        "text/html" | "application/xhtml+xml" => Kind::Document,
        "text/css" => Kind::Stylesheet,
        "application/json" | "application/xml" | "text/xml" | "text/event-stream" => Kind::Data,
        "application/vnd.ms-fontobject" => Kind::Font,
        _ if mime.contains("javascript") || mime.contains("ecmascript") => Kind::Script,
        _ if mime.starts_with("image/") => Kind::Image,
        _ if mime.starts_with("font/") || mime.contains("font-") => Kind::Font,
        _ if mime.starts_with("video/") || mime.starts_with("audio/") => Kind::Media,
        _ if mime.ends_with("+json") || mime.ends_with("+xml") => Kind::Data,
        _ => return None,
    })
}

fn from_path(path: &str) -> Option<Kind> {
    if path == "/" {
        return Some(Kind::Document);
    }
    let file = path.rsplit('/').next().unwrap_or(path);
    let (_, ending) = file.rsplit_once('.')?;
    Some(match ending.to_ascii_lowercase().as_str() {
        "html" | "htm" | "php" | "aspx" | "jsp" => Kind::Document,
        "css" => Kind::Stylesheet,
        "js" | "mjs" => Kind::Script,
        "png" | "jpg" | "jpeg" | "gif" | "webp" | "avif" | "svg" | "ico" | "bmp" => Kind::Image,
        "woff" | "woff2" | "ttf" | "otf" | "eot" => Kind::Font,
        "mp4" | "webm" | "mp3" | "m4a" | "ogg" | "ts" | "m3u8" => Kind::Media,
        "json" | "xml" => Kind::Data,
        _ => return None,
    })
}

/// DevTools shows Blink's names (`VeryHigh` ... `VeryLow`), WebPageTest the network stack's
/// (`HIGHEST` ... `IDLE`). Both are five levels in the same order.
/// Priority of this name, in DevTools' words, the network stack's or farlink's own.
pub(super) fn stated_priority(word: &str) -> Option<ObjectPriority> {
    Some(match word {
        "VeryHigh" | "HIGHEST" | "Highest" => ObjectPriority::Highest,
        "High" | "MEDIUM" => ObjectPriority::High,
        "Medium" | "LOW" => ObjectPriority::Medium,
        "Low" | "LOWEST" => ObjectPriority::Low,
        "VeryLow" | "IDLE" | "THROTTLED" | "Lowest" => ObjectPriority::Lowest,
        _ => return None,
    })
}

/// Chrome's defaults (`third_party/blink/.../resource_fetcher.cc`, TypeToPriority, 2021).
pub(crate) fn by_kind(kind: Kind) -> ObjectPriority {
    match kind {
        Kind::Document | Kind::Stylesheet | Kind::Font | Kind::Redirect => ObjectPriority::Highest,
        Kind::Script | Kind::Data => ObjectPriority::High,
        Kind::Image | Kind::Media | Kind::Other => ObjectPriority::Low,
    }
}

// Freshness: decides if a browser may answer from its cache on a second visit without asking (RFC 9111).

/// Returns true if the response, once stored, is fresh for a while.
///
/// RFC 9111 section 4.2.1 gives the order: `max-age`, then `Expires`, then the heuristic of section 4.2.2 for
/// responses with a `Last-Modified` (10 % of their age; any positive age counts here).
pub(super) fn cacheable(entry: &HarEntry) -> bool {
    let headers = &entry.response_headers;
    let control = headers.get("cache-control").unwrap_or_default().to_lowercase();
    let directive = |name: &str| control.split(',').any(|part| part.trim() == name);
    if entry.method != "GET" || directive("no-store") || directive("no-cache") {
        return false;
    }
    // RFC 9110 section 15.1: these are heuristically cacheable; others need explicit permission.
    let by_default = matches!(entry.status, 200 | 203 | 300 | 301 | 308 | 404 | 405 | 410 | 414);
    if let Some(max_age) = max_age(&control) {
        return max_age > 0;
    }
    let now = date(headers.get("date"));
    if let Some(expires) = headers.get("expires") {
        // RFC 9111 section 5.3: an invalid date, such as "0", is in the past.
        return date(Some(expires)).is_some_and(|at| now.is_none_or(|now| at > now));
    }
    by_default
        && date(headers.get("last-modified"))
            .is_some_and(|changed| now.is_none_or(|now| changed < now))
}

fn max_age(control: &str) -> Option<u64> {
    control.split(',').find_map(|part| {
        part.trim().strip_prefix("max-age=")?.trim_matches('"').trim().parse().ok()
    })
}

fn date(value: Option<&str>) -> Option<SystemTime> {
    httpdate::parse_http_date(value?.trim()).ok()
}

// Bytes of an exchange on the wire.
//
// No field states the body's size alone: `_transferSize` (Chrome) and `_bytesIn` (WebPageTest) include the head, and
// TLS records or handshakes in some tools; `bodySize` is -1 in others; `content.size` is decoded. `_transferSize`
// less the head is used if plausible, else `bodySize`, else `content.size`; the object records the choice.

/// Request head of Chrome in the 2010s without cookies; used if a HAR lists no headers.
const DEFAULT_REQUEST_HEAD: u64 = 400;
/// Response head of a common server; used if a HAR lists no headers.
const DEFAULT_RESPONSE_HEAD: u64 = 300;

/// Maximum overhead of framing and TLS records over a stated length: a fiftieth, plus a constant.
const FRAMING_DIVISOR: u64 = 50;
const FRAMING_BYTES: u64 = 256;
/// Smallest head on the wire: HTTP/2's frame header and an indexed status.
const MIN_WIRE_HEAD: u64 = 10;

/// A head's size and its provenance.
pub(super) type HeadSize = (u64, Provenance);

/// Size of the request head as HTTP/1.1 text.
pub(super) fn request_head(entry: &HarEntry) -> HeadSize {
    let target = entry.url.as_ref().map_or(1, |url| url[url::Position::BeforePath..].len() as u64);
    // "GET /path HTTP/1.1\r\n"
    let line = entry.method.len() as u64 + 1 + target + 1 + 8 + 2;
    head(entry.request_headers_size, &entry.request_headers, line, DEFAULT_REQUEST_HEAD)
}

/// Size of the response head as HTTP/1.1 text.
pub(super) fn response_head(entry: &HarEntry) -> HeadSize {
    // "HTTP/1.1 200 OK\r\n"
    head(entry.response_headers_size, &entry.response_headers, 17, DEFAULT_RESPONSE_HEAD)
}

fn head(stated: Option<u64>, headers: &Headers, start_line: u64, default: u64) -> HeadSize {
    if let Some(stated) = stated {
        return (stated, Provenance::Measured);
    }
    // Pseudo-headers of HTTP/2 and SPDY (`:path`) are the start line in other words.
    let lines = headers.0.iter().filter(|(name, _)| !name.starts_with(':'));
    let text: u64 = lines.map(|(name, value)| (name.len() + value.len() + 4) as u64).sum();
    match text {
        0 => (default, Provenance::Defaulted),
        text => (start_line + text + 2, Provenance::Inferred),
    }
}

/// Size of the body on the wire, and the field that it was taken from.
pub(super) fn body(entry: &HarEntry) -> (u64, BodySource) {
    // RFC 9110 sections 9.3.2, 15.3.5 and 15.4.5.
    if entry.method == "HEAD" || matches!(entry.status, 204 | 304) {
        return (0, BodySource::NoBody);
    }
    if let Some(body) = from_transfer(entry) {
        return (body, BodySource::TransferSize);
    }
    let cached = entry.from_cache || entry.transfer_size == Some(0);
    match (entry.body_size, entry.content_size) {
        // Nothing on the wire and yet a body: answered by a cache of an earlier visit, or of a preload that the
        // recording does not show. A first visit fetches it.
        (Some(0) | None, Some(content)) if content > 0 => {
            match content_length(entry).filter(|length| cached && *length > 0) {
                Some(length) => (length, BodySource::ContentLength),
                None => (content, BodySource::ContentSize),
            }
        }
        (Some(body), _) => (body, BodySource::BodySize),
        (None, Some(content)) => (content, BodySource::ContentSize),
        (None, None) => (0, BodySource::Unknown),
    }
}

/// The coding of a body of this size. Recorders state a decoded size beside `Content-Encoding`.
pub(super) fn coding(entry: &HarEntry, body_bytes: u64) -> BodyCoding {
    let field = entry.response_headers.get("content-encoding").unwrap_or("");
    let is_coded = field.split(',').map(str::trim).any(|it| !it.is_empty() && it != "identity");
    match is_coded && body_bytes > 0 {
        true => BodyCoding::Compressed { decoded_bytes: entry.content_size.unwrap_or(body_bytes) },
        false => BodyCoding::Identity,
    }
}

/// `_transferSize` less the head, unless the recording's other figures contradict it.
fn from_transfer(entry: &HarEntry) -> Option<u64> {
    let transfer = entry.transfer_size.filter(|bytes| *bytes > 0)?;
    let (text_head, _) = response_head(entry);
    let slack = |body: u64| text_head + FRAMING_BYTES + body / FRAMING_DIVISOR;
    // Content-Length states the encoded body; if the wire carried that and one head, it is exact.
    if let Some(stated) = content_length(entry) {
        return (stated..=stated + slack(stated)).contains(&transfer).then_some(stated);
    }
    // A stated body, and the rest of the transfer is no more than its head: the head is compressed (HTTP/2 and later).
    let is_head = |rest: u64| (MIN_WIRE_HEAD..=text_head).contains(&rest);
    if let Some(body) =
        entry.body_size.filter(|body| transfer.checked_sub(*body).is_some_and(is_head))
    {
        return Some(body);
    }
    let body = transfer.checked_sub(wire_head(entry, text_head))?;
    // WebPageTest's `_bytesIn` also counts the handshakes of a new connection.
    let contradicted = entry.body_size.is_some_and(|b| b < transfer && b.abs_diff(body) > slack(b));
    (!contradicted).then_some(body)
}

fn content_length(entry: &HarEntry) -> Option<u64> {
    entry.response_headers.get("content-length")?.trim().parse().ok()
}

/// Size of the head on the wire: HTTP/2 and later compress it to about half on a page's first requests (where a HAR
/// states both, the share lies between a tenth and nine tenths).
fn wire_head(entry: &HarEntry, text_head: u64) -> u64 {
    let plain = entry.response_headers_size.is_some()
        || entry.response_version.is_empty()
        || entry.response_version.contains("1.");
    if plain { text_head } else { text_head / 2 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::entry::EntryReader;
    use super::*;

    fn answered(response: serde_json::Value) -> HarEntry {
        let value = json!({
            "startedDateTime": "2024-05-01T10:00:00Z",
            "request": {"url": "https://a.test/"},
            "response": response,
        });
        EntryReader::new("a", &[]).read(0, &value).unwrap()
    }

    fn listed(headers: &[(&str, &str)]) -> Vec<serde_json::Value> {
        headers.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
    }

    fn answer(status: u16, headers: &[(&str, &str)]) -> bool {
        cacheable(&answered(json!({"status": status, "headers": listed(headers)})))
    }

    #[test]
    fn a_named_coding_gives_the_content_another_size() {
        let coded = |headers: &[(&str, &str)]| {
            let content = json!({"size": 9000});
            let response = json!({"status": 200, "headers": listed(headers), "bodySize": 3000, "content": content});
            let entry = answered(response);
            coding(&entry, body(&entry).0)
        };
        let gzip = BodyCoding::Compressed { decoded_bytes: 9000 };
        assert_eq!(coded(&[("Content-Encoding", "gzip")]), gzip);
        assert_eq!(coded(&[("content-encoding", "identity")]), BodyCoding::Identity);
        assert_eq!(coded(&[]), BodyCoding::Identity);
    }

    const DATE: (&str, &str) = ("Date", "Wed, 01 May 2024 10:00:00 GMT");
    const BEFORE: &str = "Tue, 30 Apr 2024 10:00:00 GMT";
    const AFTER: &str = "Thu, 02 May 2024 10:00:00 GMT";

    #[test]
    fn directives_come_before_dates() {
        assert!(answer(200, &[("Cache-Control", "public, max-age=60")]));
        assert!(answer(302, &[("Cache-Control", "max-age=60")]));
        assert!(!answer(200, &[("Cache-Control", "max-age=0"), DATE, ("Expires", AFTER)]));
        assert!(!answer(200, &[("Cache-Control", "no-cache, max-age=60")]));
        assert!(!answer(200, &[("Cache-Control", "max-age=60, no-store")]));
    }

    #[test]
    fn expiry_comes_before_the_heuristic() {
        assert!(answer(200, &[DATE, ("Expires", AFTER)]));
        assert!(!answer(200, &[DATE, ("Expires", BEFORE), ("Last-Modified", BEFORE)]));
        assert!(!answer(200, &[DATE, ("Expires", "0"), ("Last-Modified", BEFORE)]));
        assert!(answer(200, &[DATE, ("Last-Modified", BEFORE)]));
        assert!(!answer(302, &[DATE, ("Last-Modified", BEFORE)]));
        assert!(!answer(200, &[DATE]));
    }
}
