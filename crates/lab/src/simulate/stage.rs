//! The scenario's stage: clients, links, origins.

use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use browser::Arm;
use chance::Source;
use net::{LinkConfig, Network};
use proxy::{Meters, origin};
use world::TcpListener;
use world::sim::{LinkId, NodeId, Plan};

use crate::scenario::{Nuisance, ResolverPlace, Scenario};
use crate::tour::{
    self, DOWN, Detail, Ready, Resolver, TRAFFIC_SERVER, UP, Visitor, beside, extra_delay,
    link_names, origin_address,
};

/// The nuisance model's wake-ups: how long client and servers take to notice that a packet has come. Measured on idle machines
/// between a packet's delivery and the answer of farlink's own programs.
const WAKE_LATENCY: Range<Duration> = Duration::from_micros(50)..Duration::from_micros(200);

/// A world with everything in its place.
pub(super) struct Stage {
    pub(super) plan: Plan,
    /// Where the visitors are, in their order.
    pub(super) clients: Vec<NodeId>,
    pub(super) meters: Meters,
}

/// What all clients share.
struct Shared {
    ups: Vec<LinkId>,
    downs: Vec<LinkId>,
    server_tcp: Arc<tcp::Config>,
}

impl Stage {
    /// Puts clients, links and origins in their places.
    pub(super) fn set(
        scenario: &Scenario,
        ready: &Ready,
        arms: &[Arm],
        network: &Network,
        seed: u64,
        detail: Detail,
    ) -> Stage {
        let source = Source::new(seed, 0);
        let mut plan = Plan::new(source);
        if detail.is_watched() {
            plan.capture();
            plan.record_series();
        }
        if scenario.nuisance == Nuisance::On {
            plan.wake_latency(WAKE_LATENCY);
        }
        let [client_tcp, server_tcp] = [&scenario.transport.client, &scenario.transport.server]
            .map(|tcp| Arc::new(tcp.config().clone()));
        let visitors = Visitor::all(scenario, seed);
        let beside = Visitor::beside(scenario, seed);
        let nodes = visitors.iter().chain(&beside).map(|visitor| {
            let node = plan.node(visitor.address(), Arc::clone(&client_tcp));
            plan.client(node, visitor.number, visitor.source());
            node
        });
        let nodes: Vec<NodeId> = nodes.collect();
        let (ups, downs) = links(&mut plan, network);
        for (node, visitor) in nodes.iter().zip(visitors.iter().chain(&beside)) {
            radio(&mut plan, network, *node, &visitor.radio(), &ups, &downs);
        }
        let shared = Shared { ups, downs, server_tcp };
        let meters = Meters::default();
        let origins = tour::origins(scenario, ready, arms, source, detail);
        for (name, address) in tour::hosts(&ready.page, scenario.hosting) {
            plan.host(&name, address);
        }
        for (index, (host, (listen, origin))) in ready.page.hosts.iter().zip(origins).enumerate() {
            let address = origin_address(index);
            let farther = extra_delay(scenario, host).map(|extra| (link_names(index), extra));
            let server = shared.server(&mut plan, address, &nodes, farther);
            let meters = meters.clone();
            plan.spawn(server, async move {
                origin::run(listen, origin, meters).await.expect("a fresh node's ports are free");
            });
        }
        if let Some(background) = tour::Background::of(scenario, arms) {
            let server = shared.server(&mut plan, TRAFFIC_SERVER, &nodes, None);
            let tls = detail.tls(source, "server/traffic");
            plan.spawn(server, async move {
                background.serve(&tls).expect("a fresh node's ports are free");
            });
        }
        if let Some(resolver) = Resolver::of(scenario, &ready.page) {
            let server = shared.resolver(&mut plan, &resolver, &nodes);
            plan.spawn(server, async move {
                resolver.start().expect("a fresh node's ports are free");
            });
        }
        let mut clients = nodes.clone();
        if beside.is_some()
            && let Some(node) = clients.pop()
        {
            let (beside, at) = (scenario.clients.beside, beside::address(&ready.page));
            let server = shared.server(&mut plan, at.ip(), &nodes, None);
            plan.spawn(server, async move {
                let listener = TcpListener::bind(at).expect("a fresh node's ports are free");
                beside::serve(beside, listener).await;
            });
            plan.spawn(node, beside::keep_busy(beside, at));
        }
        Stage { plan, clients, meters }
    }
}

impl Shared {
    /// A server at `address` with routes from and to all clients, perhaps farther away than others.
    fn server(
        &self,
        plan: &mut Plan,
        address: IpAddr,
        clients: &[NodeId],
        farther: Option<([String; 2], LinkConfig)>,
    ) -> NodeId {
        let (mut there, mut back) = (self.ups.clone(), self.downs.clone());
        if let Some(([up, down], extra)) = farther {
            there.push(plan.link(&up, extra.clone()));
            back.insert(0, plan.link(&down, extra));
        }
        self.server_behind(plan, address, clients, [&there, &back])
    }

    /// The resolver, at its place.
    fn resolver(&self, plan: &mut Plan, resolver: &Resolver, clients: &[NodeId]) -> NodeId {
        let (there, back) = match resolver.place {
            ResolverPlace::FarEnd => (&self.ups[..], &self.downs[..]),
            ResolverPlace::FirstHop => {
                (&self.ups[..1], &self.downs[self.downs.len().saturating_sub(1)..])
            }
        };
        self.server_behind(plan, resolver.address.ip(), clients, [there, back])
    }

    /// A server at `address`: links lead there, and back.
    fn server_behind(
        &self,
        plan: &mut Plan,
        address: IpAddr,
        clients: &[NodeId],
        [there, back]: [&[LinkId]; 2],
    ) -> NodeId {
        let server = plan.node(address, Arc::clone(&self.server_tcp));
        for client in clients {
            plan.route(*client, server, there);
            plan.route(server, *client, back);
        }
        server
    }
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

/// The radio of a client, if the network has radios, in front of the links next to it.
pub(crate) fn radio(
    plan: &mut Plan,
    network: &Network,
    client: NodeId,
    name: &str,
    ups: &[LinkId],
    downs: &[LinkId],
) {
    if let (Some(radio), Some(up), Some(down)) = (&network.radio, ups.first(), downs.last()) {
        plan.radio(name, radio.clone(), client, [*up, *down]);
    }
}
