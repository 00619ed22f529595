//! Tests of compression: negotiation, heads, and bodies that come back as they were.

use std::io::Read;

use proptest::prelude::*;

use super::*;

fn request(fields: &[(&str, &str)]) -> Request<()> {
    let mut request = Request::builder().uri("/");
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap()
}

fn answer(fields: &[(&str, &str)]) -> Response<()> {
    let mut head = Response::builder();
    for (name, value) in fields {
        head = head.header(*name, *value);
    }
    head.body(()).unwrap()
}

type Fields = &'static [(&'static str, &'static str)];

const HTML: (&str, &str) = ("content-type", "text/html; charset=utf-8");

fn coding(
    asked: &[(&str, &str)],
    answered: &[(&str, &str)],
    length: Option<u64>,
) -> Option<Coding> {
    match CompressionSettings::default().choose(&request(asked), &answer(answered), length) {
        Choice::Compressed(coding) => Some(coding),
        Choice::Unaccepted | Choice::Unsuitable => None,
    }
}

#[test]
fn the_client_chooses_among_codings() {
    let cases = [
        ("gzip, deflate, br, zstd", Some(Coding::Brotli)),
        ("gzip, zstd", Some(Coding::Zstd)),
        ("gzip;q=1.0, br;q=0.5", Some(Coding::Gzip)),
        ("br;q=0, *", Some(Coding::Zstd)),
        ("BR", Some(Coding::Brotli)),
        ("*;q=0", None),
        ("identity", None),
        ("gzip;q=2", None),
        ("", None),
    ];
    for (accepted, expected) in cases {
        let found = coding(&[("accept-encoding", accepted)], &[HTML], Some(9_000));
        assert_eq!(found, expected, "{accepted}");
    }
    assert_eq!(coding(&[], &[HTML], Some(9_000)), None, "a client that lists none");
}

#[test]
fn answers_that_must_stay_are_left_alone() {
    const ANY: (&str, &str) = ("accept-encoding", "br, gzip, zstd");
    assert!(coding(&[ANY], &[HTML], None).is_some(), "a body of unknown length");
    assert!(coding(&[ANY], &[("content-type", "image/svg+xml")], Some(5_000)).is_some());
    let left: [(Fields, Fields, Option<u64>); 13] = [
        (&[ANY], &[HTML], Some(1_023)),
        (&[ANY], &[("content-type", "image/webp")], Some(90_000)),
        (&[ANY], &[("content-type", "text/event-stream")], None),
        (&[ANY], &[], Some(9_000)),
        (&[ANY], &[HTML, ("content-encoding", "gzip")], Some(9_000)),
        (&[ANY], &[HTML, ("cache-control", "max-age=9, No-Transform")], Some(9_000)),
        (&[ANY], &[HTML, ("content-digest", "sha-256=:AA==:")], Some(9_000)),
        (&[ANY], &[HTML, ("cache-control", "private")], Some(9_000)),
        (&[ANY], &[HTML, ("set-cookie", "a=b")], Some(9_000)),
        (&[ANY, ("cookie", "a=b")], &[HTML], Some(9_000)),
        (&[ANY, ("authorization", "Basic YQ==")], &[HTML], Some(9_000)),
        (&[ANY, ("range", "bytes=0-9")], &[HTML], Some(9_000)),
        (&[("accept-encoding", "deflate")], &[HTML], Some(9_000)),
    ];
    for (asked, answered, length) in left {
        assert_eq!(coding(asked, answered, length), None, "{asked:?} {answered:?} {length:?}");
    }
    let private = CompressionSettings { private: true, ..CompressionSettings::default() };
    let (asked, answered) = (request(&[ANY, ("cookie", "a=b")]), answer(&[HTML]));
    assert_eq!(private.choose(&asked, &answered, None), Choice::Compressed(Coding::Brotli));
    let for_all = ("cache-control", "max-age=60");
    assert!(coding(&[ANY, ("cookie", "a=b")], &[HTML, for_all], None).is_some());
    let user = ("authorization", "Basic YQ==");
    assert!(coding(&[ANY, user], &[HTML, for_all], None).is_none());
    assert!(coding(&[ANY, user], &[HTML, ("cache-control", "public")], None).is_some());
}

