//! Runs one journey in the simulated world: a pure function of its plan.

mod stage;

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use chance::Source;
use http_stack::tls::ClientSessions;
use proxy::Meters;
use world::sim;

use self::stage::Stage;
pub(crate) use self::stage::links;
use crate::journey::{Execute, JourneyPlan, JourneyResult, MeasuredVisit};
use crate::scenario::{Scenario, World};
use crate::tour::{self, Detail, Library, Limits, Observed, Packets, Traffic, Witness};

/// Executes journeys in virtual time.
#[derive(Default)]
pub struct Simulator {
    library: Arc<Library>,
}

impl Simulator {
    /// An executor of journeys over what `library` holds.
    pub fn new(library: Arc<Library>) -> Simulator {
        Simulator { library }
    }

    /// Runs a journey with everything that crosses its wires.
    ///
    /// # Errors
    /// If it cannot be run, or not to its end.
    pub fn observe(&self, scenario: &Scenario, seed: u64) -> Result<Observed, String> {
        let (result, traffic) = self.run(scenario, seed, Detail::Packets)?;
        let page = self.library.page_of(scenario)?;
        Ok(Observed::new(Arc::new(scenario.clone()), seed, result, &page, traffic))
    }

    fn run(
        &self,
        scenario: &Scenario,
        seed: u64,
        detail: Detail,
    ) -> Result<(JourneyResult, Traffic), String> {
        if scenario.world != World::Sim {
            return Err(format!("the world `{}` is not simulated", scenario.world));
        }
        let ready = self.library.ready(scenario)?;
        let network = self.library.network_of(scenario)?;
        let load_plan = ready.load_plan(scenario);
        let source = Source::new(seed, 0);
        let sessions = ClientSessions::new(detail.tls(source, "client"));
        let browser = Rc::new(tour::browser(scenario)?.with_sessions(sessions));
        let stage = Stage::set(scenario, &ready, load_plan.arms(), &network, source, detail);
        let tour = tour::tour(browser, scenario, load_plan, Watched(stage.meters));
        let journey = async move { (tour.await, traffic(detail)) };
        let (records, traffic) =
            stage.plan.run(stage.client, journey).map_err(|error| error.to_string())?;
        let records = records.map_err(|error| format!("background traffic: {error}"))?;
        let limits = Limits::new(scenario, &ready, &network, seed)?;
        let measure = |record| MeasuredVisit { floors: limits.floors(&record), record };
        let visits = records.into_iter().map(measure).collect();
        let notes = tour::notes(scenario, &network, &ready);
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

/// The simulated world sees everything, but what HTTP's own windows held back.
struct Watched(Meters);

impl Witness for Watched {
    fn report(&self) -> world::report::Report {
        report()
    }

    fn limited(&self, client: SocketAddr) -> Duration {
        self.0.limited(client)
    }
}

/// The world's own account so far.
fn report() -> world::report::Report {
    sim::report().expect("a simulated journey runs in the simulated world")
}

/// What crossed the current world's wires so far.
fn traffic(detail: Detail) -> Traffic {
    match detail {
        Detail::Records => Traffic::default(),
        Detail::Packets | Detail::Film => Traffic {
            packets: Packets::Simulated(sim::take_sightings()),
            endpoints: report().endpoints,
            shown: Vec::new(),
        },
    }
}
