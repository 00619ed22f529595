//! Definition of a journey, independent of the world that it runs in: its pages and networks, its two ends, its
//! client's visits, and the record of each visit.
//!
//! [`simulate`](crate::simulate) and [`emulate`](crate::emulate) provide the network between the ends;
//! everything else is here, once.

mod account;
mod activity;
mod background;
mod course;
pub(crate) mod cross_traffic;
mod earlier;
mod ends;
mod library;
mod limits;
mod machine;
mod observed;
mod pac;
mod pep;
mod protocols;
mod proxied;
mod proxy;
mod ready;
mod recorded;
mod resolution;
mod route;

use std::io;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use browser::{Browser, Session};
use chance::RandomSource;
use net::LaneScheduling;
use page::Page;
use record::VisitRecord;
use units::Time;

pub(crate) use self::account::{JourneyAccount, SeriesRequest, Witness};
pub(crate) use self::background::{Background, TRAFFIC_HOST, TRAFFIC_SERVER};
pub(crate) use self::course::Course;
pub(crate) use self::earlier::lead;
pub(crate) use self::ends::{
    BROWSERS_IDENTITY, DOWN, RADIO, Server, UP, browser, extra_delay, link_names, origin_address,
    origins, varied,
};
pub use self::library::Library;
pub(crate) use self::limits::PolicyLimits;
pub use self::observed::Packets;
pub use self::observed::{ArrivedBody, Observed, ObservedVisit, Png, Shown};
pub(crate) use self::observed::{Detail, Traffic};
pub(crate) use self::pac::Surveyed;
pub(crate) use self::pep::{
    FarEnd, NEAR_LINK, NearEnd, PepLog, PepPlace, events as pep_events, leg_tcp, near_link,
};
pub use self::protocols::set_quic_transport;
pub(crate) use self::proxied::events as proxied_events;
pub(crate) use self::proxy::Proxy;
pub(crate) use self::ready::{Arms, Ready, Visitable};
pub(crate) use self::recorded::KeptSeries;
pub(crate) use self::resolution::Resolver;
pub(crate) use self::route::{
    STRETCH, proxy_address, proxy_addresses, proxy_hops, proxy_ports, stretch,
};
pub(crate) use course::{Visitor, radio_name};
pub use library::{device_digest, network_digest, pac_digest, page_ref, priorities_digest};
pub(crate) use protocols::client_tls;
pub(crate) use proxied::StepLog;
use scenario::{MeasuredVisit, Noise, OriginAddresses, Scenario, Tcp, View};

/// Time limit of a page, after which its visit has failed: longer than any reader waits.
pub(crate) const VISIT_LIMIT: Duration = Duration::from_secs(600);

/// Pause between two visits of a journey: long enough for connections to close.
pub(crate) const BETWEEN_VISITS: Duration = Duration::from_secs(10);

/// The noise model's start phase: a visit begins up to this long after the world does.
const START_PHASE: Duration = Duration::from_secs(1);

/// The journey of one client: its visits in order, with the state kept between them. Background traffic runs
/// beside and between them; the error is its own. `pages` has a plan for each page.
pub(crate) fn tour(
    browser: Rc<Browser>,
    scenario: &Scenario,
    pages: Vec<Visitable>,
    witness: impl Witness + 'static,
    visitor: Visitor,
) -> impl Future<Output = io::Result<Vec<VisitRecord>>> + 'static {
    let first_visit = scenario.first_visit(visitor.number);
    let background = Background::of(scenario, pages[0].plan.arms());
    let is_acquainted = scenario.security.is_acquainted();
    let course = Course::of(scenario, pages.len(), visitor);
    let record = scenario.record;
    async move {
        if let Some(background) = background {
            background.send(visitor.address(), &browser.sessions())?;
        }
        visitor.wait().await;
        if is_acquainted {
            for page in &pages {
                browser.acquaint(&page.plan).await;
            }
            world::sleep(protocols::SINCE_ACQUAINTANCE).await;
        }
        let mut session = Rc::new(Session::new(browser, Rc::default()));
        let (mut records, mut began, mut since) = (Vec::new(), None, Time::ZERO);
        for step in course.steps() {
            if let Some(began) = began {
                course.pause(began).await;
                course.forget(&session);
            }
            began = Some(world::now());
            let wish = SeriesRequest { record, since };
            let visit = visit(&session, &pages[step.page], &witness, visitor, step.view, wish);
            let record = visit.await;
            records.extend(step.is_measured.then_some(record));
            since = world::now();
            session = course.after_visit(session);
        }
        for (record, index) in records.iter_mut().zip(first_visit..) {
            record.index = index;
        }
        Ok(records)
    }
}

