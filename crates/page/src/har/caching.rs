//! Freshness: decides if a browser may answer from its cache on a second visit without asking (RFC 9111).

use std::time::SystemTime;

use super::entry::Entry;

/// Returns true if the response, once stored, is fresh for a while.
///
/// RFC 9111 section 4.2.1 gives the order: `max-age`, then `Expires`, then the heuristic of section 4.2.2 for
/// responses with a `Last-Modified` (10 % of their age; any positive age counts here).
pub(super) fn cacheable(entry: &Entry) -> bool {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::entry::Reader;
    use super::*;

    fn answer(status: u16, headers: &[(&str, &str)]) -> bool {
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        let value = json!({
            "startedDateTime": "2024-05-01T10:00:00Z",
            "request": {"url": "https://a.test/"},
            "response": {"status": status, "headers": headers},
        });
        cacheable(&Reader::new("a", &[]).read(0, &value).unwrap())
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
