//! What the proxy did during a visit, as its record tells it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use page::Page;
use record::{Event, EventKind, Proxied};
use units::Time;
use world::report::Endpoint;

/// What became of each request of the client at `client` since then, and which connections the proxy at `proxy` has opened to origins.
pub(crate) fn events(
    page: &Page,
    proxied: &[Proxied],
    endpoints: &[Endpoint],
    [client, proxy]: [IpAddr; 2],
    since: Time,
) -> Vec<Event> {
    let objects = page.objects.iter().enumerate().rev();
    // Of a URL that is asked for twice the first object stands for both.
    let by_url: BTreeMap<&str, u32> =
        objects.map(|(index, object)| (without_scheme(&object.url), index as u32)).collect();
    let own = proxied.iter().filter(|one| one.client.is_none_or(|its| its == client));
    let asked = own.map(|one| Event {
        at_ns: one.asked_at_ns,
        kind: EventKind::Proxied,
        object: by_url.get(without_scheme(&one.url)).copied(),
        connection: None,
        detail: one.detail(),
    });
    let upstream = endpoints.iter().filter(|end| end.active && end.local.ip() == proxy);
    let opened = upstream.map(|end| Event {
        at_ns: end.opened_at.as_nanos(),
        kind: EventKind::Upstream,
        object: None,
        connection: None,
        detail: connection(end),
    });
    asked.chain(opened).filter(|event| event.at_ns >= since.as_nanos()).collect()
}

/// A page that was recorded over TLS is asked for without, through a proxy.
fn without_scheme(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, rest)| rest)
}

pub(super) fn connection(end: &Endpoint) -> String {
    let carried = end.stats.as_ref().map_or_else(String::new, |stats| {
        format!(", {} bytes up, {} bytes down", stats.bytes_sent, stats.bytes_received)
    });
    format!("from {} to {}{carried}", end.local, end.peer)
}