/// Names and addresses of a page's servers.
pub(crate) fn hosts(
    page: &Page,
    origin_addresses: OriginAddresses,
) -> impl Iterator<Item = (String, IpAddr)> + use<'_> {
    let hosts = page.hosts.iter().zip(machines(page, origin_addresses));
    hosts.map(|(host, machine)| (host.name.clone(), origin_address(machine)))
}

/// The machine of each host, by its place among the page's hosts.
pub(crate) fn machines(page: &Page, origin_addresses: OriginAddresses) -> Vec<usize> {
    match origin_addresses {
        OriginAddresses::Separate => page.machines(),
        OriginAddresses::Shared => vec![0; page.hosts.len()],
    }
}

/// Start of a journey relative to its world, drawn for it.
fn start_phase(source: RandomSource) -> Duration {
    source.stream("visit/phase").span(START_PHASE)
}

/// One visit by a running browser.
async fn visit(
    session: &Rc<Session>,
    page: &Visitable,
    witness: &impl Witness,
    visitor: Visitor,
    view: View,
    wish: SeriesRequest,
) -> VisitRecord {
    let account = JourneyAccount::open(witness).wishing(wish);
    let visited = session.visit(&page.plan, VISIT_LIMIT).await;
    let record = account.close(view, visited, &page.plan, witness, visitor);
    VisitRecord { page: page.name.clone(), ..record }
}

/// Notes for readers of a journey's results: anything modelled, defaulted or not shaped.
pub(crate) fn notes(scenario: &Scenario, network: &net::Network, ready: &Ready) -> Vec<String> {
    let tcp = [&scenario.transport.server, &scenario.transport.client].map(Tcp::note);
    let mut notes: Vec<String> = network.notes.iter().chain(&ready.notes).cloned().collect();
    notes.extend(ready.clear_note(scenario));
    notes.extend(recording_notes(&ready.page, network));
    notes.extend(tcp.into_iter().flatten());
    notes.extend(scenario.discovery.note());
    notes.extend(scenario.quic.note());
    notes.extend(scenario.traffic.note());
    notes.extend(protocols::notes(scenario));
    notes.extend(resolution::note(scenario));
    notes.extend(route::notes(scenario));
    // A file without an answer has been refused before.
    notes.extend(ready.pac(scenario).ok().flatten().map(|surveyed| pac::note(&surveyed)));
    notes.extend(pep::note(scenario));
    notes.extend(company(scenario, network));
    notes.extend(course::note(scenario));
    notes.extend(scenario.record.note(scenario.world));
    notes.dedup();
    notes
}

/// Notes on a recorded page: its network, the part that is replayed, and warnings.
fn recording_notes(page: &Page, network: &net::Network) -> Vec<String> {
    let Some(recorded) = &page.recorded_network else { return Vec::new() };
    let mut notes = vec![format!(
        "{}: recorded over: {recorded}; load over it: {}",
        page.name,
        recorded.load()
    )];
    let warnings = recorded.warnings(network.rtt(), network.down_peak().0);
    notes.extend(warnings.iter().map(|warning| format!("{}: warning: {warning}", page.name)));
    notes
}

/// A warning that single loads of a recorded page differ: which packets a full queue drops depends on microseconds, which
/// no recording holds.
pub(crate) fn drop_note(
    scenario: &Scenario,
    ready: &Ready,
    visits: &[MeasuredVisit],
) -> Option<String> {
    let drops: u64 = visits.iter().map(|visit| visit.record.queue_drops).sum();
    let is_single = scenario.noise == Noise::Off && ready.page.recorded_network.is_some();
    (drops > 0 && is_single).then(|| {
        format!(
            "{}: warning: a full queue dropped packets, and which ones depends on microseconds: compare medians of loads with noise",
            ready.page.name
        )
    })
}

/// Notes on several clients that share the network.
fn company(scenario: &Scenario, network: &net::Network) -> Vec<String> {
    if scenario.clients.users() == 1 {
        return Vec::new();
    }
    let mut notes = vec![format!(
        "{} devices share the network's first hop: floors are those of a client alone, what links counted is of all",
        scenario.clients.users()
    )];
    if network.down.handover.is_some() && network.down.scheduler == LaneScheduling::Fifo {
        notes.push("one queue for all: all devices are handed over together".to_owned());
    }
    notes
}

/// A duration in the unit of records.
fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
