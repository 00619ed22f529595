//! Routing of a request, by its target and the proxy's settings. No IO.

use cache::{CacheKey, Partition};
use http::StatusCode;

use super::replies::RefusedRequest;
use crate::access::matches;
use crate::config::{Forward, ProxyConfig, Reverse};
use crate::rules::begins;
use crate::target::{Authority, RequestTarget, Scheme};

/// Route of a request.
#[derive(Clone, Debug)]
pub enum RequestRoute<'s, 't> {
    /// The proxy itself: a request for the auto-configuration file.
    Pac,
    /// The proxy itself: a request for its capabilities.
    Itself,
    /// To an origin behind this proxy.
    Reverse {
        /// The site.
        site: &'s Reverse,
        /// The requested host.
        authority: Option<Authority<'t>>,
        /// Path and query.
        path: &'t str,
    },
    /// To any origin.
    Forward {
        /// Rules for destinations and disclosure.
        forward: &'s Forward,
        /// Scheme of the origin.
        scheme: Scheme,
        /// The origin.
        authority: Authority<'t>,
        /// Path and query.
        path: &'t str,
    },
    /// Through a tunnel.
    Tunnel {
        /// Rules for destinations and disclosure.
        forward: &'s Forward,
        /// Its end.
        authority: Authority<'t>,
    },
}

impl RequestRoute<'_, '_> {
    /// Judges the route by its target; the address is judged when it is resolved.
    ///
    /// # Errors
    /// The reason for the refusal.
    pub fn judge(&self) -> Result<(), RefusedRequest> {
        let judged = match self {
            RequestRoute::Forward { forward, scheme, authority, .. } => {
                let port = authority.port.unwrap_or(scheme.default_port());
                forward.destinations.judge_request(authority.bare_host(), port)
            }
            RequestRoute::Tunnel { forward, authority } => {
                let port = authority.port.unwrap_or(Scheme::Https.default_port());
                forward.destinations.judge_tunnel(authority.bare_host(), port)
            }
            RequestRoute::Pac | RequestRoute::Itself | RequestRoute::Reverse { .. } => Ok(()),
        };
        Ok(judged?)
    }

    /// The host and the path that it leads to, if it leads to an origin; a tunnel has no path.
    pub fn place(&self) -> Option<(&str, Option<&str>)> {
        match self {
            RequestRoute::Forward { authority, path, .. } => {
                Some((authority.bare_host(), Some(path)))
            }
            RequestRoute::Reverse { authority, path, .. } => {
                Some((authority.map_or("", |authority| authority.bare_host()), Some(path)))
            }
            RequestRoute::Tunnel { authority, .. } => Some((authority.bare_host(), None)),
            RequestRoute::Pac | RequestRoute::Itself => None,
        }
    }

    /// The cache key of a response along this route, if it leads to an origin. `client_scheme` is the scheme of the client's request:
    /// the origins behind this proxy may answer differently by it.
    pub fn key(&self, client_scheme: Scheme) -> Option<CacheKey<'_>> {
        let (_, path) = self.place()?;
        self.key_of(path?, client_scheme)
    }

    /// The same for another path and query of the same origin.
    pub fn key_of<'k>(&'k self, path: &'k str, client_scheme: Scheme) -> Option<CacheKey<'k>> {
        match self {
            RequestRoute::Forward { scheme, authority, .. } => {
                Some(CacheKey::new(Partition::default(), *scheme, authority.text, path))
            }
            RequestRoute::Reverse { site, authority, .. } => {
                let authority = authority.map_or("", |authority| authority.text);
                Some(CacheKey::new(site.partition, client_scheme, authority, path))
            }
            _ => None,
        }
    }
}

/// Routes a request for `target` on a connection of `scheme`; `single_form` if the protocol writes targets in one form only (HTTP/2
/// and later), so that requests to the proxy itself look like requests to origins through it.
///
/// # Errors
/// If there is no route.
pub fn route<'s, 't>(
    settings: &'s ProxyConfig,
    target: RequestTarget<'t>,
    scheme: Scheme,
    single_form: bool,
) -> Result<RequestRoute<'s, 't>, RefusedRequest> {
    match target {
        RequestTarget::Server => Ok(RequestRoute::Itself),
        RequestTarget::Local { authority, path } => local(settings, authority, path),
        RequestTarget::Tunnel(authority) => {
            let forward = settings.forward.as_ref().ok_or_else(no_forward_proxy)?;
            Ok(RequestRoute::Tunnel { forward, authority })
        }
        RequestTarget::Absolute { scheme: asked, authority, path } => {
            // Over HTTP/2, clients ask a proxy for `https` only by CONNECT: such a request is for the server itself.
            let is_local = single_form && asked == scheme;
            if is_local && (asked == Scheme::Https || is_pac(settings, authority.host, path)) {
                return local(settings, Some(authority), path);
            }
            // RFC 9112 section 3.2.2: a server accepts a target in absolute form as well. Without a forward proxy it can be meant for no
            // one else.
            let counts_any = asked == scheme && settings.forward.is_none();
            if let Some(site) = site(settings, authority.host, path, counts_any) {
                return Ok(RequestRoute::Reverse { site, authority: Some(authority), path });
            }
            let forward = settings.forward.as_ref().ok_or_else(no_forward_proxy)?;
            Ok(RequestRoute::Forward { forward, scheme: asked, authority, path })
        }
    }
}

