//! A scenario's route, converted for its parts: place of the proxy, the stretch beyond it, and the arms between
//! client, proxy and hosts.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use browser::{HostStack, Policy, Proxy, ProxyMode, ProxyPorts};
use net::{LinkConfig, LossModel, Network, ProcessingJitter, QueueLimit};
use page::{ObjectId, Page};
use tls::{Protocol, Security};
use units::BitsPerSec;

use super::pac::Surveyed;
use super::ready::Ready;
use scenario::{CacheState, Noise, RouteKind, Scenario, Tier, Via, View};

/// Squid's usual port (`http_port 3128`), and the first of several.
pub(super) const PROXY_PORT: u16 = 3128;

/// Socket address of a proxy at `address` with a single port.
pub(super) fn proxy_port(address: IpAddr) -> SocketAddr {
    SocketAddr::new(address, PROXY_PORT)
}

/// The links beyond the proxy's place; the names key their random streams: towards the hosts, and back.
pub(crate) const STRETCH: [&str; 2] = ["upstream/up", "upstream/down"];

/// Queue limit in front of the stretch: netem's `limit`, as in kallio2016.
const STRETCH_QUEUE: QueueLimit = QueueLimit::Packets(1000);

/// Links between the proxy's place and the hosts, if there are any: up, and down.
pub(crate) fn stretch(scenario: &Scenario) -> Option<[LinkConfig; 2]> {
    let stretch = scenario.route.stretch;
    if stretch.is_none() && scenario.route.kind == RouteKind::Direct {
        return None;
    }
    let rate = stretch.rate_bit_per_s.map_or(BitsPerSec::UNLIMITED, BitsPerSec);
    let delay = Duration::from_nanos(stretch.rtt_ns.unwrap_or(0)) / 2;
    let mut link = LinkConfig::new(rate, delay, STRETCH_QUEUE);
    if scenario.noise == Noise::On {
        link.processing_jitter = ProcessingJitter::UpToOneSerialisation;
    }
    let loss = LossModel::Random(stretch.loss_ratio.unwrap_or(0.0));
    Some([link.clone(), LinkConfig { loss, ..link }])
}

/// Addresses of the HTTP proxies, nearest to the clients first: those behind the last client's.
pub(crate) fn proxy_addresses(scenario: &Scenario) -> Vec<IpAddr> {
    let tiers = scenario.route.tiers().len() as u32;
    (0..tiers).map(|tier| super::course::address(scenario.clients.users() + tier)).collect()
}

/// Address of the proxy that clients connect to, if there is one.
pub(crate) fn proxy_address(scenario: &Scenario) -> Option<IpAddr> {
    proxy_addresses(scenario).first().copied()
}

/// Number of hops between clients and each of the proxies, on a network of `of_network` hops. Places that it
/// does not have are refused when the scenario is prepared.
pub(crate) fn proxy_hops(scenario: &Scenario, of_network: usize) -> Vec<usize> {
    let hops = |tier: &Tier| tier.settings.at.hops(of_network).unwrap_or(of_network);
    scenario.route.tiers().iter().map(hops).collect()
}

/// Checks that the network has the places of the proxies, one behind the other.
///
/// # Errors
/// One sentence.
pub(super) fn check(scenario: &Scenario, network: &Network) -> Result<(), String> {
    let farther = network.beyond.len();
    let mut nearer = 0;
    for tier in scenario.route.tiers() {
        let at = tier.settings.at;
        let hops = at.hops(1 + farther).ok_or_else(|| match farther {
            0 => format!("at={at}: the network has one hop alone: use first-hop or far-end"),
            _ => format!("at={at}: behind its first hop the network has hop.1 to hop.{farther}"),
        })?;
        if hops <= nearer {
            return Err(format!(
                "the second proxy is to stand farther from clients than the first, which is behind {nearer} of the network's {} hops: say at=first-hop of the first, and use a network that has a hop.1",
                1 + farther
            ));
        }
        nearer = hops;
    }
    Ok(())
}

/// Ports of that proxy: those that clients' PAC file names, or as many as the browser's policy distributes
/// requests among.
pub(crate) fn proxy_ports(scenario: &Scenario, ready: &Ready) -> Result<Vec<SocketAddr>, String> {
    let Some(address) = proxy_address(scenario) else { return Ok(Vec::new()) };
    let ports = match ready.pac(scenario)? {
        Some(surveyed) => surveyed.ports(),
        None => (PROXY_PORT..PROXY_PORT + policys_ports(scenario)?).collect(),
    };
    Ok(ports.into_iter().map(|port| SocketAddr::new(address, port)).collect())
}

