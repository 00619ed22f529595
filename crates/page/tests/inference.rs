//! Recordings without initiators: the share of their graph that is recovered.

use std::collections::BTreeSet;
use std::path::PathBuf;

use farlink_page::har::{self, ImportOptions};
use farlink_page::{After, Page, Provenance};
use serde_json::{Value, json};

/// Recordings beside the checkout, if present.
fn recordings() -> Vec<PathBuf> {
    let workspace = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let folders = ["../shared/data/har", "../../shared/data/har"].map(|f| workspace.join(f));
    let folder = folders.iter().find(|folder| folder.is_dir());
    let entries = folder.into_iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.to_string_lossy().contains(".har"));
    files.sort();
    files
}

fn text(file: &PathBuf) -> Vec<u8> {
    let bytes = std::fs::read(file).unwrap();
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return bytes;
    }
    let mut text = Vec::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(bytes.as_slice());
    std::io::Read::read_to_end(&mut decoder, &mut text).unwrap();
    text
}

/// The recording as written by a tool without initiators.
fn stripped(text: &[u8]) -> Vec<u8> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut har: Value = serde_json::from_slice(text).unwrap();
    for entry in har["log"]["entries"].as_array_mut().unwrap() {
        entry.as_object_mut().unwrap().retain(|name, _| !name.contains("nitiator"));
    }
    har.to_string().into_bytes()
}

fn read(text: &[u8]) -> Page {
    har::parse("a.har", text, &ImportOptions::default()).unwrap()
}

/// Recorded dependencies of an object, redirects aside.
fn parents(page: &Page, object: usize, stated_alone: bool) -> BTreeSet<usize> {
    let edges = page.objects[object].waits_for.iter();
    let edges = edges.filter(|edge| edge.after != After::Head);
    let stated = edges.filter(|edge| !stated_alone || edge.provenance == Provenance::Measured);
    stated.map(|edge| edge.object.0 as usize).collect()
}

#[test]
fn two_thirds_of_the_stated_causes_are_found_without_their_statement() {
    let files = recordings();
    if files.is_empty() {
        println!("skipped: corpus absent");
        return;
    }
    let (mut found, mut all, mut above) = (0, 0, 0);
    for file in files {
        let whole = text(&file);
        let (known, guessed) = (read(&whole), read(&stripped(&whole)));
        assert_eq!(known.objects.len(), guessed.objects.len());
        for object in 1..known.objects.len() {
            let stated = parents(&known, object, true);
            if stated.is_empty() {
                continue;
            }
            let own = parents(&guessed, object, false);
            all += 1;
            found += usize::from(!stated.is_disjoint(&own));
            let mut ancestors = stated.clone();
            let mut open: Vec<usize> = stated.iter().copied().collect();
            while let Some(next) = open.pop() {
                let more = known.objects[next].waits_for.iter().map(|e| e.object.0 as usize);
                open.extend(more.filter(|parent| ancestors.insert(*parent)));
            }
            above += usize::from(!ancestors.is_disjoint(&own));
        }
    }
    let share = |part: usize| part as f64 / f64::from(all as u32);
    println!("{found} of {all} found: {:.3}; or an ancestor: {:.3}", share(found), share(above));
    assert!(all > 2500 && share(found) > 0.65, "{}", share(found));
    assert!(share(above) > 0.72, "{}", share(above));
}

/// One entry: URL, media type, text, start and length in milliseconds.
type Recorded<'a> = (&'a str, &'a str, &'a str, u64, u64);

fn har_of(entries: &[Recorded<'_>]) -> Vec<u8> {
    let entry = |(url, mime, text, start, length): &Recorded<'_>| {
        json!({
            "startedDateTime": format!("2026-01-01T00:00:{:02}.{:03}Z", start / 1000, start % 1000),
            "time": length,
            "request": {"method": "GET", "url": url, "headers": []},
            "response": {
                "status": 200, "headers": [], "bodySize": 5000,
                "content": {"size": text.len(), "mimeType": mime, "text": text},
            },
            "timings": {"send": 0, "wait": length / 2, "receive": length - length / 2},
        })
    };
    let entries: Vec<Value> = entries.iter().map(entry).collect();
    json!({"log": {"version": "1.2", "creator": {"name": "model", "version": "1"}, "entries": entries}})
        .to_string()
        .into_bytes()
}