fn local<'s, 't>(
    settings: &'s ProxyConfig,
    authority: Option<Authority<'t>>,
    path: &'t str,
) -> Result<RequestRoute<'s, 't>, RefusedRequest> {
    let host = authority.map_or("", |authority| authority.host);
    if is_pac(settings, host, path) {
        return Ok(RequestRoute::Pac);
    }
    match site(settings, host, path, true) {
        Some(site) => Ok(RequestRoute::Reverse { site, authority, path }),
        None if settings.reverse.iter().any(|site| has_host(site, host, true)) => Err(
            RefusedRequest::denied(StatusCode::NOT_FOUND, "this proxy serves no such path there"),
        ),
        None if settings.reverse.is_empty() => Err(RefusedRequest::denied(
            StatusCode::NOT_FOUND,
            "this is a proxy: it expects absolute URLs",
        )),
        // RFC 9110 section 15.5.20.
        None => Err(RefusedRequest::new(
            StatusCode::MISDIRECTED_REQUEST,
            "destination_not_found",
            "this proxy serves no such host",
        )),
    }
}

/// The first site behind this proxy with the name `host` and this path; `any` if sites without names count.
fn site<'s>(settings: &'s ProxyConfig, host: &str, path: &str, any: bool) -> Option<&'s Reverse> {
    settings.reverse.iter().find(|site| has_host(site, host, any) && has_path(site, path))
}

fn has_host(site: &Reverse, host: &str, any: bool) -> bool {
    match site.hosts.is_empty() {
        true => any,
        false => site.hosts.iter().any(|pattern| matches(pattern, host)),
    }
}

fn has_path(site: &Reverse, path: &str) -> bool {
    site.paths.is_empty() || site.paths.iter().any(|begin| begins(path, begin))
}

/// True if the auto-configuration file is requested: at its path, or as clients discover it (draft-ietf-wrec-wpad-01 section 4.6).
fn is_pac(settings: &ProxyConfig, host: &str, path: &str) -> bool {
    let label = host.split('.').next().unwrap_or_default();
    let is_discovery = path == "/wpad.dat" && label.eq_ignore_ascii_case("wpad");
    settings.pac.as_ref().is_some_and(|pac| pac.path == path || is_discovery)
}

