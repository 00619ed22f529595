//! The same page recorded over round trips of 20 ms and of 200 ms gives the same graph.
//!
//! The recordings come from a small model of a browser and a network that shares no code with the reader: bodies
//! arrive in slow-start flights, connections cost round trips, a far host costs more of them, and the document's
//! children are requested as its bytes arrive.

use farlink_page::har::{self, ImportOptions};
use farlink_page::{After, Kind, ObjectId, Page, Provenance};
use serde_json::{Value, json};

/// Detail of the recording tool.
#[derive(Clone, Copy, PartialEq)]
enum Tool {
    /// Initiators with lines, and redirects.
    Initiators,
    /// Initiators without lines.
    NoLines,
    /// Only the request's own information: a Referer.
    Referers,
    /// Only timings.
    Nothing,
}

/// An object of the modelled page; times in milliseconds.
struct Thing {
    url: &'static str,
    mime: &'static str,
    bytes: u64,
    think: f64,
    parent: Option<usize>,
    after: Reveals,
    compute: f64,
}

enum Reveals {
    Head,
    /// This many bytes of a document with lines of [`LINE_BYTES`].
    Byte(u64),
    End,
}

const DOCUMENT_BYTES: u64 = 87_000;
const LINE_BYTES: u64 = 100;
const BYTES_PER_MS: f64 = 1250.0;
const TLS_WORK: f64 = 3.5;
const INITIAL_WINDOW: u64 = 14_600;

fn things() -> Vec<Thing> {
    let thing = |url, mime, bytes, think, parent, after, compute| Thing {
        url,
        mime,
        bytes,
        think,
        parent,
        after,
        compute,
    };
    let html = "text/html";
    let mut things = vec![
        thing("http://a.test/", html, 0, 4.0, None, Reveals::End, 0.0),
        thing("http://www.a.test/", html, DOCUMENT_BYTES, 31.5, Some(0), Reveals::Head, 1.2),
        thing("http://www.a.test/s.css", "text/css", 9_000, 2.0, Some(1), Reveals::Byte(800), 0.0),
        thing(
            "http://cdn.test/app.js",
            "text/javascript",
            30_000,
            7.0,
            Some(1),
            Reveals::Byte(1_500),
            0.0,
        ),
    ];
    let images = ["http://cdn.test/1.png", "http://www.a.test/2.png", "http://cdn.test/3.png"];
    for (index, url) in images.into_iter().enumerate() {
        let at = 20_000 + 30_000 * index as u64;
        things.push(thing(url, "image/png", 4_000, 1.0, Some(1), Reveals::Byte(at), 0.0));
    }
    things.push(thing(
        "http://www.a.test/f.woff2",
        "font/woff2",
        12_000,
        1.5,
        Some(2),
        Reveals::End,
        6.3,
    ));
    things.push(thing(
        "http://api.test/data",
        "application/json",
        700,
        45.0,
        Some(3),
        Reveals::End,
        11.0,
    ));
    things.push(thing(
        "http://www.a.test/last.png",
        "image/png",
        700,
        1.0,
        Some(1),
        Reveals::Byte(DOCUMENT_BYTES),
        9.4,
    ));
    things
}

/// Milliseconds from the first byte until `bytes` have arrived.
fn arrival(bytes: u64, rtt: f64) -> f64 {
    let (mut sent, mut flight, mut at) = (0, INITIAL_WINDOW, 0.0);
    while sent + flight < bytes {
        at += f64::max(rtt, flight as f64 / BYTES_PER_MS);
        sent += flight;
        flight *= 2;
    }
    at + (bytes - sent) as f64 / BYTES_PER_MS
}

