//! SOCKS: properties of its messages, and client against server in simulation.

use crate::common::streams;
use crate::socks_checks as checks;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

use checks::hear;
use farlink_http::client::{self, ConnectStage, Opening, Tunnel, TunnelBy};
use farlink_http::server::{Acceptor, Served};
use farlink_http::socks::server::{Authenticator, Ended, SocksAccess, Verdict};
use farlink_http::socks::{Code, HandshakeEvent, SocksDestination, SocksRefusal, Version};
use farlink_http::{Answer, Handler, Reply, RequestHead};
use http::{HeaderMap, HeaderValue, StatusCode};
use proptest::collection::vec;
use proptest::prelude::*;
use tls::{Protocol, Security};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use world::sim::SimPlan;
use world::{TcpListener, TcpStream};

fn host() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9_-]{1,20}(\\.[a-z]{1,10}){0,3}",
        any::<Ipv4Addr>().prop_map(|address| address.to_string()),
        any::<std::net::Ipv6Addr>().prop_map(|address| address.to_string()),
    ]
}

/// Fragments of nearly valid messages.
fn words() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<&'static [u8]> = vec![
        b"\x05\x01\x00",
        b"\x05\x02\x00\x02",
        b"\x01\x02me\x02xx",
        b"\x05\x01\x00\x01\x0a\x00\x00\x01\x01\xbb",
        b"\x05\x01\x00\x03\x06a.test\x00\x50",
        b"\x05\x03\x00",
        b"\x04\x01\x00\x50\x00\x00\x00\x01",
        b"me\x00",
        b"a.test\x00",
        b"\x05\x00",
        b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00",
    ];
    let piece = prop_oneof![
        6 => prop::sample::select(known).prop_map(<[u8]>::to_vec),
        1 => vec(any::<u8>(), 0..300),
    ];
    vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_borne(bytes in vec(any::<u8>(), 0..700), words in words(), first in any::<u8>()) {
        checks::check_server(&bytes);
        checks::check_client(&bytes);
        checks::check_server(&[&[first][..], &words].concat());
        checks::check_client(&words);
    }

    #[test]
    fn what_a_client_asks_a_server_hears(host in host(), port in 1u16..) {
        let destination = SocksDestination::new(&host, port).expect("a host");
        let mut handshake = client_of(&destination);
        let mut asked = Vec::new();
        handshake.next(&[], &mut asked).unwrap();
        handshake.next(&[5, 0], &mut asked).unwrap();
        let heard = hear(&asked, &[], false);
        prop_assert_eq!(&heard.events[..], &[HandshakeEvent::Connect(Version::V5, destination)]);
        prop_assert_eq!(&heard.sent[..], &[5, 0]);
        for number in 0..=8 {
            let code = Code::new(number).unwrap();
            let (mut handshake, mut answer) = (handshake_at_answer(&host, port), Vec::new());
            farlink_http::socks::reply(Version::V5, code, &mut answer);
            match handshake.next(&answer, &mut Vec::new()) {
                Ok(used) => prop_assert_eq!((code, used), (Code::Succeeded, answer.len())),
                Err(failure) => prop_assert!(failure.to_string().contains(&code.to_string())),
            }
        }
    }
}

fn client_of(destination: &SocksDestination) -> farlink_http::socks::client::Handshake {
    farlink_http::socks::client::Handshake::new(destination.clone())
}

fn handshake_at_answer(host: &str, port: u16) -> farlink_http::socks::client::Handshake {
    let mut handshake = client_of(&SocksDestination::new(host, port).unwrap());
    handshake.next(&[], &mut Vec::new()).unwrap();
    handshake.next(&[5, 0], &mut Vec::new()).unwrap();
    handshake
}

const PROXY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 1080);

/// Runs `client` against a SOCKS server; also returns how the connection ended.
fn with_server<T: 'static>(
    entry: fn() -> SocksAccess,
    client: impl Future<Output = T> + 'static,
) -> (T, Served) {
    let mut plan = SimPlan::new(chance::RandomSource::new(1, 0));
    let tcp = Arc::new(tcp::Config::default());
    let near = plan.node([10, 0, 0, 1].into(), Arc::clone(&tcp));
    let proxy = plan.node(PROXY.ip(), tcp);
    plan.route(near, proxy, &[]);
    plan.route(proxy, near, &[]);
    let (tell, told) = std::sync::mpsc::channel();
    plan.spawn(proxy, async move {
        let acceptor = Acceptor { socks: entry(), ..Acceptor::new(Security::None) };
        let (tcp, _) = TcpListener::bind(PROXY).unwrap().accept().await.unwrap();
        tell.send(acceptor.serve(tcp, Rc::new(Tunnels::default())).await).unwrap();
    });
    let said = plan.run(near, async move {
        let said = client.await;
        world::sleep(std::time::Duration::from_secs(60)).await;
        said
    });
    (said.unwrap(), told.try_recv().expect("the connection has ended"))
}

/// Grants tunnels to `echo:443`; checks users.
#[derive(Default)]
struct Tunnels(streams::Streams);

