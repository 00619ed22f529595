//! The scenario's stage: client, links, origins - and what the scenario's names stand for.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use browser::{Arm, Browser, Device, Policy};
use chance::{Source, Stream};
use http_stack::server::Acceptor;
use net::{LinkConfig, Network, ProcessingJitter};
use proxy::{Listen, Meters, Origin, Workers, origin};
use world::sim::{LinkId, NodeId, Plan};

use super::observe::Detail;
use super::ready::Ready;
use crate::scenario::{Nuisance, Origins, Scenario};

/// The access link's two directions, by the names that key their random streams.
pub(super) const UP: &str = "up";
pub(super) const DOWN: &str = "down";

/// The client's address.
pub(super) const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

/// A world with everything in its place.
pub(super) struct Stage {
    pub(super) plan: Plan,
    pub(super) client: NodeId,
    pub(super) meters: Meters,
}

/// A network as a scenario with this nuisance has it.
pub(super) fn varied(mut network: Network, nuisance: Nuisance) -> Network {
    if nuisance == Nuisance::On {
        let Network { up, down, beyond, .. } = &mut network;
        let farther = beyond.iter_mut().flat_map(|hop| [&mut hop.up, &mut hop.down]);
        for link in [up, down].into_iter().chain(farther) {
            link.processing_jitter = ProcessingJitter::UpToOneSerialisation;
        }
    }
    network
}

/// What the scenario's browser is.
pub(super) fn browser(scenario: &Scenario) -> Result<Browser, String> {
    let client = &scenario.client;
    let mut policy = Policy::named(&client.browser).map_err(|error| error.to_string())?;
    let mut device = Device::named(&client.device).map_err(|error| error.to_string())?;
    device.slowdown = client.cpu_multiplier;
    let stack = &scenario.stack;
    if let Some(limit) = stack.connections_per_host {
        policy.connections_per_host = limit as usize;
    }
    if let Some(limit) = stack.connections_total {
        policy.connections_total = limit as usize;
    }
    let compute_spread = if scenario.nuisance == Nuisance::On { super::SPREAD } else { 0.0 };
    Ok(Browser::new(policy, device, compute_spread))
}

impl Stage {
    /// Puts client, links and origins in their places.
    pub(super) fn set(
        scenario: &Scenario,
        ready: &Ready,
        arms: &[Arm],
        network: &Network,
        source: Source,
        detail: Detail,
    ) -> Stage {
        let mut plan = Plan::new(source);
        if detail == Detail::Packets {
            plan.capture();
            plan.record_series();
        }
        let meters = Meters::default();
        let [client_tcp, server_tcp] = [&scenario.transport.client, &scenario.transport.server]
            .map(|tcp| Arc::new(tcp.config().clone()));
        let client = plan.node(CLIENT, client_tcp);
        let (ups, downs) = links(&mut plan, network);
        let factors = think_factors(scenario, ready, source);
        for (index, host) in ready.page.hosts.iter().enumerate() {
            let address = origin_address(index);
            let server = plan.node(address, Arc::clone(&server_tcp));
            plan.host(&host.name, address);
            let (mut there, mut back) = (ups.clone(), downs.clone());
            if scenario.server.origins == Origins::Recorded && !host.extra_rtt.value.is_zero() {
                let extra = LinkConfig::delay(host.extra_rtt.value / 2);
                there.push(plan.link(&format!("origin/{index}/up"), extra.clone()));
                back.insert(0, plan.link(&format!("origin/{index}/down"), extra));
            }
            plan.route(client, server, &there);
            plan.route(server, client, &back);
            let arm = arms[index];
            let listen = Listen {
                address: SocketAddr::new(address, arm.port),
                acceptor: Acceptor::with_tls(
                    arm.security,
                    &detail.tls(source, &format!("server/{index}")),
                ),
            };
            let workers = Workers {
                count: scenario.server.workers.map(|count| count as usize),
                service_time: Duration::from_nanos(scenario.server.service_time_ns),
            };
            let site = Arc::clone(&ready.site);
            let origin = Rc::new(Origin::new(site, index, workers, Rc::clone(&factors)));
            let meters = meters.clone();
            plan.spawn(server, async move {
                origin::run(listen, origin, meters).await.expect("a fresh node's ports are free");
            });
        }
        Stage { plan, client, meters }
    }
}

/// Private addresses, one a host.
pub(super) fn origin_address(index: usize) -> IpAddr {
    let index = index + 1;
    IpAddr::V4(Ipv4Addr::new(10, 1 + (index >> 16) as u8, (index >> 8) as u8, index as u8))
}

/// The network's links in the order in which packets cross them: up, and down.
pub(crate) fn links(plan: &mut Plan, network: &Network) -> (Vec<LinkId>, Vec<LinkId>) {
    let mut ups = vec![plan.link(UP, network.up.clone())];
    let mut downs = vec![plan.link(DOWN, network.down.clone())];
    for (hop, number) in network.beyond.iter().zip(1..) {
        ups.push(plan.link(&format!("hop/{number}/up"), hop.up.clone()));
        downs.insert(0, plan.link(&format!("hop/{number}/down"), hop.down.clone()));
    }
    (ups, downs)
}

/// The nuisance model's factors on each object's server time, in the page's order: arms are paired.
fn think_factors(scenario: &Scenario, ready: &Ready, source: Source) -> Rc<[f64]> {
    factors(scenario, ready, source.stream("origin/think")).into()
}

/// One factor an object, none of them negative.
pub(super) fn factors(scenario: &Scenario, ready: &Ready, mut stream: Stream) -> Vec<f64> {
    let spread = if scenario.nuisance == Nuisance::On { super::SPREAD } else { 0.0 };
    ready.page.objects.iter().map(|_| (1.0 + spread * stream.normal()).max(0.0)).collect()
}
