//! Two clients, a proxy and three servers in virtual time; clients and servers are told what to send, byte by byte.

use std::cell::{Cell, RefCell};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use farlink_proxy::caching::CacheStore;
use farlink_proxy::config::{self, File};
use farlink_proxy::forward::{Proxy, ProxyHandler, ProxyParts};
use farlink_proxy::origin;
use farlink_proxy::target::Scheme;
use http_stack::h1::server::{Core, Settings};
use http_stack::server::Acceptor;
use http_stack::timer_wheel::Wheel;
use net::{LinkConfig, QueueLimit};
use tls::{Authorities, PublicClient, Security};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use units::BitsPerSec;
use world::TcpStream;
use world::sim::SimPlan;

const PROXY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9)), 80);
/// The date at which the world's clock begins.
const START: Duration = Duration::from_secs(1_767_225_600);

/// A server's reaction to a request.
pub enum Act {
    /// Sends this after a delay.
    Say(Duration, Vec<u8>),
    /// The same, and then closes the connection.
    Last(Duration, Vec<u8>),
    /// Sends the first, and the second after a delay.
    Halves(Vec<u8>, Duration, Vec<u8>),
    /// Closes the connection.
    Close,
}

/// Observations of a server.
#[derive(Default)]
pub struct Seen {
    /// First lines of requests.
    pub asked: RefCell<Vec<String>>,
    /// Requests under way.
    pub open: Cell<usize>,
}

impl Seen {
    /// Number of requests for `path`.
    pub fn times(&self, path: &str) -> usize {
        self.asked.borrow().iter().filter(|line| line.split(' ').nth(1) == Some(path)).count()
    }
}

/// A server: its reaction to a request's first line, and its observations.
#[derive(Clone)]
pub struct Server {
    act: Rc<dyn Fn(&str) -> Act>,
    pub seen: Rc<Seen>,
    /// One-way delay to it.
    delay: Duration,
    /// False if it refuses connections.
    listens: bool,
}

impl Server {
    pub fn new(act: impl Fn(&str) -> Act + 'static) -> Server {
        let delay = Duration::from_millis(1);
        Server { act: Rc::new(act), seen: Rc::default(), delay, listens: true }
    }

    /// A server that refuses connections.
    pub fn refusing() -> Server {
        Server { listens: false, ..Server::new(|_| Act::Close) }
    }

    /// A server so far away that its handshake times out.
    pub fn hanging() -> Server {
        Server { delay: Duration::from_secs(1_000), ..Server::new(|_| Act::Close) }
    }

    async fn serve(self) {
        if !self.listens {
            return;
        }
        let here = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 80);
        let listener = world::TcpListener::bind(here).expect("a port");
        while let Ok((stream, _)) = listener.accept().await {
            drop(world::spawn(self.clone().converse(stream)));
        }
    }

    async fn converse(self, mut stream: TcpStream) {
        let mut input = Vec::new();
        while let Some(line) = head(&mut stream, &mut input).await {
            self.seen.asked.borrow_mut().push(line.clone());
            let (after, text, is_last) = match (self.act)(&line) {
                Act::Say(after, text) => (after, text, false),
                Act::Last(after, text) => (after, text, true),
                Act::Halves(first, after, second) => {
                    if stream.write_all(&first).await.is_err() {
                        return;
                    }
                    (after, second, false)
                }
                Act::Close => return,
            };
            self.seen.open.set(self.seen.open.get() + 1);
            let mut more = [0; 1024];
            let gone = world::timeout(after, stream.read(&mut more)).await;
            self.seen.open.set(self.seen.open.get() - 1);
            match gone {
                Ok(Ok(read @ 1..)) => input.extend_from_slice(&more[..read]),
                Ok(_) => return,
                Err(_) if stream.write_all(&text).await.is_err() || is_last => return,
                Err(_) => {}
            }
        }
    }
}

/// The first line of the next request.
async fn head(stream: &mut TcpStream, input: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some(end) = input.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = input.drain(..end + 4).collect();
            return String::from_utf8_lossy(&head).lines().next().map(str::to_owned);
        }
        let mut more = [0; 4096];
        match stream.read(&mut more).await {
            Ok(read @ 1..) => input.extend_from_slice(&more[..read]),
            _ => return None,
        }
    }
}

/// A response with these fields and this body.
pub fn response(status: &str, fields: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{fields}\r\n{body}", body.len()).into()
}

/// A response with these fields and this body, after a delay in milliseconds.
pub fn say(millis: u64, status: &str, fields: &str, body: &str) -> Act {
    Act::Say(Duration::from_millis(millis), response(status, fields, body))
}

/// The result of a request, and its duration in milliseconds.
#[derive(Clone, Debug)]
pub struct Got {
    pub text: String,
    pub bytes: Vec<u8>,
    pub millis: u128,
}

