//! HTTP/3 at the proxy's ports, with our own client on quinn.

use std::future::{Future, poll_fn};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use http_stack::client::{self, ClientConnection, Opening, Protocol};
use http_stack::{Priority, Progress, RequestError};
use tls::Security;

use crate::abuse::memory;
use crate::common::Desk;
use crate::origin::Origin;
use crate::others::{OVER_TLS, certificate};
use crate::running::{Running, TEST_RULES, until};

const ADMIN: &str = "[admin]\naddress = \"127.0.0.1:0\"\n";

/// Listens over TLS and HTTP/3 with the test certificate.
fn over_quic() -> String {
    format!("{OVER_TLS}http3 = true\n")
}

/// A reverse proxy before `origin`, with a cache, a log and metrics.
fn reverse(origin: &Origin, more: &str) -> Running {
    let site = format!("[[reverse]]\norigins = [\"http://{}\"]\n", origin.address);
    let rest = format!("[cache]\nmemory = \"8MiB\"\n[log]\nfile = \"log\"\n{ADMIN}");
    Running::start_on(&format!("{more}{site}{rest}"), &over_quic(), certificate)
}

/// A response.
#[derive(Debug, Default)]
struct Seen {
    status: u16,
    alternatives: String,
    body: Vec<u8>,
}

impl Progress for Seen {
    fn sent(&mut self, _: u64, _: u64) {}

    fn head(&mut self, status: u16, _: u64) {
        self.status = status;
    }

    fn alternatives(&mut self, field: &str) {
        self.alternatives = field.to_owned();
    }

    fn data(&mut self, piece: &[u8]) {
        self.body.extend_from_slice(piece);
    }
}

/// Runs a client in the real world.
fn client<T>(main: impl Future<Output = T>) -> T {
    let config = world::real::Config::new(chance::RandomSource::new(1, 0));
    world::real::run(config, world::timeout(Duration::from_secs(30), main))
        .expect("a runtime")
        .expect("the proxy answers")
}

fn opening(proxy: &Running, protocol: Protocol) -> Opening {
    Opening::new(proxy.address, "any.farlink.test", Security::Tls13, protocol)
}

async fn open(opening: Opening) -> ClientConnection {
    client::open(opening, &mut |_| {}).await.unwrap()
}

async fn get(connection: &mut ClientConnection, url: &str) -> Result<Seen, RequestError> {
    let request = http_request(url);
    let mut seen = Seen::default();
    connection.fetch(&request, Priority::Medium, &mut seen).await?;
    Ok(seen)
}

fn http_request(url: &str) -> http::Request<bytes::Bytes> {
    http::Request::builder().uri(url).body(bytes::Bytes::new()).unwrap()
}

/// GETs `urls`, one after the other on one connection.
fn fetch(proxy: &Running, protocol: Protocol, urls: &[&str]) -> Vec<Seen> {
    client(async {
        let mut connection = open(opening(proxy, protocol)).await;
        let mut all = Vec::new();
        for url in urls {
            all.push(get(&mut connection, url).await.unwrap());
        }
        all
    })
}

#[test]
fn an_object_comes_from_the_cache_and_all_is_told() {
    let origin = Origin::start();
    let proxy = reverse(&origin, "");
    let url = "https://any.farlink.test/cached";
    for seen in fetch(&proxy, Protocol::H3, &[url, url]) {
        assert_eq!((seen.status, &seen.body[..]), (200, &b"1"[..]));
        assert_eq!(seen.alternatives, "", "who is there need not be told");
    }
    assert_eq!(origin.requests(), 1);
    assert_eq!(
        fetch(&proxy, Protocol::H3, &["https://any.farlink.test/big"])[0].body.len(),
        5_000_000
    );
    assert_eq!(proxy.metric("farlink_requests_by_protocol_total{protocol=\"h3\"}"), 3);
    until("all is logged", || proxy.desk.read("log").lines().count() == 3);
    let log = proxy.desk.read("log");
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["protocol"] == "h3"), "{log}");
    assert_eq!([0, 1].map(|at| lines[at]["outcome"].as_str()), [Some("passed"), Some("hit")]);
    assert_eq!(lines[1]["url"], url);
    assert!(lines[0]["origin_first_ms"].is_number() && lines[0]["client_last_ms"].is_number());
}

