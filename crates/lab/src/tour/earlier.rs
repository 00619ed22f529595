//! Earlier requests, which have left in the proxy's cache what they could.
//!
//! They are the proxy's own affair: each is made at its entrance when it begins to listen, takes the way to the origin that any other would
//! take, and is over before the journey's clients begin.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::rc::Rc;
use std::time::Duration;

use chance::Source;
use http_stack::server::{Answer, Handler, RequestHead, Response};
use page::{Object, Page};

use crate::scenario::{CacheState, RouteKind, Scenario};

/// A request that was made before.
pub(super) struct Earlier {
    host: String,
    url: String,
}

/// What connections, threads and slow start may take beside round trips and rate.
const MARGIN: Duration = Duration::from_secs(1);
/// Round trips of a request to an origin: a handshake, the request, and one more for a large response.
const ROUND_TRIPS: u32 = 3;
/// As many requests are under way at once, at the least.
const AT_ONCE: usize = 10;

impl Earlier {
    /// Makes the request.
    pub(super) fn ask<H: Handler>(&self, proxy: &Rc<H>) {
        let answer = proxy.handle(RequestHead::new("GET", &self.host, &self.url));
        world::spawn(async move {
            let Answer::Later(response) = answer else { return };
            if let Response::Streamed { mut body, .. } = response.await {
                while let Some(Ok(_)) = poll_fn(|cx| body.poll_next(cx)).await {}
            }
        });
    }
}

/// Those that fill the cache as the scenario has it.
pub(super) fn all(scenario: &Scenario, page: &Page, source: Source) -> Vec<Earlier> {
    let share = share(scenario);
    let mut seen = BTreeSet::new();
    let objects = page.objects.iter().enumerate().filter(|(_, object)| seen.insert(&object.url));
    let held = objects.filter(|(index, object)| {
        // A stream of its own for each: what else a page holds changes nothing.
        let draw = source.stream(&format!("proxy/cache/{index}")).unit();
        is_storable(object) && draw < share
    });
    held.map(|(_, object)| {
        let host = page.host_of(object).name.clone();
        Earlier { url: format!("http://{host}{}", object.path), host }
    })
    .collect()
}

fn share(scenario: &Scenario) -> f64 {
    match (scenario.route.kind, scenario.route.settings.cache) {
        (RouteKind::CachingProxy, CacheState::Primed) => 1.0,
        (RouteKind::CachingProxy, CacheState::Share(share)) => share,
        _ => 0.0,
    }
}

fn is_storable(object: &Object) -> bool {
    object.cacheable && object.method == "GET"
}

/// How long before the clients begin those requests are made.
pub(crate) fn lead(scenario: &Scenario, page: &Page) -> Duration {
    if share(scenario) == 0.0 {
        return Duration::ZERO;
    }
    let route = &scenario.route;
    let at_once = route.resolved(scenario.stack.protocol).upstream.map_or(AT_ONCE, |n| n as usize);
    let rounds = page.objects.len().div_ceil(at_once.min(AT_ONCE)) as u32;
    let farthest = page.hosts.iter().map(|host| host.extra_rtt.value).max().unwrap_or_default();
    let rtt = Duration::from_nanos(route.stretch.rtt_ns.unwrap_or(0)) + farthest;
    let bits: u64 = page.objects.iter().map(|object| 8 * object.body_bytes).sum();
    let sending = route.stretch.rate_bit_per_s.map_or(0.0, |rate| 2.0 * bits as f64 / rate as f64);
    let thinking: Duration = page.objects.iter().map(|object| object.think.value).sum();
    MARGIN + ROUND_TRIPS * rtt * (rounds + 1) + Duration::from_secs_f64(sending) + thinking
}
