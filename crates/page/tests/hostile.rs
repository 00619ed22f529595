//! Invalid and hostile input: every refusal names the place, and nothing panics.

use farlink_page::har::{self, ImportOptions};
use farlink_page::{
    After, BodyCoding, BodySource, Edge, Error, HostId, Kind, Object, ObjectId, ObjectPriority,
    Page, PageHost, Provenance, SizeEstimate, SkipReason, Skipped, file,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::Duration;

fn parse(value: &Value) -> Result<Page, Error> {
    har::parse("a.har", value.to_string().as_bytes(), &ImportOptions::default())
}

fn refusal(text: &str) -> String {
    har::parse("a.har", text.as_bytes(), &ImportOptions::default()).unwrap_err().to_string()
}

fn entry(url: &str, started_ms: u32, kind: &str) -> Value {
    json!({
        "pageref": "page_1",
        "startedDateTime": format!("2024-05-01T10:00:{:02}.{:03}Z", started_ms / 1000, started_ms % 1000),
        "time": 78.6,
        "request": {"method": "GET", "url": url, "headersSize": -1, "bodySize": 0,
            "headers": [{"name": "Host", "value": "a.test"}, {"name": "Referer", "value": "https://a.test/"}]},
        "response": {"status": 200, "redirectURL": "", "httpVersion": "h2", "headersSize": -1,
            "bodySize": 1000, "_transferSize": 1200,
            "headers": [{"name": "Cache-Control", "value": "max-age=60"}],
            "content": {"size": 3000, "mimeType": kind}},
        "timings": {"blocked": 1.5, "dns": 2, "connect": 40, "ssl": 20, "send": 0.1, "wait": 30, "receive": 5},
        "_initiator": {"type": "parser", "url": "https://a.test/", "lineNumber": started_ms},
        "_priority": "High", "_resourceType": "image",
    })
}

/// A HAR of five entries with a bit of everything.
fn small() -> Value {
    let mut document = entry("https://a.test/", 0, "text/html");
    document["_resourceType"] = json!("document");
    document["_initiator"] = json!({"type": "other"});
    let mut redirect = entry("https://a.test/r", 120, "text/html");
    redirect["response"]["status"] = json!(302);
    redirect["response"]["redirectURL"] = json!("/i.png");
    let mut script = entry("https://b.test/s.js", 130, "text/javascript");
    script["_resourceType"] = json!("script");
    let mut data = entry("https://b.test/d?x=1", 400, "application/json");
    data["_resourceType"] = json!("fetch");
    data["_initiator"] =
        json!({"type": "script", "stack": {"callFrames": [{"url": "https://b.test/s.js"}]}});
    let image = entry("https://a.test/i.png", 300, "image/png");
    let pages = json!([{"id": "page_1", "startedDateTime": "2024-05-01T10:00:00.000Z",
        "pageTimings": {"onContentLoad": 200, "onLoad": 500}}]);
    json!({"log": {"version": "1.2", "creator": {"name": "t", "version": "1"}, "pages": pages,
        "entries": [document, redirect, script, data, image]}})
}

#[test]
fn the_small_har_is_what_it_should_be() {
    let page = parse(&small()).unwrap();
    let urls: Vec<&str> = page.objects.iter().map(|o| o.path.as_str()).collect();
    assert_eq!(urls, ["/", "/r", "/s.js", "/i.png", "/d?x=1"]);
    assert_eq!(page.objects[3].waits_for[0].after, After::Head);
    assert_eq!(page.objects[4].waits_for[0].object, ObjectId(2));
    assert_eq!(
        page.objects[0].think.value,
        Duration::from_millis(10),
        "wait 30 less connect 40 - 20"
    );
    assert_eq!(page.hosts[0].recorded_protocol.as_deref(), Some("h2"));
    assert!(!page.objects[4].blocks_load && page.objects[3].blocks_load);
}

#[test]
fn not_json_is_told_by_line_and_column() {
    let message = refusal("{\"log\": {\n  \"entries\": [,]}}");
    assert!(message.starts_with("a.har: not JSON at line 2, column 15"), "{message}");
    assert!(refusal("").starts_with("a.har: not JSON at line 1, column 0"));
    assert!(refusal("<html>").starts_with("a.har: this is an HTML or XML document"));
}

#[test]
fn json_that_is_no_har_is_told() {
    assert!(refusal("[1, 2]").contains("not a HAR: there is no `log`"));
    assert!(refusal("{\"log\": {}}").contains("`log` has no `entries`"));
    assert!(refusal("{\"log\": {\"entries\": {}}}").contains("`log.entries` is not a list"));
    assert_eq!(
        refusal("{\"log\": {\"entries\": []}}"),
        "a.har: the HAR has no entries; record it again with the network panel open"
    );
}

#[test]
fn a_span_without_sense_costs_that_span_and_a_caution() {
    for (odd, ms) in [
        (json!("-25"), "-25"),
        (json!(-1000), "-1000"),
        (json!(1_714_557_600_000u64), "1714557600000"),
    ] {
        let mut har = small();
        har["log"]["entries"][3]["timings"]["wait"] = odd;
        let page = parse(&har).unwrap();
        assert_eq!(page.objects.len(), 5);
        let cautions: Vec<String> = page.cautions.iter().map(ToString::to_string).collect();
        assert_eq!(
            cautions,
            [format!(
                "an invalid time is treated as unknown: {ms} ms in timings.wait of entry 3 (counted from 0)"
            )]
        );
    }
    let mut har = small();
    har["log"]["entries"][3]["timings"]["wait"] = json!(-1);
    assert!(parse(&har).unwrap().cautions.is_empty());
    har["log"]["entries"][1]["startedDateTime"] = json!("yesterday");
    assert!(
        parse(&har).unwrap_err().to_string().contains("entry 1 (counted from 0), startedDateTime")
    );
}

#[test]
fn sizes_without_sense_are_refused_by_entry_and_field() {
    for (path, field) in [
        ("/response/content/size", "response.content.size"),
        ("/response/_transferSize", "response._transferSize"),
        ("/request/headersSize", "request.headersSize"),
    ] {
        let mut har = small();
        *har["log"]["entries"][2].pointer_mut(path).unwrap() = json!(9_000_000_000_000u64);
        let message = parse(&har).unwrap_err().to_string();
        assert!(
            message.contains(&format!(
                "entry 2 (counted from 0), {field}: 9000000000000 bytes exceed"
            )),
            "{message}"
        );
    }
}

fn reasons(page: &Page) -> Vec<SkipReason> {
    page.skipped.iter().map(|skipped| skipped.reason).collect()
}

#[test]
fn tunnels_and_aborted_requests_are_none_of_the_page() {
    let mut har = small();
    let mut tunnel = entry("https://a.test:443", 0, "");
    tunnel["request"]["method"] = json!("CONNECT");
    let mut aborted = entry("https://a.test/big.js", 130, "text/javascript");
    aborted["response"]["_failureText"] = json!("net::ERR_ABORTED");
    let mut ping = entry("https://a.test/ping", 140, "");
    (ping["response"]["status"], ping["response"]["_error"]) =
        (json!(204), json!("net::ERR_ABORTED"));
    let entries = har["log"]["entries"].as_array_mut().unwrap();
    entries.splice(0..0, [tunnel, aborted, ping]);
    let page = parse(&har).unwrap();
    assert_eq!(page.root().path, "/");
    assert_eq!(reasons(&page), [SkipReason::Tunnel, SkipReason::Aborted]);
    assert_eq!(page.objects.len(), 6, "a beacon without a body was whole");
}

/// Firefox, Safari, Chrome and WebPageTest.
#[test]
fn every_tools_second_use_from_a_cache_is_no_request() {
    let marks: [fn(&mut Value); 6] = [
        |entry| entry["timings"] = json!({}),
        |entry| entry["response"]["_fetchType"] = json!("Memory Cache"),
        |entry| entry["_fetchType"] = json!("Disk Cache"),
        |entry| entry["_fromCache"] = json!("memory"),
        |entry| entry["_cached"] = json!(1),
        |entry| entry["response"]["_transferSize"] = json!(0),
    ];
    for (at, mark) in marks.into_iter().enumerate() {
        let mut har = small();
        let mut second = entry("https://a.test/i.png", 400, "image/png");
        mark(&mut second);
        har["log"]["entries"].as_array_mut().unwrap().push(second);
        let page = parse(&har).unwrap();
        assert_eq!(reasons(&page), [SkipReason::FromCache], "mark {at}");
    }
}

#[test]
fn recordings_that_cannot_answer_say_so() {
    let cautions = |har: &Value| -> Vec<String> {
        parse(har).unwrap().cautions.iter().map(ToString::to_string).collect()
    };
    let each = |change: fn(&mut Value)| {
        let mut har = small();
        har["log"]["entries"].as_array_mut().unwrap().iter_mut().for_each(change);
        har
    };
    assert!(cautions(&small()).is_empty());
    let without_sizes = each(|entry| {
        let response = entry["response"].as_object_mut().unwrap();
        response.remove("_transferSize");
        response["bodySize"] = json!(-1);
        response["content"]["size"] = json!(0);
    });
    let said = cautions(&without_sizes);
    assert!(said[0].starts_with("4 of 4 responses have no recorded size"), "{said:?}");
    let warm = each(|entry| entry["_fromCache"] = json!("disk"));
    let said = cautions(&warm);
    assert!(said[0].starts_with("recorded with a warm cache: of 5 responses 5 came"), "{said:?}");
    let mut error = small();
    error["log"]["entries"][0]["response"]["status"] = json!(404);
    assert!(cautions(&error)[0].contains("an error page (status 404)"));
}

#[test]
fn of_several_pages_one_is_read_and_the_others_are_named() {
    let mut har = small();
    let mut blank = entry("data:text/html,hi", 0, "text/html");
    blank["pageref"] = json!("blank");
    let mut other = entry("https://c.test/", 900, "text/html");
    (other["pageref"], other["_resourceType"]) = (json!("page_9"), json!("document"));
    let log = har["log"].as_object_mut().unwrap();
    log["pages"].as_array_mut().unwrap().insert(0, json!({"id": "blank"}));
    log["entries"].as_array_mut().unwrap().splice(0..0, [blank, other]);
    let page = parse(&har).unwrap();
    assert_eq!((page.objects.len(), page.root().url.as_str()), (5, "https://a.test/"));
    assert_eq!(
        page.cautions[0].to_string(),
        "the file contains 2 pages; loading `page_1`. Choose another with --page: page_9"
    );
    let text = har.to_string();
    for which in ["2", "page_9"] {
        let options = ImportOptions { page: Some(which.to_owned()) };
        let page = har::parse("a.har", text.as_bytes(), &options).unwrap();
        assert_eq!(page.root().url, "https://c.test/");
    }
    let options = ImportOptions { page: Some("3".to_owned()) };
    let refused = har::parse("a.har", text.as_bytes(), &options).unwrap_err().to_string();
    assert_eq!(refused, "a.har: no page `3`; it contains page_1, page_9");
}

#[test]
fn numbers_may_be_strings_and_fields_may_be_missing() {
    let mut har = small();
    let entry = &mut har["log"]["entries"][0];
    entry["timings"]["wait"] = json!("30");
    entry["timings"]["connect"] = json!("40.0");
    entry["response"]["status"] = json!("200");
    let document = parse(&har).unwrap().objects.remove(0);
    assert_eq!(document, parse(&small()).unwrap().objects.remove(0));
    for entry in har["log"]["entries"].as_array_mut().unwrap() {
        for gone in ["timings", "time", "_initiator", "_priority", "_resourceType", "pageref"] {
            entry.as_object_mut().unwrap().remove(gone);
        }
        entry["request"].as_object_mut().unwrap().remove("headers");
        entry["response"].as_object_mut().unwrap().remove("content");
    }
    har["log"].as_object_mut().unwrap().remove("pages");
    let page = parse(&har).unwrap();
    assert_eq!(page.objects.len(), 5);
}

#[test]
fn only_one_page_is_read() {
    let mut har = small();
    har["log"]["entries"][2]["pageref"] = json!("page_2");
    let first = parse(&har).unwrap();
    assert_eq!((first.objects.len(), first.skipped.len()), (4, 1));
    assert_eq!(first.skipped[0].reason, SkipReason::OtherPage);
    let read = |page: &str| {
        let options = ImportOptions { page: Some(page.to_owned()) };
        har::parse("a.har", har.to_string().as_bytes(), &options)
    };
    assert_eq!(read("page_2").unwrap().objects.len(), 1);
    assert_eq!(
        read("page_3").unwrap_err().to_string(),
        "a.har: no page `page_3`; it contains page_1, page_2"
    );
}

#[test]
fn what_is_no_request_is_skipped_with_its_reason() {
    let mut har = small();
    let mut add = |url: &str, change: &dyn Fn(&mut Value)| {
        let mut entry = entry(url, 450, "image/png");
        change(&mut entry);
        har["log"]["entries"].as_array_mut().unwrap().push(entry);
    };
    add("data:image/png;base64,AA", &|_| {});
    add("wss://a.test/socket", &|_| {});
    add("https://a.test/socket", &|e| e["response"]["status"] = json!(101));
    add("https://a.test/aborted", &|e| e["response"]["status"] = json!(0));
    add("https://a.test/i.png", &|e| e["_fromCache"] = json!("memory"));
    add("http://a.test/hsts", &|e| {
        e["response"]["status"] = json!(307);
        e["response"]["headers"] = json!([{"name": "Non-Authoritative-Reason", "value": "HSTS"}]);
    });
    let page = parse(&har).unwrap();
    let reasons: Vec<SkipReason> = page.skipped.iter().map(|s| s.reason).collect();
    use SkipReason::*;
    assert_eq!(reasons, [NotHttp, NotHttp, NotHttp, NoFinalResponse, FromCache, InternalRedirect]);
    assert_eq!(page.objects.len() + page.skipped.len(), 11);
}

#[test]
fn a_body_is_counted_once_and_its_source_kept() {
    let sized = |change: &dyn Fn(&mut Value)| {
        let mut har = small();
        change(&mut har["log"]["entries"][4]);
        let page = parse(&har).unwrap();
        let image = page.objects.iter().find(|o| o.path == "/i.png").unwrap().clone();
        (image.body_bytes, image.body_source)
    };
    use BodySource::*;
    // h2: 1200 less half of the 46 bytes of header text (17 + 27 + 2).
    assert_eq!(sized(&|_| {}), (1177, TransferSize));
    let length = json!([{"name": "content-length", "value": "1100"}]);
    assert_eq!(sized(&|e| e["response"]["headers"] = length.clone()), (1100, TransferSize));
    assert_eq!(sized(&|e| e["response"]["_transferSize"] = json!(-1)), (1000, BodySize));
    let unstated = |e: &mut Value| {
        e["response"]["_transferSize"] = json!(0);
        e["response"]["bodySize"] = json!(-1);
    };
    assert_eq!(sized(&unstated), (3000, ContentSize));
    assert_eq!(sized(&|e| e["response"]["status"] = json!(304)), (0, NoBody));
    assert_eq!(sized(&|e| e["request"]["method"] = json!("HEAD")), (0, NoBody));
}

/// Replaces a value in the small HAR; `path` selects a child (modulo their number) at each level.
fn mutate(value: &mut Value, path: &[usize], with: &Value) {
    let Some((step, rest)) = path.split_first() else {
        *value = with.clone();
        return;
    };
    match value {
        Value::Array(list) if !list.is_empty() => {
            let at = step % list.len();
            mutate(&mut list[at], rest, with);
        }
        Value::Object(map) if !map.is_empty() => {
            let key = map.keys().nth(step % map.len()).unwrap().clone();
            mutate(&mut map[&key], rest, with);
        }
        other => *other = with.clone(),
    }
}

fn junk() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "-1",
            "1e308",
            "NaN",
            "http://",
            "https://a.test/",
            "//x",
            "ws://x/",
            "é\u{0}",
            "302",
            "2024-05-01T10:00:00+99:00",
            "9999-12-31T23:59:59Z",
            "-9999-01-01T00:00:00Z",
        ])
        .prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([[{"name": 1}]])),
    ]
}

