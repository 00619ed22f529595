//! HTTP/2 and TLS, client against server, over the kernel's loopback.

use crate::common;

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use common::any::{fetch, fetch_all, get, listen, open, post};
use common::{Echo, Patterns, in_world, pattern};
use farlink_http::client::{self, ClientConnection, OpenError, Opening, Protocol};
use farlink_http::h2::settings;
use farlink_http::server::{Acceptor, Served};
use farlink_http::{Answer, Handler, Reply, RequestError, RequestHead};
use http::{HeaderMap, Request, StatusCode};
use tls::{ChainKind, ClientSessions, Identity, Security, Version};
use world::TcpStream;

const ALL: [Security; 3] = [Security::None, Security::Tls12, Security::Tls13];

#[test]
fn each_protocol_works_with_each_security() {
    for security in ALL {
        for protocol in [Protocol::H1, Protocol::H2] {
            in_world(async move {
                let server = listen(Echo, Acceptor::new(security));
                let opening = Opening::new(server.address, "any.farlink.test", security, protocol);
                let mut connection = open(opening).await;
                assert_eq!(connection.is_shared(), protocol == Protocol::H2);
                for size in [0, 1, 16_256, 16_257, 100_000, 1_000_000] {
                    let seen = fetch(&mut connection, &get(&format!("/{size}"))).await.unwrap();
                    assert_eq!(
                        (seen.status, seen.body.len()),
                        (200, size),
                        "{security} {protocol}"
                    );
                    assert!(seen.head_bytes > 9 && seen.sent_head > 9 && seen.sent_body == 0);
                }
                let request = post("/body", vec![7; 300_000]);
                let seen = fetch(&mut connection, &request).await.unwrap();
                assert_eq!((seen.body.as_slice(), seen.sent_body), (&b"300000"[..], 300_000));
                assert!(connection.is_reusable());
                assert!(connection.local_addr().is_some());
            });
        }
    }
}

#[test]
fn a_hundred_streams_at_once_keep_their_bodies_apart() {
    for security in ALL {
        in_world(async move {
            let server = listen(Patterns, Acceptor::new(security));
            let opening = Opening::new(server.address, "any.farlink.test", security, Protocol::H2);
            let connection = open(opening).await;
            let requests = (0..100).map(|key| get(&format!("/{key}/100000"))).collect();
            for (key, seen) in fetch_all(&connection, requests).await.into_iter().enumerate() {
                assert!(seen.unwrap().body == pattern(key, 100_000), "body {key} over {security}");
            }
            let now = world::now();
            let (busy, limited) = (server.meter.busy(now), server.meter.limited(now));
            assert!(busy > Duration::ZERO && limited * 100 <= busy, "{limited:?} of {busy:?}");
        });
    }
}

#[test]
fn requests_above_the_servers_limit_wait() {
    in_world(async {
        let mut acceptor = Acceptor::new(Security::None);
        acceptor.h2 = settings::Server { streams: 3, ..acceptor.h2 };
        let server = listen(Echo, acceptor);
        let opening =
            Opening::new(server.address, "any.farlink.test", Security::None, Protocol::H2);
        let mut connection = open(opening).await;
        // The limit is known once the server's SETTINGS have come.
        fetch(&mut connection, &get("/1")).await.unwrap();
        let requests = (0..40).map(|_| get("/later/1000")).collect();
        for seen in fetch_all(&connection, requests).await {
            assert_eq!(seen.unwrap().body.len(), 1000);
        }
    });
}

#[test]
fn a_small_window_is_noticed_as_flow_control() {
    in_world(async {
        let server = listen(Echo, Acceptor::new(Security::None));
        let window = settings::Client { stream_window_bytes: 65_535, ..settings::Client::CHROME };
        let opening =
            Opening::new(server.address, "any.farlink.test", Security::None, Protocol::H2);
        let mut connection = open(Opening { h2: window, ..opening }).await;
        let seen = fetch(&mut connection, &get("/5000000")).await.unwrap();
        assert_eq!(seen.body.len(), 5_000_000);
        let now = world::now();
        assert!(server.meter.limited(now) * 100 > server.meter.busy(now), "{:?}", server.meter);
    });
}

