//! Streamed bodies and tunnels, over HTTP/2, SPDY and HTTP/3.

use crate::common;
use crate::common::streams;

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use common::any::{fetch, get, open, post};
use common::hostile::{
    DATA, END_HEADERS, END_STREAM, HEADERS, Hostile, PING, RST_STREAM, SETTINGS, frame,
};
use common::in_world;
use farlink_http::client::{ClientConnection, Opening, Protocol};
use farlink_http::h2::frame::PREFACE;
use farlink_http::h3;
use farlink_http::server::{
    Acceptor, Body, BodyError, ClientTimeouts, Drain, Pace, RequestBody, SharedServerState,
};
use farlink_http::spdy::Version;
use http::Request;
use streams::{Notes, Streams};
use tls::Security;
use tokio::io::AsyncReadExt;
use world::TcpListener;

const ALL: [(Protocol, Security); 6] = [
    (Protocol::H2, Security::None),
    (Protocol::H2, Security::Tls13),
    (Protocol::Spdy(Version::V31), Security::None),
    (Protocol::Spdy(Version::V3), Security::Tls12),
    (Protocol::Spdy(Version::V2), Security::None),
    (Protocol::H3, Security::Tls13),
];

/// A server of any protocol.
struct Server {
    address: SocketAddr,
    notes: Rc<Notes>,
    drain: Drain,
    protocol: Protocol,
    security: Security,
}

impl Server {
    fn new((protocol, security): (Protocol, Security), patience: Option<ClientTimeouts>) -> Server {
        let notes = Rc::new(Notes::default());
        let handler = Rc::new(Streams(Rc::clone(&notes)));
        let common = SharedServerState { patience, ..SharedServerState::default() };
        let drain = common.drain.clone();
        let any = "127.0.0.1:0".parse().unwrap();
        let address = if protocol == Protocol::H3 {
            let settings = h3::settings::Server::default();
            let acceptor = h3::Acceptor::new(&tls::Settings::default(), settings);
            let listener = h3::Listener::bind(any, &acceptor).unwrap();
            let address = listener.local_addr();
            drop(world::spawn(async move {
                while let Some(incoming) = listener.accept().await {
                    let (common, handler) = (common.clone(), Rc::clone(&handler));
                    drop(world::spawn(async move { incoming.serve_in(&common, handler).await }));
                }
            }));
            address
        } else {
            let mut acceptor = Acceptor { common, ..Acceptor::new(security) };
            if let Protocol::Spdy(version) = protocol {
                acceptor.spdy_in_clear = Some(version);
            }
            let listener = TcpListener::bind(any).unwrap();
            let address = listener.local_addr().unwrap();
            drop(world::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let (acceptor, handler) = (acceptor.clone(), Rc::clone(&handler));
                    drop(world::spawn(async move { acceptor.serve(stream, handler).await }));
                }
            }));
            address
        };
        Server { address, notes, drain, protocol, security }
    }

    async fn client(&self) -> ClientConnection {
        let Server { address, protocol, security, .. } = *self;
        open(Opening::new(address, "any.farlink.test", security, protocol)).await
    }
}

/// Runs `test` over each protocol.
fn over_all(test: impl AsyncFn(Server) + Copy + 'static) {
    for one in ALL {
        in_world(async move { test(Server::new(one, None)).await });
    }
}

#[test]
fn bodies_come_piece_by_piece() {
    over_all(async |server| {
        let mut client = server.client().await;
        for (target, bytes) in [("/pieces", 10_000), ("/known", 10_000), ("/empty", 0), ("/x", 5)] {
            let seen = fetch(&mut client, &get(target)).await.unwrap();
            assert_eq!(
                (seen.status, seen.body.len()),
                (200, bytes),
                "{} {target}",
                server.protocol
            );
        }
        assert_eq!(fetch(&mut client, &get("/not-modified")).await.unwrap().status, 304);
        assert_eq!(fetch(&mut client, &get("/tunnel")).await.unwrap().status, 501);
        assert_eq!(server.notes.cancelled.get(), 0);
    });
}

#[test]
fn a_body_that_breaks_off_never_ends_cleanly() {
    over_all(async |server| {
        let mut client = server.client().await;
        for target in ["/broken", "/known-broken", "/short", "/long"] {
            let failed = fetch(&mut client, &get(target)).await;
            assert!(failed.is_err(), "{} {target}", server.protocol);
        }
        assert_eq!(fetch(&mut client, &get("/x")).await.unwrap().body, b"whole");
    });
}

