//! The scenario's proxies: farlink's own, configured by the route.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use browser::HostStack;
use cache::{MemoryLimits, StoragePolicy};
use chance::RandomSource;
use http_stack::server::Acceptor;
use http_stack::socks;
use http_stack::spdy::Recall;
use http_stack::timer_wheel::Wheel;
use proxy::access::{Destinations, PortSet};
use proxy::caching::{self, CacheStore};
use proxy::compression::CompressionSettings;
use proxy::config::{self, Forward, ProxyConfig};
use proxy::fields::Disclosure;
use proxy::forward::{self, ProxyHandler, ProxyParts};
use proxy::journal::Journal;
use proxy::target::Scheme;
use proxy::upstream::{self, OriginAddress};
use proxy::{Listen, Meters, UdpPort};
use tls::{Authorities, PLAN_START, PublicClient, Security};
use tokio::sync::Semaphore;

use super::earlier::{self, AcceptedCodings, Earlier};
use super::ends::{asked_by, front, tls_of};
use super::machine::Threads;
use super::observed::Detail;
use super::proxied::StepLog;
use super::ready::Ready;
use super::{VISIT_LIMIT, route};
use scenario::{Compression, Protocol, ProxySettings, RouteKind, Scenario};

/// Default number of concurrent connections to one origin.
const CONNECTIONS_PER_ORIGIN: usize = 64;

/// Name in `Via`; a proxy behind another appends its number, or it would take the other's requests for its own.
const PSEUDONYM: &str = "farlink";

/// Network of all hosts of a scenario.
const HOSTS: &str = "10.0.0.0/8";

/// Capacity of a cache: enough for any page.
const CACHE: MemoryLimits = MemoryLimits { bytes: 1 << 30, entry_bytes: 1 << 24 };

/// Fixed secret: a scenario's cache is never attacked, and its hash must be reproducible.
const HASH_SECRET: (u64, u64) = (1, 2);

/// A proxy that does not listen yet.
pub(crate) struct Proxy {
    settings: ProxyConfig,
    store: Option<Arc<CacheStore>>,
    ports: Vec<SocketAddr>,
    acceptor: Acceptor,
    scheme: Scheme,
    threads: Option<u32>,
    earlier: Vec<Earlier>,
}

impl Proxy {
    /// Proxies of a scenario whose clients have these arms, nearest to the clients first.
    ///
    /// # Errors
    /// If the browser is unknown.
    pub(crate) fn all(
        scenario: &Scenario,
        ready: &Ready,
        arms: &[HostStack],
        source: RandomSource,
        detail: Detail,
    ) -> Result<Vec<Proxy>, String> {
        let (tiers, addresses) = (scenario.route.tiers(), route::proxy_addresses(scenario));
        let Some(arm) = arms.first() else { return Ok(Vec::new()) };
        let accepted = AcceptedCodings::of(scenario, ready)?;
        let mut proxies = Vec::new();
        for (nearer, tier) in tiers.iter().enumerate() {
            let asking = nearer.checked_sub(1).map(|nearer| &tiers[nearer]);
            let (ports, acceptor, protocol) = match asking {
                None => {
                    let acceptor = facing_clients(scenario, *arm, source, detail);
                    (route::proxy_ports(scenario, ready)?, acceptor, scenario.stack.protocol)
                }
                Some(asking) => {
                    let port = route::proxy_port(addresses[nearer]);
                    (vec![port], asked_by(asking), Protocol::H1)
                }
            };
            let turned = tier.resolved(protocol);
            let parent = addresses.get(nearer + 1).map(|behind| route::proxy_port(*behind));
            proxies.push(Proxy {
                settings: settings(&turned, nearer, parent).map_err(|error| error.to_string())?,
                store: tier.caches().then(store),
                ports,
                scheme: if acceptor.tls.is_some() { Scheme::Https } else { Scheme::Http },
                acceptor,
                threads: turned.workers,
                earlier: earlier::all(tier, nearer, &ready.page, arms, &accepted, source),
            });
        }
        Ok(proxies)
    }

    /// The same proxy, simulated: compressed SPDY header blocks are looked up in `recall`.
    pub(crate) fn recalling(mut self, recall: Recall) -> Proxy {
        self.acceptor.common.recall = Some(recall);
        self
    }