fn provenance() -> impl Strategy<Value = Provenance> {
    prop::sample::select(vec![Provenance::Measured, Provenance::Inferred, Provenance::Defaulted])
}

fn estimate() -> impl Strategy<Value = SizeEstimate> {
    (any::<u64>(), provenance()).prop_map(|(nanos, provenance)| SizeEstimate {
        value: Duration::from_nanos(nanos),
        provenance,
    })
}

fn object(index: usize, hosts: u32) -> impl Strategy<Value = Object> {
    let after =
        prop_oneof![Just(After::Head), Just(After::End), any::<u64>().prop_map(After::Bytes)];
    let edge = (0..index.max(1) as u32, after, estimate(), provenance()).prop_map(
        |(object, after, compute, provenance)| Edge {
            object: ObjectId(object),
            after,
            compute,
            provenance,
        },
    );
    let edges = prop::collection::vec(edge, if index == 0 { 0..1 } else { 1..4 });
    let kinds = prop::sample::select(vec![
        Kind::Document,
        Kind::Stylesheet,
        Kind::Script,
        Kind::Image,
        Kind::Font,
        Kind::Media,
        Kind::Data,
        Kind::Redirect,
        Kind::Other,
    ]);
    let names =
        ("\\PC{0,20}", "[/a-z.?%é]{0,20}", prop::sample::select(vec!["GET", "POST", "HEAD"]));
    let sizes = (any::<u32>(), any::<u64>(), any::<u32>(), 0..5000u64);
    let flags = (any::<bool>(), any::<bool>(), prop::sample::select(vec![200u16, 204, 302, 404]));
    (names, 0..hosts, kinds, sizes, estimate(), edges, flags).prop_map(
        |((url, path, method), host, kind, sizes, think, waits_for, (blocks, caches, status))| {
            Object {
                url,
                host: HostId(host),
                path,
                method: method.to_owned(),
                kind,
                status,
                request_header_bytes: sizes.0,
                request_fields: Vec::new(),
                request_body_bytes: sizes.1,
                response_header_bytes: sizes.2,
                header_provenance: think.provenance,
                body_bytes: sizes.3,
                body_source: BodySource::Specified,
                coding: match (caches, blocks) {
                    (true, true) => BodyCoding::Compressed { decoded_bytes: sizes.1 },
                    (true, false) => BodyCoding::Uncompressed { compressed_bytes: sizes.1 },
                    _ => BodyCoding::Identity,
                },
                think,
                waits_for,
                priority: ObjectPriority::Medium,
                blocks_load: blocks,
                blocks_render: blocks && caches,
                cacheable: caches,
            }
        },
    )
}

