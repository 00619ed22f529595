//! The two ends of a journey, built from a scenario's names: addresses, links, browser, origins.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use browser::{AutoConfig, Browser, Device, HostStack, Policy, Priorities};
use chance::{RandomSource, RandomStream};
use http_stack::h1::server::{Core, Settings};
use http_stack::h3;
use http_stack::server::Acceptor;
use http_stack::timer_wheel::Wheel;
use net::{LinkConfig, Network, ProcessingJitter};
use page::PageHost;
use proxy::{Listen, OriginServer, UdpPort, VirtualHosts, WorkerPool};
use tls::{Identity, Protocol, Security};

use super::machine::Machine;
use super::observed::Detail;
use super::ready::{Arms, Ready};
use super::{Visitor, protocols, resolution, route};
use scenario::{
    self, H3Discovery, KeepAlive, Noise, OriginAddresses, Origins, Program, Scenario, Tier, Udp,
};

/// The access link's two directions; the names key their random streams.
pub(crate) const UP: &str = "up";
pub(crate) const DOWN: &str = "down";

/// The client's radio; the name keys its random streams.
pub(crate) const RADIO: &str = "client";

/// The noise model's spread of server time and of compute: 5 %.
const SPREAD: f64 = 0.05;

/// Certificate of servers for real browsers.
pub(crate) const BROWSERS_IDENTITY: Identity = Identity::Rsa2048;

/// The network with the noise model applied.
pub(crate) fn varied(mut network: Network, noise: Noise) -> Network {
    if noise == Noise::On {
        let Network { up, down, beyond, .. } = &mut network;
        let farther = beyond.iter_mut().flat_map(|hop| [&mut hop.up, &mut hop.down]);
        for link in [up, down].into_iter().chain(farther) {
            link.processing_jitter = ProcessingJitter::UpToOneSerialisation;
        }
    }
    network
}

/// The scenario's browser.
pub(crate) fn browser(
    scenario: &Scenario,
    ready: &Ready,
    visitor: Visitor,
) -> Result<Browser, String> {
    let client = &scenario.client;
    let mut policy = Policy::named(&client.browser).map_err(|error| error.to_string())?;
    let mut device = Device::open(&client.device).map_err(|error| error.to_string())?;
    device.slowdown = client.cpu_multiplier;
    let stack = &scenario.stack;
    if let Some(limit) = stack.connections_per_host {
        policy.connections_per_host = limit as usize;
        policy.multiplexed_per_host = limit as usize;
    }
    if let Some(limit) = stack.connections_total {
        policy.connections_total = limit as usize;
        policy.connections_per_proxy = None;
    }
    if let Some(depth) = stack.pipeline_depth {
        policy.pipeline_depth = depth as usize;
    }
    let compute_spread = if scenario.noise == Noise::On { SPREAD } else { 0.0 };
    let browser = Browser::new(policy, device, compute_spread);
    let discovery = match scenario.discovery.h3 {
        H3Discovery::PriorKnowledge => browser::H3Discovery::PriorKnowledge,
        H3Discovery::AltSvc => browser::H3Discovery::AltSvc,
        H3Discovery::HttpsRecord => browser::H3Discovery::HttpsRecord,
    };
    let priorities = super::protocols::priorities(scenario)?;
    let auto_config = ready.pac(scenario)?.map(|surveyed| AutoConfig {
        script: surveyed.script.clone(),
        ports: surveyed.ports(),
        own: visitor.address(),
    });
    let knobs = &scenario.multiplexing;
    Ok(browser
        .with_auto_config(auto_config)
        .with_h2(super::protocols::h2_client(knobs))
        .with_spdy(super::protocols::spdy_client(knobs))
        .with_dependencies(priorities.as_ref().and_then(Priorities::tree))
        .with_pushes(super::protocols::pushes(scenario.serving))
        .with_h3(protocols::client(scenario))
        .with_discovery(discovery)
        .with_naming(resolution::naming(scenario)))
}

