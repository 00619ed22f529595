//! What a scenario says of its route, as its parts are told it: where the proxy is, what lies beyond it, who speaks what with whom.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use browser::{Arm, Policy, Ports, Proxy, Way};
use net::{LinkConfig, LossModel, Network, ProcessingJitter, QueueLimit};
use page::{ObjectId, Page};
use tls::{Protocol, Security};
use units::BitsPerSec;

use super::pac::Surveyed;
use super::ready::Ready;
use super::visitor;
use scenario::{CacheState, Nuisance, RouteKind, Scenario, Tier, Via, View};

/// Squid's usual port (`http_port 3128`), and the first where there are several.
pub(super) const PROXY_PORT: u16 = 3128;

/// Where a proxy at `address` listens that has but one port.
pub(super) fn proxy_port(address: IpAddr) -> SocketAddr {
    SocketAddr::new(address, PROXY_PORT)
}

/// The links beyond the proxy's place, by the names that key their random streams: towards the hosts, and back.
pub(crate) const STRETCH: [&str; 2] = ["upstream/up", "upstream/down"];

/// How many packets may wait in front of the stretch: netem's `limit`, with which kallio2016 made it.
const STRETCH_QUEUE: QueueLimit = QueueLimit::Packets(1000);

/// What lies between the proxy's place and the hosts, if anything does: up, and down.
pub(crate) fn stretch(scenario: &Scenario) -> Option<[LinkConfig; 2]> {
    let stretch = scenario.route.stretch;
    if stretch.is_none() && scenario.route.kind == RouteKind::Direct {
        return None;
    }
    let rate = stretch.rate_bit_per_s.map_or(BitsPerSec::UNLIMITED, BitsPerSec);
    let delay = Duration::from_nanos(stretch.rtt_ns.unwrap_or(0)) / 2;
    let mut link = LinkConfig::new(rate, delay, STRETCH_QUEUE);
    if scenario.nuisance == Nuisance::On {
        link.processing_jitter = ProcessingJitter::UpToOneSerialisation;
    }
    let loss = LossModel::Random(stretch.loss_ratio.unwrap_or(0.0));
    Some([link.clone(), LinkConfig { loss, ..link }])
}

/// Where the proxies of HTTP are, from the clients on: they have the addresses behind the last client's.
pub(crate) fn proxy_addresses(scenario: &Scenario) -> Vec<IpAddr> {
    let tiers = scenario.route.tiers().len() as u32;
    (0..tiers).map(|tier| visitor::address(scenario.clients.users() + tier)).collect()
}

/// Where the proxy is with which clients speak, if there is one.
pub(crate) fn proxy_address(scenario: &Scenario) -> Option<IpAddr> {
    proxy_addresses(scenario).first().copied()
}

/// How many hops lie between clients and each of the proxies, on a network of so many. Places that it does not have are refused when the scenario is prepared.
pub(crate) fn proxy_hops(scenario: &Scenario, of_network: usize) -> Vec<usize> {
    let hops = |tier: &Tier| tier.settings.at.hops(of_network).unwrap_or(of_network);
    scenario.route.tiers().iter().map(hops).collect()
}

/// Checks that the network has the places where proxies are to stand, one behind the other.
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

/// On which ports that proxy listens: those that clients' PAC file names, or as many as the browser's policy deals requests out among.
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

/// How clients' requests get to the page's hosts, where their PAC file, if they have one, does not say otherwise.
pub(super) fn way(scenario: &Scenario, pac: Option<&Surveyed>) -> Result<Way, String> {
    let ports = match pac {
        None => Ports::InTurn { first: PROXY_PORT, count: policys_ports(scenario)? },
        Some(surveyed) => {
            let ports = surveyed.ports();
            let port = ports.first().copied().unwrap_or(PROXY_PORT);
            Ports::Chosen { port, of: ports.len() as u16 }
        }
    };
    Ok(way_on(scenario, ports))
}

/// The same as long as it is not known what the file names.
pub(super) fn untold_way(scenario: &Scenario) -> Way {
    way_on(scenario, Ports::Chosen { port: PROXY_PORT, of: 1 })
}

fn way_on(scenario: &Scenario, ports: Ports) -> Way {
    let Some(address) = proxy_address(scenario) else { return Way::Direct };
    let via = match (scenario.route.kind, scenario.route.settings.via) {
        (RouteKind::Socks, _) => browser::Via::Socks,
        (_, Via::Get) => browser::Via::Get,
        (_, Via::Connect) => browser::Via::Connect,
    };
    Way::Through(Proxy { address, ports, via })
}

/// How the page's hosts are spoken to by whoever speaks with them, if clients speak so.
pub(super) fn of_hosts(scenario: &Scenario, clients: &[Arm]) -> Vec<Arm> {
    let of_host = |arm: &Arm| match scenario.route.asks_proxy() {
        false => Arm { way: Way::Direct, ..*arm },
        true => Arm {
            protocol: Protocol::H1,
            pipelined: false,
            security: Security::None,
            way: Way::Direct,
            ..*arm
        },
    };
    clients.iter().map(of_host).collect()
}

/// As near as a page's objects can be: what the floor goes by.
pub(super) struct Nearest {
    /// Objects that a cache may hold when a client asks: those do not come from farther than it, at the least. Without a cache there are none.
    pub(super) held: BTreeSet<ObjectId>,
    /// How many of the network's hops lie in front of it.
    pub(super) hops: usize,
}

/// What the nearest cache that may hold anything of `page` may hold, on a network of so many hops. If one behind it may hold more, that may as well be here: the floor
/// has but one such place.
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
    // What a page asks for twice may be there the second time.
    let repeated = objects.filter(|(object, _)| !seen.insert(&object.url));
    let repeated: BTreeSet<ObjectId> = repeated.map(|(_, index)| ObjectId(index)).collect();
    let holder = caches.iter().find(|(tier, _)| holds_all(tier) || !repeated.is_empty());
    let Some((_, hops)) = holder else {
        return Nearest { held: BTreeSet::new(), hops: of_network };
    };
    let every = || (0..page.objects.len() as u32).map(ObjectId).collect();
    Nearest { held: if all { every() } else { repeated }, hops: *hops }
}

/// What a reader of results must know.
pub(super) fn notes(scenario: &Scenario) -> Vec<String> {
    let route = &scenario.route;
    let mut notes: Vec<String> = route.note().into_iter().collect();
    if route.has_cache() {
        notes.push(
            "floors take the shortest path that the route allows: objects that the proxy's cache may hold come from the proxy"
                .to_owned(),
        );
    }
    if route.has_proxy() && !scenario.traffic.is_none() {
        notes.push("background traffic does not pass the proxy".to_owned());
    }
    notes
}