#[test]
fn who_comes_by_tcp_is_told_of_it() {
    let origin = Origin::start();
    let proxy = reverse(&origin, "");
    let port = proxy.address.port();
    // From the origin, from memory, and a response that is not stored.
    let urls = ["/cached", "/cached", "/"].map(|path| format!("https://any.farlink.test{path}"));
    let urls = urls.each_ref().map(String::as_str);
    for seen in fetch(&proxy, Protocol::H2, &urls) {
        assert_eq!(seen.alternatives, format!("h3=\":{port}\"; ma=86400"), "{seen:?}");
    }
    let quiet = reverse(&origin, "[http3]\nalt_svc = \"off\"\n");
    assert_eq!(fetch(&quiet, Protocol::H2, &urls)[0].alternatives, "");
    let short = reverse(&origin, "[http3]\nalt_svc = \"1h\"\n");
    assert!(fetch(&short, Protocol::H2, &urls)[1].alternatives.ends_with("ma=3600"));
}

#[test]
fn a_forward_proxy_judges_as_over_tcp_and_speaks_for_nobody() {
    let origin = Origin::start();
    let log = "[log]\nfile = \"log\"\n";
    let proxy = Running::start_on(&format!("{log}{TEST_RULES}"), &over_quic(), certificate);
    let inside = "http://10.0.0.1:8080/".to_owned();
    let urls = [origin.url("/echo"), inside, "http://127.0.0.1:22/".to_owned()];
    let urls = urls.each_ref().map(String::as_str);
    let seen = fetch(&proxy, Protocol::H3, &urls);
    assert_eq!(seen.iter().map(|seen| seen.status).collect::<Vec<_>>(), [200, 403, 403]);
    let passed = String::from_utf8_lossy(&seen[0].body).to_ascii_lowercase();
    assert!(
        passed.starts_with("get /echo http/1.1\r\n") && passed.contains("via: 3 farlink-"),
        "{passed}"
    );
    until("all is logged", || proxy.desk.read("log").lines().count() == 3);
    assert!(proxy.desk.read("log").contains("\"reason\":\"destination_ip_prohibited\""));
    // This proxy does not announce the origin's own HTTP/3.
    assert_eq!(fetch(&proxy, Protocol::H2, &urls)[0].alternatives, "");
}

#[test]
fn uploads_arrive_and_a_client_that_moves_is_followed_to_its_worker() {
    let origin = Origin::start();
    let proxy = reverse(&origin, "");
    client(async {
        // With two workers, every other of these reaches the wrong one after its migration.
        for _ in 0..8 {
            let mut moving = opening(&proxy, Protocol::H3);
            moving.h3.migrate_at = Some(world::now() + Duration::from_millis(150));
            let mut connection = open(moving).await;
            assert_eq!(get(&mut connection, "https://a.test/").await.unwrap().status, 200);
            world::sleep(Duration::from_millis(200)).await;
            let mut seen = Seen::default();
            let body = vec![b'x'; 100_000];
            let upload = http::Request::post("https://a.test/echo").body(body.into()).unwrap();
            connection.fetch(&upload, Priority::Medium, &mut seen).await.unwrap();
            assert!(seen.body.ends_with(b"100000 bytes"));
            let ClientConnection::H3(handle) = &connection else { panic!("it is HTTP/3") };
            assert!(handle.path_challenges() > 0, "the proxy saw that it moved");
        }
    });
}