    /// Listens and serves from then on; logs each request to `steps`.
    ///
    /// # Errors
    /// If it cannot listen.
    pub(crate) fn start(self, meters: &Meters, steps: &StepLog) -> io::Result<()> {
        // It connects to origins in clear text only.
        let tls = PublicClient::new(&Authorities::fixed(), PLAN_START).map_err(io::Error::other)?;
        let wheel = Wheel::new();
        let parts = |journal: Rc<dyn Journal>| ProxyParts {
            tls: tls.clone(),
            store: self.store.clone(),
            wheel: wheel.clone(),
            inside: self.acceptor.clone(),
            journal,
            start: PLAN_START,
        };
        let past_parent = (!self.settings.upstream.parents.is_empty()).then(|| {
            let upstream = upstream::UpstreamSettings {
                parents: Vec::new(),
                ..self.settings.upstream.clone()
            };
            let settings = ProxyConfig { upstream, ..self.settings.clone() };
            forward::Proxy::new(Arc::new(settings), parts(Rc::new(())))
        });
        let proxy =
            forward::Proxy::new(Arc::new(self.settings.clone()), parts(Rc::new(steps.clone())));
        let filled = past_parent.unwrap_or_else(|| Rc::clone(&proxy));
        let free = self.threads.map(|count| Arc::new(Semaphore::new(count as usize)));
        let first = self.ports.first().copied();
        for address in self.ports {
            let entrance = Rc::new(ProxyHandler::new(&proxy, self.scheme, address));
            if Some(address) == first {
                let filled = Rc::new(ProxyHandler::new(&filled, self.scheme, address));
                self.earlier.iter().for_each(|one| one.ask(&filled));
            }
            let acceptor = self.acceptor.clone();
            let listening = Listen { address, acceptor, udp: UdpPort::Closed }.bind()?;
            let handler = Rc::new(Threads::new(entrance, free.clone()));
            world::spawn(listening.serve(handler, meters.clone()));
        }
        Ok(())
    }
}

/// Acceptor of the proxy that clients connect to.
fn facing_clients(
    scenario: &Scenario,
    arm: HostStack,
    source: RandomSource,
    detail: Detail,
) -> Acceptor {
    if scenario.route.asks_proxy() {
        let tls = tls_of(scenario, arm, detail.tls(source, "server/proxy"));
        return front(scenario, arm, &tls);
    }
    // Tunnels are requested in clear text.
    let mut acceptor = Acceptor::new(Security::None);
    if scenario.route.kind == RouteKind::Socks {
        acceptor.socks = socks::server::SocksAccess::Open;
    }
    acceptor
}

/// An empty cache.
fn store() -> Arc<CacheStore> {
    let stored = caching::CacheSettings { limits: CACHE, policy: StoragePolicy::default() };
    CacheStore::new(stored, HASH_SECRET, PLAN_START)
}

/// Settings of a proxy with `nearer` proxies in front of it and perhaps one behind it: open to any client, for
/// any of the hosts, on any port.
fn settings(
    turned: &ProxySettings,
    nearer: usize,
    parent: Option<SocketAddr>,
) -> Result<ProxyConfig, config::ConfigError> {
    let pseudonym = match nearer {
        0 => PSEUDONYM.to_owned(),
        _ => format!("{PSEUDONYM}-{}", nearer + 1),
    };
    let usual = config::resolve(config::File::default(), &pseudonym)?;
    let ports = PortSet::any();
    let mut destinations = Destinations { tunnel_ports: ports, ..Destinations::default() };
    destinations.networks.push(HOSTS.parse().expect("it is written as a network is"));
    let forward = Forward { destinations, disclosure: Disclosure::default() };
    let mut upstream = upstream::UpstreamSettings {
        // No request is rejected before its visit has failed.
        waiting: usize::MAX,
        // A single visitor may use all connections.
        client_share: 100,
        connections_per_origin: CONNECTIONS_PER_ORIGIN,
        queue_timeout: VISIT_LIMIT,
        first_byte_timeout: VISIT_LIMIT,
        idle_timeout: VISIT_LIMIT,
        connect_timeout: VISIT_LIMIT,
        parents: Vec::from_iter(parent.map(|at| OriginAddress {
            scheme: Scheme::Http,
            host: at.ip().to_string(),
            port: at.port(),
        })),
        ..usual.upstream
    };
    if let Some(limit) = turned.upstream {
        upstream.connections_per_origin = limit as usize;
    }
    if let Some(limit) = turned.upstream_total {
        upstream.connections = limit as usize;
    }
    let compression = match turned.compression {
        Compression::Off => None,
        Compression::Shared => Some(CompressionSettings::default()),
        Compression::All => {
            Some(CompressionSettings { private: true, ..CompressionSettings::default() })
        }
    };
    Ok(ProxyConfig {
        listeners: Vec::new(),
        forward: Some(forward),
        upstream,
        compression,
        ..usual
    })
}
