//! Repairs of recordings that deviate from what happened on the wire.
//!
//! - A service worker's response to the page and its own request for it are two entries and one exchange.
//! - Some recorders have no field for the wait for a connection and add it to `wait` (Splash, on QtWebKit). The part
//!   that HTTP/1.1's limit on connections explains is taken out, or it would count as the server's own time.
//! - A document that starts after objects which name it as their cause has a wrong start.

use std::collections::BTreeMap;

use super::entry::{HarEntry, SourceLocation};

/// Maximum number of a browser's HTTP/1.1 connections to a host (Chromium's `kMaxSocketsPerGroup`, WebKit's
/// `maximumHTTPConnectionsPerHost`).
const CONNECTIONS_PER_HOST: usize = 6;

/// Repairs all entries of a file.
pub(super) fn repair(entries: &mut [HarEntry]) {
    join_service_worker_fetches(entries);
    take_queueing_out_of_wait(entries);
    start_documents_before_their_objects(entries);
}

/// Gives an entry that a service worker answered the exchange that the worker made for it, whose own entry is marked.
fn join_service_worker_fetches(entries: &mut [HarEntry]) {
    let answered: Vec<usize> =
        (0..entries.len()).filter(|at| entries[*at].by_service_worker).collect();
    for at in answered {
        let own = &entries[at];
        let (from, to) = (own.started - GRAIN, own.end_at() + GRAIN);
        let fetch = entries.iter().position(|other| {
            !other.by_service_worker
                && !other.is_worker_fetch
                && (from..=to).contains(&other.started)
                && other.method == own.method
                && other.address() == own.address()
        });
        let Some(fetch) = fetch else {
            // The worker answered from its own cache, as a browser's cache would have.
            entries[at].from_cache = true;
            continue;
        };
        entries[fetch].is_worker_fetch = true;
        let exchange = entries[fetch].clone();
        let own = &mut entries[at];
        own.timings = exchange.timings;
        own.response_version = exchange.response_version;
        own.request_headers = exchange.request_headers;
        own.request_headers_size = exchange.request_headers_size;
        own.response_headers = exchange.response_headers;
        own.response_headers_size = exchange.response_headers_size;
        own.content_size = exchange.content_size.or(own.content_size);
        own.body_size = exchange.body_size;
        own.transfer_size = exchange.transfer_size;
        own.from_cache = exchange.from_cache;
    }
}

/// Granularity of starts in most HARs: a millisecond.
const GRAIN: i64 = 1_000;

/// Splits `wait` into the wait for one of the host's connections and the rest, if the file never states `blocked` or
/// `connect`.
fn take_queueing_out_of_wait(entries: &mut [HarEntry]) {
    let says = |span: Option<i64>| span.is_some_and(|span| span > 0);
    if entries.iter().any(|e| says(e.timings.blocked) || says(e.timings.connect)) {
        return;
    }
    let mut by_start: Vec<usize> = (0..entries.len()).collect();
    by_start.sort_by_key(|at| (entries[*at].started, *at));
    let mut busy_until: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for at in by_start {
        let entry = &mut entries[at];
        let Some(origin) = entry.url.as_ref().filter(|_| is_http_1(entry)) else { continue };
        let origin = origin.origin().ascii_serialization();
        let connections =
            busy_until.entry(origin).or_insert_with(|| vec![i64::MIN; CONNECTIONS_PER_HOST]);
        let free = connections.iter_mut().min().expect("a host has connections");
        let queued = free.saturating_sub(entry.started).clamp(0, entry.timings.wait.unwrap_or(0));
        *free = entry.end_at();
        if queued > 0 {
            entry.timings.blocked = Some(queued);
            entry.timings.wait = entry.timings.wait.map(|wait| wait - queued);
        }
    }
}

fn is_http_1(entry: &HarEntry) -> bool {
    let version = &entry.response_version;
    (version.is_empty() || version.contains("1.")) && !version.starts_with("spdy")
}

