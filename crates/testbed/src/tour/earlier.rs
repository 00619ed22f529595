//! Earlier requests, which have filled a proxy's cache.
//!
//! They are internal to the proxy: each is made at its entrance when it begins to listen, takes the same links
//! to the origin as any other, and is over before the journey's clients begin. Another proxy behind this one is
//! not asked: its contents are set separately.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::rc::Rc;
use std::time::Duration;

use browser::HostStack;
use chance::RandomSource;
use http::header::ACCEPT_ENCODING;
use http::{HeaderMap, HeaderValue};
use http_stack::server::{Answer, Handler, RequestHead, Response};
use net::Network;
use page::{Object, Page};

use super::ready::Ready;
use super::{pep, route};
use scenario::{CacheState, Scenario, Tier};

/// A request that was made earlier.
pub(super) struct Earlier {
    host: String,
    url: String,
    fields: HeaderMap,
}

/// Allowance for connections, threads and slow start, in addition to round trips and rate.
const MARGIN: Duration = Duration::from_secs(1);
/// Round trips of a request to an origin: a handshake, the request, and one more for a large response.
const ROUND_TRIPS: u32 = 3;
/// Lower bound of concurrent requests.
const AT_ONCE: usize = 10;

impl Earlier {
    /// Makes the request.
    pub(super) fn ask<H: Handler>(&self, proxy: &Rc<H>) {
        let head = RequestHead::new("GET", &self.host, &self.url);
        let answer = proxy.handle(RequestHead { fields: (&self.fields).into(), ..head });
        world::spawn(async move {
            let Answer::Later(response) = answer else { return };
            if let Response::Streamed { mut body, .. } = response.await {
                while let Some(Ok(_)) = poll_fn(|cx| body.poll_next(cx)).await {}
            }
        });
    }
}

/// Codings that clients' requests for the servers' objects accept: a compressing proxy has an answer for each.
#[derive(Default)]
pub(super) struct AcceptedCodings(BTreeMap<usize, HeaderValue>);

impl AcceptedCodings {
    /// Codings in the scenario; none if no proxy compresses.
    ///
    /// # Errors
    /// If its priorities cannot be read, or its browser is unknown.
    pub(super) fn of(scenario: &Scenario, ready: &Ready) -> Result<AcceptedCodings, String> {
        if !scenario.route.compresses() {
            return Ok(AcceptedCodings::default());
        }
        let visitable = ready.visitable(scenario)?;
        let members = ready.members().iter().zip(&visitable);
        let requests = members.flat_map(|(member, visitable)| {
            member.objects.iter().copied().zip(visitable.plan.requests())
        });
        let accepted = requests.filter_map(|(object, request)| {
            Some((object, request.headers().get(ACCEPT_ENCODING)?.clone()))
        });
        Ok(AcceptedCodings(accepted.collect()))
    }
}

/// Requests that fill the cache of a tier as in the scenario, with `nearer` tiers between it and the clients.
pub(super) fn all(
    tier: &Tier,
    nearer: usize,
    page: &Page,
    arms: &[HostStack],
    accepted: &AcceptedCodings,
    source: RandomSource,
) -> Vec<Earlier> {
    let share = share(tier);
    let purpose = match nearer {
        0 => "proxy/cache".to_owned(),
        _ => format!("proxy/{nearer}/cache"),
    };
    let mut seen = BTreeSet::new();
    let objects = page.objects.iter().enumerate().filter(|(_, object)| seen.insert(&object.url));
    let held = objects.filter(|(index, object)| {
        // Each object has a random stream of its own: other contents of the page change nothing.
        let draw = source.stream(&format!("{purpose}/{index}")).unit();
        is_storable(object) && draw < share
    });
    held.map(|(index, object)| {
        let fields = accepted.0.get(&index).cloned();
        let fields = fields.map(|codings| (ACCEPT_ENCODING, codings)).into_iter().collect();
        let port = arms[object.host.0 as usize].port;
        let host = page.host_of(object).authority("http", port);
        Earlier { url: format!("http://{host}{}", object.path), host, fields }
    })
    .collect()
}

/// The share of storable objects that a tier's cache holds at the start of the journey.
fn share(tier: &Tier) -> f64 {
    match tier.settings.cache {
        _ if !tier.caches() => 0.0,
        CacheState::Cold => 0.0,
        CacheState::Primed => 1.0,
        CacheState::Share(share) => share,
    }
}

fn is_storable(object: &Object) -> bool {
    object.cacheable && object.method == "GET"
}

/// Lead of the proxies or PEP before the clients, in which they start and fill their caches. Tiers that are
/// filled at the same time share the path to the hosts.
pub(crate) fn lead(scenario: &Scenario, page: &Page, network: &Network) -> Duration {
    let of_pep = pep::lead(scenario, network);
    let places = route::proxy_hops(scenario, 1 + network.beyond.len());
    let tiers = scenario.route.tiers().into_iter().zip(places);
    let filled = tiers.filter(|(tier, _)| share(tier) > 0.0);
    let filling = filled.map(|(tier, hops)| filling(scenario, page, &tier, network, hops));
    of_pep + filling.sum::<Duration>()
}

/// Upper bound of the time to fill the cache of a tier with `hops` hops in front of it.
fn filling(
    scenario: &Scenario,
    page: &Page,
    tier: &Tier,
    network: &Network,
    hops: usize,
) -> Duration {
    let stretch = scenario.route.stretch;
    let at_once = tier.resolved(scenario.stack.protocol).upstream.map_or(AT_ONCE, |n| n as usize);
    let rounds = page.objects.len().div_ceil(at_once.min(AT_ONCE)) as u32;
    let farthest = page.hosts.iter().map(|host| host.extra_rtt.value).max().unwrap_or_default();
    let crossed = network.rtt() - network.up_to(hops).rtt();
    let rtt = Duration::from_nanos(stretch.rtt_ns.unwrap_or(0)) + crossed + farthest;
    let bits: u64 = page.objects.iter().map(|object| 8 * object.body_bytes).sum();
    let rates = network.down_links().skip(hops).map(|link| link.rate.mean().0);
    let rate = rates.chain(stretch.rate_bit_per_s).min();
    let sending = rate.map_or(0.0, |rate| 2.0 * bits as f64 / rate as f64);
    let thinking: Duration = page.objects.iter().map(|object| object.think.value).sum();
    MARGIN + ROUND_TRIPS * rtt * (rounds + 1) + Duration::from_secs_f64(sending) + thinking
}