fn policys_ports(scenario: &Scenario) -> Result<u16, String> {
    let policy = Policy::named(&scenario.client.browser).map_err(|error| error.to_string())?;
    Ok(policy.proxy_ports)
}

/// Way of clients' requests to the page's hosts, unless their PAC file, if they have one, says otherwise.
pub(super) fn way(scenario: &Scenario, pac: Option<&Surveyed>) -> Result<ProxyMode, String> {
    let ports = match pac {
        None => ProxyPorts::InTurn { first: PROXY_PORT, count: policys_ports(scenario)? },
        Some(surveyed) => {
            let ports = surveyed.ports();
            let port = ports.first().copied().unwrap_or(PROXY_PORT);
            ProxyPorts::Chosen { port, of: ports.len() as u16 }
        }
    };
    Ok(way_on(scenario, ports))
}

/// The same before the proxies named by the file are known.
pub(super) fn untold_way(scenario: &Scenario) -> ProxyMode {
    way_on(scenario, ProxyPorts::Chosen { port: PROXY_PORT, of: 1 })
}

fn way_on(scenario: &Scenario, ports: ProxyPorts) -> ProxyMode {
    let Some(address) = proxy_address(scenario) else { return ProxyMode::Direct };
    let via = match (scenario.route.kind, scenario.route.settings.via) {
        (RouteKind::Socks, _) => browser::TunnelProtocol::Socks,
        (_, Via::Get) => browser::TunnelProtocol::Get,
        (_, Via::Connect) => browser::TunnelProtocol::Connect,
    };
    ProxyMode::Through(Proxy { address, ports, via })
}

/// Arms of the connections to the page's hosts, given those of the clients: from the proxy, or from the clients
/// themselves.
pub(super) fn of_hosts(scenario: &Scenario, clients: &[HostStack]) -> Vec<HostStack> {
    let of_host = |arm: &HostStack| match scenario.route.asks_proxy() {
        false => HostStack { way: ProxyMode::Direct, ..*arm },
        true => HostStack {
            protocol: Protocol::H1,
            pipelined: false,
            security: Security::None,
            way: ProxyMode::Direct,
            ..*arm
        },
    };
    clients.iter().map(of_host).collect()
}

/// Shortest possible distance of a page's objects, an input of the floor.
pub(super) struct Nearest {
    /// Objects that a cache may hold when a client asks: they may come from there. Empty without a cache.
    pub(super) held: BTreeSet<ObjectId>,
    /// Number of the network's hops in front of it.
    pub(super) hops: usize,
}

/// Objects of `page` in the nearest cache that may hold any, on a network of `of_network` hops. If a cache behind
/// it may hold more, those count as held here: the floor has a single such place.
pub(super) fn nearest(scenario: &Scenario, page: &Page, of_network: usize) -> Nearest {
    let is_one_visit = scenario.visits_each() == 1 && scenario.client.view == View::Cold;
    let alone = scenario.clients.count == 1 && is_one_visit;
    let places = proxy_hops(scenario, of_network);
    let caches = scenario.route.tiers().into_iter().zip(places).filter(|(tier, _)| tier.caches());
    let caches: Vec<(Tier, usize)> = caches.collect();
    let holds_all = |tier: &Tier| tier.settings.cache != CacheState::Cold || !alone;
    let all = caches.iter().any(|(tier, _)| holds_all(tier));
    let mut seen = BTreeSet::new();
    let objects = page.objects.iter().zip(0..);
    // A repeated URL may be in the cache the second time.
    let repeated = objects.filter(|(object, _)| !seen.insert(&object.url));
    let repeated: BTreeSet<ObjectId> = repeated.map(|(_, index)| ObjectId(index)).collect();
    let holder = caches.iter().find(|(tier, _)| holds_all(tier) || !repeated.is_empty());
    let Some((_, hops)) = holder else {
        return Nearest { held: BTreeSet::new(), hops: of_network };
    };
    let every = || (0..page.objects.len() as u32).map(ObjectId).collect();
    Nearest { held: if all { every() } else { repeated }, hops: *hops }
}

/// Notes for readers of results.
pub(super) fn notes(scenario: &Scenario) -> Vec<String> {
    let route = &scenario.route;
    let mut notes: Vec<String> = route.note().into_iter().collect();
    if route.has_cache() {
        notes.push(
            "floors take the shortest path that the route allows: objects that the proxy's cache may hold come from the proxy"
                .to_owned(),
        );
    }
    if route.compresses() {
        notes.push(
            "in simulation the proxy's compression takes no time; texts that the page's origins send uncompressed shrink as they were recorded to, or else as is typical of their kind"
                .to_owned(),
        );
    }
    if route.has_proxy() && !scenario.traffic.is_none() {
        notes.push("background traffic does not pass the proxy".to_owned());
    }
    notes
}
