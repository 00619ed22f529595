//! Pages, servers and browsers for the tests of both worlds.

#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeMap;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use chance::RandomSource;
use farlink_browser::{
    Browser, BrowserCache, Device, HostStack, LoadPlan, Policy, ProxyMode, Session, Visited,
};
use http_stack::client::Protocol;
use http_stack::server::Acceptor;
use net::Network;
use page::Page;
use proxy::origin::Meters;
use proxy::{Listen, OriginServer, PushPolicy, SiteReplies, UdpPort, WorkerPool, origin};
use tls::Security;
use world::sim::{NodeId, SimPlan};

/// A time limit that no page of these tests reaches.
pub const LIMIT: Duration = Duration::from_secs(60);

pub fn page(spec: &str) -> Page {
    page::open(spec).unwrap()
}

pub fn device(name: &str) -> Device {
    Device::named(name).unwrap()
}

/// A policy with these limits.
pub fn policy(per_host: usize, total: usize) -> Policy {
    Policy {
        connections_per_host: per_host,
        connections_total: total,
        pipeline_depth: 3,
        ..Policy::named("chrome").unwrap()
    }
}

pub fn browser(policy: Policy, device: Device) -> Rc<Browser> {
    Rc::new(Browser::new(policy, device, 0.0))
}

/// Chromium on a machine that computes in no time.
pub fn ideal() -> Rc<Browser> {
    browser(Policy::named("chrome").unwrap(), device("zero"))
}

fn origin_of(page: &Page, host: usize) -> Rc<OriginServer> {
    let factors = vec![1.0; page.objects.len()].into();
    Rc::new(OriginServer::new(
        Arc::new(SiteReplies::new(page)),
        host,
        WorkerPool::default(),
        factors,
    ))
}

/// Loads `page` in the real world from origins on loopback, each at a port chosen by the kernel.
pub fn load_really(page: &Page, protocol: Protocol, security: Security) -> Visited {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let hosts: BTreeMap<_, _> = page.hosts.iter().map(|h| (h.name.clone(), loopback)).collect();
    let config = world::real::Config { hosts, ..world::real::Config::new(RandomSource::new(1, 0)) };
    world::real::run(config, async {
        let mut arms = Vec::new();
        for host in 0..page.hosts.len() {
            let listener = world::TcpListener::bind(SocketAddr::new(loopback, 0)).unwrap();
            let port = listener.local_addr().unwrap().port();
            arms.push(HostStack {
                protocol,
                pipelined: false,
                security,
                port,
                way: ProxyMode::Direct,
                blocked: false,
            });
            let handler = origin_of(page, host);
            world::spawn(
                async move { origin::serve(listener, Acceptor::new(security), handler).await },
            );
        }
        let plan = Arc::new(LoadPlan::new(Arc::new(page.clone()), arms));
        let session = Rc::new(Session::new(ideal(), Rc::default()));
        session.visit(&plan, LIMIT).await
    })
    .unwrap()
}

/// A simulated world: a client and a page's hosts, all behind one link.
pub struct Stage {
    pub page: Page,
    pub arms: Vec<HostStack>,
    plan: SimPlan,
    client: NodeId,
    servers: Vec<NodeId>,
}

