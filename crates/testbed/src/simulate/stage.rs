//! The simulated network of a scenario: clients, links, origins.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use chance::RandomSource;
use http_stack::spdy::Recall;
use net::{LinkConfig, Network};
use proxy::{Meters, origin};
use tokio::sync::oneshot;
use world::TcpListener;
use world::sim::{LinkId, NodeId, SimPlan};

use crate::tour::{
    self, Arms, DOWN, Detail, FarEnd, NearEnd, PepLog, PepPlace, Ready, Resolver, StepLog,
    TRAFFIC_SERVER, UP, Visitor, cross_traffic, extra_delay, link_names,
};
use scenario::{Noise, ResolverPlace, Scenario};

/// Wake-up latency in the noise model: time in which client and servers notice a packet. Measured on idle
/// machines between a packet's delivery and the answer of farlink's own programs.
const WAKE_LATENCY: Range<Duration> = Duration::from_micros(50)..Duration::from_micros(200);

/// A complete simulated world.
pub(super) struct Stage {
    pub(super) plan: SimPlan,
    /// Nodes of the visitors, in their order.
    pub(super) clients: Vec<NodeId>,
    pub(super) meters: Meters,
    /// Steps of the proxy, if there is one.
    pub(super) proxied: StepLog,
    /// The PEP, if there is one.
    pub(super) pep: Option<PepOnStage>,
}

/// A PEP, and the readiness of its leg.
pub(super) struct PepOnStage {
    pub(super) log: PepLog,
    /// Resolves once its leg is established, or with the reason why it is not.
    pub(super) stands: oneshot::Receiver<io::Result<()>>,
}

/// Parts that all clients share.
struct SharedParts {
    ups: Vec<LinkId>,
    downs: Vec<LinkId>,
    /// Links between the network's far end and the page's hosts: up, and down.
    stretch: Option<[LinkId; 2]>,
    between: Intermediary,
    /// True if clients also connect to hosts directly, past the proxies.
    past: bool,
    server_tcp: Arc<tcp::Config>,
}

/// The intermediary between clients and the page's hosts.
#[derive(Clone, Copy)]
enum Intermediary {
    Nobody,
    /// Proxies, which connect to the hosts on the clients' behalf.
    Proxies(ProxyChain),
    /// The two halves of a PEP, which terminate connections and open them again.
    Pep(PepHalves),
}

/// The last of several proxies and the number of hops in front of it, and the first one if it differs.
#[derive(Clone, Copy)]
struct ProxyChain {
    last: NodeId,
    hops: usize,
    first: Option<(NodeId, usize)>,
}

/// The halves of a PEP, and the links in front of the near one: up, and down.
#[derive(Clone, Copy)]
struct PepHalves {
    near: NodeId,
    far: NodeId,
    lan: [LinkId; 2],
}

