//! Clients that abuse HTTP/1: requests that two servers could read differently are refused, and bytes after them are ignored.

use crate::common;

use std::time::Duration;

use common::{Echo, in_world, listen};
use farlink_http::h1::server::{Ended, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use world::TcpStream;

/// Appended to each bad request: it must never be answered.
const SMUGGLED: &str = "GET /3 HTTP/1.1\r\nHost: smuggled\r\n\r\n";

async fn exchange(server: &common::Server, text: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(text).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

#[test]
fn what_two_servers_could_read_differently_is_refused() {
    let chunked = "Transfer-Encoding: chunked\r\n";
    let of = |fields: &str| format!("POST /body HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
    let cases = [
        // CL.TE and TE.CL, in any order.
        (of(&format!("Content-Length: 6\r\n{chunked}")), 400),
        (of(&format!("{chunked}Content-Length: 6\r\n")), 400),
        // Several lengths, different and equal, in fields and in a list.
        (of("Content-Length: 0\r\nContent-Length: 44\r\n"), 400),
        (of("Content-Length: 0\r\nContent-Length: 0\r\n"), 400),
        (of("Content-Length: 0, 44\r\n"), 400),
        (of("Content-Length: 0,0\r\n"), 400),
        // Lengths that some parsers accept as numbers.
        (of("Content-Length: +0\r\n"), 400),
        (of("Content-Length: 0x0\r\n"), 400),
        (of("Content-Length: \r\n"), 400),
        (of("Content-Length: 18446744073709551616\r\n"), 400),
        // Codings: hidden, twice, after another; an unknown one is RFC 9112 section 6.1's 501.
        (of("Transfer-Encoding : chunked\r\n"), 400),
        (of(" Transfer-Encoding: chunked\r\n"), 400),
        (of("X: y\r\n Transfer-Encoding: chunked\r\n"), 400),
        (of("Transfer-Encoding\r\n: chunked\r\n"), 400),
        (of("Transfer-Encoding: \x0bchunked\r\n"), 400),
        (of("Transfer-Encoding: chunked, chunked\r\n"), 400),
        (of(&chunked.repeat(2)), 400),
        (of("Transfer-Encoding:\r\n"), 400),
        (of("Transfer-Encoding: identity\r\n"), 501),
        (of("Transfer-Encoding: xchunked\r\n"), 501),
        (of("Transfer-Encoding: chunked, identity\r\n"), 400),
        (of("Transfer-Encoding: identity, chunked\r\n"), 501),
        (format!("POST /body HTTP/1.0\r\n{chunked}\r\n"), 400),
        // Line ends.
        ("POST /body HTTP/1.1\r\nHost: a\r\nX: y\rContent-Length: 44\r\n\r\n".to_owned(), 400),
        ("POST /body HTTP/1.1\nHost: a\n\n".to_owned(), 400),
        ("POST /body HTTP/1.1\r\nHost: a\r\nX: y\nContent-Length: 44\r\n\r\n".to_owned(), 400),
        // Chunks.
        (of(chunked) + "0\n\r\n", 400),
        (of(chunked) + "3\r\nabcd\r\n0\r\n\r\n", 400),
        (of(chunked) + "-1\r\n", 400),
        (of(chunked) + "1;\n\r\na\r\n0\r\n\r\n", 400),
        (of(chunked) + "ffffffffffffffff1\r\n", 400),
        // Hosts.
        ("GET /9 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".to_owned(), 400),
        ("GET /9 HTTP/1.1\r\nHost: a b\r\n\r\n".to_owned(), 400),
        ("GET http://u@b/9 HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 400),
    ];
    in_world(async move {
        let server = listen(Echo, Settings::default());
        for (bad, status) in cases {
            let answer = exchange(&server, format!("{bad}{SMUGGLED}").as_bytes()).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{bad:?}: {answer}");
            assert!(answer.ends_with("connection: close\r\n\r\n"), "{bad:?}: {answer}");
            assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{bad:?}: {answer}");
            assert!(matches!(server.ended().await, Ended::Refused(_)), "{bad:?}");
        }
    });
}

#[test]
fn an_upgrade_is_ignored() {
    in_world(async {
        let server = listen(Echo, Settings::default());
        for protocol in ["h2c", "websocket", "TLS/1.2"] {
            let text = format!(
                "GET /3 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings, close\r\n\
                 HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\nUpgrade: {protocol}\r\n\r\n"
            );
            let answer = exchange(&server, text.as_bytes()).await;
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nxxx"));
        }
    });
}

#[test]
fn who_trickles_a_head_is_told_and_ended() {
    in_world(async {
        let head_timeout = Duration::from_millis(200);
        let server = listen(Echo, Settings { head_timeout, ..Settings::default() });
        let (mut stream, began) = (TcpStream::connect(server.address).await.unwrap(), world::now());
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n").await.unwrap();
        for _ in 0..12 {
            world::sleep(Duration::from_millis(50)).await;
            let _ = stream.write_all(b"X: y\r\n").await;
        }
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{answer}");
        drop(stream);
        assert!(matches!(server.ended().await, Ended::Stalled));
        assert!(world::now() - began < Duration::from_secs(4));
    });
}
