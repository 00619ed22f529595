//! Events of the proxies during a visit, and their steps for each request, for the visit's record.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;

use page::Page;
use proxy::journal::{Journal, LogEntry};
use record::{EventKind, Proxied, TcpEvent};
use units::Time;
use world::report::Endpoint;

/// Outcome of each request of the client at `client` since `since` at each of the `proxies`, nearest to the
/// clients first, and connections that these have opened to origins and each other.
pub(crate) fn events(
    page: &Page,
    proxied: &[Proxied],
    endpoints: &[Endpoint],
    client: IpAddr,
    proxies: &[IpAddr],
    since: Time,
) -> Vec<TcpEvent> {
    let objects = page.objects.iter().enumerate().rev();
    // For a URL that is requested twice, the first object stands for both.
    let by_url: BTreeMap<&str, u32> =
        objects.map(|(index, object)| (without_scheme(&object.url), index as u32)).collect();
    let (behind, front): (Vec<&Proxied>, Vec<&Proxied>) =
        proxied.iter().partition(|one| one.client.is_some_and(|its| proxies.contains(&its)));
    let is_own = |one: &&Proxied| one.client.is_none_or(|its| its == client);
    let own: Vec<&Proxied> = front.into_iter().filter(is_own).collect();
    let farther = behind.into_iter().filter(|inner| own.iter().any(|outer| caused(outer, inner)));
    let farther = farther.map(|one| Proxied { behind: 1, ..one.clone() });
    let own: Vec<Proxied> = own.iter().copied().cloned().chain(farther).collect();
    let asked = own.iter().map(|one| TcpEvent {
        at_ns: one.asked_at_ns,
        kind: EventKind::Proxied,
        object: by_url.get(without_scheme(&one.url)).copied(),
        connection: None,
        detail: one.detail(),
    });
    let upstream = endpoints.iter().filter(|end| end.active && proxies.contains(&end.local.ip()));
    let opened = upstream.map(|end| TcpEvent {
        at_ns: end.opened_at.as_nanos(),
        kind: EventKind::Upstream,
        object: None,
        connection: None,
        detail: connection(end),
    });
    asked.chain(opened).filter(|event| event.at_ns >= since.as_nanos()).collect()
}

/// True if one request led to another at the proxy behind: they are for the same URL, and the outer one was in
/// progress when the inner one came.
fn caused(outer: &Proxied, inner: &Proxied) -> bool {
    let ended = outer.client_last_ns.unwrap_or(u64::MAX);
    without_scheme(&outer.url) == without_scheme(&inner.url)
        && (outer.asked_at_ns..=ended).contains(&inner.asked_at_ns)
}

/// Through a proxy, a page recorded over TLS is requested without it.
fn without_scheme(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, rest)| rest)
}

pub(super) fn connection(end: &Endpoint) -> String {
    let carried = end.stats.as_ref().map_or_else(String::new, |stats| {
        format!(", {} bytes up, {} bytes down", stats.bytes_sent, stats.bytes_received)
    });
    format!("from {} to {}{carried}", end.local, end.peer)
}

// Steps of a proxy for each request, from its journal.

/// The steps of all finished requests. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct StepLog(Rc<RefCell<Vec<Proxied>>>);

impl StepLog {
    /// All of them, in order of completion.
    pub(crate) fn all(&self) -> Vec<Proxied> {
        self.0.borrow().clone()
    }
}

impl Journal for StepLog {
    fn done(&self, entry: &LogEntry) {
        let times = &entry.times;
        let nanos = |at: Option<Time>| at.map(Time::as_nanos);
        self.0.borrow_mut().push(Proxied {
            client: entry.client.map(|client| client.ip()),
            // The request's client is determined when a visit's events are collected.
            behind: 0,
            url: entry.url.clone(),
            asked_at_ns: times.request.as_nanos(),
            origin_first_ns: nanos(times.origin_first),
            origin_last_ns: nanos(times.origin_last),
            client_first_ns: nanos(times.client_first),
            client_last_ns: nanos(times.client_last),
            outcome: entry.outcome.name().to_owned(),
        });
    }
}
