//! The origin server: answers with a page's objects, after their think time, by a worker pool; for one host, or for several virtual hosts
//! behind one listener.

mod site;
mod text;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use http_stack::h2::FlowMeter;
use http_stack::server::{self, Answer, Handler, Reply, RequestHead};
use http_stack::{Priority, Push, h3};
use page::Page;
use tokio::sync::Semaphore;
use world::BatchSocket;

pub use site::{PushPolicy, SiteReplies};

/// Number of requests a server works on at once, and its service time beside an object's own think time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct WorkerPool {
    /// Requests worked on at once; `None` for no limit.
    pub count: Option<usize>,
    /// Service time of each.
    pub service_time: Duration,
}

/// One host of a page, as a handler.
pub struct OriginServer {
    site: Arc<SiteReplies>,
    host: usize,
    workers: Option<Rc<Semaphore>>,
    service_time: Duration,
    /// A factor on each object's think time, from the noise model.
    think_factors: Rc<[f64]>,
    /// Number of answers to each repeated request.
    answered: Vec<Cell<usize>>,
    push: PushPolicy,
}

impl OriginServer {
    /// The host at index `host` of the site's page. `think_factors` has one entry per object.
    pub fn new(
        site: Arc<SiteReplies>,
        host: usize,
        workers: WorkerPool,
        think_factors: Rc<[f64]>,
    ) -> OriginServer {
        OriginServer {
            answered: site.counters(host),
            site,
            host,
            workers: workers.count.map(|count| Rc::new(Semaphore::new(count))),
            service_time: workers.service_time,
            think_factors,
            push: PushPolicy::None,
        }
    }

    /// The same origin, which pushes objects with their document.
    #[must_use]
    pub fn with_push(self, push: PushPolicy) -> OriginServer {
        OriginServer { push, ..self }
    }
}

impl Handler for OriginServer {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        let Some(entry) = self.site.find(self.host, request.method, request.target, &self.answered)
        else {
            return Answer::Ready(self.site.not_found());
        };
        let factor = self.think_factors[entry.object].max(0.0);
        let time = (entry.think + self.service_time).mul_f64(factor);
        if time.is_zero() && self.workers.is_none() {
            return Answer::Ready(entry.reply.clone());
        }
        Answer::later(work(self.workers.clone(), time, entry.reply.clone()))
    }

    fn pushes(&self, request: RequestHead<'_>) -> Vec<Push> {
        let pushable = self.site.pushable();
        let Some(pushable) = pushable.filter(|_| self.push != PushPolicy::None) else {
            return Vec::new();
        };
        if !self.site.is_asked(self.host, request.method, request.target, pushable.document) {
            return Vec::new();
        }
        let pushed = pushable.pushed(self.push);
        pushed.map(|o| Push { path: o.path.clone(), priority: priority(o.priority) }).collect()
    }
}

fn priority(priority: page::ObjectPriority) -> Priority {
    match priority {
        page::ObjectPriority::Highest => Priority::Highest,
        page::ObjectPriority::High => Priority::High,
        page::ObjectPriority::Medium => Priority::Medium,
        page::ObjectPriority::Low => Priority::Low,
        page::ObjectPriority::Lowest => Priority::Lowest,
    }
}

async fn work(workers: Option<Rc<Semaphore>>, time: Duration, reply: Reply) -> Reply {
    let _worker = match &workers {
        Some(workers) => workers.acquire().await.ok(),
        None => None,
    };
    world::sleep(time).await;
    reply
}

/// Address and settings of an origin's listener.
#[derive(Clone)]
pub struct Listen {
    /// The address.
    pub address: SocketAddr,
    /// Its protocol, its TLS and the settings of each.
    pub acceptor: server::Acceptor,
    /// Use of the same UDP port.
    pub udp: UdpPort,
}

/// A server's use of a UDP port.
#[derive(Clone)]
pub enum UdpPort {
    /// Closed.
    Closed,
    /// HTTP/3.
    H3(h3::Acceptor),
    /// Datagrams are silently dropped, as by a firewall in front of it.
    Deaf,
}

impl Listen {
    /// Binds the ports; from then on clients are not refused.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub fn bind(self) -> io::Result<BoundOrigin> {
        let Listen { address, acceptor, udp } = self;
        let tcp = world::TcpListener::bind(address)?;
        let (mut quic, mut deaf) = (None, None);
        match udp {
            UdpPort::Closed => {}
            UdpPort::H3(acceptor) => quic = Some(h3::Listener::bind(address, &acceptor)?),
            UdpPort::Deaf => deaf = Some(BatchSocket::bind(address)?),
        }
        Ok(BoundOrigin { tcp, acceptor, quic, deaf })
    }
}