impl Stage {
    /// Builds clients, links, origins and the proxy.
    ///
    /// # Errors
    /// If the scenario names an unknown browser.
    pub(super) fn set(
        scenario: &Scenario,
        ready: &Ready,
        arms: &Arms,
        network: &Network,
        seed: u64,
        detail: Detail,
        recall: &Recall,
    ) -> Result<Stage, String> {
        let source = RandomSource::new(seed, 0);
        let mut plan = SimPlan::new(source);
        if detail.is_watched() {
            plan.capture();
            plan.record_series();
        }
        if scenario.record.needs_movements() {
            plan.keep_series();
        }
        if scenario.record.needs_arrivals() {
            plan.keep_arrivals();
        }
        if scenario.noise == Noise::On {
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
        let (stretch, between) = (None, Intermediary::Nobody);
        let past = arms.past.is_some();
        let mut shared = SharedParts { ups, downs, stretch, between, past, server_tcp };
        if let Some(place) = PepPlace::of(scenario) {
            shared.between = Intermediary::Pep(shared.halves(&mut plan, place, scenario));
        }
        let radioed = visitors.iter().chain(&beside).map(|visitor| visitor.radio());
        for (node, name) in shared.radioed(&nodes).iter().zip(radioed) {
            radio(&mut plan, network, *node, &name, &shared.ups, &shared.downs);
        }
        shared.stretch = tour::stretch(scenario).map(|[up, down]| {
            let [up_name, down_name] = tour::STRETCH;
            [plan.link(up_name, up), plan.link(down_name, down)]
        });
        let proxies = shared.proxies(&mut plan, scenario, &nodes);
        if let Some(chain) = ProxyChain::of(&proxies) {
            shared.between = Intermediary::Proxies(chain);
        }
        let meters = Meters::default();
        let origins = tour::origins(scenario, ready, arms, source, detail);
        for (name, address) in tour::hosts(&ready.page, scenario.origin_addresses) {
            plan.host(&name, address);
        }
        let mut machines: BTreeMap<usize, NodeId> = BTreeMap::new();
        for tour::Server { machine, mut listen, answering } in origins {
            listen.acceptor.common.recall = Some(recall.clone());
            let server = *machines.entry(machine).or_insert_with(|| {
                let extra = extra_delay(scenario, &ready.page.hosts[machine]);
                let farther = extra.map(|extra| (link_names(machine), extra));
                shared.origin(&mut plan, listen.address.ip(), &nodes, farther)
            });
            let meters = meters.clone();
            plan.spawn(server, async move {
                let served = origin::run(listen, answering, meters).await;
                served.expect("a fresh node's ports are free");
            });
        }
        let proxied = StepLog::default();
        let usual = &arms.usual;
        let all = tour::Proxy::all(scenario, ready, usual, source, detail)?;
        for (proxy, (node, _)) in all.into_iter().zip(&proxies) {
            let (meters, journal) = (meters.clone(), proxied.clone());
            let proxy = proxy.recalling(recall.clone());
            plan.spawn(*node, async move {
                proxy.start(&meters, &journal).expect("a fresh node's ports are free");
            });
        }
        let pep = shared.start_pep(&mut plan, scenario, ready, usual);
        if let Some(background) = tour::Background::of(scenario, usual) {
            let server = shared.server(&mut plan, TRAFFIC_SERVER, &nodes);
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
            let (beside, at) =
                (scenario.clients.cross_traffic, cross_traffic::address(&ready.page));
            let server = shared.server(&mut plan, at.ip(), &nodes);
            plan.spawn(server, async move {
                let listener = TcpListener::bind(at).expect("a fresh node's ports are free");
                cross_traffic::serve(beside, listener).await;
            });
            plan.spawn(node, cross_traffic::keep_busy(beside, at));
        }
        Ok(Stage { plan, clients, meters, proxied, pep })
    }
}

impl ProxyChain {
    fn of(proxies: &[(NodeId, usize)]) -> Option<ProxyChain> {
        let (last, hops) = *proxies.last()?;
        let first = proxies.first().filter(|_| proxies.len() > 1).copied();
        Some(ProxyChain { last, hops, first })
    }
}

impl SharedParts {
    /// A server at `address`, at the network's far end.
    fn server(&self, plan: &mut SimPlan, address: IpAddr, clients: &[NodeId]) -> NodeId {
        self.server_behind(plan, address, clients, [&self.ups, &self.downs])
    }

    /// Nodes with a radio in front of the network: the clients, or the half of a PEP in a satellite terminal.
    fn radioed(&self, clients: &[NodeId]) -> Vec<NodeId> {
        match &self.between {
            Intermediary::Pep(halves) => vec![halves.near],
            Intermediary::Nobody | Intermediary::Proxies(_) => clients.to_vec(),
        }
    }

    /// Some of the network's hops, counted from the clients: up, and down.
    fn hops(&self, hops: Range<usize>) -> [&[LinkId]; 2] {
        let of_network = self.downs.len();
        [&self.ups[hops.clone()], &self.downs[of_network - hops.end..of_network - hops.start]]
    }

    /// The proxies, nearest to the clients first, each with the number of hops in front of it: clients connect
    /// to the first, which connects to the second.
    fn proxies(
        &self,
        plan: &mut SimPlan,
        scenario: &Scenario,
        clients: &[NodeId],
    ) -> Vec<(NodeId, usize)> {
        let places = tour::proxy_hops(scenario, self.ups.len());
        let mut proxies: Vec<(NodeId, usize)> = Vec::new();
        for (at, hops) in tour::proxy_addresses(scenario).into_iter().zip(places) {
            let node = match proxies.last() {
                None => self.server_behind(plan, at, clients, self.hops(0..hops)),
                Some((asking, nearer)) => {
                    self.server_behind(plan, at, &[*asking], self.hops(*nearer..hops))
                }
            };
            proxies.push((node, hops));
        }
        proxies
    }

