//! Nodes behind the network, on the kernel's TCP, each in a network namespace: origins, proxy, halves of a PEP; and
//! their answers to the supervisor.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::time::Duration;

use browser::HostStack;
use chance::RandomSource;
use page::Page;
use proxy::Meters;
use record::{PepCounters, Proxied, TcpEvent};
use scenario::{CrossTraffic, Scenario};
use tokio::sync::mpsc;
use units::Time;
use world::real;
use world::report::Endpoint;

use super::NodeError;
use super::messages::{
    AskServers, Channel, JourneyOrder, ListeningSignal, ServerReport, StartSignal,
};
use crate::tour::{
    self, Arms, Detail, FarEnd, Library, NearEnd, PepLog, PepPlace, Proxy, Ready, StepLog,
    cross_traffic,
};

/// Serves until the supervisor is gone.
pub(super) fn serve_origins(mut supervisor: Channel) -> Result<(), NodeError> {
    emu::reserve_memory();
    let order: JourneyOrder = supervisor.receive()?;
    let prepared = Library::default().ready(&order.scenario).and_then(|ready| {
        let arms = ready.arms(&order.scenario)?;
        Ok((ready, arms))
    });
    let (ready, arms) = super::tell_prepared(&mut supervisor, prepared)?;
    let begin: StartSignal = supervisor.receive()?;
    let source = RandomSource::new(order.seed, 0);
    let config = super::world_config(source, &begin, order.detail);
    real::run(config, run_origins(order, &ready, &arms, source, supervisor))?
}

async fn run_origins(
    order: JourneyOrder,
    ready: &Ready,
    arms: &Arms,
    source: RandomSource,
    mut supervisor: Channel,
) -> Result<(), NodeError> {
    let meters = Meters::default();
    // TLS with the machine's own randomness: the order of packets varies between runs anyway, so bytes may vary
    // as well.
    for server in tour::origins(&order.scenario, ready, arms, source, Detail::Records) {
        world::spawn(server.listen.bind()?.serve(server.answering, meters.clone()));
    }
    let company = order.scenario.clients.cross_traffic;
    if company != CrossTraffic::None {
        let listener = world::TcpListener::bind(cross_traffic::address(&ready.page))?;
        world::spawn(cross_traffic::serve(company, listener));
    }
    if let Some(background) = tour::Background::of(&order.scenario, &arms.usual) {
        background.serve(&Detail::Records.tls(source, "server/traffic"))?;
    }
    if let Some(resolver) = tour::Resolver::of(&order.scenario, &ready.page) {
        resolver.start()?;
    }
    supervisor.send(&ListeningSignal)?;
    answer(supervisor, || report(&meters)).await;
    Ok(())
}

// The proxy's node: farlink's proxy on the kernel's TCP in a network namespace of its own.

/// Serves until the supervisor is gone.
pub(super) fn serve_proxy(mut supervisor: Channel) -> Result<(), NodeError> {
    let order: JourneyOrder = supervisor.receive()?;
    let prepared = Library::default().ready(&order.scenario).and_then(|ready| {
        let arms = ready.arms(&order.scenario)?;
        Ok((ready, arms))
    });
    let (ready, arms) = super::tell_prepared(&mut supervisor, prepared)?;
    let begin: StartSignal = supervisor.receive()?;
    let source = RandomSource::new(order.seed, 0);
    let mut config = super::world_config(source, &begin, order.detail);
    config.hosts = tour::hosts(&ready.page, order.scenario.origin_addresses).collect();
    real::run(config, run_proxy(order, &ready, &arms, source, supervisor))?
}

async fn run_proxy(
    order: JourneyOrder,
    ready: &Ready,
    arms: &Arms,
    source: RandomSource,
    mut supervisor: Channel,
) -> Result<(), NodeError> {
    let (meters, journal) = (Meters::default(), StepLog::default());
    let proxies = Proxy::all(&order.scenario, ready, &arms.usual, source, Detail::Records);
    for proxy in proxies.map_err(NodeError::Scenario)? {
        proxy.start(&meters, &journal)?;
    }
    supervisor.send(&ListeningSignal)?;
    let report = || ServerReport { proxied: journal.all(), ..report(&meters) };
    answer(supervisor, report).await;
    Ok(())
}

// The nodes of a PEP's two halves: farlink's own on the kernel's TCP, each in a network namespace of its own.
//
// The routes of the near end's namespace lead connections to it: any TCP connection to one of the page's hosts
// is delivered locally, and it listens at the hosts' addresses (`IP_TRANSPARENT`). This needs no netfilter.

/// Runs the half beyond the network, until the supervisor is gone.
pub(super) fn serve_far_pep(mut supervisor: Channel) -> Result<(), NodeError> {
    let order: JourneyOrder = supervisor.receive()?;
    let far = FarEnd::of(&order.scenario).ok_or_else(|| "the route has no PEP".to_owned());
    let far = super::tell_prepared(&mut supervisor, far)?;
    let config = begun(&mut supervisor, &order)?;
    real::run(config, async move {
        let _remote = far.start()?;
        supervisor.send(&ListeningSignal)?;
        answer(supervisor, || report(&Meters::default())).await;
        Ok(())
    })?
}

