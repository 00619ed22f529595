//! Compressed answers, and the cache behind them.

use std::io::{Read, Write};

use std::time::Duration;

use tokio::io::AsyncReadExt;

use super::town::{Act, Got, Server, ask, open, response, run, say};

const CONFIG: &str =
    "[cache]\nmemory = \"8MiB\"\n[compression]\n[[reverse]]\norigins = [\"http://one.test\"]\n";

fn page() -> String {
    (0..400).map(|number| format!("<p>paragraph {number}</p>\n")).collect()
}

/// A server of the page with these fields beside its type.
fn server(fields: &'static str) -> Server {
    let fields = format!("Content-Type: text/html\r\nETag: \"v1\"\r\n{fields}");
    Server::new(move |_| say(0, "200 OK", &fields, &page()))
}

fn asks(paths_and_fields: &[(&'static str, &'static str)], servers: &[Server]) -> Vec<Got> {
    let all = paths_and_fields.to_vec();
    let each = async move {
        let mut got = Vec::new();
        for (path, fields) in all {
            got.push(ask("GET", path, fields).await);
        }
        got
    };
    run(CONFIG, servers, each, async {})
}

/// The body of an answer from the cache, which is not chunked.
fn unzipped(got: &Got) -> String {
    let mut text = String::new();
    flate2::read::GzDecoder::new(got.body()).read_to_string(&mut text).expect("it is gzip");
    text
}

const GZIP: &str = "Accept-Encoding: gzip\r\n";

#[test]
fn each_coding_is_stored_apart() {
    let server = server("Cache-Control: max-age=60\r\n");
    let got =
        asks(&[("/", GZIP), ("/", GZIP), ("/", ""), ("/", "")], std::slice::from_ref(&server));
    for compressed in &got[..2] {
        assert!(compressed.text.contains("content-encoding: gzip"), "{}", compressed.text);
        assert!(compressed.text.contains("etag: W/\"v1\""), "{}", compressed.text);
        assert!(compressed.text.contains("vary: Accept-Encoding"), "{}", compressed.text);
        assert!(compressed.bytes.len() * 3 < page().len());
    }
    assert!(got[0].text.contains("; stored") && got[1].text.contains("farlink; hit"));
    assert_eq!(unzipped(&got[1]), page());
    assert!(got[2].text.ends_with(&page()) && got[3].text.ends_with(&page()));
    assert!(got[2].text.contains("etag: \"v1\""), "{}", got[2].text);
    assert_eq!(server.seen.times("/"), 2);
}

#[test]
fn what_a_client_without_codings_got_is_not_for_others() {
    let server = server("Cache-Control: max-age=60\r\n");
    let got = asks(&[("/", ""), ("/", GZIP), ("/", GZIP)], std::slice::from_ref(&server));
    assert!(got[0].text.contains("vary: Accept-Encoding"), "{}", got[0].text);
    assert_eq!(unzipped(&got[2]), page());
    assert_eq!(server.seen.times("/"), 2);
}

#[test]
fn a_compressed_answer_is_validated() {
    let fields = "Content-Type: text/html\r\nETag: \"v1\"\r\nCache-Control: max-age=0\r\n";
    let first = std::cell::Cell::new(true);
    let server = Server::new(move |_| match first.replace(false) {
        true => say(0, "200 OK", fields, &page()),
        false => say(0, "304 Not Modified", fields, ""),
    });
    let got = asks(&[("/", GZIP), ("/", GZIP), ("/", GZIP)], std::slice::from_ref(&server));
    for validated in &got[1..] {
        assert_eq!(validated.status(), "200", "{}", validated.text);
        assert!(validated.text.contains("fwd-status=304"), "{}", validated.text);
        assert!(validated.text.contains("etag: W/\"v1\""), "{}", validated.text);
        assert!(validated.text.contains("vary: Accept-Encoding"), "{}", validated.text);
        assert_eq!(unzipped(validated), page());
    }
    assert_eq!(server.seen.times("/"), 3);
}

/// A client need not wait for the rest of a page to see its beginning.
#[test]
fn what_has_come_is_sent_when_the_origin_pauses() {
    let whole = response("200 OK", "Content-Type: text/html\r\n", &page());
    let server = Server::new(move |_| {
        let (first, second) = whole.split_at(whole.len() / 2);
        Act::Halves(first.to_vec(), Duration::from_secs(5), second.to_vec())
    });
    let millis = run(
        CONFIG,
        &[server],
        async {
            let began = world::now();
            let mut stream = open("GET", "/", GZIP).await;
            let mut got = Vec::new();
            // More than the head and gzip's own header, which says nothing.
            while got.len() < 600 {
                assert!(stream.read_buf(&mut got).await.expect("it answers") > 0);
            }
            world::now().since(began).as_millis()
        },
        async {},
    );
    assert!(millis < 1_000, "{millis} ms");
}

#[test]
fn a_head_has_the_fields_of_the_compressed_answer() {
    let server = server("");
    let got = run(CONFIG, &[server], ask("HEAD", "/", GZIP), async {});
    assert!(got.text.contains("content-encoding: gzip"), "{}", got.text);
    assert!(!got.text.contains("content-length"), "{}", got.text);
    assert!(got.body().is_empty(), "{}", got.text);
}

fn zipped() -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(page().as_bytes()).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// A server that sends the page in gzip, as far as `share` of it.
fn hasty_server(share: f64) -> Server {
    Server::new(move |_| {
        let body = zipped();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nCache-Control: max-age=60\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let sent = (body.len() as f64 * share) as usize;
        Act::Last(Duration::ZERO, [head.as_bytes(), &body[..sent]].concat())
    })
}

#[test]
fn what_came_in_gzip_is_coded_again_if_that_is_asked_for() {
    let recoding = CONFIG.replace("[compression]\n", "[compression]\nrecode = true\n");
    const ALL: &str = "Accept-Encoding: gzip, br\r\n";
    let each = |config: &str, share: f64, fields: &'static [&'static str]| {
        let asking = async move {
            let mut got = Vec::new();
            for fields in fields {
                got.push(ask("GET", "/", fields).await);
            }
            got
        };
        run(config, &[hasty_server(share)], asking, async {})
    };
    let got = each(&recoding, 1.0, &[ALL, ALL, GZIP, ""]);
    for recoded in &got[..2] {
        assert!(recoded.text.contains("content-encoding: br"), "{}", recoded.text);
        assert!(recoded.text.contains("vary: Accept-Encoding"), "{}", recoded.text);
    }
    let mut text = String::new();
    let mut decoder = brotli::Decompressor::new(got[1].body(), 4_096);
    decoder.read_to_string(&mut text).expect("it is Brotli");
    assert_eq!(text, page());
    for same in &got[2..] {
        assert!(same.text.contains("content-encoding: gzip"), "{}", same.text);
        assert!(same.text.contains("vary: Accept-Encoding"), "{}", same.text);
        assert_eq!(same.body(), zipped());
    }
    assert_eq!(each(CONFIG, 1.0, &[ALL])[0].body(), zipped(), "by default it stays");
    // A body that breaks off is not made to look whole.
    let broken = each(&recoding, 0.5, &[ALL]);
    assert!(!broken[0].text.ends_with("0\r\n\r\n"), "{}", broken[0].text);
}

#[test]
fn what_is_for_one_user_stays_as_it_is() {
    let server = server("Set-Cookie: id=1\r\n");
    let got = asks(&[("/", GZIP)], &[server]);
    assert!(!got[0].text.contains("content-encoding"), "{}", got[0].text);
    assert!(got[0].text.ends_with(&page()));
}