/// An origin's ports.
pub struct BoundOrigin {
    tcp: world::TcpListener,
    acceptor: server::Acceptor,
    quic: Option<h3::Listener>,
    /// Held and never read.
    deaf: Option<BatchSocket>,
}

impl BoundOrigin {
    /// Serves until a listener fails; each TCP connection is watched by one of `meters`.
    ///
    /// # Errors
    /// If a listener fails.
    pub async fn serve<H: Handler>(self, handler: Rc<H>, meters: Meters) -> io::Result<()> {
        let _deaf = self.deaf;
        if let Some(listener) = self.quic {
            world::spawn(serve_quic(listener, Rc::clone(&handler)));
        }
        serve_metered(self.tcp, self.acceptor, handler, |client| meters.add(client)).await
    }
}

/// Time that flow control held back each connection, by the client's address.
#[derive(Clone, Default)]
pub struct Meters(Rc<RefCell<BTreeMap<SocketAddr, Rc<FlowMeter>>>>);

impl Meters {
    /// Time that HTTP's windows held back the connection with `client` so far.
    pub fn limited(&self, client: SocketAddr) -> Duration {
        let meters = self.0.borrow();
        meters.get(&client).map_or(Duration::ZERO, |meter| meter.limited(world::now()))
    }

    /// Time that HTTP's windows held back each connection so far, by the client's address.
    pub fn all(&self) -> Vec<(SocketAddr, Duration)> {
        let now = world::now();
        let meters = self.0.borrow();
        meters.iter().map(|(client, meter)| (*client, meter.limited(now))).collect()
    }

    fn add(&self, client: SocketAddr) -> Rc<FlowMeter> {
        let meter = Rc::new(FlowMeter::default());
        self.0.borrow_mut().insert(client, Rc::clone(&meter));
        meter
    }
}

/// Listens and serves until a listener fails; each connection is watched by one of `meters`.
///
/// # Errors
/// If the address cannot be bound, or the listener fails.
pub async fn run<H: Handler>(listen: Listen, handler: Rc<H>, meters: Meters) -> io::Result<()> {
    listen.bind()?.serve(handler, meters).await
}

/// Accepts QUIC connections, each served by a task of its own, until the socket fails. The time that windows of HTTP/3 held them back is
/// unknown: they are QUIC's.
async fn serve_quic<H: Handler>(listener: h3::Listener, handler: Rc<H>) {
    while let Some(incoming) = listener.accept().await {
        let handler = Rc::clone(&handler);
        world::spawn(async move {
            // The client notices a failed connection; the server has nowhere to report it.
            let _ = incoming.serve(handler).await;
        });
    }
}

/// Accepts connections until the listener fails, each served by a task of its own.
///
/// # Errors
/// If the listener fails.
pub async fn serve<H: Handler>(
    listener: world::TcpListener,
    acceptor: server::Acceptor,
    handler: Rc<H>,
) -> io::Result<()> {
    serve_metered(listener, acceptor, handler, |_| Rc::default()).await
}

async fn serve_metered<H: Handler>(
    listener: world::TcpListener,
    acceptor: server::Acceptor,
    handler: Rc<H>,
    meter: impl Fn(SocketAddr) -> Rc<FlowMeter>,
) -> io::Result<()> {
    loop {
        let (stream, client) = listener.accept().await?;
        let meter = meter(client);
        let acceptor = acceptor.clone();
        let handler = Rc::clone(&handler);
        world::spawn(async move {
            // The client notices a failed connection; the server has nowhere to report it.
            let _ = acceptor.serve_metered(stream, handler, &meter).await;
        });
    }
}

/// Virtual hosts of a page behind one listener, selected by the name and port in a request (RFC 9110 section 7.2). They share a machine and
/// therefore its workers.
pub struct VirtualHosts {
    origins: Vec<OriginServer>,
    by_name: BTreeMap<(String, Option<u16>), usize>,
}

