//! Properties of the HTTP/1 codec.

use crate::checks;

use bytes::Bytes;
use farlink_http::h1::codec::encode;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use proptest::collection::vec;
use proptest::prelude::*;

/// Fragments that form nearly valid messages.
fn fragment() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<&'static [u8]> = vec![
        b"GET / HTTP/1.1\r\n",
        b"POST /a HTTP/1.0\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.0 304 X\r\n",
        b"HTTP/1.1 103 X\r\n",
        b"Host: a\r\n",
        b"Content-Length: 5\r\n",
        b"Content-Length: 4, 5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: gzip\r\n",
        b"Connection: close\r\n",
        b" folded\r\n",
        b"\r\n",
        b"\r\n\r\n",
        b"\n",
        b"\r",
        b"hello",
        b"5\r\nhello\r\n",
        b"0\r\n\r\n",
        b"a;x=y\r\n",
    ];
    prop_oneof![
        8 => prop::sample::select(known).prop_map(<[u8]>::to_vec),
        1 => vec(any::<u8>(), 0..20),
    ]
}

fn message() -> impl Strategy<Value = Vec<u8>> {
    vec(fragment(), 0..12).prop_map(|fragments| fragments.concat())
}

/// Names that do not frame a message.
fn fields() -> impl Strategy<Value = Vec<(HeaderName, HeaderValue)>> {
    let name = "x-[a-z0-9!#$%&'*+.^_`|~-]{1,12}".prop_map(|name| name.parse().unwrap());
    let value = "[!-~]([ -~\t]{0,20}[!-~])?".prop_map(|value| value.parse().unwrap());
    vec((name, value), 0..8)
}

fn texts(fields: &[(HeaderName, HeaderValue)]) -> Vec<(String, Vec<u8>)> {
    fields.iter().map(|(n, v)| (n.as_str().to_owned(), v.as_bytes().to_owned())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_give_the_same_however_they_are_cut(bytes in vec(any::<u8>(), 0..600)) {
        checks::check_request(&bytes);
        checks::check_response(&bytes);
        checks::check_chunked(&bytes);
    }

    #[test]
    fn nearly_right_messages_give_the_same_however_they_are_cut(bytes in message()) {
        checks::check_request(&bytes);
        checks::check_response(&[&[1], &bytes[..]].concat());
        checks::check_chunked(&bytes);
    }

    #[test]
    fn requests_come_out_as_they_went_in(
        method in prop::sample::select(vec![Method::GET, Method::POST, Method::PUT, Method::DELETE]),
        path in "/[a-zA-Z0-9/._~-]{0,30}(\\?[a-z0-9=&]{0,10})?",
        mut list in fields(),
        body in vec(any::<u8>(), 0..300),
        cuts in vec(0usize..600, 0..6).prop_map(|mut cuts| { cuts.sort(); cuts }),
    ) {
        // A header map groups fields of one name.
        list.dedup_by(|a, b| a.0 == b.0);
        list.sort_by(|a, b| a.0.as_str().cmp(b.0.as_str()));
        list.dedup_by(|a, b| a.0 == b.0);
        let mut request = Request::builder().method(method.clone()).uri(format!("http://a.example:8{path}"));
        for (name, value) in &list {
            request = request.header(name, value);
        }
        let request = request.body(Bytes::from(body.clone())).unwrap();
        let mut text = Vec::new();
        encode::request_head(&mut text, &request);
        prop_assume!(text.len() <= 512);
        text.extend_from_slice(&body);
        // Twice: the second begins where the first ends.
        let seen = checks::requests(&text.repeat(2), &cuts);
        prop_assert_eq!((seen.error, seen.used, seen.messages.len()), (None, 2 * text.len(), 2));
        for message in seen.messages {
            let head = format!("{method} {path} a.example:8 V11 ");
            prop_assert!(message.head.starts_with(&head), "{}", message.head);
            prop_assert_eq!(&message.body, &body);
            prop_assert!(message.ended);
            let others: Vec<_> = message.fields.into_iter().filter(|(n, _)| n.starts_with("x-")).collect();
            prop_assert_eq!(others, texts(&list));
        }
    }

    #[test]
    fn responses_come_out_as_they_went_in(
        status in 200u16..600,
        list in fields(),
        body in vec(any::<u8>(), 0..300),
        cuts in vec(0usize..600, 0..6).prop_map(|mut cuts| { cuts.sort(); cuts }),
    ) {
        let fields: HeaderMap = list.into_iter().collect();
        let status = StatusCode::from_u16(status).unwrap();
        let body = if [204, 304].contains(&status.as_u16()) { Vec::new() } else { body };
        let mut text = Vec::new();
        encode::response_head(&mut text, status, &fields, body.len() as u64);
        prop_assume!(text.len() <= 512);
        text.extend_from_slice(&body);
        let seen = checks::responses(&text, &cuts, &Method::GET);
        prop_assert_eq!((seen.used, seen.messages.len()), (text.len(), 1));
        prop_assert!(seen.messages[0].head.starts_with(status.as_str()));
        prop_assert_eq!(&seen.messages[0].body, &body);
        prop_assert!(seen.messages[0].ended);
    }
}