#[test]
fn a_request_s_body_is_read_as_it_comes() {
    over_all(async |server| {
        let mut client = server.client().await;
        let body: Vec<u8> = (0..700_000u32).map(|i| (i / 7) as u8).collect();
        for name in ["/echo", "/count", "/whole", "/count"] {
            let seen = fetch(&mut client, &post(name, body.clone())).await.unwrap();
            let expected = match name {
                "/echo" => body.clone(),
                "/count" => b"700000".to_vec(),
                _ => b"whole".to_vec(),
            };
            assert_eq!(seen.status, 200);
            assert!(seen.body == expected, "{} {name}: {}", server.protocol, seen.body.len());
        }
        // A handler that does not read it delays neither the answer nor the connection.
        for _ in 0..3 {
            let ignored = fetch(&mut client, &post("/ignore", vec![7; 100_000])).await;
            assert_eq!(ignored.map_or(200, |seen| seen.status), 200, "{}", server.protocol);
        }
        assert_eq!(fetch(&mut client, &get("/x")).await.unwrap().body, b"whole");
    });
}

#[test]
fn a_handler_is_told_the_request() {
    over_all(async |server| {
        let mut client = server.client().await;
        let request = Request::builder().uri("https://a.test:8/fields?q");
        let request = request.header("x-a", "1").header("x-b", "2 3").body(Bytes::new()).unwrap();
        let seen = fetch(&mut client, &request).await.unwrap();
        assert_eq!(seen.body, b"whole");
        let request = Request::builder().uri("https://a.test:8/q?/fields");
        let request = request.header("x-a", "1").header("x-b", "2 3").body(Bytes::new()).unwrap();
        let seen = fetch(&mut client, &request).await.unwrap();
        let told = format!("GET https a.test:8 /q?/fields {} x-a=1 x-b=2 3", server.protocol);
        assert_eq!(String::from_utf8(seen.body).unwrap(), told);
    });
}

fn connect(authority: &str, ahead: &'static str) -> Request<Bytes> {
    let uri = format!("https://{authority}/");
    Request::builder()
        .method("CONNECT")
        .uri(uri)
        .body(Bytes::from_static(ahead.as_bytes()))
        .unwrap()
}

#[test]
fn a_granted_connect_is_a_tunnel() {
    over_all(async |server| {
        let mut client = server.client().await;
        for _ in 0..2 {
            let seen = fetch(&mut client, &connect("echo:443", "ahead")).await.unwrap();
            let text = String::from_utf8(seen.body).unwrap();
            assert_eq!((seen.status, &text[..]), (200, "hello ahead bye"), "{}", server.protocol);
        }
        let refused = fetch(&mut client, &connect("other:25", "")).await.unwrap();
        assert_eq!(refused.status, 403);
        let not_granted = fetch(&mut client, &connect("plain:443", "")).await.unwrap();
        assert_eq!(not_granted.status, 501);
    });
}

#[test]
fn a_server_that_goes_away_finishes_what_it_has() {
    over_all(async |server| {
        let mut client = server.client().await;
        let asked: Vec<_> = (0..5)
            .map(|_| {
                let mut client = client.share().expect("it can be shared");
                world::spawn(async move { fetch(&mut client, &get("/known")).await })
            })
            .collect();
        world::sleep(Duration::from_millis(8)).await;
        server.drain.begin();
        for task in asked {
            assert_eq!(task.await.unwrap().body.len(), 10_000, "{}", server.protocol);
        }
        world::sleep(Duration::from_millis(50)).await;
        // A QUIC connection stays until the client must have received the last.
        assert!(server.protocol == Protocol::H3 || !client.is_reusable(), "{}", server.protocol);
    });
}

#[test]
fn a_client_without_a_request_is_sent_away() {
    for one in [ALL[0], ALL[1], ALL[2]] {
        in_world(async move {
            let patient = ClientTimeouts {
                idle_timeout: Duration::from_millis(300),
                ..ClientTimeouts::default()
            };
            let server = Server::new(one, Some(patient));
            let mut client = server.client().await;
            // Longer than that in total, and longer than a handler takes.
            for _ in 0..3 {
                assert_eq!(fetch(&mut client, &get("/pieces")).await.unwrap().status, 200);
                world::sleep(Duration::from_millis(150)).await;
            }
            assert!(client.is_reusable());
            world::sleep(Duration::from_millis(900)).await;
            assert!(!client.is_reusable(), "{}", server.protocol);
        });
    }
}

