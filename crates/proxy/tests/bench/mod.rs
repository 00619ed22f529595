//! A proxy between a client and a scripted origin, in virtual time.

use std::cell::RefCell;
use std::future::poll_fn;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use farlink_proxy::access::Destinations;
use farlink_proxy::caching::{self, CacheStore};
use farlink_proxy::config::{File, ProxyConfig, resolve};
use farlink_proxy::forward::{Proxy, ProxyHandler, ProxyParts};
use farlink_proxy::origin;
use farlink_proxy::target::Scheme;
use farlink_proxy::upstream::OriginAddress;
use http::{HeaderName, Request};
use http_stack::Body;
use http_stack::client::{self, Opening, Protocol};
use http_stack::server::{Acceptor, BodyError, RequestBody};
use http_stack::timer_wheel::Wheel;
use net::{LinkConfig, QueueLimit};
use tls::{Authorities, PublicClient, Security};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use units::BitsPerSec;
use world::TcpStream;
use world::sim::SimPlan;

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const PROXY: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const ORIGIN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 3);

/// One step of a connection's end.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends these bytes.
    Say(Vec<u8>),
    /// Waits this many milliseconds.
    Wait(u64),
    /// Reads until this has arrived.
    Await(&'static str),
    /// Closes the connection.
    Close,
}

impl Step {
    pub fn say(text: impl Into<Vec<u8>>) -> Step {
        Step::Say(text.into())
    }
}

type Script = Rc<dyn Fn(&str) -> Vec<Step>>;

/// Request heads that the origin has received.
type Heads = Rc<RefCell<Vec<String>>>;

/// A proxy under test.
pub struct Bench {
    pub settings: ProxyConfig,
    script: Script,
}

impl Bench {
    /// A reverse proxy for an origin that performs `script`'s steps for each request's head.
    pub fn reverse(script: impl Fn(&str) -> Vec<Step> + 'static) -> Bench {
        let mut file = File::default();
        file.reverse(None, "http://origin.test").expect("an origin");
        let settings = resolve(file, "farlink-test").expect("settings");
        Bench { settings, script: Rc::new(script) }
    }

    /// A forward proxy, whose clients know the origin as `origin.test`.
    pub fn forward(script: impl Fn(&str) -> Vec<Step> + 'static) -> Bench {
        let mut settings = resolve(File::default(), "farlink-test").expect("settings");
        let forward = settings.forward.as_mut().expect("a forward proxy");
        forward.destinations = Destinations::anything();
        Bench { settings, script: Rc::new(script) }
    }

    /// The same with a cache of objects up to 64 KiB.
    pub fn with_cache(mut self) -> Bench {
        let limits = cache::MemoryLimits { bytes: 1 << 20, entry_bytes: 1 << 16 };
        let targets = vec![HeaderName::from_static("cdn-cache-control")];
        let policy = cache::StoragePolicy { targets, ..cache::StoragePolicy::default() };
        self.settings.cache = Some(caching::CacheSettings { limits, policy });
        self
    }

    /// The same, with the origin as its parent.
    pub fn with_parent(mut self) -> Bench {
        let parent =
            OriginAddress { scheme: Scheme::Http, host: "origin.test".to_owned(), port: 80 };
        self.settings.upstream.parents = vec![parent];
        self
    }

    /// The result of `client`, and the heads that the origin received.
    pub fn run<T: 'static>(self, client: impl Future<Output = T> + 'static) -> (T, Vec<String>) {
        let mut plan = SimPlan::new(chance::RandomSource::new(1, 0));
        let tcp = Arc::new(tcp::Config::default());
        let nodes =
            [CLIENT, PROXY, ORIGIN].map(|address| plan.node(IpAddr::V4(address), Arc::clone(&tcp)));
        for (a, b) in [(0, 1), (1, 2)] {
            for (from, to) in [(a, b), (b, a)] {
                let delay = Duration::from_millis(10);
                let config =
                    LinkConfig::new(BitsPerSec::mbit(100), delay, QueueLimit::Packets(100));
                let link = plan.link(&format!("{from}-{to}"), config);
                plan.route(nodes[from], nodes[to], &[link]);
            }
        }
        plan.host("origin.test", IpAddr::V4(ORIGIN));
        let heads = Heads::default();
        plan.spawn(nodes[1], serve_proxy(self.settings));
        plan.spawn(nodes[2], serve_origin(self.script, Rc::clone(&heads)));
        let got = plan.run(nodes[0], client).expect("it ends");
        let heads = heads.borrow().clone();
        (got, heads)
    }
}