#[test]
fn heads_and_statuses() {
    in_world(async {
        let server = listen(Echo, Acceptor::new(Security::Tls13));
        let opening =
            Opening::new(server.address, "any.farlink.test", Security::Tls13, Protocol::H2);
        let mut connection = open(opening).await;
        let head = Request::builder().method("HEAD").uri("https://any.farlink.test/500");
        let seen = fetch(&mut connection, &head.body(Bytes::new()).unwrap()).await.unwrap();
        assert_eq!((seen.status, seen.body.len()), (200, 0));
        let first = seen.sent_head;
        for status in [204, 304, 404, 503] {
            let seen = fetch(&mut connection, &get(&format!("/status/{status}"))).await.unwrap();
            assert_eq!((seen.status, seen.body.len()), (status, 0));
        }
        // HPACK's table: the host's name is sent once.
        let seen = fetch(&mut connection, &get("/5")).await.unwrap();
        assert!(seen.sent_head < first && seen.sent_head < 20, "{first}, then {seen:?}");
        let relative = Request::builder().uri("/x").body(Bytes::new()).unwrap();
        assert!(matches!(
            fetch(&mut connection, &relative).await,
            Err(RequestError::Unsendable(_))
        ));
        assert!(connection.is_reusable());
    });
}

/// Opens `security` with `sessions`; returns whether it resumed.
async fn resumed(
    sessions: &ClientSessions,
    address: std::net::SocketAddr,
    version: Version,
) -> bool {
    let tcp = TcpStream::connect(address).await.unwrap();
    let stream = sessions.connect(tcp, "any.farlink.test", version, Protocol::H2).await.unwrap();
    assert_eq!(stream.protocol(), Some(Protocol::H2));
    let resumed = stream.is_resumed();
    let meter = stream.meter();
    let (handle, driver) =
        farlink_http::h2::connect(stream, &settings::Client::CHROME).await.unwrap();
    drop(world::spawn(driver));
    let mut seen = common::Seen::default();
    handle.fetch(&get("/10"), farlink_http::Priority::High, &mut seen).await.unwrap();
    assert!(meter.written_bytes() > 24 && meter.read_bytes() > 10);
    resumed
}

#[test]
fn sessions_are_resumed_by_their_owner_alone() {
    for (security, version) in
        [(Security::Tls12, Version::Tls12), (Security::Tls13, Version::Tls13)]
    {
        in_world(async move {
            let server = listen(Echo, Acceptor::new(security));
            let sessions = ClientSessions::default();
            assert!(!resumed(&sessions, server.address, version).await);
            assert!(resumed(&sessions, server.address, version).await);
            assert!(resumed(&sessions.clone(), server.address, version).await);
            assert!(!resumed(&ClientSessions::default(), server.address, version).await);
        });
    }
}

#[test]
fn what_cannot_be_agreed_on_is_an_error() {
    in_world(async {
        // Versions.
        let server = listen(Echo, Acceptor::new(Security::Tls12));
        let opening =
            Opening::new(server.address, "any.farlink.test", Security::Tls13, Protocol::H2);
        let failed = client::open(opening, &mut |_| {}).await;
        assert!(matches!(failed, Err(OpenError::Secure { .. })));
        // Protocols.
        let mut acceptor = Acceptor::new(Security::None);
        let settings = tls::Settings::default();
        let identity = Identity::Rsa2048;
        let h1_only =
            tls::Server::new(&settings, Version::Tls13, identity, ChainKind::Leaf, &[Protocol::H1]);
        acceptor.tls = Some(h1_only);
        let server = listen(Echo, acceptor);
        let opening =
            Opening::new(server.address, "any.farlink.test", Security::Tls13, Protocol::H2);
        let failed = client::open(opening, &mut |_| {}).await.err().expect("no HTTP/2 there");
        assert!(failed.to_string().contains("does not speak h2: ALPN agreed on h1"), "{failed}");
        // Names.
        let opening = Opening::new(server.address, "no name", Security::Tls13, Protocol::H1);
        let failed = client::open(opening, &mut |_| {}).await.err().expect("not a name");
        assert!(failed.to_string().contains("neither a DNS name nor an address"), "{failed}");
    });
}

#[test]
fn a_client_that_leaves_early_ends_its_stream_and_then_the_connection() {
    in_world(async {
        let server = listen(Echo, Acceptor::new(Security::Tls13));
        let opening =
            Opening::new(server.address, "any.farlink.test", Security::Tls13, Protocol::H2);
        let mut connection = open(opening).await;
        let mut share = connection.share().unwrap();
        let request = get("/later/50000000");
        let early = world::timeout(Duration::from_millis(30), fetch(&mut share, &request)).await;
        drop(early);
        // The others are not disturbed, and the stream's queued data does not block them.
        for _ in 0..3 {
            assert_eq!(fetch(&mut connection, &get("/40000")).await.unwrap().body.len(), 40_000);
        }
        drop((connection, share));
        assert!(matches!(server.ended().await, Served::H2(Ok(()))));
    });
}