impl Got {
    pub fn status(&self) -> &str {
        self.text.get(9..12).unwrap_or("")
    }

    /// The body as it was sent.
    pub fn body(&self) -> &[u8] {
        let end = self.bytes.windows(4).position(|four| four == b"\r\n\r\n");
        end.map_or(&[], |end| &self.bytes[end + 4..])
    }
}

/// Sends a request to the proxy; `fields` are whole lines.
pub async fn ask(method: &str, path: &str, fields: &str) -> Got {
    let began = world::now();
    let mut stream = open(method, path, &format!("Connection: close\r\n{fields}")).await;
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text).await;
    let millis = world::now().since(began).as_millis();
    Got { text: String::from_utf8_lossy(&text).into_owned(), bytes: text, millis }
}

/// Sends a request to the proxy and reads nothing.
pub async fn open(method: &str, path: &str, fields: &str) -> TcpStream {
    let mut stream = TcpStream::connect(PROXY).await.expect("a connection");
    let text = format!("{method} {path} HTTP/1.1\r\nHost: a.test\r\n{fields}\r\n");
    stream.write_all(text.as_bytes()).await.expect("it is taken");
    stream
}

/// Sends several requests at once; returns the results, the fastest first.
pub async fn ask_at_once(asked: Vec<(String, String)>) -> Vec<Got> {
    let tasks: Vec<_> = asked
        .into_iter()
        .map(|(path, fields)| world::spawn(async move { ask("GET", &path, &fields).await }))
        .collect();
    let mut got = Vec::new();
    for task in tasks {
        got.push(task.await);
    }
    got.sort_by_key(|got| got.millis);
    got
}

/// Runs a proxy with this configuration before `servers`, known as `one.test` and so on. Returns the result of `first`, which
/// runs at one address, while `other` runs at another.
pub fn run<T: 'static>(
    config: &str,
    servers: &[Server],
    first: impl Future<Output = T> + 'static,
    other: impl Future<Output = ()> + 'static,
) -> T {
    let mut plan = SimPlan::new(chance::RandomSource::new(1, 0));
    let tcp = Arc::new(tcp::Config::default());
    let node = |plan: &mut SimPlan, last: u8| {
        plan.node(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), Arc::clone(&tcp))
    };
    let proxy = node(&mut plan, 9);
    let clients = [1, 2].map(|last| node(&mut plan, last));
    let near = Duration::from_millis(1);
    let join = |plan: &mut SimPlan, a, b, delay: Duration, name: &str| {
        for (from, to, way) in [(a, b, "up"), (b, a, "down")] {
            let config =
                LinkConfig::new(BitsPerSec::mbit(1_000), delay, QueueLimit::Packets(10_000));
            let link = plan.link(&format!("{name}/{way}"), config);
            plan.route(from, to, &[link]);
        }
    };
    join(&mut plan, clients[0], proxy, near, "first");
    join(&mut plan, clients[1], proxy, near, "other");
    for (index, server) in servers.iter().enumerate() {
        let last = 20 + u8::try_from(index).expect("few servers");
        let at = node(&mut plan, last);
        let name = ["one.test", "two.test", "three.test"][index];
        join(&mut plan, proxy, at, server.delay, name);
        plan.host(name, IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)));
        plan.spawn(at, server.clone().serve());
    }
    plan.spawn(proxy, serve(config.to_owned()));
    plan.spawn(clients[1], other);
    plan.run(clients[0], first).expect("it ends")
}

async fn serve(config: String) {
    let file: File = toml::from_str(&config).expect("a configuration");
    let settings = config::resolve(file, "farlink-test").expect("settings");
    let tls = PublicClient::new(&Authorities::fixed(), START).expect("a client");
    let store = settings.cache.clone().map(|cached| CacheStore::new(cached, (1, 2), START));
    let (wheel, inside) = (Wheel::new(), Acceptor::new(Security::None));
    let h1 = Settings { half_closed_clients: false, ..Settings::default() };
    let h1 = Rc::new(Core::new(h1, wheel.clone()));
    let parts = ProxyParts { tls, store, wheel, inside, journal: Rc::new(()), start: START };
    let proxy = Proxy::new(Arc::new(settings), parts);
    let going = Rc::new(());
    proxy.check_servers(&going);
    let listener = world::TcpListener::bind(PROXY).expect("a port");
    let entrance = Rc::new(ProxyHandler::new(&proxy, Scheme::Http, PROXY));
    let acceptor = Acceptor { h1, ..Acceptor::new(Security::None) };
    origin::serve(listener, acceptor, entrance).await.expect("it serves");
}

/// Milliseconds of virtual time.
pub async fn pause(millis: u64) {
    world::sleep(Duration::from_millis(millis)).await;
}
