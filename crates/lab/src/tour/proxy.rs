//! The scenario's proxy: farlink's own, set as the route says.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use browser::Arm;
use cache::{Limits, Policy};
use chance::Source;
use http_stack::server::Acceptor;
use http_stack::socks;
use http_stack::spdy::Recall;
use http_stack::tls::{Authorities, PLAN_START, PublicClient, Security};
use http_stack::wheel::Wheel;
use proxy::access::{Destinations, Ports};
use proxy::caching::{self, Store};
use proxy::config::{self, Forward, Settings};
use proxy::fields::Disclosure;
use proxy::forward::{self, Entrance, ProxyParts};
use proxy::journal::Journal;
use proxy::target::Scheme;
use proxy::{Listen, Meters, UdpPort, upstream};
use tokio::sync::Semaphore;

use super::earlier::{self, Earlier};
use super::ends::{front, tls_of};
use super::observed::Detail;
use super::ready::Ready;
use super::steps::StepLog;
use super::threads::Threads;
use super::{VISIT_LIMIT, route};
use crate::scenario::{ProxySettings, RouteKind, Scenario};

/// What it is called in `Via`.
const PSEUDONYM: &str = "farlink";

/// All that a scenario's hosts have addresses in.
const HOSTS: &str = "10.0.0.0/8";

/// What a cache holds: any page.
const CACHE: Limits = Limits { bytes: 1 << 30, entry_bytes: 1 << 24 };

/// Nobody attacks a scenario's cache; its hash must be the same each time.
const HASH_SECRET: (u64, u64) = (1, 2);

/// A proxy that does not listen yet.
pub(crate) struct Proxy {
    settings: Settings,
    store: Option<Arc<Store>>,
    ports: Vec<SocketAddr>,
    acceptor: Acceptor,
    scheme: Scheme,
    threads: Option<u32>,
    earlier: Vec<Earlier>,
}

impl Proxy {
    /// That of a scenario whose clients speak so, if it has one.
    ///
    /// # Errors
    /// If the browser is not known.
    pub(crate) fn of(
        scenario: &Scenario,
        ready: &Ready,
        arms: &[Arm],
        source: Source,
        detail: Detail,
    ) -> Result<Option<Proxy>, String> {
        let ports = route::proxy_ports(scenario)?;
        let Some(arm) = arms.first().filter(|_| !ports.is_empty()) else { return Ok(None) };
        let mut acceptor = match scenario.route.asks_proxy() {
            true => {
                let tls = tls_of(scenario, *arm, detail.tls(source, "server/proxy"));
                front(scenario, *arm, &tls)
            }
            // Who wants a tunnel asks in clear text.
            false => Acceptor::new(Security::None),
        };
        if scenario.route.kind == RouteKind::Socks {
            acceptor.socks = socks::server::Entry::Open;
        }
        let scheme = if acceptor.tls.is_some() { Scheme::Https } else { Scheme::Http };
        let turned = scenario.route.resolved(scenario.stack.protocol);
        let settings = settings(&turned).map_err(|error| error.to_string())?;
        let caches = scenario.route.kind == RouteKind::CachingProxy;
        let store = caches.then(|| {
            let stored = caching::Settings { limits: CACHE, policy: Policy::default() };
            Store::new(stored, HASH_SECRET, PLAN_START)
        });
        let earlier = earlier::all(scenario, &ready.page, source);
        let threads = turned.workers;
        Ok(Some(Proxy { settings, store, ports, acceptor, scheme, threads, earlier }))
    }

    /// The same, simulated: what SPDY's header blocks become is looked up in `recall`.
    pub(crate) fn recalling(mut self, recall: Recall) -> Proxy {
        self.acceptor.common.recall = Some(recall);
        self
    }

    /// Listens and serves from then on; tells `steps` of each request.
    ///
    /// # Errors
    /// If it cannot listen.
    pub(crate) fn start(self, meters: &Meters, steps: &StepLog) -> io::Result<()> {
        let journal: Rc<dyn Journal> = Rc::new(steps.clone());
        // It asks origins in clear text alone.
        let tls = PublicClient::new(&Authorities::fixed(), PLAN_START).map_err(io::Error::other)?;
        let settings = Arc::new(self.settings);
        let (store, wheel, start) = (self.store, Wheel::new(), PLAN_START);
        let inside = self.acceptor.clone();
        let parts = ProxyParts { tls, store, wheel, inside, journal, start };
        let proxy = forward::Proxy::new(settings, parts);
        let free = self.threads.map(|count| Arc::new(Semaphore::new(count as usize)));
        for address in self.ports {
            let entrance = Rc::new(Entrance::new(&proxy, self.scheme, address));
            if address.port() == route::PROXY_PORT {
                self.earlier.iter().for_each(|one| one.ask(&entrance));
            }
            let acceptor = self.acceptor.clone();
            let listening = Listen { address, acceptor, udp: UdpPort::Closed }.bind()?;
            let handler = Rc::new(Threads::new(entrance, free.clone()));
            world::spawn(listening.serve(handler, meters.clone()));
        }
        Ok(())
    }
}

/// What it does: any client's bidding, for any of the hosts, whatever ports these have.
fn settings(turned: &ProxySettings) -> Result<Settings, config::ConfigError> {
    let usual = config::resolve(config::File::default(), PSEUDONYM)?;
    let ports = Ports::any();
    let mut destinations = Destinations { tunnel_ports: ports, ..Destinations::default() };
    destinations.networks.push(HOSTS.parse().expect("it is written as a network is"));
    let forward = Forward { destinations, disclosure: Disclosure::default() };
    let mut upstream = upstream::Settings {
        // Nobody is turned away before his visit has failed.
        waiting: usize::MAX,
        queue_timeout: VISIT_LIMIT,
        first_byte_timeout: VISIT_LIMIT,
        idle_timeout: VISIT_LIMIT,
        connect_timeout: VISIT_LIMIT,
        ..usual.upstream
    };
    if let Some(limit) = turned.upstream {
        upstream.connections_per_origin = limit as usize;
    }
    if let Some(limit) = turned.upstream_total {
        upstream.connections = limit as usize;
    }
    Ok(Settings { listeners: Vec::new(), forward: Some(forward), upstream, ..usual })
}
