//! Runs one journey in the simulated world: a pure function of its plan.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_stack::spdy::Recall;
use page::Page;
use proxy::Meters;
use record::{PepCounters, TcpEvent, VisitRecord};
use scenario::{Execute, JourneyPlan, JourneyResult, Scenario, World};
use tls::ClientSessions;
use tokio::sync::oneshot;
use units::Time;
use world::sim;

use crate::tour::{
    self, ArrivedBody, Detail, KeptSeries, Library, Observed, Packets, PepLog, PepPlace,
    PolicyLimits, StepLog, Traffic, Visitor, Witness,
};

mod stage;

use stage::Stage;

pub(crate) use stage::{links, radio};

/// Executes journeys in virtual time.
#[derive(Default)]
pub struct Simulator {
    library: Arc<Library>,
    memories: Memories,
}

impl Simulator {
    /// An executor of journeys with the pages and networks of `library`.
    pub fn new(library: Arc<Library>) -> Simulator {
        Simulator { library, memories: Memories::default() }
    }

    /// Runs a journey and keeps all its packets.
    ///
    /// # Errors
    /// If it cannot be run, or not to its end.
    pub fn observe(&self, scenario: &Scenario, seed: u64) -> Result<Observed, String> {
        self.observe_in(scenario, seed, Detail::Packets)
    }

    /// Runs a journey and keeps only digests of the bodies that arrive.
    ///
    /// # Errors
    /// If it cannot be run, or not to its end.
    pub fn observe_bodies(&self, scenario: &Scenario, seed: u64) -> Result<Observed, String> {
        self.observe_in(scenario, seed, Detail::Bodies)
    }

    fn observe_in(
        &self,
        scenario: &Scenario,
        seed: u64,
        detail: Detail,
    ) -> Result<Observed, String> {
        let (result, traffic) = self.run(scenario, seed, detail)?;
        let page = self.library.page_of(scenario)?;
        Ok(Observed::new(Arc::new(scenario.clone()), seed, result, &page, traffic))
    }

    fn run(
        &self,
        scenario: &Scenario,
        seed: u64,
        detail: Detail,
    ) -> Result<(JourneyResult, Traffic), String> {
        self.memories.lend(|recall| self.run_with(scenario, seed, detail, recall))
    }

    fn run_with(
        &self,
        scenario: &Scenario,
        seed: u64,
        detail: Detail,
        recall: &Recall,
    ) -> Result<(JourneyResult, Traffic), String> {
        if scenario.world != World::Sim {
            return Err(format!("the world `{}` is not simulated", scenario.world));
        }
        let ready = self.library.ready(scenario)?;
        let network = self.library.network_of(scenario)?;
        let pages = ready.visitable(scenario)?;
        let arms = ready.arms(scenario)?;
        let Stage { mut plan, clients, meters, proxied, pep } =
            Stage::set(scenario, &ready, &arms, &network, seed, detail, recall)?;
        let addresses = tour::proxy_addresses(scenario);
        let middleman = ProxyLogs { addresses, proxied };
        let (split, stands) = pep.map(|pep| (pep.log, pep.stands)).unzip();
        let split = split.zip(PepPlace::of(scenario)).map(|(log, place)| PepLogs { log, place });
        let lead = tour::lead(scenario, &ready.page, &network);
        let visitors = Visitor::all(scenario, seed).into_iter().map(|one| one.after(lead));
        let visitors: Vec<Visitor> = visitors.collect();
        let (mut tours, mut kept) = (Vec::new(), Vec::new());
        for visitor in &visitors {
            let tls = tour::client_tls(scenario, detail.tls(visitor.source(), "client"));
            let sessions = ClientSessions::new(tls);
            let browser = tour::browser(scenario, &ready, *visitor)?.with_sessions(sessions);
            let mut browser = browser.with_recall(recall.clone());
            if let Some(bodies) = detail.bodies() {
                browser = browser.with_bodies(Rc::clone(&bodies));
                kept.push((visitor.number, bodies));
            }
            let browser = Rc::new(browser);
            let (meters, middleman) = (meters.clone(), middleman.clone());
            let watched = SimulatedWitness { meters, middleman, split: split.clone() };
            tours.push(tour::tour(browser, scenario, pages.clone(), watched, *visitor));
        }
        let first = tours.remove(0);
        let others: Vec<_> = tours
            .into_iter()
            .zip(&clients[1..])
            .map(|(tour, at)| on(&mut plan, *at, tour))
            .collect();
        let journey = async move {
            if let Some(stands) = stands {
                stands.await.map_err(io::Error::other).flatten()?;
            }
            let mut records = vec![first.await];
            for other in others {
                // A tour ends only by itself.
                records.push(other.await.unwrap_or_else(|_| Ok(Vec::new())));
            }
            io::Result::Ok((records, traffic(detail)))
        };
        let journey = plan.run(clients[0], journey).map_err(|error| error.to_string())?;
        let (records, mut traffic) = journey.map_err(|error| error.to_string())?;
        let records = records.into_iter().collect::<io::Result<Vec<_>>>();
        let records = records.map_err(|error| format!("background traffic: {error}"))?;
        let bodies = kept.iter().flat_map(|(client, kept)| ArrivedBody::of(*client, kept));
        traffic.bodies = bodies.collect();
        let mut visits = Vec::new();
        for (visitor, records) in visitors.into_iter().zip(records) {
            let limits = PolicyLimits::new(scenario, &ready, &network, visitor)?;
            visits.extend(records.into_iter().map(|record| limits.measure(record)));
        }
        let mut notes = tour::notes(scenario, &network, &ready);
        notes.extend(tour::drop_note(scenario, &ready, &visits));
        Ok((JourneyResult { visits, notes, failure: None }, traffic))
    }
}

