//! What a scenario says of its route, as its parts are told it: where the proxy is, what lies beyond it, who speaks what with whom.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use browser::{Arm, Policy, Proxy, Way};
use http_stack::tls::{Protocol, Security};
use net::{LinkConfig, LossModel, ProcessingJitter, QueueLimit};
use page::{ObjectId, Page};
use units::BitsPerSec;

use super::visitor;
use crate::scenario::{CacheState, Nuisance, RouteKind, Scenario, Via, View};

/// Squid's usual port (`http_port 3128`), and the first where there are several.
pub(super) const PROXY_PORT: u16 = 3128;

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

/// Where the proxy is, if there is one: it has the address behind the last client's.
pub(crate) fn proxy_address(scenario: &Scenario) -> Option<IpAddr> {
    scenario.route.has_proxy().then(|| visitor::address(scenario.clients.users()))
}

/// On which ports it listens: as many as the browser's policy deals requests out among.
pub(crate) fn proxy_ports(scenario: &Scenario) -> Result<Vec<SocketAddr>, String> {
    let Some(address) = proxy_address(scenario) else { return Ok(Vec::new()) };
    let ports = ports(scenario)?;
    Ok((PROXY_PORT..PROXY_PORT + ports).map(|port| SocketAddr::new(address, port)).collect())
}

fn ports(scenario: &Scenario) -> Result<u16, String> {
    let policy = Policy::named(&scenario.client.browser).map_err(|error| error.to_string())?;
    Ok(policy.proxy_ports)
}

/// How clients' requests get to the page's hosts.
pub(super) fn way(scenario: &Scenario) -> Result<Way, String> {
    let Some(address) = proxy_address(scenario) else { return Ok(Way::Direct) };
    let via = match (scenario.route.kind, scenario.route.settings.via) {
        (RouteKind::Socks, _) => browser::Via::Socks,
        (_, Via::Get) => browser::Via::Get,
        (_, Via::Connect) => browser::Via::Connect,
    };
    Ok(Way::Through(Proxy { address, port: PROXY_PORT, ports: ports(scenario)?, via }))
}

/// How the page's hosts are spoken to by whoever speaks with them, if clients speak so.
pub(super) fn of_hosts(scenario: &Scenario, clients: &[Arm]) -> Vec<Arm> {
    let of_host = |arm: &Arm| match scenario.route.asks_proxy() {
        false => Arm { way: Way::Direct, ..*arm },
        true => Arm {
            protocol: Protocol::H1,
            pipelined: false,
            security: Security::None,
            port: 80,
            way: Way::Direct,
            blocked: arm.blocked,
        },
    };
    clients.iter().map(of_host).collect()
}

/// Objects that the proxy's cache may hold when a client asks: those do not come from farther than the proxy, at the least. Without a cache
/// there are none.
pub(super) fn at_proxy(scenario: &Scenario, page: &Page) -> BTreeSet<ObjectId> {
    let route = &scenario.route;
    if route.kind != RouteKind::CachingProxy {
        return BTreeSet::new();
    }
    let is_one_visit = scenario.visits_each() == 1 && scenario.client.view == View::Cold;
    let alone = scenario.clients.count == 1 && is_one_visit;
    let all = route.settings.cache != CacheState::Cold || !alone;
    let mut seen = BTreeSet::new();
    let objects = page.objects.iter().zip(0..);
    // What a page asks for twice may be there the second time.
    let held = objects.filter(|(object, _)| !seen.insert(&object.url) || all);
    held.map(|(_, index)| ObjectId(index)).collect()
}

/// What a reader of results must know.
pub(super) fn notes(scenario: &Scenario) -> Vec<String> {
    let route = &scenario.route;
    let mut notes: Vec<String> = route.note().into_iter().collect();
    if route.kind == RouteKind::CachingProxy {
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
