//! Arbitrary answers of origins.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::check::{BETWEEN, check_replies};
use super::town::{Server, ask, run, say};

const CONFIG: &str = "[cache]\nmemory = \"8MiB\"\n[[reverse]]\norigins = [\"http://one.test\"]\n";

/// A part shorter than its `Content-Range` says was cut from beyond its end.
#[test]
fn a_part_that_is_not_what_it_says_is_passed_on_and_not_stored() {
    for (range, body, is_stored) in [
        ("bytes 4-9/10", "01234", false),
        ("bytes 5-9/10", "56789", true),
        ("bytes 5-9/*", "56789", true),
        ("bytes 0-18446744073709551614/*", "56789", false),
        ("bytes x", "56789", false),
    ] {
        let part = format!("Cache-Control: max-age=3600\r\nContent-Range: {range}\r\n");
        let server = Server::new(move |_| say(0, "206 Partial Content", &part, body));
        let got = run(
            CONFIG,
            &[server],
            async {
                let first = ask("GET", "/part", "Range: bytes=-5\r\n").await;
                (first, ask("GET", "/part", "Range: bytes=5-9\r\n").await)
            },
            async {},
        );
        assert_eq!((got.0.status(), got.1.status()), ("206", "206"), "{range}");
        assert!(got.0.text.ends_with(body), "{range}");
        assert_eq!(got.0.text.contains("; stored"), is_stored, "{range}: {}", got.0.text);
        let hit = got.1.text.contains("farlink; hit");
        assert_eq!(hit, is_stored && !range.ends_with('*'), "{range}: {}", got.1.text);
    }
}

/// Replays the fuzzer's corpus as a regression test.
#[test]
fn the_corpus_is_replayed() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/origin_replies"));
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("failed to list {}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    for file in files {
        println!("{}", file.display());
        check_replies(&std::fs::read(&file).expect("a seed can be read"));
    }
}

fn number() -> impl Strategy<Value = String> {
    let odd =
        ["", "-1", "x", "18446744073709551614", "18446744073709551615", "99999999999999999999"];
    prop_oneof![9 => (0u64..14).prop_map(|n| n.to_string()), 1 => select(odd.to_vec()).prop_map(str::to_owned)]
}

fn content_range() -> impl Strategy<Value = String> {
    let whole = prop_oneof![number(), Just("*".to_owned())];
    (number(), number(), whole)
        .prop_map(|(first, last, whole)| format!("Content-Range: bytes {first}-{last}/{whole}\r\n"))
}

fn reply() -> impl Strategy<Value = Vec<u8>> {
    let statuses = [200, 206, 206, 206, 304, 404, 416, 204, 503, 103, 999];
    let fields = [
        "",
        "Cache-Control: max-age=60\r\n",
        "Cache-Control: max-age=60\r\n",
        "Cache-Control: max-age=0\r\nETag: \"a\"\r\n",
        "ETag: \"a\"\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
        "Cache-Control: max-age=99999999999999999999, stale-if-error=99999999999\r\nAge: 99999999999\r\n",
        "Expires: Fri, 31 Dec 9999 23:59:59 GMT\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n",
        "Cache-Control: no-store\r\n",
        "Vary: *\r\nCache-Control: max-age=60\r\n",
    ];
    let ranges = prop_oneof![2 => Just(String::new()), 5 => content_range(), 1 => (content_range(), content_range()).prop_map(|(a, b)| a + &b)];
    let body = "0123456789abcdef";
    (
        select(statuses.to_vec()),
        select(fields.to_vec()),
        ranges,
        0..body.len(),
        proptest::option::of(number()),
    )
        .prop_map(move |(status, fields, ranges, size, told)| {
            let told = told.unwrap_or_else(|| size.to_string());
            let length = format!("Content-Length: {told}\r\n");
            format!("HTTP/1.1 {status} X\r\n{length}{fields}{ranges}\r\n{}", &body[..size]).into()
        })
}

fn asked() -> impl Strategy<Value = String> {
    let fields = [
        "",
        "If-None-Match: \"a\"",
        "If-Range: \"a\"",
        "Cache-Control: no-cache",
        "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
    ];
    prop_oneof![
        3 => (number(), number()).prop_map(|(first, last)| format!("Range: bytes={first}-{last}")),
        2 => number().prop_map(|size| format!("Range: bytes=-{size}")),
        1 => number().prop_map(|first| format!("Range: bytes={first}-")),
        1 => select(fields.to_vec()).prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_answer_breaks_it(replies in vec(reply(), 1..4), asked in vec(asked(), 2..8)) {
        let mut input = Vec::new();
        for reply in replies {
            input.extend(reply);
            input.extend(BETWEEN);
        }
        input.extend(asked.join("\n").into_bytes());
        check_replies(&input);
    }
}
