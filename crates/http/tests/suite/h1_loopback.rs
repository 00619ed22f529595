//! Our HTTP/1.1 client against our server, over the kernel's loopback.

use crate::common;

use std::time::Duration;

use bytes::Bytes;
use common::{Echo, fetch, in_world, listen};
use farlink_http::RequestError;
use farlink_http::h1::server::{Ended, Settings};
use http::Request;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use world::TcpStream;

fn get(target: &str) -> Request<Bytes> {
    Request::get(target).header("host", "a.example").body(Bytes::new()).unwrap()
}

#[test]
fn a_connection_carries_request_after_request() {
    in_world(async {
        let server = listen(Echo, Settings::default());
        let mut client = server.client().await;
        for size in [0, 1, 1024, 8192, 8193, 100_000, 5_000_000] {
            let seen = fetch(&mut client, &get(&format!("/{size}"))).await.unwrap();
            assert_eq!((seen.status, seen.body.len()), (200, size));
            assert!(seen.body.iter().all(|byte| *byte == b'x'));
            assert_eq!(
                seen.sent_head,
                format!("GET /{size} HTTP/1.1\r\nhost: a.example\r\n\r\n").len() as u64
            );
            assert_eq!(
                seen.head_bytes,
                format!("HTTP/1.1 200 OK\r\ncontent-length: {size}\r\n\r\n").len() as u64
            );
            assert!(client.is_reusable());
        }
    });
}

#[test]
fn late_answers_and_bodiless_ones_keep_the_order() {
    in_world(async {
        let server = listen(Echo, Settings::default());
        let mut client = server.client().await;
        assert_eq!(fetch(&mut client, &get("/later/77")).await.unwrap().body.len(), 77);
        let head = Request::head("/500").body(Bytes::new()).unwrap();
        let seen = fetch(&mut client, &head).await.unwrap();
        assert_eq!((seen.status, seen.body.len()), (200, 0));
        for status in [204, 304] {
            assert_eq!(
                fetch(&mut client, &get(&format!("/status/{status}"))).await.unwrap().status,
                status
            );
        }
        assert_eq!(fetch(&mut client, &get("/9")).await.unwrap().body.len(), 9);
    });
}

#[test]
fn request_bodies_are_counted_and_drained() {
    in_world(async {
        let server = listen(Echo, Settings::default());
        let mut client = server.client().await;
        for size in [0, 10, 3_000_000] {
            let body = Bytes::from(vec![b'y'; size]);
            let request = Request::post("/body").body(body).unwrap();
            let seen = fetch(&mut client, &request).await.unwrap();
            assert_eq!(seen.body, size.to_string().as_bytes());
            assert_eq!(seen.sent_body, size as u64);
        }
    });
}

/// The server's output in answer to `text` before it closes.
async fn exchange(server: &common::Server, text: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(text).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

#[test]
fn pipelined_requests_of_a_half_closed_client_are_all_answered() {
    in_world(async {
        let server = listen(Echo, Settings::default());
        let mut text = String::new();
        for size in [10, 20_000, 30] {
            text += &format!("GET /{size} HTTP/1.1\r\nHost: a\r\n\r\n");
        }
        text += "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        text += "GET /later/5 HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /1 HTTP/1.0\r\n\r\n";
        let answer = exchange(&server, text.as_bytes()).await;
        assert_eq!(answer.matches("HTTP/1.1 200 OK\r\n").count(), 6);
        let tail = "content-length: 5\r\nconnection: keep-alive\r\n\r\nxxxxx\
                    HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: close\r\n\r\nx";
        assert!(answer.ends_with(tail), "{}", &answer[answer.len() - 200..]);
        assert!(matches!(server.ended().await, Ended::Orderly));
    });
}

#[test]
fn a_thousand_pipelined_requests_are_answered_in_order() {
    in_world(async {
        let server = listen(Echo, Settings::default());
        let text: String =
            (0..1000).map(|i| format!("GET /{i} HTTP/1.1\r\nHost: a\r\n\r\n")).collect();
        let expected: String = (0..1000)
            .map(|i| format!("HTTP/1.1 200 OK\r\ncontent-length: {i}\r\n\r\n{}", "x".repeat(i)))
            .collect();
        assert_eq!(exchange(&server, text.as_bytes()).await, expected);
    });
}

#[test]
fn bad_requests_are_refused_after_good_ones_are_answered() {
    in_world(async {
        let server = listen(Echo, Settings::default());
        for (bad, status) in [
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(), 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_owned(), 400),
            ("GET / HTTP/3.0\r\nHost: a\r\n\r\n".to_owned(), 505),
            (format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(20_000)), 431),
        ] {
            let text = format!("GET /3 HTTP/1.1\r\nHost: a\r\n\r\n{bad}");
            let answer = exchange(&server, text.as_bytes()).await;
            assert!(answer.contains("\r\n\r\nxxxHTTP/1.1 "), "{answer}");
            assert!(answer.contains(&format!("xxxHTTP/1.1 {status} ")), "{answer}");
            assert!(matches!(server.ended().await, Ended::Refused(_)));
        }
    });
}

#[test]
fn expectations_are_met_before_the_body_comes() {
    in_world(async {
        let server = listen(Echo, Settings::default());
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let head =
            "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut interim = [0; 25];
        stream.read_exact(&mut interim).await.unwrap();
        assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
        stream.write_all(b"hi").await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n2"));
    });
}