/// Private address of a host.
pub(crate) fn origin_address(index: usize) -> IpAddr {
    let index = index + 1;
    IpAddr::V4(Ipv4Addr::new(10, 1 + (index >> 16) as u8, (index >> 8) as u8, index as u8))
}

/// Extra delay of a host beyond the network's far end, each way; `None` if there is none.
pub(crate) fn extra_delay(scenario: &Scenario, host: &PageHost) -> Option<LinkConfig> {
    let farther = scenario.server.origins == Origins::Recorded && !host.extra_rtt.value.is_zero();
    farther.then(|| LinkConfig::delay(host.extra_rtt.value / 2))
}

/// The names of the links to a host that is farther away than others: up, and down.
pub(crate) fn link_names(host: usize) -> [String; 2] {
    ["up", "down"].map(|way| format!("origin/{host}/{way}"))
}

/// A port of a machine, and its handler.
pub(crate) struct Server {
    /// Index of the machine among the page's hosts.
    pub(crate) machine: usize,
    pub(crate) listen: Listen,
    pub(crate) answering: Rc<Machine>,
}

/// The origin servers in the order of the page's hosts; behind them those that only clients connect to, past
/// the proxy. `arms` are those of the clients.
pub(crate) fn origins<'a>(
    scenario: &'a Scenario,
    ready: &'a Ready,
    arms: &'a Arms,
    source: RandomSource,
    detail: Detail,
) -> impl Iterator<Item = Server> + 'a {
    let think = source.stream("origin/think");
    let factors: Rc<[f64]> = factors(scenario, ready.page.objects.len(), think).into();
    let workers = WorkerPool {
        count: scenario.server.workers.map(|count| count as usize),
        service_time: Duration::from_nanos(scenario.server.service_time_ns),
    };
    let (quic, udp) = (protocols::server(scenario), scenario.discovery.udp);
    let site = ready.site(scenario);
    let origin_addresses = scenario.origin_addresses;
    let machines = super::machines(&ready.page, origin_addresses);
    let sending = scenario.serving;
    ports(scenario, arms, &machines).into_iter().map(move |ListenPort { hosts, arm, in_front }| {
        let first = hosts[0];
        let tls = tls_of(scenario, arm, detail.tls(source, &format!("server/{first}")));
        let acceptor = match in_front {
            true => front(scenario, arm, &tls),
            false => behind(scenario),
        };
        let machine = machines[first];
        let listen = Listen {
            address: SocketAddr::new(origin_address(machine), arm.port),
            acceptor,
            udp: match (arm.protocol, udp) {
                (Protocol::H3, Udp::Open) => UdpPort::H3(h3::Acceptor::new(&tls, quic.clone())),
                (Protocol::H3, Udp::Blocked) => UdpPort::Deaf,
                _ => UdpPort::Closed,
            },
        };
        let push = super::protocols::push(sending);
        let answering = match origin_addresses {
            OriginAddresses::Separate => {
                let site = Arc::clone(&site);
                let origin = OriginServer::new(site, first, workers, Rc::clone(&factors));
                Machine::Host(origin.with_push(push))
            }
            OriginAddresses::Shared => {
                let hosts = VirtualHosts::new(&ready.page, hosts, &site, workers, &factors);
                Machine::Hosts(hosts.with_push(push))
            }
        };
        Server { machine, listen, answering: Rc::new(answering) }
    })
}

/// A port that hosts listen on.
struct ListenPort {
    hosts: Vec<usize>,
    /// Protocol and security on it.
    arm: HostStack,
    /// True if clients connect to it.
    in_front: bool,
}

