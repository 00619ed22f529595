//! What a journey is whichever world it runs in: its pages and networks, its two ends, what its client does, and the account
//! of each visit.
//!
//! [`simulate`](crate::simulate) and [`emulate`](crate::emulate) lay a network between the ends; all else is here, once.

mod account;
mod background;
mod catalogue;
mod ends;
mod library;
mod limits;
mod networks;
mod observed;
mod proof;
mod quic;
mod ready;

use std::io;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use browser::{Browser, Cache, LoadPlan, Session};
use page::Page;
use record::VisitRecord;
use units::Time;

pub(crate) use self::account::{Account, Witness};
pub(crate) use self::background::{Background, TRAFFIC_HOST, TRAFFIC_SERVER};
pub use self::catalogue::{device_digest, network_digest, page_digest};
pub(crate) use self::ends::{
    BROWSERS_IDENTITY, CLIENT, DOWN, RADIO, UP, browser, extra_delay, link_names, origin_address,
    origins, varied,
};
pub use self::library::Library;
pub(crate) use self::limits::Limits;
pub(crate) use self::observed::{Detail, Packets, Traffic};
pub use self::observed::{Observed, ObservedVisit, Png, Shown};
pub(crate) use self::ready::Ready;
use crate::scenario::{Nuisance, Scenario, Tcp, View};

/// How long a page may take before its visit has failed: longer than any reader waits.
pub(crate) const VISIT_LIMIT: Duration = Duration::from_secs(600);

/// What lies between two visits of a journey: long enough for connections to close.
pub(crate) const BETWEEN_VISITS: Duration = Duration::from_secs(10);

/// The nuisance model's start phase: a visit begins up to this long after the world does.
const START_PHASE: Duration = Duration::from_secs(1);

/// The journey as its client lives it: a cold visit, a warm one, or both. A warm visit is that of a
/// browser that was closed since the cold one: it has kept its cache, not its connections. Background traffic goes on beside and between
/// them; the error is its own.
pub(crate) fn tour(
    browser: Rc<Browser>,
    scenario: &Scenario,
    plan: Arc<LoadPlan>,
    witness: impl Witness + 'static,
) -> impl Future<Output = io::Result<Vec<VisitRecord>>> + 'static {
    let view = scenario.client.view;
    let begin = begin(scenario);
    let background = Background::of(scenario, plan.arms());
    async move {
        if let Some(background) = background {
            background.send(browser.sessions())?;
        }
        begin.await;
        let cache = Rc::new(Cache::default());
        let mut records = Vec::new();
        let cold = visit(&browser, &cache, &plan, &witness, View::Cold).await;
        if view != View::Warm {
            records.push(cold);
        }
        if view != View::Cold {
            world::sleep(BETWEEN_VISITS).await;
            let warm = visit(&browser, &cache, &plan, &witness, View::Warm).await;
            records.push(VisitRecord { index: records.len() as u32, ..warm });
        }
        Ok(records)
    }
}

/// Names and addresses of a page's servers.
pub(crate) fn hosts(page: &Page) -> impl Iterator<Item = (String, IpAddr)> {
    page.hosts.iter().enumerate().map(|(index, host)| (host.name.clone(), origin_address(index)))
}

/// Waits until the journey's first visit: for background traffic to have become a habit, and the nuisance model's phase.
pub(crate) fn begin(scenario: &Scenario) -> impl Future<Output = ()> + use<> {
    let (lead, varies) = (scenario.traffic.lead(), scenario.nuisance == Nuisance::On);
    async move {
        if varies {
            let phase = world::stream("visit/phase").span(START_PHASE);
            world::sleep_until(Time::ZERO + lead + phase).await;
        } else if !lead.is_zero() {
            world::sleep_until(Time::ZERO + lead).await;
        }
    }
}

/// One visit by a browser started for it.
async fn visit(
    browser: &Rc<Browser>,
    cache: &Rc<Cache>,
    plan: &Arc<LoadPlan>,
    witness: &impl Witness,
    view: View,
) -> VisitRecord {
    let account = Account::open(witness);
    let session = Rc::new(Session::new(Rc::clone(browser), Rc::clone(cache)));
    let visited = session.visit(plan, VISIT_LIMIT).await;
    account.close(view, visited, witness)
}

/// What a reader of a journey's results must know: what was modelled, defaulted or not shaped.
pub(crate) fn notes(scenario: &Scenario, network: &net::Network, ready: &Ready) -> Vec<String> {
    let tcp = [&scenario.transport.server, &scenario.transport.client].map(Tcp::note);
    let mut notes: Vec<String> = network.notes.iter().chain(&ready.notes).cloned().collect();
    notes.extend(tcp.into_iter().flatten());
    notes.extend(scenario.traffic.note());
    notes.dedup();
    notes
}

/// A span as records hold it.
fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
