//! Requests by inline scripts, which wait for the sheets and blocking scripts before them.

use farlink_page::har::{self, ImportOptions};
use farlink_page::{Page, Provenance};
use serde_json::{Value, json};

/// An entry of a recording, in milliseconds, with the initiator's type and line in the document.
struct Entry(&'static str, &'static str, &'static str, u32, u32, (&'static str, u32));

fn entry(Entry(url, mime, priority, start, end, (initiator, line)): &Entry) -> Value {
    let document = "http://a.test/";
    let frame = json!({"url": document, "lineNumber": line});
    let initiator = match *initiator {
        "script" => json!({"type": "script", "stack": {"callFrames": [frame]}}),
        kind => json!({"type": kind, "url": document, "lineNumber": line}),
    };
    json!({
        "startedDateTime": format!("2026-01-01T00:00:00.{start:03}Z"), "time": end - start,
        "request": {"method": "GET", "url": format!("{document}{url}"), "headers": []},
        "response": {"status": 200, "headers": [], "bodySize": 1000,
            "content": {"mimeType": mime, "size": 1000}},
        "timings": {"send": 0, "wait": end - start, "receive": 0},
        "_initiator": initiator, "_priority": priority,
    })
}

fn page(entries: &[Entry]) -> Page {
    let entries: Vec<Value> = entries.iter().map(entry).collect();
    let har = json!({"log": {"version": "1.2", "creator": {"name": "t"}, "entries": entries}});
    har::parse("a.har", har.to_string().as_bytes(), &ImportOptions::default()).unwrap()
}

/// Numbers of the objects that the last one waits for, and its work in milliseconds.
fn last(page: &Page) -> (Vec<u32>, u128) {
    let edges = &page.objects.last().unwrap().waits_for;
    let inferred = edges.iter().filter(|edge| edge.provenance == Provenance::Inferred).count();
    assert_eq!(inferred, edges.len() - 1, "all but the document");
    (edges.iter().map(|edge| edge.object.0).collect(), edges[0].compute.value.as_millis())
}

const DOCUMENT: Entry = Entry("", "text/html", "VeryHigh", 0, 100, ("other", 0));
const SHEET: Entry = Entry("a.css", "text/css", "VeryHigh", 50, 200, ("parser", 3));
const BLOCKING: Entry = Entry("b.js", "text/javascript", "High", 51, 240, ("parser", 4));

#[test]
fn an_inline_script_waits_for_the_sheets_and_scripts_before_it() {
    let by_script = Entry("c.js", "text/javascript", "Low", 300, 400, ("script", 9));
    let page = page(&[DOCUMENT, SHEET, BLOCKING, by_script]);
    assert_eq!(last(&page), (vec![0, 1, 2], 60));
}

#[test]
fn it_does_not_wait_for_what_comes_later_or_blocks_nothing() {
    let print = Entry("d.css", "text/css", "VeryLow", 52, 200, ("parser", 2));
    let asynchronous = Entry("e.js", "text/javascript", "Low", 53, 200, ("parser", 2));
    let below = Entry("f.css", "text/css", "VeryHigh", 54, 200, ("parser", 20));
    let slow = Entry("g.css", "text/css", "VeryHigh", 55, 350, ("parser", 2));
    let by_script = Entry("c.js", "text/javascript", "Low", 300, 400, ("script", 9));
    let page = page(&[DOCUMENT, SHEET, print, asynchronous, below, slow, by_script]);
    assert_eq!(last(&page), (vec![0, 1], 100));
}

#[test]
fn a_parsers_reference_waits_for_the_document_alone() {
    let image = Entry("h.png", "image/png", "Low", 300, 400, ("parser", 9));
    assert_eq!(last(&page(&[DOCUMENT, SHEET, BLOCKING, image])).0, [0]);
}
