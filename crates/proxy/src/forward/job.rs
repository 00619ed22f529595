//! A request prepared for forwarding: everything needed of its head, which does not outlive its connection's buffer.

use std::sync::Arc;

use cache::OwnedKey;
use http::header::{CONNECTION, EXPECT, HeaderName, UPGRADE};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, Version};
use http_stack::RequestHead;
use ipnet::IpNet;
use tls::Protocol;

use super::failover::Servers;
use super::replies::RefusedRequest;
use super::route::RequestRoute;
use super::transit::Interims;
use crate::access::within;
use crate::caching::{ClientFields, SingleFlight};
use crate::config::{HostField, ProxyConfig};
use crate::fields::{self, DisclosedClient, Disclosure};
use crate::overrides::Overrides;
use crate::target::{Authority, Scheme};
use crate::upstream::{ClientPeer, OriginAddress};

/// Removes stored responses: a request for caches, never for origins.
const PURGE: &str = "PURGE";
const MAX_FORWARDS: HeaderName = HeaderName::from_static("max-forwards");

/// Action for a request.
#[derive(Debug)]
pub(super) enum ForwardJob {
    /// Fetch from an origin.
    Fetch(Box<Fetch>),
    /// Open a tunnel.
    Tunnel(OriginAddress),
    /// Answer `OPTIONS` with the supported methods.
    Options,
    /// Remove the stored responses under these keys.
    Purge(Vec<OwnedKey>),
}

/// A request for an origin.
#[derive(Debug)]
pub(super) struct Fetch {
    pub(super) destination: OriginAddress,
    /// The servers of an origin behind this proxy; `destination` is the first in turn.
    pub(super) servers: Option<Servers>,
    /// The client.
    pub(super) client: ClientPeer,
    /// True if the operator chose the origin.
    pub(super) is_operators: bool,
    /// Cache key of its response, if there is a cache.
    pub(super) key: Option<OwnedKey>,
    /// True if the fields that describe its client are this proxy's own.
    pub(super) own_disclosure: bool,
    /// Alternative service to advertise to its client (`Alt-Svc`), if any.
    pub(super) alternative: Option<HeaderValue>,
    /// True if it offers a switch to another protocol (`Upgrade`).
    pub(super) is_upgrade: bool,
    /// Interim responses before the answer.
    pub(super) interims: Interims,
    /// Indices of the header rules that change it and its response.
    pub(super) header_rules: Vec<usize>,
    /// The flight that other requests wait for.
    pub(super) flight: Option<SingleFlight>,
    pub(super) request: Request<()>,
}

impl Fetch {
    /// Its fields, as far as its client chose them.
    pub(super) fn asked(&self) -> ClientFields<'_> {
        ClientFields { fields: self.request.headers(), own_disclosure: self.own_disclosure }
    }
}

impl ForwardJob {
    /// Interim responses before its answer.
    pub(super) fn interims(&self) -> Interims {
        match self {
            ForwardJob::Fetch(fetch) => fetch.interims.clone(),
            _ => Interims::default(),
        }
    }