/// A body that clients do not read waits at the origin, not here.
#[test]
fn clients_that_take_nothing_of_large_bodies_hold_a_bounded_part() {
    const CLIENTS: u64 = 20;
    let origin = Origin::start();
    let proxy = reverse(&origin, "");
    fetch(&proxy, Protocol::H3, &["https://a.test/"]);
    let [before, _] = memory(&proxy);
    client(async {
        let mut stalled: Vec<Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
        for _ in 0..CLIENTS {
            let mut connection = open(opening(&proxy, Protocol::H3)).await;
            stalled.push(Box::pin(async move {
                drop(get(&mut connection, "https://a.test/big").await);
            }));
        }
        // They send requests and are never polled again: their windows of 1.25 MB fill up.
        poll_fn(|cx| {
            assert!(stalled.iter_mut().all(|asked| asked.as_mut().poll(cx).is_pending()));
            Poll::Ready(())
        })
        .await;
        while origin.requests() as u64 <= CLIENTS {
            world::sleep(Duration::from_millis(5)).await;
        }
        world::sleep(Duration::from_secs(1)).await;
        let mut other = open(opening(&proxy, Protocol::H3)).await;
        assert_eq!(get(&mut other, "https://a.test/").await.unwrap().status, 200);
    });
    let [_, most] = memory(&proxy);
    // Of 5 MB each: 1 MiB that may wait to be acknowledged, and the data between two buffers.
    assert!(most < before + CLIENTS * 1_536, "{before} KiB before, {most} KiB at the most");
}

#[test]
fn sigterm_lets_requests_come_to_their_end_and_takes_nobody() {
    let origin = Origin::start();
    let mut proxy = reverse(&origin, "");
    let late = client(async {
        let mut connection = open(opening(&proxy, Protocol::H3)).await;
        let mut other = connection.share().unwrap();
        let slow = world::spawn(async move { get(&mut other, "https://a.test/slow").await });
        while origin.requests() == 0 {
            world::sleep(Duration::from_millis(5)).await;
        }
        proxy.signal("TERM");
        // Its GOAWAY comes at once; requests after it are refused, here or there.
        world::sleep(Duration::from_millis(300)).await;
        assert!(get(&mut connection, "https://a.test/").await.is_err());
        let late = client::open(opening(&proxy, Protocol::H3), &mut |_| {}).await.err();
        assert_eq!(slow.await.unwrap().body, b"abcdef");
        late
    });
    let late = late.expect("nobody is let in any more").to_string();
    assert!(late.contains("refused"), "{late}");
    assert_eq!(origin.requests(), 1);
    assert!(proxy.child.wait().unwrap().success());
}

#[test]
fn what_takes_too_long_is_cut_off_in_order() {
    let origin = Origin::start();
    let mut proxy = reverse(&origin, "drain = \"1s\"\n");
    let error = client(async {
        let mut connection = open(opening(&proxy, Protocol::H3)).await;
        let asked =
            world::spawn(async move { get(&mut connection, "https://a.test/stalls").await });
        while origin.requests() == 0 {
            world::sleep(Duration::from_millis(5)).await;
        }
        proxy.signal("TERM");
        asked.await.unwrap_err()
    });
    assert!(error.to_string().contains("H3_NO_ERROR"), "{error}");
    proxy.child.wait().unwrap();
    until("it is told", || proxy.said().contains("drain timeout reached"));
}

