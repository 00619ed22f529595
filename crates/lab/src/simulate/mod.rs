//! Runs one journey in the simulated world: a pure function of its plan.

mod account;
mod catalogue;
mod limits;
mod networks;
mod observe;
mod proof;
mod ready;
mod stage;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use browser::{Browser, Cache, LoadPlan, Session};
use chance::Source;
use http_stack::tls::ClientSessions;
use net::Network;
use proxy::Meters;
use record::VisitRecord;
use world::sim;

use self::account::Account;
pub use self::catalogue::{network_digest, page_digest};
use self::limits::Limits;
use self::networks::Networks;
use self::observe::{Detail, Traffic};
pub use self::observe::{Observed, ObservedVisit};
use self::ready::Pages;
use self::stage::Stage;
pub(crate) use self::stage::links;
use crate::experiment::{Catalogue, Refusal};
use crate::journey::{Execute, JourneyPlan, JourneyResult, MeasuredVisit};
use crate::scenario::{Nuisance, Scenario, Tcp, View};

/// Executes journeys in virtual time. What is prepared of their pages and networks is kept from journey
/// to journey; nothing else is.
#[derive(Default)]
pub struct Simulator {
    pages: Pages,
    networks: Networks,
}

/// How long a page may take before its visit has failed: longer than any reader waits.
const VISIT_LIMIT: Duration = Duration::from_secs(600);

/// What lies between two visits of a journey: long enough for connections to close.
const BETWEEN_VISITS: Duration = Duration::from_secs(10);

/// The nuisance model's spread of server time and of compute: 5 %.
const SPREAD: f64 = 0.05;

/// The nuisance model's start phase: a visit begins up to this long after the world does.
const START_PHASE: Duration = Duration::from_secs(1);

impl Simulator {
    /// An executor that has prepared nothing yet.
    pub fn new() -> Simulator {
        Simulator::default()
    }

    /// Checks that a scenario can be run, and prepares its page.
    ///
    /// # Errors
    /// An unknown page, network, device or browser, with what was probably meant.
    pub fn prepare(&self, scenario: &Scenario) -> Result<(), Refusal> {
        Catalogue::page(self, &scenario.page.spec)?;
        Catalogue::network(self, &scenario.network)?;
        self.device(&scenario.client.device)?;
        self.browser(&scenario.client.browser)
    }

    /// The network of a scenario, as it is simulated.
    ///
    /// # Errors
    /// If there is none of that name, or its description cannot be read.
    pub fn network(&self, scenario: &Scenario) -> Result<Network, String> {
        let network = self.networks.open(&scenario.network).map_err(|error| error.to_string())?;
        Ok(stage::varied((*network).clone(), scenario.nuisance))
    }

    /// The page of a scenario, read once.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn page(&self, scenario: &Scenario) -> Result<Arc<page::Page>, String> {
        Ok(Arc::clone(&self.pages.ready(scenario)?.page))
    }

    /// Runs a journey with everything that crosses its wires.
    ///
    /// # Errors
    /// If it cannot be run, or not to its end.
    pub fn observe(&self, scenario: &Scenario, seed: u64) -> Result<Observed, String> {
        let (result, traffic) = self.run(scenario, seed, Detail::Packets)?;
        let hosts = &self.pages.ready(scenario)?.page.hosts;
        let names = hosts.iter().map(|host| host.name.clone());
        Ok(Observed {
            scenario: Arc::new(scenario.clone()),
            seed,
            result,
            hosts: names.enumerate().map(|(i, name)| (stage::origin_address(i), name)).collect(),
            traffic,
        })
    }

    fn run(
        &self,
        scenario: &Scenario,
        seed: u64,
        detail: Detail,
    ) -> Result<(JourneyResult, Traffic), String> {
        let ready = self.pages.ready(scenario)?;
        let network = self.network(scenario)?;
        let load_plan = ready.load_plan(scenario);
        let source = Source::new(seed, 0);
        let sessions = ClientSessions::new(detail.tls(source, "client"));
        let browser = Rc::new(stage::browser(scenario)?.with_sessions(sessions));
        let stage = Stage::set(scenario, &ready, load_plan.arms(), &network, source, detail);
        let tour = tour(browser, scenario, load_plan, stage.meters);
        let journey = async move { (tour.await, Traffic::take(detail)) };
        let (records, traffic) =
            stage.plan.run(stage.client, journey).map_err(|error| error.to_string())?;
        let limits = Limits::new(scenario, &ready, &network, seed)?;
        let measure = |record| MeasuredVisit { floors: limits.floors(&record), record };
        let tcp = [&scenario.transport.server, &scenario.transport.client].map(Tcp::note);
        let mut notes: Vec<String> = network.notes.iter().chain(&ready.notes).cloned().collect();
        notes.extend(tcp.into_iter().flatten());
        notes.dedup();
        let visits = records.into_iter().map(measure).collect();
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

/// The journey as its client lives it: a cold visit, a warm one, or both. A warm visit is that of a
/// browser that was closed since the cold one: it has kept its cache, not its connections.
fn tour(
    browser: Rc<Browser>,
    scenario: &Scenario,
    plan: Arc<LoadPlan>,
    meters: Meters,
) -> impl Future<Output = Vec<VisitRecord>> + 'static {
    let view = scenario.client.view;
    let varies = scenario.nuisance == Nuisance::On;
    async move {
        if varies {
            let phase = world::stream("visit/phase").span(START_PHASE);
            world::sleep(phase).await;
        }
        let cache = Rc::new(Cache::default());
        let mut records = Vec::new();
        let cold = visit(&browser, &cache, &plan, &meters, View::Cold).await;
        if view != View::Warm {
            records.push(cold);
        }
        if view != View::Cold {
            world::sleep(BETWEEN_VISITS).await;
            let warm = visit(&browser, &cache, &plan, &meters, View::Warm).await;
            records.push(VisitRecord { index: records.len() as u32, ..warm });
        }
        records
    }
}

/// One visit by a browser started for it.
async fn visit(
    browser: &Rc<Browser>,
    cache: &Rc<Cache>,
    plan: &Arc<LoadPlan>,
    meters: &Meters,
    view: View,
) -> VisitRecord {
    let account = Account::open();
    let session = Rc::new(Session::new(Rc::clone(browser), Rc::clone(cache)));
    let visited = session.visit(plan, VISIT_LIMIT).await;
    account.close(view, visited, meters)
}

/// The world's own account so far.
fn report() -> world::report::Report {
    sim::report().expect("a simulated journey runs in the simulated world")
}

/// A span as records hold it.
fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