    /// Prepares `head`, which goes along `route`. `key` is the cache key of its response; `turn` selects one of an origin's several servers.
    pub(super) fn new(
        settings: &ProxyConfig,
        route: RequestRoute<'_, '_>,
        head: &RequestHead<'_>,
        scheme: Scheme,
        key: Option<OwnedKey>,
        turn: usize,
    ) -> Result<ForwardJob, RefusedRequest> {
        if head.method == PURGE {
            return purge(settings, &route, head).map(ForwardJob::Purge);
        }
        let header_rules = header_rules(settings, &route);
        let (mut servers, no_overrides) = (None, Overrides::of(Vec::new()));
        let (destination, is_operators, asked, path, disclosure, trusted, overrides) = match route {
            RequestRoute::Pac | RequestRoute::Itself => return Ok(ForwardJob::Options),
            RequestRoute::Tunnel { authority, .. } => {
                return Ok(ForwardJob::Tunnel(OriginAddress::new(Scheme::Https, &authority)));
            }
            RequestRoute::Forward { forward, scheme, authority, path } => {
                let destination = OriginAddress::new(scheme, &authority);
                (destination, false, None, path, forward.disclosure, &[][..], &no_overrides)
            }
            RequestRoute::Reverse { site, authority, path, .. } => {
                let destination = site.origins[turn % site.origins.len()].clone();
                let asked = authority.filter(|_| site.host_field == HostField::Client);
                servers = Some(Servers {
                    origins: Arc::clone(&site.origins),
                    health: Arc::clone(&site.health),
                    turn,
                    by_own_name: asked.is_none(),
                });
                let trusted = &site.trusted[..];
                (destination, true, asked, path, site.disclosure, trusted, &site.overrides)
            }
        };
        let method = method(head.method)?;
        // The target names the host (RFC 9112 section 3.2.2).
        let but_host = head.fields.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("host"));
        let mut fields = fields::gather(but_host)?;
        let offered = fields::offered_protocol(&fields);
        let expects = fields::expects_continue(&fields);
        fields::strip(&mut fields);
        if settings.via.has_passed(&fields) {
            let message = "the request has passed this proxy before: it is in a loop";
            return Err(RefusedRequest::new(
                StatusCode::LOOP_DETECTED,
                "proxy_loop_detected",
                message,
            ));
        }
        if method == Method::OPTIONS && is_last_hop(&mut fields)? {
            return Ok(ForwardJob::Options);
        }
        if !head.peer.is_some_and(|peer| within(trusted, peer.ip())) {
            overrides.strip(&mut fields);
        }
        settings.via.add(&mut fields, version(head.protocol));
        let own_disclosure = tell(disclosure, &mut fields, head, scheme, trusted)?;
        let is_1_0 = head.protocol == Protocol::H10;
        if expects && !is_1_0 {
            // RFC 9110 section 10.1.1: the origin decides if it wants the body.
            fields.insert(EXPECT, HeaderValue::from_static("100-continue"));
        }
        // Only HTTP/1.1 has it; clients of a forward proxy use CONNECT.
        let offered = offered.filter(|_| is_operators && head.protocol == Protocol::H1);
        let is_upgrade = offered.is_some();
        if let Some(protocol) = offered {
            fields.insert(CONNECTION, HeaderValue::from_static("upgrade"));
            fields.insert(UPGRADE, protocol);
        }
        for rule in &header_rules {
            settings.header_rules[*rule].request.apply(&mut fields);
        }
        let uri = uri(&destination, asked, path)?;
        let mut request = Request::new(());
        (*request.method_mut(), *request.uri_mut(), *request.headers_mut()) = (method, uri, fields);
        let (alternative, interims) = (None, Interims::default());
        let client = ClientPeer::at(head.peer);
        let fetch = Fetch {
            destination,
            servers,
            client,
            is_operators,
            key,
            own_disclosure,
            alternative,
            is_upgrade,
            header_rules,
            flight: None,
            interims,
            request,
        };
        Ok(ForwardJob::Fetch(Box::new(fetch)))
    }
}

/// Indices of the header rules for requests along this route.
fn header_rules(settings: &ProxyConfig, route: &RequestRoute<'_, '_>) -> Vec<usize> {
    let Some((host, path)) = route.place() else { return Vec::new() };
    let rules = settings.header_rules.iter().enumerate();
    rules.filter(|(_, rule)| rule.scope.covers(host, path)).map(|(index, _)| index).collect()
}

/// The keys that a purge request names, if its client may purge.
fn purge(
    settings: &ProxyConfig,
    route: &RequestRoute<'_, '_>,
    head: &RequestHead<'_>,
) -> Result<Vec<OwnedKey>, RefusedRequest> {
    let refused = |status, message| Err(RefusedRequest::denied(status, message));
    if settings.purgers.is_empty() || settings.cache.is_none() {
        return refused(StatusCode::METHOD_NOT_ALLOWED, "PURGE is not enabled here");
    }
    if !head.peer.is_some_and(|peer| within(&settings.purgers, peer.ip())) {
        return refused(StatusCode::FORBIDDEN, "your address may not purge");
    }
    // Under either scheme of clients.
    Ok([Scheme::Http, Scheme::Https]
        .into_iter()
        .filter_map(|scheme| Some(route.key(scheme)?.to_owned()))
        .collect())
}

fn method(name: &str) -> Result<Method, RefusedRequest> {
    match Method::from_bytes(name.as_bytes()) {
        // Its answer would contain fields that others added to the request (RFC 9110 section 9.3.8).
        Ok(Method::TRACE) => Err(RefusedRequest::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "http_request_error",
            "TRACE is not forwarded",
        )),
        Ok(method) => Ok(method),
        Err(_) => Err(RefusedRequest::malformed("the method is malformed")),
    }
}

/// The URI of the request to the origin; `asked` is the client's host, if that is kept.
fn uri(
    destination: &OriginAddress,
    asked: Option<Authority<'_>>,
    path: &str,
) -> Result<Uri, RefusedRequest> {
    let malformed = || RefusedRequest::malformed("the target is malformed");
    let authority = match asked {
        None => destination.authority(),
        Some(asked) => asked.text.to_owned(),
    };
    let path: PathAndQuery = match path.starts_with('/') {
        true => path.parse(),
        false => format!("/{path}").parse(),
    }
    .map_err(|_| malformed())?;
    let uri =
        Uri::builder().scheme(destination.scheme.name()).authority(authority).path_and_query(path);
    uri.build().map_err(|_| malformed())
}