#[test]
fn heads_say_what_became_of_the_body() {
    let mut head = answer(&[
        HTML,
        ("content-length", "9000"),
        ("accept-ranges", "bytes"),
        ("etag", "\"v1\""),
        ("vary", "Origin"),
    ]);
    mark(head.headers_mut(), Coding::Zstd);
    let value = |name: &str| head.headers().get(name).map(|value| value.to_str().unwrap());
    assert_eq!(value("content-encoding"), Some("zstd"));
    assert_eq!(value("content-length"), None);
    assert_eq!(value("accept-ranges"), None);
    assert_eq!(value("etag"), Some("W/\"v1\""));
    let vary: Vec<_> = head.headers().get_all("vary").iter().collect();
    assert_eq!(vary, ["Origin", "Accept-Encoding"]);
}

#[test]
fn confirmations_have_the_tag_that_was_asked_for() {
    let confirmed = |asked: &str, tag: &str| {
        let mut head = answer(&[("etag", tag)]);
        mark_confirmed(head.headers_mut(), request(&[("if-none-match", asked)]).headers());
        head.headers()["etag"].to_str().unwrap().to_owned()
    };
    assert_eq!(confirmed("W/\"v1\"", "\"v1\""), "W/\"v1\"");
    assert_eq!(confirmed("\"v0\", W/\"v1\"", "\"v1\""), "W/\"v1\"");
    assert_eq!(confirmed("\"v1\"", "\"v1\""), "\"v1\"");
    assert_eq!(confirmed("W/\"v1\"", "W/\"v1\""), "W/\"v1\"");
}

fn decoded(coding: Coding, bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    match coding {
        Coding::Brotli => brotli::Decompressor::new(bytes, 4_096).read_to_end(&mut body),
        Coding::Zstd => zstd::stream::read::Decoder::new(bytes).unwrap().read_to_end(&mut body),
        Coding::Gzip => flate2::read::GzDecoder::new(bytes).read_to_end(&mut body),
    }
    .unwrap();
    body
}

proptest! {
    // An encoder takes milliseconds to set up.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn bodies_come_back_as_they_were(
        pieces in proptest::collection::vec(proptest::collection::vec(0_u8..4, 0..3_000), 0..6),
        is_flushed in any::<bool>(),
        is_known in any::<bool>(),
    ) {
        let whole = pieces.concat();
        for coding in Coding::ALL {
            let length = is_known.then_some(whole.len() as u64);
            let mut encoder = Encoder::new(coding, length).unwrap();
            let mut encoded = Vec::new();
            for piece in &pieces {
                encoder.write(piece).unwrap();
                match is_flushed {
                    true => encoded.extend_from_slice(&encoder.flush().unwrap()),
                    false => encoded.extend_from_slice(&encoder.ready()),
                }
            }
            encoded.extend_from_slice(&encoder.finish().unwrap());
            prop_assert_eq!(&decoded(coding, &encoded), &whole);
        }
    }
}

#[test]
fn what_was_flushed_can_be_read() {
    for coding in Coding::ALL {
        let mut encoder = Encoder::new(coding, None).unwrap();
        encoder.write(b"the first half").unwrap();
        let first = encoder.flush().unwrap();
        let mut read = [0; 14];
        match coding {
            Coding::Brotli => brotli::Decompressor::new(&first[..], 4_096).read_exact(&mut read),
            Coding::Zstd => {
                zstd::stream::read::Decoder::new(&first[..]).unwrap().read_exact(&mut read)
            }
            Coding::Gzip => flate2::read::GzDecoder::new(&first[..]).read_exact(&mut read),
        }
        .unwrap();
        assert_eq!(&read, b"the first half", "{coding:?}");
    }
}