/// Runs the half on the clients' side, until the supervisor is gone; reports that it listens once the leg is
/// established.
pub(super) fn serve_near_pep(mut supervisor: Channel) -> Result<(), NodeError> {
    let order: JourneyOrder = supervisor.receive()?;
    let prepared = Library::default().ready(&order.scenario);
    let prepared = prepared.and_then(|ready| near(&order, &ready));
    let near = super::tell_prepared(&mut supervisor, prepared)?;
    let config = begun(&mut supervisor, &order)?;
    real::run(config, async move {
        let log = PepLog::default();
        near.start(&log).await?;
        supervisor.send(&ListeningSignal)?;
        let report = || ServerReport { carried: log.carried(), ..report(&Meters::default()) };
        answer(supervisor, report).await;
        Ok(())
    })?
}

fn near(order: &JourneyOrder, ready: &Ready) -> Result<NearEnd, String> {
    let plan = ready.load_plan(&order.scenario)?;
    let arms: &[HostStack] = plan.arms();
    NearEnd::of(&order.scenario, &ready.page, arms).ok_or_else(|| "the route has no PEP".to_owned())
}

/// Configuration of the node's world, received when the supervisor starts it.
fn begun(supervisor: &mut Channel, order: &JourneyOrder) -> Result<real::Config, NodeError> {
    let begin: StartSignal = supervisor.receive()?;
    Ok(super::world_config(RandomSource::new(order.seed, 0), &begin, order.detail))
}

// Answers of the nodes behind the network to the supervisor's queries while they serve.

/// Answers with the result of `report`, until the supervisor is gone.
pub(super) async fn answer(mut supervisor: Channel, report: impl Fn() -> ServerReport) {
    let (questions, mut asked) = mpsc::unbounded_channel();
    let (answers, to_send) = std::sync::mpsc::channel();
    std::thread::spawn(move || -> Result<(), NodeError> {
        loop {
            let AskServers = supervisor.receive()?;
            if questions.send(()).is_err() {
                return Ok(());
            }
            let Ok(report) = to_send.recv() else { return Ok(()) };
            supervisor.send(&report)?;
        }
    });
    while let Some(()) = asked.recv().await {
        if answers.send(report()).is_err() {
            break;
        }
    }
}

/// State of this node's kernel and HTTP so far.
pub(super) fn report(meters: &Meters) -> ServerReport {
    let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    ServerReport {
        endpoints: super::endpoints(),
        limited: meters.all().into_iter().map(|(client, held)| (client, nanos(held))).collect(),
        ..ServerReport::default()
    }
}

// Activity of the proxy or PEP between a client and the page's hosts, known to the client's node from the
// latest report.

/// The intermediary between a client and the hosts.
pub(super) enum Intermediary {
    Nobody,
    Proxy(ProxyEvents),
    Pep(PlacedPep),
}

/// An HTTP proxy.
pub(super) struct ProxyEvents {
    address: IpAddr,
    proxied: RefCell<Vec<Proxied>>,
    endpoints: RefCell<Vec<Endpoint>>,
}

/// A PEP.
pub(super) struct PlacedPep {
    place: PepPlace,
    carried: Cell<Option<PepCounters>>,
    endpoints: RefCell<Vec<Endpoint>>,
}

impl Intermediary {
    /// The intermediary of a scenario.
    pub(super) fn of(scenario: &Scenario) -> Intermediary {
        let endpoints = RefCell::default();
        if let Some(place) = PepPlace::of(scenario) {
            return Intermediary::Pep(PlacedPep { place, carried: Cell::default(), endpoints });
        }
        let Some(address) = tour::proxy_address(scenario) else { return Intermediary::Nobody };
        Intermediary::Proxy(ProxyEvents { address, proxied: RefCell::default(), endpoints })
    }

    /// Takes over a report of the nodes behind the network.
    pub(super) fn hear(&self, servers: &ServerReport) {
        let own = |addresses: &[IpAddr]| {
            let ends = servers.endpoints.iter();
            ends.filter(|end| addresses.contains(&end.local.ip())).cloned().collect()
        };
        match self {
            Intermediary::Nobody => {}
            Intermediary::Proxy(ProxyEvents { address, proxied, endpoints }) => {
                proxied.borrow_mut().clone_from(&servers.proxied);
                *endpoints.borrow_mut() = own(&[*address]);
            }
            Intermediary::Pep(PlacedPep { place, carried, endpoints }) => {
                carried.set(servers.carried);
                *endpoints.borrow_mut() = own(&[place.near, place.far]);
            }
        }
    }

    /// Events of the intermediary since `since`, on behalf of the client at `client`, which loads `page`.
    pub(super) fn events(&self, page: &Page, client: IpAddr, since: Time) -> Vec<TcpEvent> {
        match self {
            Intermediary::Nobody => Vec::new(),
            Intermediary::Proxy(ProxyEvents { address, proxied, endpoints }) => {
                let (proxied, endpoints) = (proxied.borrow(), endpoints.borrow());
                tour::proxied_events(page, &proxied, &endpoints, client, &[*address], since)
            }
            Intermediary::Pep(PlacedPep { place, endpoints, .. }) => {
                tour::pep_events(*place, &endpoints.borrow(), since)
            }
        }
    }

    /// Counters of a PEP so far.
    pub(super) fn carried(&self) -> Option<PepCounters> {
        match self {
            Intermediary::Pep(PlacedPep { carried, .. }) => carried.get(),
            Intermediary::Nobody | Intermediary::Proxy(_) => None,
        }
    }
}