#[test]
fn a_body_that_trickles_is_given_up() {
    in_world(async {
        let body_pace = Pace { grace: Duration::from_millis(200), bytes_a_second: 100 };
        let patient = ClientTimeouts { body_pace, ..ClientTimeouts::default() };
        let server = Server::new(ALL[0], Some(patient));
        let stream = world::TcpStream::connect(server.address).await.unwrap();
        let (mut requests, connection) = ::h2::client::handshake(stream).await.unwrap();
        drop(world::spawn(connection));
        for target in ["count", "whole"] {
            let request = Request::post(format!("http://a.test/{target}")).body(()).unwrap();
            let (response, mut body) = requests.send_request(request, false).unwrap();
            let trickle = world::spawn(async move {
                while body.send_data(Bytes::from_static(b"x"), false).is_ok() {
                    world::sleep(Duration::from_millis(20)).await;
                }
            });
            let began = world::now();
            let answer = response.await;
            // The handler sees that the body stalled, or is not called.
            assert!(answer.map_or(400, |response| response.status().as_u16()) == 400, "{target}");
            assert!(world::now() - began < Duration::from_secs(2), "{target}");
            trickle.await;
        }
    });
}

/// A body that is ready at once.
struct Hello(bool);

impl Body for Hello {
    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let is_left = std::mem::replace(&mut self.0, false);
        Poll::Ready(is_left.then(|| Ok(Bytes::from_static(b"hello"))))
    }
}

/// The status of the answer to an HTTP/2 request whose body waits for 100 (Continue), and the output of `serve`, which
/// has read its head.
fn expecting<T: 'static>(serve: impl AsyncFnOnce(&mut Hostile) -> T + 'static) -> (u16, T) {
    let got = Rc::new(Cell::new(None));
    let seen = Rc::clone(&got);
    in_world(async move {
        let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let server = world::spawn(async move {
            let mut server = Hostile(listener.accept().await.unwrap().0);
            server.0.read_exact(&mut [0; PREFACE.len()]).await.unwrap();
            server.send(&frame(SETTINGS, 0, 0, &[])).await;
            while server.frame().await.0 != HEADERS {}
            serve(&mut server).await
        });
        let opening = Opening::new(address, "any.farlink.test", Security::None, Protocol::H2);
        let request = Request::put("https://any.farlink.test/x").header("expect", "100-continue");
        let body = RequestBody::new(Box::new(Hello(true)), Some(5));
        let exchange = open(opening).await.exchange(&request.body(()).unwrap(), Some(body)).await;
        let status = exchange.unwrap().head.status().as_u16();
        seen.set(Some((status, server.await)));
    });
    got.take().expect("the test has run")
}

const CONTINUE: [u8; 5] = [0x08, 3, b'1', b'0', b'0'];
const OK: [u8; 1] = [0x88];

/// RFC 9110 section 10.1.1.
#[test]
fn a_body_waits_until_an_http2_server_wants_it() {
    let (status, kinds) = expecting(async |server| {
        // Frames sent without waiting for 100 have come when this is answered.
        server.send(&frame(PING, 0, 0, &[7; 8])).await;
        let mut kinds = vec![server.frame().await.0];
        server.send(&frame(HEADERS, END_HEADERS, 1, &CONTINUE)).await;
        kinds.push(server.frame().await.0);
        server.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &OK)).await;
        kinds
    });
    assert_eq!((status, kinds), (200, vec![PING, DATA]));
    let (status, kinds) = expecting(async |server| {
        let unauthorized = [0x08, 3, b'4', b'0', b'1'];
        server.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &unauthorized)).await;
        server.frame().await.0
    });
    assert_eq!((status, kinds), (401, RST_STREAM), "the body is not sent");
    let (status, waited) = expecting(async |server| {
        let began = world::now();
        assert_eq!(server.frame().await.0, DATA, "one that does not know of it gets the body");
        server.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &OK)).await;
        world::now() - began
    });
    assert!(status == 200 && waited >= Duration::from_millis(900), "{waited:?}");
}
