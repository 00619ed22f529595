//! The client's node with a real Chromium: drives it through the journey, with a fresh browser context per journey.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use browser::LoadPlan;
use chromium::{
    BrowserContext, BrowserProxy, Chromium, ChromiumSandbox, ChromiumSettings, ChromiumVisit,
    Launch, OtherNames, Running, Viewport,
};
use kernel::diag::Follower;
use kernel::{Connection, ConnectionSeries};
use page::Page;
use proxy::pac::{Pac, ProxySpread};
use record::{TcpEvent, VisitRecord};
use tls::{ClientSessions, Protocol};
use units::Time;
use world::real::{self, Recording, Sampling};
use world::report::{Endpoint, WorldReport};

use super::NodeError;
use super::client::SupervisorQueries;
use super::messages::Channel;
use super::messages::{FromClient, JourneyOrder, Settle, StartSignal};
use super::server::Intermediary;
use crate::tour::{
    self, BETWEEN_VISITS, BROWSERS_IDENTITY, Background, Detail, JourneyAccount, Library, Png,
    Shown, Surveyed, VISIT_LIMIT, Visitor, Witness,
};
use scenario::{OriginAddresses, Scenario, View};

/// Runs the journey.
pub(super) fn load(mut supervisor: Channel) -> Result<(), NodeError> {
    let order: JourneyOrder = supervisor.receive()?;
    let scenario = &order.scenario;
    let library = Library::default();
    let prepared = library.ready(scenario).and_then(|ready| {
        let network = library.network_of(scenario)?;
        let topology = super::topology(scenario, &ready, &network);
        let lead = tour::lead(scenario, &ready.page, &network);
        let named = order.chromium.as_ref().map(|program| program.as_os_str());
        let chromium = Chromium::find(named, None).map_err(|error| error.to_string())?;
        let (plan, pac) = (ready.load_plan(scenario)?, ready.pac(scenario)?);
        let proxy = proxy(&plan, pac.as_deref());
        Ok((ready, plan, proxy, topology, lead, chromium))
    });
    let (ready, plan, proxy, topology, lead, chromium) =
        super::tell_prepared(&mut supervisor, prepared)?;

    let Settle { files } = supervisor.receive()?;
    let profile = files.expect("the supervisor gives a browser a place for its files");
    let launch = launch(chromium, profile, &ready.page, &plan, proxy, order.detail.is_watched());
    let started = launch.start(|mut command| command.spawn()).map_err(|error| error.to_string());
    let mut running = super::tell_prepared(&mut supervisor, started)?;

    let begin: StartSignal = supervisor.receive()?;
    let visitor = Visitor::of(scenario, order.seed, 0).after(lead);
    let config = super::world_config(visitor.source(), &begin, order.detail);
    let background = tour::Background::of(scenario, plan.arms());
    let beside = background.map(|background| send_beside(background, visitor, &config));
    let between = Intermediary::of(scenario);
    let witness = Rc::new(SupervisorQueries::new(supervisor, topology, between));
    let told = Rc::clone(&witness);
    let began = Duration::from_nanos(begin.began_ns);
    let look = Viewport {
        screenshot: order.detail.is_watched(),
        film: order.detail == Detail::Film,
        ..Viewport::default()
    };
    let journey = Journey { look, scenario: scenario.clone(), plan, began, witness, visitor };
    let follower = order
        .detail
        .is_watched()
        .then(|| Follower::start(Sampling::default().every, Duration::from_nanos(begin.began_ns)));
    let follower = follower.transpose()?;
    let made = real::run(config, async { journey.make(&mut running).await })??;
    let motions = follower.map(Follower::finish).transpose()?.unwrap_or_default();
    running.close();
    if let Some(beside) = beside.filter(JoinHandle::is_finished) {
        beside.join().expect("background traffic does not panic")??;
    }
    let Made { visits, mut notes, shown } = made;
    notes.dedup();
    let endpoints = motions.into_iter().filter_map(endpoint).collect();
    told.finish(FromClient::Done { visits, endpoints, notes, shown, bodies: Vec::new() })
}

/// Sends background traffic from a thread of its own, since the thread that drives a browser blocks. It ends
/// with this process, unless it fails to start.
fn send_beside(
    background: Background,
    visitor: Visitor,
    config: &real::Config,
) -> JoinHandle<BackgroundEnd> {
    let config = real::Config { recording: Recording::Nothing, ..config.clone() };
    std::thread::spawn(move || {
        real::run(config, async move {
            background.send(visitor.address(), &ClientSessions::default())?;
            std::future::pending().await
        })
    })
}

/// Reason for the end of background traffic.
type BackgroundEnd = io::Result<io::Result<Infallible>>;

/// The browser's end of a connection, as seen by the kernel from outside. The browser actively opened all of
/// its connections.
fn endpoint((connection, motion): (Connection, ConnectionSeries)) -> Option<Endpoint> {
    let (first, last) = (motion.samples.first()?, motion.samples.last()?);
    Some(Endpoint {
        local: connection.local,
        peer: connection.peer,
        cookie: Some(connection.cookie),
        active: true,
        // Time of the first sample: within one sampling interval of its SYN.
        opened_at: first.at,
        closed_at: None,
        stats: Some(last.stats.clone()),
        retransmits: Vec::new(),
        losses: Vec::new(),
        series: motion.samples,
        held: Vec::new(),
        qlog: String::new(),
    })
}