impl Execute for Simulator {
    fn execute(&self, journey: &JourneyPlan) -> JourneyResult {
        match self.run(&journey.scenario, journey.seed, Detail::Records) {
            Ok((result, _)) => result,
            Err(failure) => JourneyResult { failure: Some(failure), ..JourneyResult::default() },
        }
    }
}

/// Starts a tour on its client's node. The result is to be awaited.
fn on(
    plan: &mut sim::SimPlan,
    client: sim::NodeId,
    tour: impl Future<Output = io::Result<Vec<VisitRecord>>> + 'static,
) -> oneshot::Receiver<io::Result<Vec<VisitRecord>>> {
    let (done, records) = oneshot::channel();
    plan.spawn(client, async move {
        // The receiver waits until the result is there.
        let _ = done.send(tour.await);
    });
    records
}

/// The simulated world reports everything except the effect of HTTP's own windows, and a proxy's steps for each
/// request.
struct SimulatedWitness {
    meters: Meters,
    middleman: ProxyLogs,
    split: Option<PepLogs>,
}

/// The PEP of a journey, if there is one.
#[derive(Clone)]
struct PepLogs {
    place: PepPlace,
    log: PepLog,
}

/// The proxies of a journey, nearest to the clients first.
#[derive(Clone)]
struct ProxyLogs {
    addresses: Vec<IpAddr>,
    proxied: StepLog,
}

impl Witness for SimulatedWitness {
    fn report(&self) -> world::report::WorldReport {
        report()
    }

    fn limited(&self, client: SocketAddr) -> Duration {
        self.meters.limited(client)
    }

    fn proxied(&self, page: &Page, client: IpAddr, since: Time) -> Vec<TcpEvent> {
        if let Some(PepLogs { place, .. }) = &self.split {
            return tour::pep_events(*place, &report().endpoints, since);
        }
        let ProxyLogs { addresses, proxied } = &self.middleman;
        if addresses.is_empty() {
            return Vec::new();
        }
        tour::proxied_events(page, &proxied.all(), &report().endpoints, client, addresses, since)
    }

    fn carried(&self) -> Option<PepCounters> {
        self.split.as_ref()?.log.carried()
    }

    fn kept(&self, client: IpAddr, since: Time) -> Option<KeptSeries> {
        let (movements, arrivals) = (sim::movements(client, since), sim::arrivals(client, since));
        Some(KeptSeries { movements, arrivals })
    }
}

/// The world's own report so far.
fn report() -> world::report::WorldReport {
    sim::report().expect("a simulated journey runs in the simulated world")
}

/// Packets of the current world so far.
fn traffic(detail: Detail) -> Traffic {
    match detail {
        Detail::Records | Detail::Bodies => Traffic::default(),
        Detail::Packets | Detail::Film => Traffic {
            packets: Packets::Simulated(sim::take_sightings()),
            endpoints: report().endpoints,
            ..Traffic::default()
        },
    }
}

// Compressed SPDY header blocks of earlier journeys: the same page is loaded repeatedly with the same headers.
//
// They do not affect results: a context that recalls a block yields the bytes that it would have computed.

/// Capacity of one memory: some dozens of pages of 100 objects.
const MEMORY_BYTES: usize = 8 << 20;

/// One memory for each concurrent journey, so that workers do not wait for each other.
#[derive(Default)]
struct Memories(Mutex<Vec<Recall>>);

impl Memories {
    /// Runs `work` with exclusive use of a memory. If it panics, the memory is lost.
    fn lend<T>(&self, work: impl FnOnce(&Recall) -> T) -> T {
        let spare = self.idle(Vec::pop);
        let recall = spare.unwrap_or_else(|| Recall::new(MEMORY_BYTES));
        let done = work(&recall);
        self.idle(|idle| idle.push(recall));
        done
    }

    fn idle<T>(&self, with: impl FnOnce(&mut Vec<Recall>) -> T) -> T {
        with(&mut self.0.lock().expect("nothing panics while it takes or gives back"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_as_are_in_use_at_once() {
        let memories = Memories::default();
        memories.lend(|_| memories.lend(|_| ()));
        memories.lend(|_| ());
        assert_eq!(memories.idle(|idle| idle.len()), 2);
    }
}
