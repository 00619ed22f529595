//! Whether a browser may answer from its cache on a second visit without asking (RFC 9111).

use std::time::SystemTime;

use super::entry::Entry;

/// Whether the response, once stored, is fresh for a while.
///
/// RFC 9111 section 4.2.1 gives the order: `max-age`, then `Expires`, then the heuristic of section
/// 4.2.2 for responses with a `Last-Modified` (10 % of their age; anything with an age will do here).
pub(super) fn cacheable(entry: &Entry) -> bool {
    let headers = &entry.response_headers;
    let control = headers.get("cache-control").unwrap_or_default().to_lowercase();
    let directive = |name: &str| control.split(',').any(|part| part.trim() == name);
    if entry.method != "GET" || directive("no-store") || directive("no-cache") {
        return false;
    }
    // RFC 9110 section 15.1: these are heuristically cacheable; others need to be told so.
    let by_default = matches!(entry.status, 200 | 203 | 300 | 301 | 308 | 404 | 405 | 410 | 414);
    if let Some(max_age) = max_age(&control) {
        return max_age > 0;
    }
    let now = date(headers.get("date"));
    if let Some(expires) = headers.get("expires") {
        // RFC 9111 section 5.3: an invalid date, as "0", is in the past.
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