fn launch(
    chromium: Chromium,
    profile: PathBuf,
    page: &Page,
    plan: &LoadPlan,
    proxy: Option<BrowserProxy>,
    watched: bool,
) -> Launch {
    let hosts = || tour::hosts(page, OriginAddresses::Separate).zip(plan.arms());
    let over_quic = hosts().filter(|(_, arm)| arm.protocol == Protocol::H3);
    let quic_hosts = over_quic.map(|((name, _), _)| name).collect();
    // A proxy resolves names by itself.
    let asked = if proxy.is_none() { Some(plan.arms()) } else { plan.past() };
    let hosts = tour::hosts(page, OriginAddresses::Separate).zip(asked.into_iter().flatten());
    Launch {
        chromium,
        profile,
        hosts: hosts.map(|((name, address), arm)| (name, (address, arm.port).into())).collect(),
        other_names: OtherNames::NotFound,
        proxy,
        trusted_keys: vec![BROWSERS_IDENTITY.public_key_sha256()],
        trusts_all: false,
        quic_hosts,
        // It is root of the sandbox that farlink made for it: Chromium's own sandbox would not let it start.
        sandbox: ChromiumSandbox::None,
        // Watching addresses costs it time.
        addresses: watched,
        has_devtools_port: false,
    }
}

/// The proxy, and its announcement to the browser: the scenario's own PAC file, if it has one.
fn proxy(plan: &LoadPlan, pac: Option<&Surveyed>) -> Option<BrowserProxy> {
    match pac {
        None => BrowserProxy::of(plan, turns),
        Some(surveyed) => {
            let names = surveyed.proxies.iter().map(|at| (at.host.clone(), at.port));
            let names: BTreeSet<(String, u16)> = names.collect();
            BrowserProxy::by_file(plan, &surveyed.script.text, names.into_iter().collect())
        }
    }
}

/// A PAC file that distributes requests among these proxies in turn.
fn turns(proxies: Vec<String>) -> String {
    let usual = Pac { spread: ProxySpread::InTurn, ..Pac::default() };
    Pac { proxies, ..usual }.text("DIRECT")
}

/// A journey in a running browser.
struct Journey {
    look: Viewport,
    scenario: Scenario,
    plan: Arc<LoadPlan>,
    began: Duration,
    witness: Rc<SupervisorQueries>,
    visitor: Visitor,
}

/// Result of a journey.
#[derive(Default)]
struct Made {
    visits: Vec<VisitRecord>,
    notes: Vec<String>,
    shown: Vec<Shown>,
}

impl Journey {
    async fn make(&self, running: &mut Running) -> Result<Made, NodeError> {
        self.visitor.wait().await;
        let view = self.scenario.client.view;
        let mut context = running.context()?;
        let mut made = Made::default();
        self.visit(&mut context, View::Cold, &mut made)?;
        if view == View::Warm {
            made = Made::default();
        }
        if view != View::Cold {
            world::sleep(BETWEEN_VISITS).await;
            self.visit(&mut context, View::Warm, &mut made)?;
            made.notes.push(KEPT_CONNECTIONS.to_owned());
        }
        Ok(made)
    }

    fn visit(
        &self,
        context: &mut BrowserContext<'_>,
        view: View,
        made: &mut Made,
    ) -> Result<(), NodeError> {
        let settings = ChromiumSettings {
            began: self.began,
            limit: VISIT_LIMIT,
            slowdown: self.scenario.client.cpu_multiplier,
            look: self.look,
        };
        let witness = Watching(&self.witness);
        let account = JourneyAccount::open(&witness);
        let visit = context.visit(&self.plan, &settings)?;
        made.notes.extend(notes(&visit));
        let film = visit.film.into_iter().map(|frame| (frame.at.as_nanos() as u64, Png(frame.png)));
        made.shown.push(Shown { screenshot: visit.screenshot.map(Png), film: film.collect() });
        let record = account.close(view, visit.visited, &self.plan, &witness, self.visitor);
        let index = made.visits.len() as u32;
        made.visits.push(VisitRecord { index, paint: Some(visit.paint), ..record });
        Ok(())
    }
}

/// A real browser is not closed between visits.
const KEPT_CONNECTIONS: &str =
    "the warm visit is Chromium's second in one browser: it may use connections of the first";

/// Notes for readers of the visit.
fn notes(visit: &ChromiumVisit) -> impl Iterator<Item = String> {
    let missing = match visit.missing.len() {
        0 => None,
        n => Some(format!("Chromium did not ask for {n} of the page's objects")),
    };
    let unexpected = visit.unexpected.iter().map(|request| {
        format!("Chromium also asked for {} {}: {}", request.method, request.url, request.outcome)
    });
    let complaints = visit.console.iter().filter(|line| line.level != "log");
    let complaints = complaints.map(|line| format!("console, {}: {}", line.level, line.text));
    missing.into_iter().chain(unexpected).chain(complaints)
}

/// Witness of a journey whose client's sockets belong to another process.
struct Watching<'a>(&'a SupervisorQueries);

impl Witness for Watching<'_> {
    fn report(&self) -> WorldReport {
        self.0.report_from_outside()
    }

    fn limited(&self, client: SocketAddr) -> Duration {
        self.0.limited(client)
    }

    fn proxied(&self, page: &Page, client: IpAddr, since: Time) -> Vec<TcpEvent> {
        self.0.between().events(page, client, since)
    }

    fn carried(&self) -> Option<record::PepCounters> {
        self.0.between().carried()
    }
}