impl Handler for Tunnels {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        assert!(request.is_connect() && request.socks.is_some());
        if request.authority == "refused.test:443" {
            let mut fields = HeaderMap::new();
            let told = HeaderValue::from_static("p; error=connection_refused");
            fields.insert("proxy-status", told);
            let reply = Reply::new(StatusCode::BAD_GATEWAY, fields, bytes::Bytes::new());
            return Answer::later(async { reply });
        }
        self.0.handle(request)
    }
}

/// Knows the user `me` with the password `secret`.
struct Me;

impl Authenticator for Me {
    fn admits(self: Rc<Self>, claim: HeaderValue, _peer: Option<SocketAddr>) -> Verdict {
        Box::pin(async move { claim == "Basic bWU6c2VjcmV0" })
    }
}

/// Sends `words` and reads everything.
async fn say(words: Vec<u8>) -> Vec<u8> {
    let mut tcp = TcpStream::connect(PROXY).await.unwrap();
    tcp.write_all(&words).await.unwrap();
    tcp.shutdown().await.unwrap();
    let mut heard = Vec::new();
    tcp.read_to_end(&mut heard).await.unwrap();
    heard
}

const GREETING: &[u8] = &[5, 1, 0];
const TO_ECHO: &[u8] = b"\x05\x01\x00\x03\x04echo\x01\xbb";
const GRANTED: &[u8] = &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0];

#[test]
fn what_follows_passes_both_ways() {
    // All at once: bytes sent ahead are not lost.
    let words = [GREETING, TO_ECHO, b"and more"].concat();
    let (heard, served) = with_server(|| SocksAccess::Open, say(words));
    assert_eq!(heard, [&[5, 0][..], GRANTED, b"hello and more bye"].concat());
    assert!(matches!(served, Served::Socks(Ended::Orderly)), "{served:?}");
    let words = [&b"\x04\x01\x01\xbb\x00\x00\x00\x01\x00echo\x00"[..], b"more"].concat();
    let (heard, _) = with_server(|| SocksAccess::Open, say(words));
    assert_eq!(heard, [&[0, 90, 0, 0, 0, 0, 0, 0][..], b"hello more bye"].concat());
}

#[test]
fn users_come_in_by_their_password() {
    let by = |password: &[u8]| {
        let user = [&[1, 2][..], b"me", &[password.len() as u8], password].concat();
        let words = [&[5, 2, 0, 2][..], &user, TO_ECHO, b"x"].concat();
        with_server(|| SocksAccess::Guarded(Rc::new(Me)), say(words))
    };
    let (heard, _) = by(b"secret");
    assert_eq!(heard, [&[5, 2, 1, 0][..], GRANTED, b"hello x bye"].concat());
    let (heard, served) = by(b"Secret");
    assert_eq!(heard, [5, 2, 1, 1]);
    assert!(matches!(served, Served::Socks(Ended::Refused(SocksRefusal::User))), "{served:?}");
    let (heard, served) = with_server(|| SocksAccess::Guarded(Rc::new(Me)), say(GREETING.to_vec()));
    assert_eq!(heard, [5, 0xff]);
    assert!(matches!(served, Served::Socks(Ended::Refused(SocksRefusal::Method))), "{served:?}");
}

#[test]
fn refusals_have_their_codes() {
    for (request, code) in [
        (&b"\x05\x01\x00\x03\x05other\x01\xbb"[..], Code::Forbidden),
        (b"\x05\x01\x00\x03\x0crefused.test\x01\xbb", Code::Refused),
        (b"\x05\x02\x00\x03\x04echo\x01\xbb", Code::Command),
        (b"\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00", Code::Command),
        (b"\x05\x01\x00\x09", Code::AddressType),
    ] {
        let (heard, _) = with_server(|| SocksAccess::Open, say([GREETING, request].concat()));
        assert_eq!(heard[..4], [5, 0, 5, code as u8], "{request:?}");
    }
}

#[test]
fn who_does_not_speak_it_takes_it_for_bad_http() {
    let (heard, served) =
        with_server(|| SocksAccess::None, say([GREETING, TO_ECHO, b"\r\n\r\n"].concat()));
    assert!(heard.starts_with(b"HTTP/1.1 400"), "{heard:?}");
    assert!(matches!(served, Served::H1(_)), "{served:?}");
}

#[test]
fn connections_are_opened_through_it() {
    let open = |host: &'static str| async move {
        let opening = Opening::new(PROXY, host, Security::None, Protocol::H1);
        let tunnel = Some(Tunnel { by: TunnelBy::Socks, host: host.to_owned(), port: 443 });
        let mut stages = Vec::new();
        let mut observe = |stage| stages.push(stage);
        let opened = client::open(Opening { tunnel, ..opening }, &mut observe).await;
        let failure = opened.err().map(|error| error.to_string());
        (failure, stages)
    };
    let ((failure, stages), _) = with_server(|| SocksAccess::Open, open("other"));
    let failure = failure.unwrap();
    assert!(failure.contains("refused CONNECT to other:443"), "{failure}");
    assert!(failure.contains("not allowed by ruleset"), "{failure}");
    assert_eq!(stages, [ConnectStage::Reached]);
    let ((failure, stages), _) = with_server(|| SocksAccess::Open, open("plain"));
    assert!(failure.unwrap().contains("general SOCKS server failure"));
    assert_eq!(stages, [ConnectStage::Reached]);
}