impl VirtualHosts {
    /// These hosts of `page`, with their replies in `site`. `think_factors` has one entry per object.
    pub fn new(
        page: &Page,
        hosts: impl IntoIterator<Item = usize>,
        site: &Arc<SiteReplies>,
        workers: WorkerPool,
        think_factors: &Rc<[f64]>,
    ) -> VirtualHosts {
        let mut origins: Vec<OriginServer> = Vec::new();
        let mut by_name = BTreeMap::new();
        for index in hosts {
            let mut origin =
                OriginServer::new(Arc::clone(site), index, workers, Rc::clone(think_factors));
            if let Some(first) = origins.first() {
                origin.workers.clone_from(&first.workers);
            }
            let host = &page.hosts[index];
            let name = host.name.to_ascii_lowercase();
            for port in [host.port, None] {
                by_name.entry((name.clone(), port)).or_insert(origins.len());
            }
            origins.push(origin);
        }
        VirtualHosts { origins, by_name }
    }

    /// The same hosts, which push objects with their documents.
    #[must_use]
    pub fn with_push(self, push: PushPolicy) -> VirtualHosts {
        let origins = self.origins.into_iter().map(|origin| origin.with_push(push)).collect();
        VirtualHosts { origins, ..self }
    }
}

impl Handler for VirtualHosts {
    /// An unknown name selects the first host, the document's, so that the page can be opened by an address.
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        self.origin(request).handle(request)
    }

    fn pushes(&self, request: RequestHead<'_>) -> Vec<Push> {
        self.origin(request).pushes(request)
    }
}

impl VirtualHosts {
    /// The host of this name and port; if the page does not know the port, the first of this name.
    fn origin(&self, request: RequestHead<'_>) -> &OriginServer {
        let (name, port) = name_and_port(request.authority);
        let name = name.to_ascii_lowercase();
        let exactly = self.by_name.get(&(name.clone(), port));
        let found = exactly.or_else(|| self.by_name.get(&(name, None)));
        &self.origins[found.copied().unwrap_or(0)]
    }
}

/// The parts of an authority (RFC 3986 section 3.2).
fn name_and_port(authority: &str) -> (&str, Option<u16>) {
    let parts = authority.rsplit_once(':');
    match parts.and_then(|(host, port)| Some((host, port.parse().ok()?))) {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(hosts: &VirtualHosts, authority: &str, target: &str) -> u16 {
        let request = RequestHead::new("GET", authority, target);
        match hosts.handle(request) {
            Answer::Ready(reply) => reply.head.parts.status().as_u16(),
            Answer::Later(_) => panic!("no time to think was asked for"),
        }
    }

    #[test]
    fn a_request_reaches_the_host_that_it_names() {
        let page = page::open("synthetic:8x1KB@4hosts").unwrap();
        let site = Arc::new(SiteReplies::new(&page));
        let factors = vec![1.0; page.objects.len()].into();
        let hosts = VirtualHosts::new(&page, 0..4, &site, WorkerPool::default(), &factors);
        for object in &page.objects {
            let own = page.host_of(object).name.as_str();
            assert_eq!(status(&hosts, own, &object.path), 200);
            assert_eq!(status(&hosts, &format!("{}:8443", own.to_uppercase()), &object.path), 200);
            let other = page.hosts.iter().find(|host| host.name != own).unwrap();
            assert_eq!(status(&hosts, &other.name, &object.path), 404);
        }
        let document = page.root();
        assert_eq!(document.host.0, 0);
        assert_eq!(status(&hosts, "127.0.0.1:8080", &document.path), 200);
        assert_eq!(status(&hosts, "[::1]", &document.path), 200);
    }

    #[test]
    fn ports_of_one_name_are_hosts_of_their_own() {
        let mut page = page::open("synthetic:8x1KB@3hosts").unwrap();
        page.hosts[1] = page::PageHost { port: Some(8443), ..page.hosts[0].clone() };
        let site = Arc::new(SiteReplies::new(&page));
        let factors = vec![1.0; page.objects.len()].into();
        let hosts = VirtualHosts::new(&page, 0..3, &site, WorkerPool::default(), &factors);
        let name = page.hosts[0].name.as_str();
        for object in page.objects.iter().filter(|object| object.host.0 < 2) {
            let (own, other) = (name.to_owned(), format!("{name}:8443"));
            let [own, other] = if object.host.0 == 0 { [own, other] } else { [other, own] };
            assert_eq!(status(&hosts, &own, &object.path), 200);
            assert_eq!(status(&hosts, &other, &object.path), 404);
        }
    }
}