/// The page as recorded by a tool over this round trip.
fn recording(rtt: f64, tool: Tool) -> Vec<u8> {
    let things = things();
    let mut opened: Vec<String> = Vec::new();
    let mut times: Vec<(f64, f64, f64)> = Vec::new();
    let mut entries: Vec<(f64, Value)> = Vec::new();
    for thing in &things {
        let host = url::Url::parse(thing.url).unwrap().host_str().unwrap().to_owned();
        let extra = if host == "api.test" { 30.0 } else { 0.0 };
        let own_rtt = rtt + extra;
        let start = thing.compute
            + match (thing.parent.map(|p| (times[p], &things[p])), &thing.after) {
                (None, _) => 0.0,
                (Some(((head, _, _), _)), Reveals::Head) => head,
                (Some(((head, _, _), _)), Reveals::Byte(byte)) => head + arrival(*byte, rtt),
                (Some(((_, end, _), _)), Reveals::End) => end,
            };
        let fresh = !opened.contains(&host);
        opened.push(host);
        // A TCP handshake, and one of TLS 1.3 with some work on either side.
        let (dns, connect) = if fresh { (5.0, 2.0 * own_rtt + TLS_WORK) } else { (-1.0, -1.0) };
        let wait = own_rtt + thing.think;
        let receive = arrival(thing.bytes, own_rtt);
        let head = start + f64::max(dns, 0.0) + f64::max(connect, 0.0) + wait;
        times.push((head, head + receive, start));
        let ssl = if fresh { own_rtt + TLS_WORK } else { -1.0 };
        let entry = entry(thing, &things, start, [dns, connect, ssl, wait, receive], tool);
        entries.push((start, entry));
    }
    entries.sort_by(|a, b| a.0.total_cmp(&b.0));
    let entries: Vec<Value> = entries.into_iter().map(|(_, entry)| entry).collect();
    json!({"log": {"version": "1.2", "creator": {"name": "model", "version": "1"}, "entries": entries}})
        .to_string()
        .into_bytes()
}

fn entry(thing: &Thing, things: &[Thing], start: f64, spans: [f64; 5], tool: Tool) -> Value {
    let [dns, connect, ssl, wait, receive] = spans;
    let micros = (start * 1000.0).round() as u64;
    let parent = thing.parent.map(|p| &things[p]);
    let redirected = thing.url == "http://a.test/";
    let mut entry = json!({
        "startedDateTime": format!("2026-01-01T00:00:{:02}.{:06}Z", micros / 1_000_000, micros % 1_000_000),
        "time": f64::max(dns, 0.0) + f64::max(connect, 0.0) + wait + receive,
        "request": {"method": "GET", "url": thing.url, "headers": []},
        "response": {
            "status": if redirected { 302 } else { 200 },
            "redirectURL": if redirected { "http://www.a.test/" } else { "" },
            "headers": [],
            "content": {"size": thing.bytes, "mimeType": thing.mime},
            "bodySize": thing.bytes,
        },
        "timings": {"blocked": -1, "dns": dns, "connect": connect, "ssl": ssl, "send": 0,
            "wait": wait, "receive": receive},
    });
    let Some(parent) = parent else { return entry };
    match (tool, &thing.after) {
        (Tool::Initiators, Reveals::Byte(byte)) => {
            entry["_initiator"] =
                json!({"type": "parser", "url": parent.url, "lineNumber": byte / LINE_BYTES});
        }
        (Tool::NoLines, Reveals::Byte(_)) => {
            entry["_initiator"] = json!({"type": "parser", "url": parent.url});
        }
        (Tool::Initiators | Tool::NoLines, Reveals::End) => {
            entry["_initiator"] = json!({"type": "script",
                "stack": {"callFrames": [{"url": parent.url, "lineNumber": 4}]}});
        }
        (Tool::Referers, _) => {
            // A script's request names the document as its referrer, a sheet's names the sheet.
            let by_sheet = parent.mime == "text/css";
            let referer = if by_sheet { parent.url } else { "http://www.a.test/" };
            entry["request"]["headers"] = json!([{"name": "Referer", "value": referer}]);
        }
        _ => {}
    }
    entry
}

