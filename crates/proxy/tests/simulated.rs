//! The proxy in virtual time: the simulated code is the code that ships.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use farlink_proxy::access::Destinations;
use farlink_proxy::caching::{self, CacheStore};
use farlink_proxy::config::{Forward, ProxyConfig};
use farlink_proxy::fields::Disclosure;
use farlink_proxy::forward::{Proxy, ProxyHandler, ProxyParts};
use farlink_proxy::journal::{Journal, LogEntry, RequestOutcome};
use farlink_proxy::origin;
use farlink_proxy::target::Scheme;
use http::{HeaderMap, Request, StatusCode};
use http_stack::client::{self, Opening, Protocol};
use http_stack::server::Acceptor;
use http_stack::timer_wheel::Wheel;
use http_stack::{Answer, Handler, Priority, Progress, Reply, RequestHead};
use net::{LinkConfig, QueueLimit};
use tls::{Authorities, PublicClient, Security};
use units::BitsPerSec;
use world::sim::SimPlan;

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const PROXY: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const ORIGIN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 3);

/// Answers with a response that may be stored for a minute, and counts.
struct Counting(RefCell<u32>);

impl Handler for Counting {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        *self.0.borrow_mut() += 1;
        let mut fields = HeaderMap::new();
        fields.insert("cache-control", "max-age=60".parse().unwrap());
        let body = format!("{} {}", self.0.borrow(), request.target);
        Answer::Ready(Reply::new(StatusCode::OK, fields, Bytes::from(body)))
    }
}

/// A journal that keeps its entries.
#[derive(Default)]
struct Kept(RefCell<Vec<LogEntry>>);

impl Journal for Kept {
    fn done(&self, entry: &LogEntry) {
        self.0.borrow_mut().push(entry.clone());
    }
}

#[derive(Default)]
struct Got {
    status: u16,
    body: Vec<u8>,
}

impl Progress for Got {
    fn sent(&mut self, _: u64, _: u64) {}
    fn head(&mut self, status: u16, _: u64) {
        self.status = status;
    }
    fn data(&mut self, piece: &[u8]) {
        self.body.extend_from_slice(piece);
    }
}

fn at(address: Ipv4Addr, port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(address), port)
}

async fn serve_proxy(journal: Rc<Kept>) {
    let forward =
        Forward { destinations: Destinations::anything(), disclosure: Disclosure::Nothing };
    let limits = cache::MemoryLimits { bytes: 1 << 20, entry_bytes: 1 << 16 };
    let cached = caching::CacheSettings { limits, policy: cache::StoragePolicy::default() };
    let settings = ProxyConfig {
        forward: Some(forward),
        cache: Some(cached.clone()),
        ..ProxyConfig::default()
    };
    let start = Duration::from_secs(1_767_225_600);
    let tls = PublicClient::new(&Authorities::fixed(), start).expect("a client");
    let store = Some(CacheStore::new(cached, (1, 2), start));
    let (wheel, inside) = (Wheel::new(), Acceptor::new(Security::None));
    let parts = ProxyParts { tls, store, wheel, inside, journal, start };
    let proxy = Proxy::new(Arc::new(settings), parts);
    let address = at(PROXY, 3128);
    let listener = world::TcpListener::bind(address).expect("a port");
    let entrance = Rc::new(ProxyHandler::new(&proxy, Scheme::Http, address));
    origin::serve(listener, Acceptor::new(Security::None), entrance).await.expect("it serves");
}

async fn serve_origin() {
    let listener = world::TcpListener::bind(at(ORIGIN, 80)).expect("a port");
    let handler = Rc::new(Counting(RefCell::new(0)));
    origin::serve(listener, Acceptor::new(Security::None), handler).await.expect("it serves");
}

/// Fetches `paths` one after the other by HTTP/2, whose targets are always absolute; returns the bodies and the duration of
/// each.
async fn fetch(paths: &[&str]) -> Vec<(String, Duration)> {
    let opening = Opening::new(at(PROXY, 3128), "proxy", Security::None, Protocol::H2);
    let mut connection = client::open(opening, &mut |_| {}).await.expect("a connection");
    let mut fetched = Vec::new();
    for path in paths {
        let uri = format!("http://origin.test{path}");
        let request = Request::get(uri).body(Bytes::new()).expect("a request");
        let (began, mut got) = (world::now(), Got::default());
        connection.fetch(&request, Priority::Medium, &mut got).await.expect("an answer");
        assert_eq!(got.status, 200, "{}", String::from_utf8_lossy(&got.body));
        fetched.push((String::from_utf8(got.body).unwrap(), world::now().since(began)));
    }
    fetched
}

/// 50 ms one way to the proxy, 20 ms from there to the origin.
fn run() -> (Vec<(String, Duration)>, Vec<LogEntry>) {
    let mut plan = SimPlan::new(chance::RandomSource::new(1, 0));
    let tcp = Arc::new(tcp::Config::default());
    let nodes =
        [CLIENT, PROXY, ORIGIN].map(|address| plan.node(IpAddr::V4(address), Arc::clone(&tcp)));
    for (a, b, millis, name) in [(0, 1, 50, "last mile"), (1, 2, 20, "backbone")] {
        for (from, to, way) in [(a, b, "up"), (b, a, "down")] {
            let delay = Duration::from_millis(millis);
            let config = LinkConfig::new(BitsPerSec::mbit(100), delay, QueueLimit::Packets(100));
            let link = plan.link(&format!("{name}/{way}"), config);
            plan.route(nodes[from], nodes[to], &[link]);
        }
    }
    plan.host("origin.test", IpAddr::V4(ORIGIN));
    let journal = Rc::new(Kept::default());
    plan.spawn(nodes[1], serve_proxy(Rc::clone(&journal)));
    plan.spawn(nodes[2], serve_origin());
    let fetched = plan.run(nodes[0], fetch(&["/a", "/a", "/b"])).expect("it ends");
    let entries = journal.0.borrow().clone();
    (fetched, entries)
}

#[test]
fn a_hit_saves_the_way_to_the_origin_and_repeats_to_the_bit() {
    let (fetched, entries) = run();
    let bodies: Vec<_> = fetched.iter().map(|(body, _)| body.as_str()).collect();
    assert_eq!(bodies, ["1 /a", "1 /a", "2 /b"]);
    let outcomes: Vec<_> = entries.iter().map(|entry| entry.outcome.clone()).collect();
    assert_eq!(outcomes, [RequestOutcome::Passed, RequestOutcome::Hit, RequestOutcome::Passed]);
    let millis: Vec<_> = fetched.iter().map(|(_, time)| time.as_millis()).collect();
    // The hit: one round trip to the proxy. The miss after it: one more to the origin, over an existing connection.
    assert!((100..105).contains(&millis[1]), "{millis:?}");
    assert!((140..146).contains(&millis[2]), "{millis:?}");
    let first = entries[2].times;
    let since = |at: Option<units::Time>| at.expect("it happened").since(first.request).as_millis();
    assert_eq!(since(first.connected), 0);
    assert!((40..45).contains(&since(first.origin_first)));
    assert_eq!(run().1, entries, "the same again");
}