/// Returns true if `Max-Forwards` ends here; decrements it otherwise (RFC 9110 section 7.6.2).
fn is_last_hop(fields: &mut HeaderMap) -> Result<bool, RefusedRequest> {
    let Some(left) = fields.get(MAX_FORWARDS) else { return Ok(false) };
    let left = left.to_str().ok().and_then(|left| left.parse::<u32>().ok());
    let left = left.ok_or_else(|| RefusedRequest::malformed("Max-Forwards is not a number"))?;
    if let Some(less) = left.checked_sub(1) {
        fields.insert(MAX_FORWARDS, HeaderValue::from(less));
    }
    Ok(left == 0)
}

fn tell(
    disclosure: Disclosure,
    fields: &mut HeaderMap,
    head: &RequestHead<'_>,
    scheme: Scheme,
    trusted: &[IpNet],
) -> Result<bool, RefusedRequest> {
    let Some(peer) = head.peer else { return Ok(false) };
    let client = DisclosedClient { address: peer.ip(), scheme, host: head.authority };
    let told = disclosure.tell(fields, client, trusted);
    told.map_err(|_| RefusedRequest::malformed("the host is malformed"))
}

/// The HTTP version of a received message, for `Via`.
pub(super) fn version(protocol: Protocol) -> Version {
    match protocol {
        Protocol::H10 => Version::HTTP_10,
        Protocol::H2 => Version::HTTP_2,
        Protocol::H3 => Version::HTTP_3,
        Protocol::H1 | Protocol::Spdy(_) => Version::HTTP_11,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{File, resolve};
    use crate::forward::route::route;
    use crate::target::RequestTarget;

    fn job(
        method: &str,
        target: &str,
        fields: &[(&'static str, &str)],
    ) -> Result<ForwardJob, RefusedRequest> {
        let settings = resolve(File::default(), "farlink-test").expect("settings");
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(*name, value.parse().expect("a value"));
        }
        let head =
            RequestHead { fields: (&map).into(), ..RequestHead::new(method, "p.test", target) };
        let target = RequestTarget::of(method, target, "p.test", None).expect("a target");
        let route = route(&settings, target, Scheme::Http, false)?;
        route.judge()?;
        ForwardJob::new(&settings, route, &head, Scheme::Http, None, 0)
    }

    fn fetched(job: Result<ForwardJob, RefusedRequest>) -> (OriginAddress, Request<()>) {
        match job {
            Ok(ForwardJob::Fetch(fetch)) => (fetch.destination, fetch.request),
            other => panic!("not to be fetched: {other:?}"),
        }
    }

    #[test]
    fn origins_are_asked_for_what_the_target_names() {
        let fields =
            [("host", "lie.test"), ("connection", "x-hop"), ("x-hop", "1"), ("accept", "*/*")];
        let (destination, request) = fetched(job("GET", "http://A.test:8080?q", &fields));
        assert_eq!(destination.to_string(), "http://a.test:8080");
        assert_eq!(request.uri(), "http://a.test:8080/?q");
        let names: Vec<_> = request.headers().keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["accept", "via"]);
        assert_eq!(request.headers()["via"], "1.1 farlink-test");
    }

    #[test]
    fn what_must_not_pass_is_refused() {
        let status =
            |job: Result<ForwardJob, RefusedRequest>| job.expect_err("a refusal").status.as_u16();
        assert_eq!(status(job("GET", "http://a.test/", &[("via", "1.1 farlink-test")])), 508);
        assert_eq!(status(job("TRACE", "http://a.test/", &[])), 405);
        assert_eq!(status(job("GET", "http://a.test:25/", &[])), 403);
        assert_eq!(status(job("CONNECT", "a.test:22", &[])), 403);
        assert_eq!(status(job("OPTIONS", "http://a.test/", &[("max-forwards", "x")])), 400);
    }

    #[test]
    fn the_number_of_hops_is_counted_down() {
        let options = |hops| job("OPTIONS", "http://a.test/", &[("max-forwards", hops)]);
        assert!(matches!(options("0"), Ok(ForwardJob::Options)));
        assert_eq!(fetched(options("3")).1.headers()["max-forwards"], "2");
        assert_eq!(
            fetched(job("GET", "http://a.test/", &[("max-forwards", "0")])).1.method(),
            "GET"
        );
    }
}