/// Moves a document's start to that of the first of the objects that it is said to have caused.
fn start_documents_before_their_objects(entries: &mut [HarEntry]) {
    let documents: Vec<usize> = (0..entries.len())
        .filter(|at| entries[*at].mime.contains("html") && entries[*at].url.is_some())
        .collect();
    for at in documents {
        let address = entries[at].address();
        let names = |place: &SourceLocation| super::entry::address(&place.url) == address;
        let caused = entries.iter().filter(|entry| {
            let is_parsers = entry.initiator.kind.as_deref() == Some("parser");
            entry.pageref == entries[at].pageref
                && is_parsers
                && entry.initiator.places.iter().any(names)
        });
        let Some(first) = caused.map(|entry| entry.started).min() else { continue };
        let has_namesake = entries.iter().filter(|entry| entry.address() == address).count() > 1;
        if first < entries[at].started && !has_namesake {
            entries[at].started = first;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::entry::EntryReader;
    use super::*;

    fn read(entries: &[Value]) -> Vec<HarEntry> {
        let reader = EntryReader::new("a", entries);
        let mut read: Vec<HarEntry> =
            entries.iter().enumerate().map(|(at, entry)| reader.read(at, entry).unwrap()).collect();
        repair(&mut read);
        read
    }

    fn entry(url: &str, started_ms: u32, wait: f64, receive: f64) -> Value {
        json!({
            "startedDateTime": format!("2024-05-01T10:00:00.{started_ms:03}Z"),
            "request": {"url": url, "method": "GET"},
            "response": {"status": 200, "httpVersion": "HTTP/1.1", "content": {"size": 900, "mimeType": "image/png"}},
            "timings": {"blocked": -1, "connect": -1, "send": 0, "wait": wait, "receive": receive},
        })
    }

    /// Seven requests at once: the seventh waits until one of six connections is free, at 110 ms.
    #[test]
    fn the_wait_for_a_connection_is_no_time_of_the_server() {
        let mut entries: Vec<Value> =
            (0..7).map(|n| entry(&format!("http://a.test/{n}"), n, 100.0, 10.0)).collect();
        entries[6]["timings"]["wait"] = json!(214);
        entries.push(entry("http://b.test/", 7, 100.0, 10.0));
        let read = read(&entries);
        let spans = |at: usize| (read[at].timings.blocked, read[at].timings.wait);
        assert_eq!(spans(5), (None, Some(100_000)));
        assert_eq!(spans(6), (Some(104_000), Some(110_000)));
        assert_eq!(spans(7), (None, Some(100_000)), "another host has connections of its own");
        assert_eq!(read[6].end_at() - read[6].started, 224_000, "it ends when it did");
    }

    #[test]
    fn where_the_recorder_tells_waiting_apart_nothing_is_taken_out() {
        let mut entries: Vec<Value> =
            (0..7).map(|n| entry(&format!("http://a.test/{n}"), n, 100.0, 10.0)).collect();
        entries[0]["timings"]["blocked"] = json!(3);
        assert!(read(&entries).iter().all(|entry| entry.timings.wait == Some(100_000)));
        entries[0]["timings"]["blocked"] = json!(-1);
        entries.iter_mut().for_each(|entry| entry["response"]["httpVersion"] = json!("h2"));
        assert!(read(&entries).iter().all(|entry| entry.timings.wait == Some(100_000)));
    }

    #[test]
    fn a_service_workers_fetch_is_the_exchange_of_its_answer() {
        let mut answered = entry("http://a.test/i", 0, 50.0, 1.0);
        answered["response"]["_fetchedViaServiceWorker"] = json!(true);
        answered["response"]["_transferSize"] = json!(0);
        let mut fetched = entry("http://a.test/i", 3, 30.0, 5.0);
        fetched["response"]["_transferSize"] = json!(1000);
        let alone = {
            let mut alone = answered.clone();
            alone["request"]["url"] = json!("http://a.test/cached");
            alone
        };
        let read = read(&[answered, fetched, alone]);
        assert_eq!((read[0].timings.wait, read[0].transfer_size), (Some(30_000), Some(1000)));
        assert!(!read[0].from_cache && !read[0].is_worker_fetch && read[1].is_worker_fetch);
        assert!(read[2].from_cache, "answered out of the worker's own cache");
    }
}