async fn serve_proxy(settings: ProxyConfig) {
    let start = Duration::from_secs(1_767_225_600);
    let tls = PublicClient::new(&Authorities::fixed(), start).expect("a client");
    let store = settings.cache.clone().map(|cached| CacheStore::new(cached, (1, 2), start));
    let (wheel, inside) = (Wheel::new(), Acceptor::new(Security::None));
    let parts = ProxyParts { tls, store, wheel, inside, journal: Rc::new(()), start };
    let proxy = Proxy::new(Arc::new(settings), parts);
    let address = SocketAddr::new(PROXY.into(), 80);
    let listener = world::TcpListener::bind(address).expect("a port");
    let entrance = Rc::new(ProxyHandler::new(&proxy, Scheme::Http, address));
    origin::serve(listener, Acceptor::new(Security::None), entrance).await.expect("it serves");
}

async fn serve_origin(script: Script, heads: Heads) {
    let listener = world::TcpListener::bind(SocketAddr::new(ORIGIN.into(), 80)).expect("a port");
    while let Ok((tcp, _)) = listener.accept().await {
        let (script, heads) = (Rc::clone(&script), Rc::clone(&heads));
        drop(world::spawn(async move {
            let mut end = End { tcp, got: String::new() };
            while end.read_until("\r\n\r\n").await {
                let (head, rest) = end.got.split_once("\r\n\r\n").expect("it was read");
                let (head, rest) = (format!("{head}\r\n\r\n"), rest.to_owned());
                end.got = rest;
                heads.borrow_mut().push(head.clone());
                if !end.play(script(&head)).await {
                    return;
                }
            }
        }));
    }
}

/// One end of a connection, and the text received.
struct End {
    tcp: TcpStream,
    got: String,
}

impl End {
    /// Reads until `text` has arrived; returns false on a timeout.
    async fn read_until(&mut self, text: &str) -> bool {
        while !self.got.contains(text) {
            let mut buffer = [0; 4096];
            let read = world::timeout(Duration::from_secs(200), self.tcp.read(&mut buffer)).await;
            match read {
                Ok(Ok(bytes @ 1..)) => {
                    self.got.push_str(&String::from_utf8_lossy(&buffer[..bytes]))
                }
                _ => return false,
            }
        }
        true
    }

    /// Performs the steps; returns false if the connection is over.
    async fn play(&mut self, steps: Vec<Step>) -> bool {
        for step in steps {
            match step {
                Step::Say(text) => {
                    if self.tcp.write_all(&text).await.is_err() {
                        return false;
                    }
                }
                Step::Wait(millis) => world::sleep(Duration::from_millis(millis)).await,
                Step::Await(text) => {
                    if !self.read_until(text).await {
                        return false;
                    }
                }
                Step::Close => return false,
            }
        }
        true
    }
}

/// The proxy's output after `steps`, until it closes or is silent for a while.
pub async fn ask(steps: Vec<Step>) -> String {
    let tcp = TcpStream::connect(SocketAddr::new(PROXY.into(), 80)).await.expect("a connection");
    let mut end = End { tcp, got: String::new() };
    end.play(steps).await;
    end.read_until("\0").await;
    end.got
}

/// The answer to one request of HTTP/1.
pub fn h1(request: &str) -> impl Future<Output = String> + use<> {
    ask(vec![Step::say(request)])
}

/// The answer over HTTP/2.
#[derive(Debug)]
pub struct Got {
    pub interim: Vec<u16>,
    /// The fields `Link` of the interim responses.
    pub links: Vec<String>,
    pub status: u16,
    pub body: String,
}

/// Sends `request` with a `body` that comes piece by piece.
pub async fn fetch_by_h2(request: Request<()>, body: Option<Bytes>) -> Got {
    let address = SocketAddr::new(PROXY.into(), 80);
    let opening = Opening::new(address, "proxy", Security::None, Protocol::H2);
    let connection = client::open(opening, &mut |_| {}).await.expect("a connection");
    let body = body.map(|piece| {
        let length = Some(piece.len() as u64);
        RequestBody::new(Box::new(Once(Some(piece))), length)
    });
    let (mut interim, mut links) = (Vec::new(), Vec::new());
    let mut inform = |head: http::Response<()>| {
        interim.push(head.status().as_u16());
        let fields = head.headers().get_all("link").iter();
        links.extend(fields.map(|value| value.to_str().expect("ASCII").to_owned()));
    };
    let got = connection.exchange_informed(&request, body, &mut inform).await.expect("an answer");
    let (status, mut incoming) = (got.head.status().as_u16(), got.body);
    let mut text = Vec::new();
    while let Some(piece) = poll_fn(|cx| incoming.poll_next(cx)).await {
        text.extend_from_slice(&piece.expect("a whole body"));
    }
    Got { interim, links, status, body: String::from_utf8(text).expect("text") }
}

struct Once(Option<Bytes>);

impl Body for Once {
    fn poll_next(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Bytes, BodyError>>> {
        std::task::Poll::Ready(self.0.take().map(Ok))
    }
}