/// Refusal of a host that is not behind this proxy, where there is no forward proxy.
pub(super) fn no_forward_proxy() -> RefusedRequest {
    let message = "this is not a forward proxy, and it serves no such host";
    RefusedRequest::new(StatusCode::MISDIRECTED_REQUEST, "destination_not_found", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{File, resolve};
    use crate::upstream::OriginAddress;

    fn settings(forward: bool, sites: &[(Option<&str>, &str)]) -> ProxyConfig {
        let mut file = File::default();
        for (host, url) in sites {
            file.reverse(*host, url).expect("an origin");
        }
        file.forward.enabled = Some(forward);
        file.pac = Some(Default::default());
        resolve(file, "farlink-test").expect("settings")
    }

    /// The kind of route in a word, and its destination.
    fn of(
        settings: &ProxyConfig,
        method: &str,
        target: &str,
        h2: Option<(Scheme, &str)>,
    ) -> String {
        let (authority, scheme) = h2.map_or(("proxy.test", None), |(_, a)| (a, Some("http")));
        let scheme = h2.map_or(scheme, |(asked, _)| Some(asked.name()));
        let target = RequestTarget::of(method, target, authority, scheme).expect("a target");
        let found = route(settings, target, Scheme::Https, h2.is_some());
        match found {
            Ok(RequestRoute::Pac) => "pac".to_owned(),
            Ok(RequestRoute::Itself) => "itself".to_owned(),
            Ok(RequestRoute::Reverse { site, .. }) => format!("reverse {}", site.origins[0]),
            Ok(RequestRoute::Forward { scheme, authority, .. }) => {
                format!("forward {}", OriginAddress::new(scheme, &authority))
            }
            Ok(RequestRoute::Tunnel { authority, .. }) => {
                format!("tunnel {}", OriginAddress::new(Scheme::Https, &authority))
            }
            Err(refused) => refused.status.as_u16().to_string(),
        }
    }

    #[test]
    fn a_forward_proxy_goes_where_it_is_told() {
        let proxy = settings(true, &[]);
        assert_eq!(of(&proxy, "GET", "http://A.test/x", None), "forward http://a.test:80");
        assert_eq!(of(&proxy, "CONNECT", "a.test:443", None), "tunnel https://a.test:443");
        assert_eq!(of(&proxy, "GET", "/x", None), "404");
        assert_eq!(of(&proxy, "GET", "/proxy.pac", None), "pac");
        let by_name = |host| RequestTarget::of("GET", "/wpad.dat", host, None).expect("a target");
        for (host, is_found) in [("WPAD", true), ("wpad.corp.test:80", true), ("corp.test", false)]
        {
            let found = route(&proxy, by_name(host), Scheme::Http, false);
            assert_eq!(matches!(found, Ok(RequestRoute::Pac)), is_found, "{host}");
        }
        assert_eq!(of(&proxy, "OPTIONS", "*", None), "itself");
        assert_eq!(
            of(&proxy, "GET", "/x", Some((Scheme::Http, "a.test"))),
            "forward http://a.test:80"
        );
        assert_eq!(of(&proxy, "GET", "/x", Some((Scheme::Https, "a.test"))), "404");
        assert_eq!(of(&proxy, "GET", "/proxy.pac", Some((Scheme::Https, "p.test"))), "pac");
    }

    #[test]
    fn a_reverse_proxy_goes_nowhere_else() {
        let proxy =
            settings(false, &[(Some("a.test"), "http://o:1"), (Some(".b.test"), "http://o:2")]);
        let with = |host| RequestTarget::of("GET", "/", host, None).expect("a target");
        let to = |host| match route(&proxy, with(host), Scheme::Http, false) {
            Ok(RequestRoute::Reverse { site, .. }) => site.origins[0].to_string(),
            Ok(_) => panic!("no other route"),
            Err(refused) => refused.status.as_u16().to_string(),
        };
        assert_eq!(
            [to("A.test:8080"), to("x.b.test"), to("c.test")],
            ["http://o:1", "http://o:2", "421"]
        );
        assert_eq!(of(&proxy, "GET", "http://c.test/", None), "421");
        assert_eq!(of(&proxy, "CONNECT", "c.test:443", None), "421");
        assert_eq!(of(&proxy, "GET", "/x", Some((Scheme::Https, "a.test"))), "reverse http://o:1");
        let any = settings(false, &[(None, "http://o:1")]);
        assert_eq!(of(&any, "GET", "/x", None), "reverse http://o:1");
        assert_eq!(of(&any, "GET", "https://c.test/x", None), "reverse http://o:1");
        assert_eq!(of(&any, "GET", "http://c.test/x", None), "421", "it came over TLS");
    }

    #[test]
    fn the_first_site_with_host_and_path_serves() {
        let mut file = File::default();
        for (paths, url) in
            [(&["/api", "/static/", "/my%20files"][..], "http://o:1"), (&[], "http://o:2")]
        {
            file.reverse(Some("a.test"), url).expect("an origin");
            let paths = paths.iter().map(|path| toml::Spanned::new(0..0, (*path).to_owned()));
            file.reverse.last_mut().expect("a site").paths = paths.collect();
        }
        let proxy = resolve(file.clone(), "farlink-test").expect("settings");
        let to =
            |proxy: &ProxyConfig, path| of(proxy, "GET", &format!("https://a.test{path}"), None);
        for path in ["/api", "/api/", "/api/x", "/api?x", "/static/x", "/my%20files/x"] {
            assert_eq!(to(&proxy, path), "reverse http://o:1", "{path}");
        }
        for path in ["/apis", "/", "/static", "/x/api"] {
            assert_eq!(to(&proxy, path), "reverse http://o:2", "{path}");
        }
        file.reverse.pop();
        let alone = resolve(file, "farlink-test").expect("settings");
        let missing = RequestTarget::of("GET", "/x", "a.test", None).expect("a target");
        let refused = route(&alone, missing, Scheme::Http, false).expect_err("a refusal");
        assert_eq!(refused.status, StatusCode::NOT_FOUND);
    }

    #[test]
    fn a_site_without_names_is_not_asked_for_others_hosts() {
        let both = settings(true, &[(None, "http://o:1")]);
        assert_eq!(of(&both, "GET", "/x", None), "reverse http://o:1");
        assert_eq!(of(&both, "GET", "http://c.test/", None), "forward http://c.test:80");
        assert_eq!(
            of(&both, "GET", "/x", Some((Scheme::Http, "c.test"))),
            "forward http://c.test:80"
        );
    }
}