fn page() -> impl Strategy<Value = Page> {
    let host = ("[a-z.:\\[\\]/]{0,12}", estimate(), any::<bool>(), any::<Option<u16>>()).prop_map(
        |(name, extra_rtt, tls, port)| PageHost {
            name,
            extra_rtt,
            recorded_protocol: tls.then(|| "h2".to_owned()),
            recorded_tls: tls,
            port,
            in_clear: !tls,
        },
    );
    (prop::collection::vec(host, 1..4), 1..8usize).prop_flat_map(|(hosts, count)| {
        let listed = hosts.len() as u32;
        let objects: Vec<_> = (0..count).map(|index| object(index, listed)).collect();
        ("\\PC{0,10}", Just(hosts), objects).prop_map(|(name, hosts, objects)| Page {
            origin: name.clone(),
            name,
            hosts,
            objects,
            skipped: vec![Skipped { url: "data:".to_owned(), reason: SkipReason::NotHttp }],
            cautions: Vec::new(),
            recorded_network: None,
            recording: None,
        })
    })
}

proptest! {
    #[test]
    fn mutated_hars_never_panic_and_lose_no_entry(
        changes in prop::collection::vec((prop::collection::vec(0..16usize, 1..8), junk()), 1..6)
    ) {
        let mut har = small();
        for (path, with) in &changes {
            mutate(&mut har, path, with);
        }
        if let Ok(page) = parse(&har) {
            prop_assert_eq!(page.check(), Ok(()));
            let entries = har["log"]["entries"].as_array().map_or(0, Vec::len);
            prop_assert_eq!(page.objects.len() + page.skipped.len(), entries);
            for edge in page.objects.iter().flat_map(|o| &o.waits_for) {
                let whole = page.objects[edge.object.0 as usize].body_bytes;
                prop_assert!(!matches!(edge.after, After::Bytes(n) if n == 0 || n > whole));
            }
        }
    }

    #[test]
    fn torn_texts_never_panic(cut in 0..4000usize, byte in any::<u8>()) {
        let mut text = small().to_string().into_bytes();
        let at = cut % text.len();
        text[at] = byte;
        drop(har::parse("a.har", &text, &ImportOptions::default()));
        text.truncate(at);
        prop_assert!(har::parse("a.har", &text, &ImportOptions::default()).is_err());
        drop(file::parse("a.json", &text));
    }

    #[test]
    fn page_files_round_trip(page in page()) {
        prop_assert_eq!(page.check(), Ok(()));
        prop_assert_eq!(file::parse("a", file::to_text(&page).as_bytes()).unwrap(), page);
    }

    #[test]
    fn any_page_is_shown_and_written_or_refused(page in page()) {
        prop_assert!(farlink_page::PageTable(&page).to_string().contains("requests"));
        let folder = std::env::temp_dir().join(format!("farlink-page-any-{}", std::process::id()));
        let target = folder.join("page");
        std::fs::create_dir_all(&folder).unwrap();
        let written = farlink_page::write::write(&page, &target, farlink_page::write::Existing::Replace);
        let left_over = std::fs::read_dir(&folder).unwrap().count();
        std::fs::remove_dir_all(&folder).unwrap();
        match written {
            Ok(written) => prop_assert!(written.files >= 1 && left_over == 1),
            Err(error) => prop_assert!(matches!(error, Error::NotWritable { .. }), "{}", error),
        }
    }

    #[test]
    fn any_page_is_made_browsable_or_refused(page in page()) {
        match farlink_page::browsable(&page) {
            Ok(browsable) => {
                prop_assert_eq!(browsable.page.check(), Ok(()));
                prop_assert_eq!(browsable.contents.len(), page.objects.len());
                for (object, content) in browsable.page.objects.iter().zip(&browsable.contents) {
                    prop_assert_eq!(object.body_bytes, content.body.len() as u64);
                }
                let larger = browsable.page.objects.iter().zip(&page.objects)
                    .any(|(now, before)| now.body_bytes > before.body_bytes);
                let said = browsable.notes.iter().any(|note| note.contains("larger than stated"));
                prop_assert_eq!(larger, said);
            }
            Err(error) => prop_assert!(matches!(error, Error::NotWritable { .. }), "{}", error),
        }
    }
}