#[test]
fn sighup_changes_settings_and_keeps_the_port() {
    let origin = Origin::start();
    let proxy = reverse(&origin, "");
    let ask = |path: &str| format!("https://a.test{path}");
    client(async {
        let mut connection = open(opening(&proxy, Protocol::H3)).await;
        assert_eq!(get(&mut connection, &ask("/")).await.unwrap().status, 200);
        let before = proxy.desk.read("proxy.toml");
        proxy.desk.put(
            "proxy.toml",
            format!("[http3]\nalt_svc = \"1h\"\n{before}").replace("workers = 2\n", ""),
        );
        proxy.signal("HUP");
        while !proxy.said().contains("configuration reloaded") {
            world::sleep(Duration::from_millis(5)).await;
        }
        // The existing connection goes on, and others come.
        assert_eq!(get(&mut connection, &ask("/")).await.unwrap().status, 200);
        let mut another = open(opening(&proxy, Protocol::H3)).await;
        assert_eq!(get(&mut another, &ask("/")).await.unwrap().status, 200);
        proxy.desk.put("proxy.toml", before.replace("http3 = true\n", ""));
        proxy.signal("HUP");
        while proxy.said().matches("configuration reloaded").count() < 2 {
            world::sleep(Duration::from_millis(5)).await;
        }
        world::sleep(Duration::from_millis(200)).await;
        assert_eq!(get(&mut connection, &ask("/")).await.unwrap().status, 200);
        assert!(client::open(opening(&proxy, Protocol::H3), &mut |_| {}).await.is_err());
    });
    let by_tcp = &fetch(&proxy, Protocol::H2, &[&ask("/")])[0];
    assert_eq!((by_tcp.status, &by_tcp.alternatives[..]), (200, ""));
}

/// TCP goes on as before while the UDP port is taken, and announces HTTP/3 when that becomes available.
#[test]
fn sighup_begins_http3_beside_the_tcp_that_is_there() {
    let origin = Origin::start();
    let (taken, address) = udp_port_held();
    let listen = OVER_TLS.replace("127.0.0.1:0", &address.to_string());
    let site = format!("[[reverse]]\norigins = [\"http://{}\"]\n", origin.address);
    let proxy = Running::start_on(&site, &listen, certificate);
    let url = "https://any.farlink.test/cached";
    let by_tcp = || fetch(&proxy, Protocol::H2, &[url]).remove(0);
    assert_eq!((by_tcp().status, &by_tcp().alternatives[..]), (200, ""));

    let before = proxy.desk.read("proxy.toml");
    proxy.desk.put("proxy.toml", format!("{before}http3 = true\n"));
    proxy.signal("HUP");
    until("the port of UDP is refused", || {
        proxy.said().contains(&format!("cannot listen on {address} for HTTP/3 (UDP)"))
    });
    assert_eq!((by_tcp().status, &by_tcp().alternatives[..]), (200, ""));

    drop(taken);
    proxy.signal("HUP");
    until("the file is taken", || proxy.said().contains("configuration reloaded"));
    until("who comes by TCP is told", || !by_tcp().alternatives.is_empty());
    assert_eq!(by_tcp().alternatives, format!("h3=\":{}\"; ma=86400", address.port()));
    assert_eq!(fetch(&proxy, Protocol::H3, &[url])[0].status, 200);
}

#[test]
fn a_port_that_is_taken_is_refused_by_name() {
    let (_taken, address) = udp_port_held();
    let desk = Desk::new();
    certificate(&desk);
    let listen = over_quic().replace("127.0.0.1:0", &address.to_string());
    desk.put("proxy.toml", &listen);
    let ran = desk.farlink("proxy --config proxy.toml");
    let expected = format!("cannot listen on {address} for HTTP/3 (UDP)");
    assert!(ran.code != 0 && ran.err.contains(&expected), "{}", ran.err);
    assert!(ran.err.contains("hint: the address is in use"), "{}", ran.err);
}

/// UDP socket on a port whose TCP counterpart is free and stays free: it lies below the range from
/// which the kernel draws the ports of outgoing connections (32768 and up).
fn udp_port_held() -> (UdpSocket, SocketAddr) {
    let held = (20_000..32_000).find_map(|port| {
        let socket = UdpSocket::bind(("127.0.0.1", port)).ok()?;
        TcpListener::bind(("127.0.0.1", port)).ok().map(|_free| socket)
    });
    let socket = held.expect("one port of 12,000 is free");
    let address = socket.local_addr().expect("a bound socket has an address");
    (socket, address)
}