#[test]
fn a_slow_reader_gets_everything() {
    in_world(async {
        let server = listen(Echo, Settings::default());
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let text = "GET /4000000 HTTP/1.1\r\nHost: a\r\n\r\nGET /5000 HTTP/1.0\r\n\r\n";
        stream.write_all(text.as_bytes()).await.unwrap();
        let (mut total, mut piece) = (0, [0; 65_536]);
        loop {
            world::sleep(Duration::from_micros(200)).await;
            match stream.read(&mut piece).await.unwrap() {
                0 => break,
                read => total += read,
            }
        }
        let heads = "HTTP/1.1 200 OK\r\ncontent-length: 4000000\r\n\r\n".len()
            + "HTTP/1.1 200 OK\r\ncontent-length: 5000\r\nconnection: close\r\n\r\n".len();
        assert_eq!(total, 4_005_000 + heads);
    });
}

#[test]
fn timeouts_end_idle_and_trickling_connections() {
    let settings = Settings {
        idle_timeout: Duration::from_millis(200),
        send_timeout: Duration::from_millis(200),
        head_timeout: Duration::from_millis(300),
        ..Settings::default()
    };
    in_world(async move {
        let server = listen(Echo, settings);
        let mut idle = TcpStream::connect(server.address).await.unwrap();
        assert_eq!(idle.read(&mut [0; 9]).await.unwrap(), 0);
        assert!(matches!(server.ended().await, Ended::Idle));

        let mut trickling = TcpStream::connect(server.address).await.unwrap();
        let began = world::now();
        for byte in b"GET / HTTP/1.1\r\nHost: a" {
            world::sleep(Duration::from_millis(50)).await;
            if trickling.write_all(&[*byte]).await.is_err() {
                break;
            }
        }
        assert!(matches!(server.ended().await, Ended::Stalled));
        assert!(world::now() - began < Duration::from_secs(3));

        let mut greedy = TcpStream::connect(server.address).await.unwrap();
        greedy.write_all(b"GET /50000000 HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        assert!(matches!(server.ended().await, Ended::Stalled));
    });
}

#[test]
fn a_slow_reader_is_not_idle() {
    let settings = Settings { idle_timeout: Duration::from_millis(50), ..Settings::default() };
    in_world(async move {
        let server = listen(Echo, settings);
        let mut slow = TcpStream::connect(server.address).await.unwrap();
        slow.write_all(b"GET /50000000 HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        world::sleep(Duration::from_millis(300)).await;
        let mut response = Vec::new();
        slow.read_to_end(&mut response).await.unwrap();
        assert!(response.len() > 50_000_000, "{}", response.len());
        assert!(matches!(server.ended().await, Ended::Idle));
    });
}

#[test]
fn abrupt_ends_are_told_apart() {
    in_world(async {
        let server = listen(Echo, Settings::default());
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream
            .write_all(b"POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab")
            .await
            .unwrap();
        drop(stream);
        assert!(matches!(server.ended().await, Ended::Broken(_)));

        drop(TcpStream::connect(server.address).await.unwrap());
        assert!(matches!(server.ended().await, Ended::Orderly));

        // The response fills the window; dropping with it unread resets the connection.
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(b"GET /50000000 HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        stream.read_exact(&mut [0; 100]).await.unwrap();
        drop(stream);
        assert!(matches!(server.ended().await, Ended::Broken(_)));
    });
}

#[test]
fn a_client_says_how_it_failed() {
    in_world(async {
        for (answer, reusable) in [
            ("", None),
            ("HTTP/1.1 200 OK\r\nContent-", Some("broke")),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", Some("broke")),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n", Some("broke")),
            ("SSH-2.0-OpenSSH\r\n\r\n", Some("protocol")),
            ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", Some("protocol")),
        ] {
            let mut client = common::scripted(answer).await;
            let failure = fetch(&mut client, &get("/")).await.unwrap_err();
            match (reusable, &failure) {
                (None, RequestError::Unanswered(_))
                | (Some("broke"), RequestError::Broken(_))
                | (Some("protocol"), RequestError::Protocol(_)) => {}
                _ => panic!("{answer:?} gave {failure:?}"),
            }
            assert!(!client.is_reusable());
        }
    });
}

#[test]
fn a_client_skips_interim_responses_and_reads_to_the_end() {
    in_world(async {
        let text = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.0 200 OK\r\n\r\nabc";
        let mut client = common::scripted(text).await;
        let seen = fetch(&mut client, &get("/")).await.unwrap();
        assert_eq!((seen.status, &seen.body[..]), (200, &b"abc"[..]));
        assert_eq!(seen.head_bytes, 19);
        assert!(!client.is_reusable());
    });
}

#[test]
fn a_connection_closed_while_idle_is_not_reusable() {
    in_world(async {
        let settings = Settings { idle_timeout: Duration::from_millis(100), ..Settings::default() };
        let server = listen(Echo, settings);
        let mut client = server.client().await;
        fetch(&mut client, &get("/1")).await.unwrap();
        assert!(client.is_reusable());
        assert!(matches!(server.ended().await, Ended::Idle));
        world::sleep(Duration::from_millis(20)).await;
        assert!(!client.is_reusable());
    });
}