/// All ports of the origins.
fn ports(scenario: &Scenario, arms: &Arms, machines: &[usize]) -> Vec<ListenPort> {
    let asks_proxy = scenario.route.asks_proxy();
    let of = |arms: &[HostStack], in_front: bool| -> Vec<ListenPort> {
        let ports = listening(arms, scenario.origin_addresses).into_iter();
        ports.map(|hosts| ListenPort { arm: arms[hosts[0]], hosts, in_front }).collect()
    };
    let mut ports = of(&route::of_hosts(scenario, &arms.usual), !asks_proxy);
    // Through a tunnel clients speak to hosts as they do past the proxy.
    for port in arms.past.iter().filter(|_| asks_proxy).flat_map(|past| of(past, true)) {
        let at = |port: &ListenPort| (machines[port.hosts[0]], port.arm.port);
        match ports.iter_mut().find(|other| at(other) == at(&port)) {
            Some(both) => (both.arm, both.in_front) = (port.arm, true),
            None => ports.push(port),
        }
    }
    ports
}

/// The hosts that each port serves: one, or all of a common machine's.
fn listening(arms: &[HostStack], origin_addresses: OriginAddresses) -> Vec<Vec<usize>> {
    if origin_addresses == OriginAddresses::Separate {
        return (0..arms.len()).map(|host| vec![host]).collect();
    }
    let mut ports: Vec<Vec<usize>> = Vec::new();
    for (host, arm) in arms.iter().enumerate() {
        match ports.iter_mut().find(|hosts| arms[hosts[0]].port == arm.port) {
            Some(hosts) => hosts.push(host),
            None => ports.push(vec![host]),
        }
    }
    ports
}

/// TLS settings of a server with this arm.
pub(super) fn tls_of(scenario: &Scenario, arm: HostStack, usual: tls::Settings) -> tls::Settings {
    let mut tls = super::protocols::server_tls(scenario, usual);
    if scenario.client.program == Program::Chromium {
        // Chromium does not support Ed25519, and offers all its protocols.
        (tls.identity, tls.protocols) = (BROWSERS_IDENTITY, vec![arm.protocol]);
    }
    tls
}

/// Acceptor of the servers that clients connect to: a scenario's settings of servers apply to these.
pub(super) fn front(scenario: &Scenario, arm: HostStack, tls: &tls::Settings) -> Acceptor {
    let mut acceptor = Acceptor::with_tls(arm.security, tls);
    if !scenario.keep_alive.is_usual() {
        acceptor.h1 = Rc::new(Core::new(keeping(scenario.keep_alive), Wheel::new()));
    }
    acceptor.h2 = super::protocols::h2_server(&scenario.multiplexing);
    acceptor.spdy = super::protocols::spdy_server(&scenario.multiplexing);
    super::protocols::set(&mut acceptor, super::protocols::of(scenario));
    if let Protocol::Spdy(version) = arm.protocol {
        acceptor.spdy_in_clear = Some(version);
    }
    acceptor
}

/// Acceptor of a host behind a proxy.
fn behind(scenario: &Scenario) -> Acceptor {
    scenario.route.tiers().last().map_or_else(|| Acceptor::new(Security::None), asked_by)
}

/// Acceptor of a server behind this proxy.
pub(super) fn asked_by(proxy: &Tier) -> Acceptor {
    let mut acceptor = Acceptor::new(Security::None);
    // The setting is the same for all protocols.
    if proxy.resolved(scenario::Protocol::H1).keep_alive == Some(false) {
        let once = Settings { requests: Some(1), ..Settings::default() };
        acceptor.h1 = Rc::new(Core::new(once, Wheel::new()));
    }
    acceptor
}

/// Keep-alive settings of HTTP/1.1.
fn keeping(keep_alive: KeepAlive) -> Settings {
    let usual = Settings::default();
    let idle_timeout = keep_alive.idle.unwrap_or(usual.idle_timeout);
    Settings { idle_timeout, requests: keep_alive.requests, ..usual }
}

/// The noise model's factors on the times of `objects` objects, in their order, none of them negative: arms
/// are paired.
pub(crate) fn factors(scenario: &Scenario, objects: usize, mut stream: RandomStream) -> Vec<f64> {
    let spread = if scenario.noise == Noise::On { SPREAD } else { 0.0 };
    (0..objects).map(|_| (1.0 + spread * stream.normal()).max(0.0)).collect()
}
