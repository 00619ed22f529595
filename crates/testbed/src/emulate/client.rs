//! A client's node: farlink's own loader on the kernel's TCP in the client's network namespace.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use emu::EmulatedTopology;
use page::Page;
use record::{PepCounters, TcpEvent};
use tls::ClientSessions;
use units::Time;
use world::real;
use world::report::{Drop, Endpoint, LinkReport, RadioReport, WorldReport};

use super::NodeError;
use super::messages::{Channel, ChannelError};
use super::messages::{
    FromClient, JourneyOrder, LinkDone, NetworkReport, Prepared, RadioDone, Settle, StartSignal,
};
use super::server::Intermediary;
use crate::tour::{self, ArrivedBody, Detail, Library, Visitor, Witness};

/// Runs the journey.
pub(super) fn load(mut supervisor: Channel) -> Result<(), NodeError> {
    emu::reserve_memory();
    let order: JourneyOrder = supervisor.receive()?;
    let scenario = &order.scenario;
    let library = Library::default();
    let prepared = library.ready(scenario).and_then(|ready| {
        let network = library.network_of(scenario)?;
        let topology = super::topology(scenario, &ready, &network);
        let lead = tour::lead(scenario, &ready.page, &network);
        let pages = ready.visitable(scenario)?;
        let visitor = Visitor::of(scenario, order.seed, order.client).after(lead);
        let browser = tour::browser(scenario, &ready, visitor)?;
        Ok((ready, pages, topology, visitor, browser))
    });
    let (ready, pages, topology, visitor, browser) =
        super::tell_prepared(&mut supervisor, prepared)?;
    let tls = tour::client_tls(scenario, Detail::Records.tls(visitor.source(), "client"));
    let sessions = ClientSessions::new(tls);
    let bodies = order.detail.bodies();
    let browser = browser.with_sessions(sessions);
    let browser = Rc::new(match &bodies {
        Some(bodies) => browser.with_bodies(Rc::clone(bodies)),
        None => browser,
    });

    let Settle { .. } = supervisor.receive()?;
    supervisor.send(&Prepared::Ready)?;
    let begin: StartSignal = supervisor.receive()?;
    let mut config = super::world_config(visitor.source(), &begin, order.detail);
    config.hosts = tour::hosts(&ready.page, scenario.origin_addresses).collect();
    if order.client == scenario.clients.count {
        let at = tour::cross_traffic::address(&ready.page);
        // It ends only with the sandbox.
        return Ok(real::run(
            config,
            tour::cross_traffic::keep_busy(scenario.clients.cross_traffic, at),
        )?);
    }
    let between = Intermediary::of(scenario);
    let witness = Rc::new(SupervisorQueries::new(supervisor, topology, between));
    let told = Rc::clone(&witness);
    let detail = order.detail;
    let done = real::run(config, async move {
        let visits = match tour::tour(browser, scenario, pages, witness, visitor).await {
            Ok(visits) => visits,
            Err(error) => return FromClient::Failed(format!("background traffic: {error}")),
        };
        let endpoints = if detail.is_watched() { super::endpoints() } else { Vec::new() };
        let bodies = bodies.iter().flat_map(|kept| ArrivedBody::of(visitor.number, kept)).collect();
        FromClient::Done { visits, endpoints, notes: Vec::new(), shown: Vec::new(), bodies }
    })?;
    told.finish(done)
}

/// Queries the supervisor for the state of the network and of the servers' kernel.
pub(super) struct SupervisorQueries {
    supervisor: RefCell<Channel>,
    topology: EmulatedTopology,
    limited: RefCell<BTreeMap<SocketAddr, Duration>>,
    between: Intermediary,
    /// The first failure to query the supervisor; reported at the end.
    failure: RefCell<Option<ChannelError>>,
}

impl SupervisorQueries {
    pub(super) fn new(
        supervisor: Channel,
        topology: EmulatedTopology,
        between: Intermediary,
    ) -> SupervisorQueries {
        SupervisorQueries {
            supervisor: RefCell::new(supervisor),
            topology,
            limited: RefCell::default(),
            between,
            failure: RefCell::default(),
        }
    }

    fn ask(&self) -> Result<NetworkReport, ChannelError> {
        let mut supervisor = self.supervisor.borrow_mut();
        supervisor.send(&FromClient::Ask)?;
        supervisor.receive()
    }

    /// Report of the journey so far for a client whose sockets belong to another process: its retransmissions
    /// were seen on the wire.
    pub(super) fn report_from_outside(&self) -> WorldReport {
        self.report_with(|servers| servers.iter().map(super::capture::other_end).collect())
    }

    /// Report of the journey so far, with the client's ends of its connections.
    fn report_with(&self, own: impl FnOnce(&[Endpoint]) -> Vec<Endpoint>) -> WorldReport {
        let network = self.ask().unwrap_or_else(|error| {
            self.failure.borrow_mut().get_or_insert(error);
            NetworkReport::of_idle(self.topology.links().len())
        });
        let held = network.servers.limited.iter();
        *self.limited.borrow_mut() =
            held.map(|(client, nanos)| (*client, Duration::from_nanos(*nanos))).collect();
        self.between.hear(&network.servers);
        let mut endpoints = own(&network.servers.endpoints);
        endpoints.extend(network.servers.endpoints);
        super::capture::tell(&mut endpoints, &network.sent_again);
        let links = self.topology.links().iter().zip(network.links);
        let config = self.topology.radio();
        let radios = (0..).zip(network.radios).zip(config.into_iter().cycle()).map(
            |((client, RadioDone { transitions, energy, tail }), config)| RadioReport {
                name: tour::radio_name(client),
                config: config.clone(),
                transitions,
                energy,
                tail,
            },
        );
        WorldReport {
            digest: None,
            links: links
                .map(|(link, LinkDone { stats, delivered_bytes, busy_periods })| LinkReport {
                    name: link.name.clone(),
                    config: link.config.clone(),
                    stats,
                    delivered_bytes,
                    busy_periods,
                })
                .collect(),
            radios: radios.collect(),
            drops: network.drops.into_iter().map(Into::into).collect(),
            endpoints,
        }
    }

    /// The intermediary between the client and the page's hosts, as of the latest report.
    pub(super) fn between(&self) -> &Intermediary {
        &self.between
    }

    pub(super) fn limited(&self, client: SocketAddr) -> Duration {
        self.limited.borrow().get(&client).copied().unwrap_or_default()
    }

    /// Sends the final message to the supervisor.
    pub(super) fn finish(&self, done: FromClient) -> Result<(), NodeError> {
        match self.failure.take() {
            Some(error) => Err(error.into()),
            None => Ok(self.supervisor.borrow_mut().send(&done)?),
        }
    }
}

impl Witness for Rc<SupervisorQueries> {
    fn report(&self) -> WorldReport {
        self.report_with(|_| super::endpoints())
    }

    fn limited(&self, client: SocketAddr) -> Duration {
        SupervisorQueries::limited(self, client)
    }

    fn proxied(&self, page: &Page, client: IpAddr, since: Time) -> Vec<TcpEvent> {
        self.between.events(page, client, since)
    }

    fn carried(&self) -> Option<PepCounters> {
        self.between.carried()
    }
}

impl From<super::messages::DroppedPacket> for Drop {
    fn from(dropped: super::messages::DroppedPacket) -> Drop {
        let super::messages::DroppedPacket { at_ns, link, user, wire_bytes, cause } = dropped;
        Drop { at: Time::from_nanos(at_ns), link, user, wire_bytes, cause }
    }
}