const HTML: &str = "<!doctype html><head><link rel=stylesheet href=/s.css>\
    <script src=/app.js></script><script async src=/late.js></script></head>\
    <body><h1>Shop</h1><img src=/a.png><script src=/bottom.js></script></body>";

#[test]
fn bodies_say_who_names_what_and_what_blocks() {
    let page = read(&har_of(&[
        ("http://a.test/", "text/html", HTML, 0, 100),
        (
            "http://a.test/s.css",
            "text/css",
            "a{b:url(bg.png)}@font-face{src:url(f.woff2)}",
            900,
            50,
        ),
        ("http://a.test/app.js", "text/javascript", "fetch('/api/cart')", 900, 60),
        ("http://a.test/late.js", "text/javascript", "", 900, 60),
        ("http://a.test/bottom.js", "text/javascript", "", 901, 60),
        ("http://a.test/a.png", "image/png", "", 902, 60),
        ("http://a.test/bg.png", "image/png", "", 2000, 60),
        ("http://a.test/f.woff2", "font/woff2", "", 2001, 60),
        ("http://a.test/api/cart", "application/json", "{\"img\":\"\\/hero.png\"}", 2002, 60),
        ("http://a.test/hero.png", "image/png", "", 3000, 60),
        ("http://a.test/named-by-nobody.png", "image/png", "", 3001, 60),
    ]));
    let short = |url: &str| url.trim_start_matches("http://a.test").to_owned();
    let edges: Vec<(String, String, Provenance)> = page.objects[1..]
        .iter()
        .map(|object| {
            let edge = &object.waits_for[0];
            let parent = &page.objects[edge.object.0 as usize];
            (short(&object.url), short(&parent.url), edge.provenance)
        })
        .collect();
    let read = |child: &str, parent: &str| (child.to_owned(), parent.to_owned(), Provenance::Read);
    assert_eq!(
        edges[..9],
        [
            read("/s.css", "/"),
            read("/app.js", "/"),
            read("/late.js", "/"),
            read("/bottom.js", "/"),
            read("/a.png", "/"),
            read("/bg.png", "/s.css"),
            read("/f.woff2", "/s.css"),
            read("/api/cart", "/app.js"),
            read("/hero.png", "/api/cart"),
        ]
    );
    assert_ne!(edges[9].2, Provenance::Read);
    let blocking = page.objects.iter().filter(|object| object.blocks_render);
    let blocking: Vec<String> = blocking.map(|object| short(&object.url)).collect();
    assert_eq!(blocking, ["/s.css", "/app.js"]);
    // At its place in the text: the sheet's tag ends there, of a body of 5,000 bytes.
    let end = HTML.find("<script").unwrap() as u64;
    let at = (end * 5000).div_ceil(HTML.len() as u64);
    assert_eq!(page.objects[1].waits_for[0].after, After::Bytes(at));
    let summary = page.summary();
    assert_eq!((summary.edges.read, summary.edges.total()), (9, 10));
}

#[test]
fn bodies_may_be_in_base64() {
    use base64::Engine;
    let encoded = base64::engine::general_purpose::STANDARD.encode(HTML);
    let plain = har_of(&[
        ("http://a.test/", "text/html", &encoded, 0, 100),
        ("http://a.test/app.js", "text/javascript", "", 900, 60),
    ]);
    let mut har: Value = serde_json::from_slice(&plain).unwrap();
    har["log"]["entries"][0]["response"]["content"]["encoding"] = json!("base64");
    let page = read(&har.to_string().into_bytes());
    assert_eq!(page.objects[1].waits_for[0].provenance, Provenance::Read);
    assert!(page.objects[1].blocks_render);
}

#[test]
fn a_body_that_comes_later_names_nothing() {
    let page = read(&har_of(&[
        ("http://a.test/", "text/html", "<p>text", 0, 100),
        ("http://a.test/slow.js", "text/javascript", "'/i.png'", 100, 5000),
        ("http://a.test/i.png", "image/png", "", 200, 60),
    ]));
    let edge = &page.objects[2].waits_for[0];
    assert_eq!((edge.object.0, edge.provenance), (0, Provenance::Inferred));
}