/// An h2 server that ends as `end` says after its first response.
async fn abrupt(end: End) -> ClientConnection {
    let listener = world::TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    drop(world::spawn(async move {
        let (tcp, _) = listener.accept().await.unwrap();
        let mut connection = ::h2::server::handshake(tcp).await.unwrap();
        let mut first = true;
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            if std::mem::take(&mut first) {
                respond.send_response(http::Response::new(()), true).unwrap();
                if end == End::GoAway {
                    connection.graceful_shutdown();
                }
                continue;
            }
            match end {
                End::Reset => respond.send_reset(::h2::Reason::REFUSED_STREAM),
                End::ResetInBody => {
                    let head = http::Response::new(());
                    let mut body = respond.send_response(head, false).unwrap();
                    body.send_data(Bytes::from_static(b"part"), false).unwrap();
                    // After that was written.
                    drop(world::spawn(async move {
                        world::sleep(Duration::from_millis(20)).await;
                        body.send_reset(::h2::Reason::INTERNAL_ERROR);
                    }));
                }
                End::Close | End::GoAway => return,
            }
        }
    }));
    open(Opening::new(address, "any.farlink.test", Security::None, Protocol::H2)).await
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Reset,
    ResetInBody,
    Close,
    GoAway,
}

#[test]
fn ends_are_told_as_what_they_are() {
    for end in [End::Reset, End::ResetInBody, End::Close, End::GoAway] {
        in_world(async move {
            let mut connection = abrupt(end).await;
            assert_eq!(fetch(&mut connection, &get("/")).await.unwrap().status, 200);
            if end == End::GoAway {
                while connection.is_reusable() {
                    world::sleep(Duration::from_millis(1)).await;
                }
                let failed = fetch(&mut connection, &get("/")).await;
                assert!(matches!(
                    failed,
                    Err(RequestError::Refused(_) | RequestError::Unanswered(_))
                ));
                return;
            }
            let failed = fetch(&mut connection, &get("/")).await.expect_err("it failed");
            match end {
                End::Close => assert!(matches!(failed, RequestError::Unanswered(_)), "{failed:?}"),
                _ => assert!(matches!(failed, RequestError::Refused(_)), "{failed:?}"),
            }
            assert_eq!(connection.is_reusable(), end != End::Close);
        });
    }
}

#[test]
fn what_is_no_http2_is_told_as_such() {
    in_world(async {
        let listener = world::TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        drop(world::spawn(async move {
            let (mut tcp, _) = listener.accept().await.unwrap();
            let text = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
            tokio::io::AsyncWriteExt::write_all(&mut tcp, text).await.unwrap();
            world::sleep(Duration::from_secs(5)).await;
        }));
        let opening = Opening::new(address, "any.farlink.test", Security::None, Protocol::H2);
        let mut connection = open(opening).await;
        let failed = fetch(&mut connection, &get("/")).await.expect_err("it failed");
        assert!(matches!(failed, RequestError::Protocol(_)), "{failed:?}");
        assert!(!connection.is_reusable());
    });
}

#[test]
fn garbage_ends_a_servers_connection_only() {
    in_world(async {
        let server = listen(Echo, Acceptor::new(Security::None));
        let mut tcp = TcpStream::connect(server.address).await.unwrap();
        let mut garbage = farlink_http::h2::frame::PREFACE.to_vec();
        garbage.extend([0xff; 64]);
        tokio::io::AsyncWriteExt::write_all(&mut tcp, &garbage).await.unwrap();
        assert!(matches!(server.ended().await, Served::H2(Err(_))));
        let opening =
            Opening::new(server.address, "any.farlink.test", Security::None, Protocol::H2);
        assert_eq!(fetch(&mut open(opening).await, &get("/7")).await.unwrap().body.len(), 7);
    });
}

#[test]
fn one_handler_serves_all() {
    struct Count(Rc<std::cell::Cell<usize>>);
    impl Handler for Count {
        fn handle(&self, _: RequestHead<'_>) -> Answer {
            self.0.set(self.0.get() + 1);
            Answer::Ready(Reply::new(StatusCode::OK, HeaderMap::new(), Bytes::new()))
        }
    }
    in_world(async {
        let count = Rc::new(std::cell::Cell::new(0));
        let server = listen(Count(Rc::clone(&count)), Acceptor::new(Security::None));
        for protocol in [Protocol::H1, Protocol::H2] {
            let opening =
                Opening::new(server.address, "any.farlink.test", Security::None, protocol);
            fetch(&mut open(opening).await, &get("/")).await.unwrap();
        }
        assert_eq!(count.get(), 2);
    });
}
