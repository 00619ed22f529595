//! HTTP/1 with streamed bodies and tunnels: the bytes on the wire.

use crate::common;
use crate::common::streams;

use std::rc::Rc;
use std::time::Duration;

use common::{in_world, listen};
use farlink_http::h1::server::{Ended, Settings};
use farlink_http::server::Pace;
use streams::{Notes, Streams};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use world::TcpStream;

/// A server and its handler's observations.
fn serve(settings: Settings) -> (common::Server, Rc<Notes>) {
    let notes = Rc::new(Notes::default());
    (listen(Streams(Rc::clone(&notes)), settings), notes)
}

async fn open(server: &common::Server, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

/// The server's output in answer to `text` before it closes.
async fn exchange(server: &common::Server, text: &str) -> String {
    let mut stream = open(server, text).await;
    stream.shutdown().await.unwrap();
    rest(&mut stream).await
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

#[test]
fn a_body_of_unknown_length_is_chunked_or_ends_with_the_connection() {
    in_world(async {
        let (server, notes) = serve(Settings::default());
        let text = "GET /pieces HTTP/1.1\r\nHost: a\r\n\r\nGET /known HTTP/1.1\r\nHost: a\r\n\r\n\
                    GET /empty HTTP/1.1\r\nHost: a\r\n\r\nGET /pieces HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
        let (piece, body) = ("p".repeat(1_000), "p".repeat(10_000));
        let chunks = format!("3e8\r\n{piece}\r\n").repeat(10);
        let expected = format!(
            "{CHUNKED}{chunks}0\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 10000\r\n\r\n{body}\
             {CHUNKED}0\r\n\r\nHTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}"
        );
        assert_eq!(exchange(&server, text).await, expected);
        assert!(matches!(server.ended().await, Ended::Orderly));
        assert_eq!(notes.cancelled.get(), 0);
    });
}

#[test]
fn what_has_no_body_sends_none() {
    in_world(async {
        let (server, _) = serve(Settings::default());
        let text = "HEAD /pieces HTTP/1.1\r\nHost: a\r\n\r\nHEAD /known HTTP/1.1\r\nHost: a\r\n\r\n\
                    GET /not-modified HTTP/1.1\r\nHost: a\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n";
        let expected = "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 10000\r\n\r\n\
                        HTTP/1.1 304 Not Modified\r\n\r\n\
                        HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nwhole";
        assert_eq!(exchange(&server, text).await, expected);
    });
}

#[test]
fn a_body_that_breaks_off_never_ends_cleanly() {
    in_world(async {
        let (server, _) = serve(Settings::default());
        for (name, end) in
            [("broken", "\r\n"), ("known-broken", "p"), ("short", "p"), ("long", "p")]
        {
            let text = format!("GET /{name} HTTP/1.1\r\nHost: a\r\n\r\n");
            let answer = exchange(&server, &text).await;
            assert!(answer.ends_with(end) && !answer.ends_with("0\r\n\r\n"), "{name}");
            let (_, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(body.len() < 10_001, "{name}");
            assert!(matches!(server.ended().await, Ended::BrokeOff(_)), "{name}");
        }
        // Where the connection's close would end the body, it is reset instead.
        let mut stream = open(&server, "GET /broken HTTP/1.0\r\n\r\n").await;
        let error = stream.read_to_end(&mut Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    });
}

#[test]
fn a_body_goes_back_as_it_comes() {
    in_world(async {
        let (server, _) = serve(Settings::default());
        let head = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        let mut stream = open(&server, head).await;
        let mut answer = vec![0; CHUNKED.len()];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, CHUNKED.as_bytes());
        for size in [1, 9] {
            let chunk = format!("{size}\r\n{}\r\n", "z".repeat(size));
            stream.write_all(chunk.as_bytes()).await.unwrap();
            let mut echo = vec![0; chunk.len()];
            stream.read_exact(&mut echo).await.unwrap();
            assert_eq!(echo, chunk.as_bytes());
        }
        stream.write_all(b"0\r\n\r\nGET /x HTTP/1.0\r\n\r\n").await.unwrap();
        let end = "0\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nwhole";
        assert_eq!(rest(&mut stream).await, end);
    });
}

#[test]
fn a_client_sends_no_faster_than_the_handler_reads() {
    in_world(async {
        let (server, notes) = serve(Settings::default());
        let size = 20 << 20;
        let mut stream = open(
            &server,
            &format!("POST /patient HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n"),
        )
        .await;
        let piece = vec![b'y'; 64 << 10];
        let mut sent = 0;
        let moment = Duration::from_millis(20);
        for _ in 0..5 {
            while let Ok(written) =
                world::timeout(Duration::from_millis(1), stream.write(&piece)).await
            {
                sent += written.unwrap() as u64;
                assert!(sent < size, "everything was taken at once");
            }
            world::sleep(moment).await;
        }
        assert!(notes.read.get() > 0 && notes.read.get() < sent);
        drop(stream);
        assert!(matches!(server.ended().await, Ended::Broken(_)));
    });
}

#[test]
fn an_expectation_is_met_when_the_body_is_wanted() {
    in_world(async {
        let (server, _) = serve(Settings::default());
        let head = |name| {
            format!(
                "POST /{name} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
            )
        };
        let mut stream = open(&server, &head("count")).await;
        let mut interim = [0; 25];
        stream.read_exact(&mut interim).await.unwrap();
        assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
        stream.write_all(b"hi").await.unwrap();
        stream.shutdown().await.unwrap();
        assert!(rest(&mut stream).await.ends_with("\r\n\r\n2"));
        // A handler that does not want it answers at once; the client may or may not send it, so that the connection is
        // not reusable.
        let answer = rest(&mut open(&server, &head("ignore")).await).await;
        assert_eq!(answer, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    });
}

#[test]
fn an_unread_body_costs_the_connection_unless_it_is_there() {
    in_world(async {
        let (server, _) = serve(Settings::default());
        let text = "POST /ignore HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhiGET /x HTTP/1.0\r\n\r\n";
        let answer = exchange(&server, text).await;
        assert!(answer.ends_with("connection: close\r\n\r\nwhole"), "{answer}");
        assert_eq!(answer.matches("HTTP/1.1 200").count(), 2);
        let text = "POST /ignore HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n";
        let answer = rest(&mut open(&server, text).await).await;
        assert!(answer.ends_with("connection: close\r\n\r\n"), "{answer}");
    });
}

#[test]
fn a_malformed_or_slow_body_is_refused_before_the_answer() {
    in_world(async {
        let pace = Pace { grace: Duration::from_millis(200), bytes_a_second: 100 };
        let (server, _) = serve(Settings { body_pace: Some(pace), ..Settings::default() });
        let head = "POST /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        let answer = exchange(&server, &format!("{head}zz\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
        assert!(matches!(server.ended().await, Ended::Refused(_)));
        for path in ["count", "whole"] {
            let head = format!("POST /{path} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
            let (mut stream, began) = (open(&server, &head).await, world::now());
            for _ in 0..40 {
                world::sleep(Duration::from_millis(20)).await;
                // One byte in 20 ms is half of the required rate.
                let _ = stream.write_all(b"x").await;
            }
            let mut answer = [0; 28];
            stream.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"HTTP/1.1 408 Request Timeout");
            assert!(world::now() - began < Duration::from_secs(2));
            drop(stream);
            assert!(matches!(server.ended().await, Ended::Stalled));
        }
    });
}

#[test]
fn a_granted_connect_is_a_tunnel() {
    in_world(async {
        let (server, _) = serve(Settings::default());
        // Bytes sent ahead are not lost, and the end of one direction leaves the other open.
        let connect = "CONNECT echo:443 HTTP/1.1\r\nHost: echo:443\r\n\r\n";
        let answer = exchange(&server, &format!("{connect}ahead")).await;
        assert_eq!(answer, "HTTP/1.1 200 OK\r\n\r\nhello ahead bye");
        assert!(matches!(server.ended().await, Ended::Orderly));
        let mut stream = open(&server, connect).await;
        let mut start = [0; 25];
        stream.read_exact(&mut start).await.unwrap();
        assert_eq!(&start, b"HTTP/1.1 200 OK\r\n\r\nhello ");
        let data: Vec<u8> = (0..1_000_000u32).map(|i| i as u8).collect();
        let (mut reading, mut writing) = tokio::io::split(stream);
        let sent = data.clone();
        let writer = world::spawn(async move {
            writing.write_all(&sent).await.unwrap();
            writing.shutdown().await.unwrap();
        });
        let mut got = Vec::new();
        reading.read_to_end(&mut got).await.unwrap();
        writer.await;
        assert!(got.strip_suffix(b" bye") == Some(&data[..]));
    });
}

#[test]
fn a_connect_is_the_last_request_whatever_its_answer() {
    in_world(async {
        let (server, _) = serve(Settings::default());
        for (authority, status) in
            [("other:25", "403 Forbidden"), ("plain:443", "501 Not Implemented")]
        {
            let text = format!(
                "CONNECT {authority} HTTP/1.1\r\nHost: a\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n"
            );
            let expected =
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            assert_eq!(exchange(&server, &text).await, expected);
        }
        let body = "CONNECT echo:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
        assert!(exchange(&server, body).await.starts_with("HTTP/1.1 400 "));
        let get = "GET /tunnel HTTP/1.0\r\n\r\n";
        assert!(exchange(&server, get).await.starts_with("HTTP/1.1 501 "));
    });
}

#[test]
fn a_quiet_tunnel_is_closed() {
    in_world(async {
        let tunnel_timeout = Duration::from_millis(200);
        let (server, _) = serve(Settings { tunnel_timeout, ..Settings::default() });
        let mut stream = open(&server, "CONNECT echo:443 HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert!(rest(&mut stream).await.ends_with("hello "));
        assert!(matches!(server.ended().await, Ended::Stalled));
    });
}

#[test]
fn a_client_that_leaves_cancels_its_answer() {
    in_world(async {
        let (server, notes) = serve(Settings::default());
        let mut stream = open(&server, "GET /endless HTTP/1.1\r\nHost: a\r\n\r\n").await;
        stream.read_exact(&mut [0; 2_000]).await.unwrap();
        drop(stream);
        assert!(matches!(server.ended().await, Ended::Broken(_)));
        assert_eq!(notes.cancelled.get(), 1);
    });
}

#[test]
fn targets_and_fields_reach_the_handler_as_they_were_sent() {
    in_world(async {
        let (server, _) = serve(Settings::default());
        for (line, told) in [
            ("GET /fields?a HTTP/1.1\r\nHost: h:1\r\nX-A: 1\r\nx-a:2", ""),
            (
                "GET http://b.test:8/fields HTTP/1.1\r\nHost: h\r\nx-a: 1",
                "GET http b.test:8 http://b.test:8/fields h1 x-a=1",
            ),
            ("GET https://b.test/fields HTTP/1.0", "GET https b.test https://b.test/fields h1.0"),
            (
                "POST /fields HTTP/1.1\r\nHost: h\r\nx-b: 2\r\nContent-Length: 0",
                "POST http h /fields h1 x-b=2",
            ),
        ] {
            let answer = exchange(&server, &format!("{line}\r\n\r\n")).await;
            let (_, body) = answer.split_once("\r\n\r\n").unwrap();
            assert_eq!(body, if told.is_empty() { "whole" } else { told });
        }
        let text = "POST /deep/fields HTTP/1.1\r\nHost: h\r\nX-C: 3\r\nx-d: 4\r\nContent-Length: 1\r\n\r\nq";
        assert!(exchange(&server, text).await.ends_with("POST http h /deep/fields h1 x-d=4"));
    });
}

#[test]
fn a_server_that_goes_away_finishes_what_it_has() {
    in_world(async {
        let settings =
            Settings { drain_timeout: Duration::from_millis(300), ..Settings::default() };
        let (handler, core) = (
            Rc::new(Streams::default()),
            Rc::new(farlink_http::h1::server::Core::new(
                settings,
                farlink_http::timer_wheel::Wheel::new(),
            )),
        );
        let drain = core.drain().clone();
        let listener = world::TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let accepting = Rc::clone(&core);
        drop(world::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (handler, core) = (Rc::clone(&handler), Rc::clone(&accepting));
                drop(world::spawn(async move {
                    farlink_http::h1::server::serve(stream, handler, &core).await
                }));
            }
        }));
        let connect = async |text: &str| {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(text.as_bytes()).await.unwrap();
            stream
        };
        let get = "GET /known HTTP/1.1\r\nHost: a\r\n\r\n";
        let (mut idle, mut late, mut busy) =
            (connect("").await, connect("").await, connect(get).await);
        busy.read_exact(&mut [0; 50]).await.unwrap();
        world::sleep(Duration::from_millis(5)).await;
        drain.begin();
        world::sleep(Duration::from_millis(50)).await;
        // A request already on its way is answered, and is the last.
        late.write_all(get.as_bytes()).await.unwrap();
        let answer = rest(&mut late).await;
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\ncontent-length: 10000\r\nconnection: close\r\n")
        );
        // The response under way is sent completely.
        assert_eq!(rest(&mut busy).await.len(), 10_000 + 42 - 50);
        let began = world::now();
        assert_eq!(rest(&mut idle).await, "");
        assert!(world::now() - began < Duration::from_secs(1));
    });
}
