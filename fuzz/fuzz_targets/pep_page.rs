#![no_main]
//! What the far end of the performance enhancing proxy reads of others: pages, style sheets, and what its near end asks for.

use farlink_pep::http::discover;
use farlink_pep::{StreamRequest, StreamRequestError};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let base = url::Url::parse("http://a.example/dir/page").expect("a URL");
    for media_type in ["text/html", "text/css"] {
        for embedded in discover(media_type, &base, input) {
            assert_eq!(embedded.url.scheme(), "http");
            assert_eq!(embedded.url.fragment(), None);
        }
    }
    let (authority, field) = text.split_once(' ').unwrap_or((&text, ""));
    if let Ok(request) = http::Request::connect(authority).body(()) {
        match StreamRequest::from_request(request) {
            Ok(StreamRequest::Tunnel(_)) | Err(StreamRequestError::NoAddress(_)) => {}
            other => panic!("a CONNECT became {other:?}"),
        }
    }
    let fetch = http::Request::get("http://a/").header("farlink-target", field);
    if let Ok(request) = fetch.header("farlink-client", "10.0.0.1").body(()) {
        drop(StreamRequest::from_request(request));
    }
});
