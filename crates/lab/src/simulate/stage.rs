//! The scenario's stage: client, links, origins.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use browser::Arm;
use chance::Source;
use net::Network;
use proxy::{Meters, origin};
use world::sim::{LinkId, NodeId, Plan};

use crate::scenario::{Nuisance, Scenario};
use crate::tour::{
    self, CLIENT, DOWN, Detail, RADIO, Ready, TRAFFIC_SERVER, UP, extra_delay, link_names,
    origin_address,
};

/// The nuisance model's wake-ups: how long client and servers take to notice that a packet has come. Measured on idle machines
/// between a packet's delivery and the answer of farlink's own programs.
const WAKE_LATENCY: Range<Duration> = Duration::from_micros(50)..Duration::from_micros(200);

/// A world with everything in its place.
pub(super) struct Stage {
    pub(super) plan: Plan,
    pub(super) client: NodeId,
    pub(super) meters: Meters,
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
        if detail.is_watched() {
            plan.capture();
            plan.record_series();
        }
        if scenario.nuisance == Nuisance::On {
            plan.wake_latency(WAKE_LATENCY);
        }
        let meters = Meters::default();
        let [client_tcp, server_tcp] = [&scenario.transport.client, &scenario.transport.server]
            .map(|tcp| Arc::new(tcp.config().clone()));
        let client = plan.node(CLIENT, client_tcp);
        let (ups, downs) = links(&mut plan, network);
        let origins = tour::origins(scenario, ready, arms, source, detail);
        for (index, (host, (listen, origin))) in ready.page.hosts.iter().zip(origins).enumerate() {
            let address = origin_address(index);
            let server = plan.node(address, Arc::clone(&server_tcp));
            plan.host(&host.name, address);
            let (mut there, mut back) = (ups.clone(), downs.clone());
            if let Some(extra) = extra_delay(scenario, host) {
                let [up, down] = link_names(index);
                there.push(plan.link(&up, extra.clone()));
                back.insert(0, plan.link(&down, extra));
            }
            plan.route(client, server, &there);
            plan.route(server, client, &back);
            let meters = meters.clone();
            plan.spawn(server, async move {
                origin::run(listen, origin, meters).await.expect("a fresh node's ports are free");
            });
        }
        if let Some(background) = tour::Background::of(scenario, arms) {
            let server = plan.node(TRAFFIC_SERVER, server_tcp);
            plan.route(client, server, &ups);
            plan.route(server, client, &downs);
            let tls = detail.tls(source, "server/traffic");
            plan.spawn(server, async move {
                background.serve(&tls).expect("a fresh node's ports are free");
            });
        }
        Stage { plan, client, meters }
    }
}

/// The network's links in the order in which packets cross them: up, and down.
pub(crate) fn links(plan: &mut Plan, network: &Network) -> (Vec<LinkId>, Vec<LinkId>) {
    let mut ups = vec![plan.link(UP, network.up.clone())];
    let mut downs = vec![plan.link(DOWN, network.down.clone())];
    if let Some(radio) = &network.radio {
        plan.radio(RADIO, radio.clone(), ups[0], downs[0]);
    }
    for (hop, number) in network.beyond.iter().zip(1..) {
        ups.push(plan.link(&format!("hop/{number}/up"), hop.up.clone()));
        downs.insert(0, plan.link(&format!("hop/{number}/down"), hop.down.clone()));
    }
    (ups, downs)
}