    /// The halves of a PEP, at the two ends of the network.
    fn halves(&self, plan: &mut SimPlan, place: PepPlace, scenario: &Scenario) -> PepHalves {
        let tcp = Arc::new(tour::leg_tcp(scenario));
        let [near, far] = [place.near, place.far].map(|at| plan.node(at, Arc::clone(&tcp)));
        let link = tour::near_link(scenario);
        let lan = tour::NEAR_LINK.map(|name| plan.link(name, link.clone()));
        plan.route(near, far, &self.ups);
        plan.route(far, near, &self.downs);
        PepHalves { near, far, lan }
    }

    /// Starts the halves of the PEP, if there is one.
    fn start_pep(
        &self,
        plan: &mut SimPlan,
        scenario: &Scenario,
        ready: &Ready,
        arms: &[browser::HostStack],
    ) -> Option<PepOnStage> {
        let Intermediary::Pep(PepHalves { near, far, .. }) = self.between else { return None };
        let (near_end, far_end) =
            (NearEnd::of(scenario, &ready.page, arms)?, FarEnd::of(scenario)?);
        plan.spawn(far, async move {
            far_end.start().expect("a fresh node's ports are free");
        });
        let (log, (tell, stands)) = (PepLog::default(), oneshot::channel());
        let told = log.clone();
        plan.spawn(near, async move {
            // The receiver waits until the result is there.
            let _ = tell.send(near_end.start(&told).await);
        });
        Some(PepOnStage { log, stands })
    }

    /// A host of the page at `address`, perhaps farther away than others: from the clients, or from the proxy
    /// or PEP in front of it.
    fn origin(
        &self,
        plan: &mut SimPlan,
        address: IpAddr,
        clients: &[NodeId],
        farther: Option<([String; 2], LinkConfig)>,
    ) -> NodeId {
        let (mut there, mut back) = (Vec::new(), Vec::new());
        if let Some([up, down]) = self.stretch {
            there.push(up);
            back.insert(0, down);
        }
        if let Some(([up, down], extra)) = farther {
            there.push(plan.link(&up, extra.clone()));
            back.insert(0, plan.link(&down, extra));
        }
        let behind = |hops: usize| {
            let [ups, downs] = self.hops(hops..self.ups.len());
            [[ups, &there].concat(), [&back[..], downs].concat()]
        };
        let whole = behind(0);
        let whole = [&whole[0][..], &whole[1]];
        match self.between {
            Intermediary::Nobody => self.server_behind(plan, address, clients, whole),
            Intermediary::Proxies(ProxyChain { last, hops, first }) => {
                let [up, down] = behind(hops);
                let server = self.server_behind(plan, address, &[last], [&up, &down]);
                if let Some((first, hops)) = first {
                    // Path of the requests that fill its cache beforehand.
                    let [up, down] = behind(hops);
                    connect(plan, first, server, [&up, &down]);
                }
                for client in clients.iter().filter(|_| self.past) {
                    connect(plan, *client, server, whole);
                }
                server
            }
            Intermediary::Pep(PepHalves { near, far, lan: [up, down] }) => {
                let server = self.server_behind(plan, address, &[far], [&there, &back]);
                // Path of traffic that bypasses the PEP.
                connect(plan, near, server, whole);
                for client in clients {
                    connect(plan, *client, server, [&[up], &[down]]);
                    plan.lead(*client, server, near);
                }
                server
            }
        }
    }

    /// The resolver, at its place.
    fn resolver(&self, plan: &mut SimPlan, resolver: &Resolver, clients: &[NodeId]) -> NodeId {
        let (there, back) = match resolver.place {
            ResolverPlace::FarEnd => (&self.ups[..], &self.downs[..]),
            ResolverPlace::FirstHop => {
                let [there, back] = self.hops(0..1);
                (there, back)
            }
        };
        self.server_behind(plan, resolver.address.ip(), clients, [there, back])
    }

    /// A server at `address`, with the links there and back.
    fn server_behind(
        &self,
        plan: &mut SimPlan,
        address: IpAddr,
        clients: &[NodeId],
        [there, back]: [&[LinkId]; 2],
    ) -> NodeId {
        let server = plan.node(address, Arc::clone(&self.server_tcp));
        for client in clients {
            connect(plan, *client, server, [there, back]);
        }
        server
    }
}

/// Routes from one node to another, and back.
fn connect(plan: &mut SimPlan, from: NodeId, to: NodeId, [there, back]: [&[LinkId]; 2]) {
    plan.route(from, to, there);
    plan.route(to, from, back);
}

/// The network's links in the order in which packets cross them: up, and down.
pub(crate) fn links(plan: &mut SimPlan, network: &Network) -> (Vec<LinkId>, Vec<LinkId>) {
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
    plan: &mut SimPlan,
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