impl Stage {
    /// A stage without listeners.
    pub fn new(page: &Page, network: &str, protocol: Protocol, security: Security) -> Stage {
        let network = Network::parse(network).unwrap();
        let mut plan = SimPlan::new(RandomSource::new(1, 0));
        let tcp = Arc::new(tcp::Config::default());
        let client = plan.node(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), Arc::clone(&tcp));
        let up = plan.link("up", network.up);
        let down = plan.link("down", network.down);
        let mut servers = Vec::new();
        for (index, host) in page.hosts.iter().enumerate() {
            let server = plan.node(address(index), Arc::clone(&tcp));
            plan.host(&host.name, address(index));
            plan.route(client, server, &[up]);
            plan.route(server, client, &[down]);
            servers.push(server);
        }
        let port = if security == Security::None { 80 } else { 443 };
        let arms = vec![
            HostStack {
                protocol,
                pipelined: false,
                security,
                port,
                way: ProxyMode::Direct,
                blocked: false
            };
            page.hosts.len()
        ];
        Stage { page: page.clone(), arms, plan, client, servers }
    }

    /// A stage whose origins all serve.
    pub fn serving(page: &Page, network: &str, protocol: Protocol, security: Security) -> Stage {
        let mut stage = Stage::new(page, network, protocol, security);
        for host in 0..stage.servers.len() {
            stage.serve(host);
        }
        stage
    }

    /// Starts a server of the page at `host`.
    pub fn serve(&mut self, host: usize) {
        let arm = self.arms[host];
        let listen = Listen {
            address: SocketAddr::new(address(host), arm.port),
            acceptor: Acceptor::new(arm.security),
            udp: match arm.protocol {
                Protocol::H3 => {
                    let settings = http_stack::h3::settings::Server::default();
                    let tls = tls::Settings::default();
                    UdpPort::H3(http_stack::h3::Acceptor::new(&tls, settings))
                }
                _ => UdpPort::Closed,
            },
        };
        let handler = origin_of(&self.page, host);
        self.plan.spawn(self.servers[host], async move {
            origin::run(listen, handler, Meters::default()).await.unwrap();
        });
    }

    /// A stage whose origins all serve, and push with the document by this policy.
    pub fn pushing(page: &Page, network: &str, protocol: Protocol, push: PushPolicy) -> Stage {
        let mut stage = Stage::new(page, network, protocol, Security::Tls13);
        for host in 0..stage.servers.len() {
            let address = SocketAddr::new(address(host), stage.arms[host].port);
            let page = stage.page.clone();
            stage.plan.spawn(stage.servers[host], async move {
                let factors = vec![1.0; page.objects.len()].into();
                let site = Arc::new(SiteReplies::new(&page));
                let origin =
                    OriginServer::new(site, host, WorkerPool::default(), factors).with_push(push);
                let listener = world::TcpListener::bind(address).unwrap();
                let acceptor = Acceptor::new(Security::Tls13);
                origin::serve(listener, acceptor, Rc::new(origin)).await.unwrap();
            });
        }
        stage
    }

    /// Starts a server at `host` that treats each of its connections this way.
    pub fn treat<F, T>(&mut self, host: usize, treatment: F)
    where
        F: Fn(world::TcpStream) -> T + 'static,
        T: Future<Output = ()> + 'static,
    {
        let address = SocketAddr::new(address(host), self.arms[host].port);
        self.plan.spawn(self.servers[host], async move {
            let listener = world::TcpListener::bind(address).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                world::spawn(treatment(stream));
            }
        });
    }

    /// One visit by `browser`.
    pub fn visit(self, browser: Rc<Browser>) -> Visited {
        self.visits(browser, 1).pop().unwrap()
    }

    /// Visits by `browser`, which is started anew for each and keeps its cache.
    pub fn visits(self, browser: Rc<Browser>, count: usize) -> Vec<Visited> {
        let plan = Arc::new(LoadPlan::new(Arc::new(self.page), self.arms));
        let tour = async move {
            let cache = Rc::new(BrowserCache::default());
            let mut visits = Vec::new();
            for _ in 0..count {
                let session = Rc::new(Session::new(Rc::clone(&browser), Rc::clone(&cache)));
                visits.push(session.visit(&plan, LIMIT).await);
            }
            visits
        };
        self.plan.run(self.client, tour).unwrap()
    }
}

fn address(host: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 1, 0, host as u8 + 1))
}

/// Maximum number of concurrent open connections among those that `select` picks. A connection closed at an instant
/// makes room for one opened at it.
pub fn most_at_once(visited: &Visited, select: impl Fn(&str) -> bool) -> usize {
    let mut changes = Vec::new();
    for connection in visited.connections.iter().filter(|c| select(&c.host)) {
        changes.push((connection.started, 1));
        changes.extend(connection.closed.map(|at| (at, -1)));
    }
    changes.sort();
    let open = changes.iter().scan(0, |open: &mut isize, (_, change)| {
        *open += change;
        Some(*open)
    });
    open.max().unwrap_or(0) as usize
}