fn read(rtt: f64, tool: Tool) -> Page {
    let mut page =
        har::parse("model.har", &recording(rtt, tool), &ImportOptions::default()).unwrap();
    // Objects are in the order of their requests, which the network may change; the graphs are equal if they are
    // under URLs. Renumber by URL.
    let mut order: Vec<usize> = (1..page.objects.len()).collect();
    order.sort_by_key(|at| page.objects[*at].url.clone());
    order.insert(0, 0);
    let place =
        |id: ObjectId| ObjectId(order.iter().position(|at| *at == id.0 as usize).unwrap() as u32);
    let hosts = page.hosts.clone();
    let mut objects: Vec<_> = order.iter().map(|at| page.objects[*at].clone()).collect();
    page.hosts.sort_by(|a, b| a.name.cmp(&b.name));
    for object in &mut objects {
        let name = &hosts[object.host.0 as usize].name;
        object.host.0 = page.hosts.iter().position(|h| h.name == *name).unwrap() as u32;
        for edge in &mut object.waits_for {
            edge.object = place(edge.object);
        }
    }
    page.objects = objects;
    // Its times are those of the network.
    page.recording = None;
    page
}

fn same_at_20_and_200(tool: Tool) -> Page {
    let near = read(20.0, tool);
    for rtt in [5.0, 60.0, 200.0, 600.0] {
        let far = read(rtt, tool);
        for (a, b) in near.objects.iter().zip(&far.objects) {
            assert_eq!(a, b, "{} at 20 and {rtt} ms", a.url);
        }
        assert_eq!(near, far);
    }
    near
}

fn edge<'a>(page: &'a Page, url: &str) -> (&'a farlink_page::Edge, &'a str) {
    let object = page.objects.iter().find(|o| o.url == url).unwrap();
    let edge = &object.waits_for[0];
    (edge, &page.objects[edge.object.0 as usize].url)
}

#[test]
fn with_initiators_and_lines() {
    let page = same_at_20_and_200(Tool::Initiators);
    let (sheet, document) = edge(&page, "http://www.a.test/s.css");
    assert_eq!((sheet.after, document), (After::Bytes(800), "http://www.a.test/"));
    assert_eq!(edge(&page, "http://cdn.test/1.png").0.after, After::Bytes(20_000));
    let (font, sheet) = edge(&page, "http://www.a.test/f.woff2");
    assert_eq!((font.after, sheet), (After::End, "http://www.a.test/s.css"));
    assert_eq!(font.compute.value.as_secs_f64(), 0.0063);
    assert_eq!(font.provenance, Provenance::Measured);
    let (document, redirect) = edge(&page, "http://www.a.test/");
    assert_eq!((document.after, redirect), (After::Head, "http://a.test/"));
    assert_eq!(document.compute.value.as_secs_f64(), 0.0012);
    let think = |url: &str| page.objects.iter().find(|o| o.url == url).unwrap().think;
    assert_eq!(think("http://www.a.test/").value.as_secs_f64(), 0.0315);
    assert_eq!(think("http://api.test/data").value.as_secs_f64(), 0.045);
    assert_eq!(think("http://api.test/data").provenance, Provenance::Measured);
    let api = page.hosts.iter().find(|h| h.name == "api.test").unwrap();
    assert_eq!(api.extra_rtt.value.as_secs_f64(), 0.03);
    assert_eq!(page.root().kind, Kind::Redirect);
}

#[test]
fn with_initiators_but_no_lines() {
    let page = same_at_20_and_200(Tool::NoLines);
    // Six references, in order, over the document.
    assert_eq!(edge(&page, "http://www.a.test/s.css").0.after, After::Bytes(14_500));
    assert_eq!(edge(&page, "http://www.a.test/last.png").0.after, After::Bytes(87_000));
}

#[test]
fn with_referers_alone() {
    let page = same_at_20_and_200(Tool::Referers);
    assert_eq!(edge(&page, "http://www.a.test/f.woff2").1, "http://www.a.test/s.css");
    assert_eq!(edge(&page, "http://cdn.test/1.png").0.provenance, Provenance::Inferred);
}

#[test]
fn with_timings_alone() {
    let page = same_at_20_and_200(Tool::Nothing);
    assert_eq!(edge(&page, "http://www.a.test/").0.after, After::Head);
    assert_eq!(edge(&page, "http://cdn.test/1.png").1, "http://www.a.test/");
}
