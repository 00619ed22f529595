//! Bytes of an exchange on the wire.
//!
//! No field states the body's size alone: `_transferSize` (Chrome) and `_bytesIn` (WebPageTest) include the head, and
//! TLS records or handshakes in some tools; `bodySize` is -1 in others; `content.size` is decoded. `_transferSize`
//! less the head is used if plausible, else `bodySize`, else `content.size`; the object records the choice.

use super::entry::{Entry, Headers};
use crate::{BodySource, Provenance};

/// Request head of Chrome in the 2010s without cookies; used if a HAR lists no headers.
const DEFAULT_REQUEST_HEAD: u64 = 400;
/// Response head of a common server; used if a HAR lists no headers.
const DEFAULT_RESPONSE_HEAD: u64 = 300;

/// Maximum overhead of framing and TLS records over a stated length: a fiftieth, plus a constant.
const FRAMING_DIVISOR: u64 = 50;
const FRAMING_BYTES: u64 = 256;

/// A head's size and its provenance.
pub(super) type Head = (u64, Provenance);

/// Size of the request head as HTTP/1.1 text.
pub(super) fn request_head(entry: &Entry) -> Head {
    let target = entry.url.as_ref().map_or(1, |url| url[url::Position::BeforePath..].len() as u64);
    // "GET /path HTTP/1.1\r\n"
    let line = entry.method.len() as u64 + 1 + target + 1 + 8 + 2;
    head(entry.request_headers_size, &entry.request_headers, line, DEFAULT_REQUEST_HEAD)
}

/// Size of the response head as HTTP/1.1 text.
pub(super) fn response_head(entry: &Entry) -> Head {
    // "HTTP/1.1 200 OK\r\n"
    head(entry.response_headers_size, &entry.response_headers, 17, DEFAULT_RESPONSE_HEAD)
}

fn head(stated: Option<u64>, headers: &Headers, start_line: u64, default: u64) -> Head {
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
pub(super) fn body(entry: &Entry) -> (u64, BodySource) {
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

/// `_transferSize` less the head, unless the recording's other figures contradict it.
fn from_transfer(entry: &Entry) -> Option<u64> {
    let transfer = entry.transfer_size.filter(|bytes| *bytes > 0)?;
    let (text_head, _) = response_head(entry);
    let slack = |body: u64| text_head + FRAMING_BYTES + body / FRAMING_DIVISOR;
    // Content-Length states the encoded body; if the wire carried that and one head, it is exact.
    if let Some(stated) = content_length(entry) {
        return (stated..=stated + slack(stated)).contains(&transfer).then_some(stated);
    }
    let body = transfer.checked_sub(wire_head(entry, text_head))?;
    // WebPageTest's `_bytesIn` also counts the handshakes of a new connection.
    let contradicted = entry.body_size.is_some_and(|b| b < transfer && b.abs_diff(body) > slack(b));
    (!contradicted).then_some(body)
}

fn content_length(entry: &Entry) -> Option<u64> {
    entry.response_headers.get("content-length")?.trim().parse().ok()
}

/// Size of the head on the wire: HTTP/2 and later compress it to about half on a page's first requests (where a HAR
/// states both, the share lies between a tenth and nine tenths).
fn wire_head(entry: &Entry, text_head: u64) -> u64 {
    let plain = entry.response_headers_size.is_some()
        || entry.response_version.is_empty()
        || entry.response_version.contains("1.");
    if plain { text_head } else { text_head / 2 }
}
