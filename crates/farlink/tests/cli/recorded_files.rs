//! `farlink archive`: recordings of every kind, listed, compared, redacted and converted.

use std::io::Write;
use std::process::Stdio;

use crate::common::{Desk, Ran};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

fn har(entries: &[(&str, &str)]) -> String {
    let entry = |(path, body): &(&str, &str)| {
        json!({
            "startedDateTime": "2026-01-01T00:00:00Z",
            "request": {
                "method": "GET", "url": format!("https://a.test{path}"),
                "headers": [{"name": "Cookie", "value": "id=1"}, {"name": "X-Key", "value": "secret"}],
            },
            "response": {
                "status": 200, "headers": [{"name": "content-type", "value": "text/html"}],
                "content": {"mimeType": "text/html", "size": body.len(), "text": body},
            },
        })
    };
    json!({"log": {"entries": entries.iter().map(entry).collect::<Vec<_>>()}}).to_string()
}

#[test]
fn recordings_are_compared() {
    let desk = Desk::new();
    desk.put("one.har", har(&[("/", "hello"), ("/a", "a"), ("/b", "b")]));
    desk.put("two.har", har(&[("/", "hello"), ("/b", "other"), ("/c", "c")]));
    let same = desk.farlink("archive diff one.har one.har").ok();
    assert_eq!(same, "no difference in 3 requests\n");
    let ran = desk.farlink("archive diff one.har two.har");
    assert_eq!(ran.code, 1, "{}", ran.err);
    let rows: Vec<String> = ran
        .out
        .lines()
        .skip(1)
        .map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        rows,
        [
            "only in first 200 - https://a.test/a",
            "body 1 B 5 B https://a.test/b",
            "only in second - 200 https://a.test/c",
        ]
    );
}

#[test]
fn copies_are_redacted() {
    let desk = Desk::new();
    desk.put("one.har", har(&[("/", "hello")]));
    let ran = desk.farlink("archive scrub one.har --field x-key -o clean.har");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("redacted 2 fields"), "{}", ran.err);
    let text = desk.read("clean.har");
    assert!(!text.contains("secret") && !text.contains("id=1") && text.contains("hello"), "{text}");
    assert!(desk.read("one.har").contains("secret"), "the original stays");
    desk.farlink("archive scrub one.har -o clean.txt").refused(&["HAR or WACZ"]);
}

#[test]
fn other_replayers_recordings_are_imported() {
    let desk = Desk::new();
    let archived = |path: &str, body: &str| -> Value {
        let request = format!("GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n");
        let response = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}");
        json!([{"SerializedRequest": STANDARD.encode(request), "SerializedResponse": STANDARD.encode(response), "Proto": "h2"}])
    };
    let requests = json!({"a.test": {"https://a.test/": archived("/", "<img src=b>"), "https://a.test/b": archived("/b", "b")}});
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    write!(gzip, "{{\"Requests\":{requests}}}").unwrap();
    desk.put("site.wprgo", gzip.finish().unwrap());
    let ran = desk.farlink("archive import site.wprgo -o site.wacz");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("imported 2 requests"), "{}", ran.err);
    let listed = desk.farlink("archive ls site.wacz").ok();
    assert!(listed.contains("https://a.test/b") && listed.contains("h2"), "{listed}");
    let loaded = desk.farlink("load site.wprgo --network 3g --protocol h1,h2 -n 1 --no-noise").ok();
    assert!(loaded.contains("Load time"), "{loaded}");
    desk.farlink("archive import . -o site.wacz").refused(&["not one of Mahimahi's records"]);
}

#[test]
fn recordings_are_merged_and_taken_from_devtools() {
    let desk = Desk::new();
    desk.put("one.har", har(&[("/", "hello"), ("/a", "a")]));
    desk.put("two.har", har(&[("/other", "world")]));
    let ran = desk.farlink("archive merge two.har one.har -o both.wacz");
    assert!(ran.err.contains("merged 3 requests of 2 pages"), "{}", ran.err);
    let listed = desk.farlink("archive ls both.wacz").ok();
    let pages: Vec<&str> = listed.lines().filter(|line| line.starts_with("page ")).collect();
    assert_eq!(pages, ["page 1: https://a.test/other", "page 2: https://a.test/"]);
    assert_eq!(desk.farlink("archive cat both.wacz https://a.test/a").ok(), "a");
    let shown = desk.farlink("pages show both.wacz#2").ok();
    assert!(shown.contains("2 requests") && shown.contains("https://a.test/a"), "{shown}");

    let paste = |text: &str, options: &str| {
        let mut command = desk.command(&options.split_whitespace().collect::<Vec<_>>());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        Ran::new(&child.wait_with_output().unwrap())
    };
    let ran = paste(&desk.read("one.har"), "record --from-devtools");
    assert!(ran.err.contains("recorded 2 requests") && ran.err.contains("wrote a.test.har"));
    assert!(!desk.read("a.test.har").contains("id=1"), "cookies are redacted");
    let empty = "{\"log\": {\"entries\": []}}";
    paste(empty, "record --from-devtools -o b.har").refused(&["a HAR without entries"]);
    let said = paste("<html>", "record --from-devtools -o b.har").refused(&["not a HAR file"]);
    assert!(said.contains("Copy all as HAR"), "{said}");
}
