//! The client's node with a real Chromium: drives it through the journey, one fresh browser context a journey.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use browser::LoadPlan;
use browser::chromium::{
    Chromium, ChromiumVisit, Context, Launch, Look, Running, Sandbox, Settings,
};
use chance::Source;
use page::Page;
use record::VisitRecord;
use units::Time;
use world::real;
use world::report::{Endpoint, Report};

use super::NodeError;
use super::channel::Channel;
use super::client::Asking;
use super::messages::{Begin, FromClient, Order, Settle};
use crate::scenario::{Nuisance, Scenario, View};
use crate::tour::{
    self, Account, BETWEEN_VISITS, BROWSERS_IDENTITY, Library, VISIT_LIMIT, Witness,
};

/// Makes the journey.
pub(super) fn load(mut supervisor: Channel) -> Result<(), NodeError> {
    let order: Order = supervisor.receive()?;
    let scenario = &order.scenario;
    let library = Library::default();
    let prepared = library.ready(scenario).and_then(|ready| {
        let topology = super::topology(scenario, &ready, &library.network_of(scenario)?);
        Ok((ready, topology, find()?))
    });
    let (ready, topology, chromium) = super::tell_prepared(&mut supervisor, prepared)?;
    let plan = ready.load_plan(scenario);

    let Settle { files } = supervisor.receive()?;
    let profile = files.expect("the supervisor gives a browser a place for its files");
    let started = start(chromium, profile, &ready.page, &plan).map_err(|error| error.to_string());
    let mut running = super::tell_prepared(&mut supervisor, started)?;

    let begin: Begin = supervisor.receive()?;
    let config = super::world_config(Source::new(order.seed, 0), &begin, order.detail);
    let witness = Rc::new(Asking::new(supervisor, topology));
    let told = Rc::clone(&witness);
    let began = Duration::from_nanos(begin.began_ns);
    let journey = Journey { scenario: scenario.clone(), plan, began, witness };
    let visits = real::run(config, async { journey.make(&mut running).await })??;
    running.close();
    told.finish(FromClient::Done { visits, endpoints: Vec::new() })
}

/// The program; the environment may name another than the one on the path.
fn find() -> Result<Chromium, String> {
    let named = std::env::var_os("FARLINK_CHROMIUM");
    let path = std::env::var_os("PATH");
    Chromium::find(named.as_deref(), path.as_deref()).map_err(|error| error.to_string())
}

fn start(
    chromium: Chromium,
    profile: PathBuf,
    page: &Page,
    plan: &LoadPlan,
) -> Result<Running, NodeError> {
    let hosts = tour::hosts(page).zip(plan.arms());
    let launch = Launch {
        chromium,
        profile,
        hosts: hosts.map(|((name, address), arm)| (name, (address, arm.port).into())).collect(),
        trusted_keys: vec![BROWSERS_IDENTITY.public_key_sha256()],
        // Root of the sandbox that farlink made for it: Chromium's own would not let it start.
        sandbox: Sandbox::None,
        addresses: true,
    };
    Ok(launch.start(|mut command| command.spawn())?)
}

struct Journey {
    scenario: Scenario,
    plan: Arc<LoadPlan>,
    began: Duration,
    witness: Rc<Asking>,
}

impl Journey {
    async fn make(&self, running: &mut Running) -> Result<Vec<VisitRecord>, NodeError> {
        if self.scenario.nuisance == Nuisance::On {
            world::sleep_until(Time::ZERO + tour::start_phase()).await;
        }
        let view = self.scenario.client.view;
        let mut context = running.context()?;
        let mut records = Vec::new();
        let cold = self.visit(&mut context, View::Cold)?;
        if view != View::Warm {
            records.push(cold);
        }
        if view != View::Cold {
            world::sleep(BETWEEN_VISITS).await;
            let warm = self.visit(&mut context, View::Warm)?;
            records.push(VisitRecord { index: records.len() as u32, ..warm });
        }
        Ok(records)
    }

    fn visit(&self, context: &mut Context<'_>, view: View) -> Result<VisitRecord, NodeError> {
        let settings = Settings {
            began: self.began,
            limit: VISIT_LIMIT,
            slowdown: self.scenario.client.cpu_multiplier,
            look: Look { screenshot: false, ..Look::default() },
        };
        let witness = Watching(&self.witness);
        let account = Account::open(&witness);
        let ChromiumVisit { visited, paint, .. } = context.visit(&self.plan, &settings)?;
        let record = account.close(view, visited, &witness);
        Ok(VisitRecord { paint: Some(paint), ..record })
    }
}

/// The account of a journey whose client's sockets are not ours.
struct Watching<'a>(&'a Asking);

impl Witness for Watching<'_> {
    fn report(&self) -> Report {
        self.0.report_with(Vec::<Endpoint>::new())
    }

    fn limited(&self, client: std::net::SocketAddr) -> Duration {
        self.0.limited(client)
    }
}
