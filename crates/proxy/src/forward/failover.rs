//! Failover among an origin's servers, and active health checks.

use std::rc::{Rc, Weak};
use std::sync::Arc;

use http::header::{CONNECTION, EXPECT, USER_AGENT};
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Response, Uri};
use http_stack::RequestError;
use http_stack::server::RequestBody;

use super::entrance::Proxy;
use super::job::Fetch;
use crate::caching::SingleFlight;
use crate::config::{HostField, Reverse};
use crate::fields;
use crate::upstream::{
    Attempt, ClientPeer, FetchError, FetchOrder, Fetched, Health, HealthCheck, OriginAddress,
    ServerChoice,
};

/// The servers of an origin, for one request.
#[derive(Clone, Debug)]
pub(super) struct Servers {
    pub(super) origins: Arc<[OriginAddress]>,
    pub(super) health: Arc<Health>,
    /// Round-robin position.
    pub(super) turn: usize,
    /// True if requests name each server's own host.
    pub(super) by_own_name: bool,
}

impl Servers {
    /// `request` as sent to the server at `index`.
    fn ask(&self, index: usize, request: &Request<()>) -> Request<()> {
        let mut request = request.clone();
        let server = &self.origins[index];
        let mut parts = request.uri().clone().into_parts();
        parts.scheme = server.scheme.name().parse().ok();
        if self.by_own_name {
            parts.authority = server.authority().parse().ok();
        }
        if let Ok(uri) = Uri::from_parts(parts) {
            *request.uri_mut() = uri;
        }
        request
    }
}

impl Proxy {
    /// Asks an origin.
    pub(super) async fn fetch(
        &self,
        fetch: &Fetch,
        request: &Request<()>,
        mut body: Option<RequestBody>,
    ) -> Result<Fetched, FetchError> {
        let mut request = request.clone();
        if body.is_none() {
            request.headers_mut().remove(EXPECT);
        }
        let inform = &mut |mut head: Response<()>| {
            let version = head.version();
            fields::strip(head.headers_mut());
            self.settings.via.add(head.headers_mut(), version);
            fetch.interims.put(head);
        };
        let order = FetchOrder {
            destination: fetch.destination.clone(),
            reach: self.reach(fetch.is_operators),
            client: fetch.client,
            connect_timeout: None,
            request,
            body: &mut body,
            begun: &|| fetch.flight.iter().for_each(SingleFlight::connected),
        };
        let mut fetched = match &fetch.servers {
            Some(servers) => self.fetch_from(servers, order, inform).await,
            None => self.upstream.fetch(order, inform).await,
        }?;
        for rule in &fetch.header_rules {
            let status = fetched.head.status();
            self.settings.header_rules[*rule].change_response(status, fetched.head.headers_mut());
        }
        Ok(fetched)
    }

    /// Tries the servers one after the other, until one can be reached. A request of which something was sent is repeated only if it is
    /// idempotent (RFC 9110 section 9.2.2).
    async fn fetch_from(
        &self,
        servers: &Servers,
        order: FetchOrder<'_>,
        inform: &mut dyn FnMut(Response<()>),
    ) -> Result<Fetched, FetchError> {
        let FetchOrder { reach, client, request, body, begun, .. } = order;
        let is_repeatable = body.is_none() && request.method().is_idempotent();
        let deadline = world::now() + self.settings.upstream.connect_timeout;
        let mut tried = Vec::new();
        while let Some(choice) = servers.health.choose(servers.turn, &tried, self.date()) {
            let ServerChoice { index, has_more } = choice;
            tried.push(index);
            let limit = servers.health.settings().connect_timeout;
            let order = FetchOrder {
                destination: servers.origins[index].clone(),
                reach,
                client,
                connect_timeout: has_more
                    .then_some(limit.min(self.settings.upstream.connect_timeout)),
                request: servers.ask(index, &request),
                body: &mut *body,
                begun,
            };
            let asked = world::now();
            let fetched = self.upstream.fetch(order, inform).await;
            let attempt = Attempt {
                is_failure: is_failure(&fetched),
                status: fetched.as_ref().ok().map(|fetched| fetched.head.status().as_u16()),
                took: world::now().since(asked),
            };
            servers.health.note(index, attempt, self.date());
            match fetched {
                Err(error)
                    if has_more
                        && world::now() < deadline
                        && (error.is_unsent() || (is_repeatable && error.is_broken_off())) => {}
                done => return done,
            }
        }
        unreachable!("the last server's failure is final")
    }

    /// Runs the health checks of all origins' servers, for as long as `going` is alive.
    pub fn check_servers(self: &Rc<Proxy>, going: &Rc<()>) {
        for site in &self.settings.reverse {
            let Some(check) = &site.health.settings().check else { continue };
            for index in 0..site.origins.len() {
                let request = probe(site, index, check);
                let (health, server) = (Arc::clone(&site.health), site.origins[index].clone());
                let (proxy, going) = (Rc::downgrade(self), Rc::downgrade(going));
                drop(world::spawn(check_one(proxy, going, health, (index, server, request))));
            }
        }
    }
}

/// Checks one server periodically.
async fn check_one(
    proxy: Weak<Proxy>,
    going: Weak<()>,
    health: Arc<Health>,
    (index, server, request): (usize, OriginAddress, Request<()>),
) {
    let Some(HealthCheck { interval, timeout, .. }) = health.settings().check else { return };
    while going.strong_count() > 0 {
        let Some(upstream) = proxy.upgrade().map(|proxy| proxy.upstream.clone()) else { return };
        let status = upstream.probe(&server, &request, timeout).await;
        let is_well = status.is_ok_and(|s| s.is_success() || s.is_redirection());
        health.note_check(index, !is_well);
        world::sleep(interval).await;
    }
}

/// The request of a health check.
fn probe(site: &Reverse, index: usize, check: &HealthCheck) -> Request<()> {
    let server = &site.origins[index];
    let own = server.authority();
    // A pattern cannot be requested as a host.
    let named = site.hosts.iter().find(|host| !host.starts_with('.'));
    let host = match site.host_field {
        HostField::Client => named.unwrap_or(&own),
        HostField::Origin => &own,
    };
    let path: PathAndQuery = check.path.clone();
    let uri = Uri::builder().scheme(server.scheme.name()).authority(host.as_str());
    let mut request = Request::new(());
    *request.uri_mut() = uri.path_and_query(path).build().expect("all parts were read as such");
    let fields = request.headers_mut();
    fields.insert(CONNECTION, HeaderValue::from_static("close"));
    fields.insert(USER_AGENT, HeaderValue::from_static("farlink-check"));
    request
}

/// Returns true if a server failed; `None` if the failure is not the server's.
fn is_failure(fetched: &Result<Fetched, FetchError>) -> Option<bool> {
    match fetched {
        Ok(Fetched { head, .. }) => Some(matches!(head.status().as_u16(), 502..=504)),
        Err(
            FetchError::Forbidden(_)
            | FetchError::Crowded
            | FetchError::QueueTimeout
            | FetchError::Failed(RequestError::Unsendable(_)),
        ) => None,
        Err(_) => Some(true),
    }
}

impl Fetch {
    /// The same request on behalf of the proxy itself.
    pub(super) fn for_the_proxy(self) -> Fetch {
        Fetch { client: ClientPeer::default(), ..self }
    }
}
