//! The operator's port: metrics, health, and purges. Not for clients, nor for web pages in an operator's browser.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cache::{DiskError, Partition};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use http_stack::{Answer, Handler, Reply, RequestHead, Response};
use tokio::sync::Semaphore;
use url::{Url, form_urlencoded};

use crate::access::Users;
use crate::caching::{CacheStore, PurgeCount, key_of_url};
use crate::journal::{Metrics, exposition};
use crate::target::Authority;
use crate::upstream::{Health, OriginAddress, ServerTally};

/// The servers of an origin, and their health.
pub type SiteServers = (Arc<[OriginAddress]>, Arc<Health>);

/// Handler of the operator's requests.
pub struct AdminHandler(Rc<AdminCore>);

struct AdminCore {
    cores: Vec<Arc<Metrics>>,
    state: Rc<ProxyState>,
    /// Users that have access; `None` for everyone.
    users: Option<Arc<Users>>,
    /// Limits password verification to one at a time: guessing must not occupy all cores.
    verifier: Semaphore,
    /// Unix time at which the world's clock started.
    start: Duration,
}

/// State that changes while the proxy runs.
#[derive(Debug, Default)]
pub struct ProxyState {
    /// True while the proxy drains.
    pub is_draining: Cell<bool>,
    /// The store, if there is a cache.
    pub store: RefCell<Option<Arc<CacheStore>>>,
    /// The servers of the origins behind it.
    pub sites: RefCell<Vec<SiteServers>>,
    /// Cache partitions beside the forward proxy's: one for each table of origins behind it.
    pub partitions: RefCell<Vec<Partition>>,
}

impl AdminHandler {
    /// A handler that reports on all `cores` to `users`, or to everyone if there are none.
    pub fn new(
        cores: Vec<Arc<Metrics>>,
        state: Rc<ProxyState>,
        users: Option<Arc<Users>>,
        start: Duration,
    ) -> AdminHandler {
        AdminHandler(Rc::new(AdminCore { cores, state, users, verifier: Semaphore::new(1), start }))
    }
}

impl AdminCore {
    async fn verify(&self, users: Arc<Users>, claim: Vec<u8>) -> bool {
        let _turn = self.verifier.acquire().await;
        world::blocking(move || users.verify(&claim)).await.is_some()
    }

    fn answer(&self, method: &str, target: &str) -> Answer {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if (method, path) == ("POST", "/purge") {
            return self.purge(query);
        }
        Answer::Ready(match (method, path) {
            ("GET" | "HEAD", "/metrics") => text(StatusCode::OK, self.metrics()),
            ("GET" | "HEAD", "/health") => self.health(),
            (_, "/metrics" | "/health" | "/purge") => {
                text(StatusCode::METHOD_NOT_ALLOWED, "GET /metrics, GET /health, POST /purge\n")
            }
            _ => text(StatusCode::NOT_FOUND, "not found: try /metrics, /health or /purge\n"),
        })
    }

    fn metrics(&self) -> String {
        let store = self.state.store.borrow();
        let stored = store.as_ref().map(|store| (store.memory().tally(), store.disk_tally()));
        exposition(&self.cores, stored, &self.servers())
    }

    /// The servers of origins behind the proxy.
    fn servers(&self) -> Vec<(String, ServerTally)> {
        let sites = self.state.sites.borrow();
        if sites.is_empty() {
            return Vec::new();
        }
        let now = self.start + world::now().since(units::Time::ZERO);
        let tallies = sites.iter().flat_map(|(origins, health)| {
            origins.iter().map(ToString::to_string).zip(health.tally(now))
        });
        tallies.collect()
    }

    fn health(&self) -> Reply {
        match self.state.is_draining.get() {
            // Load balancers then stop sending requests here.
            true => text(StatusCode::SERVICE_UNAVAILABLE, "draining\n"),
            false => text(StatusCode::OK, "ok\n"),
        }
    }

    /// Removes the responses that `query` names.
    fn purge(&self, query: &str) -> Answer {
        let Some(store) = self.state.store.borrow().clone() else {
            let nothing = text(StatusCode::NOT_FOUND, "this proxy has no cache\n");
            return Answer::Ready(nothing);
        };
        let Some(named) = PurgeScope::parse(query) else {
            let known =
                "name one thing to purge: /purge?url=URL, /purge?prefix=URL or /purge?all\n";
            return Answer::Ready(text(StatusCode::BAD_REQUEST, known));
        };
        let mut parts = vec![Partition::default()];
        parts.extend_from_slice(&self.state.partitions.borrow());
        Answer::later(async move {
            match named.purge(&store, &parts).await {
                Ok(PurgeCount { memory, disk: None }) => {
                    text(StatusCode::OK, format!("{memory}\n"))
                }
                Ok(PurgeCount { memory, disk: Some(disk) }) => {
                    text(StatusCode::OK, format!("{memory} in memory, {disk} on disk\n"))
                }
                Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
            }
        })
    }
}

/// Scope of a purge: `url=URL`, `prefix=URL` or `all`.
enum PurgeScope {
    One(Url),
    Prefix(Url),
    All,
}

impl PurgeScope {
    fn parse(query: &str) -> Option<PurgeScope> {
        let mut named = form_urlencoded::parse(query.as_bytes());
        let (Some((name, value)), None) = (named.next(), named.next()) else { return None };
        let url =
            || Url::parse(&value).ok().filter(|url| ["http", "https"].contains(&url.scheme()));
        match (&*name, &*value) {
            ("all", "") => Some(PurgeScope::All),
            ("url", _) => url().map(PurgeScope::One),
            ("prefix", _) => url().map(PurgeScope::Prefix),
            _ => None,
        }
    }

    async fn purge(
        &self,
        store: &CacheStore,
        parts: &[Partition],
    ) -> Result<PurgeCount, DiskError> {
        let mut sum = PurgeCount::default();
        match self {
            PurgeScope::All => sum = store.purge_all().await?,
            PurgeScope::Prefix(url) => {
                for part in parts {
                    sum += store.purge_prefix(*part, url.as_str()).await?;
                }
            }
            PurgeScope::One(url) => {
                for part in parts {
                    sum += store.purge_key(&key_of_url(*part, url)).await?;
                }
            }
        }
        Ok(sum)
    }
}

impl Handler for AdminHandler {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        let AdminHandler(desk) = self;
        if is_cross_origin(&request) {
            return Answer::Ready(text(StatusCode::FORBIDDEN, "cross-site requests are refused\n"));
        }
        let Some(users) = &desk.users else {
            return match resists_rebinding(request.authority) {
                true => desk.answer(request.method, request.target),
                // An attacker's name can be made to lead here (DNS rebinding).
                false => Answer::Ready(text(
                    StatusCode::MISDIRECTED_REQUEST,
                    "without passwords (admin.users), request this port by its address or as localhost\n",
                )),
            };
        };
        let Some(claim) = request.fields.get(AUTHORIZATION.as_str()) else {
            return Answer::Ready(unknown_user());
        };
        if users.recall(claim).is_some() {
            return desk.answer(request.method, request.target);
        }
        let (desk, users, claim) = (Rc::clone(desk), Arc::clone(users), claim.to_vec());
        let (method, target) = (request.method.to_owned(), request.target.to_owned());
        Answer::later(async move {
            match desk.verify(users, claim).await {
                false => Response::Whole(unknown_user()),
                true => match desk.answer(&method, &target) {
                    Answer::Ready(reply) => Response::Whole(reply),
                    Answer::Later(response) => response.await,
                },
            }
        })
    }
}

/// Returns true if a browser sends the request for a page of another origin.
fn is_cross_origin(request: &RequestHead<'_>) -> bool {
    let own = format!("{}://{}", request.scheme, request.authority);
    let is_own = |origin: &[u8]| origin.eq_ignore_ascii_case(own.as_bytes());
    let is_from_here = |site: &[u8]| site == b"same-origin" || site == b"none";
    !request.fields.get_all("origin").all(is_own)
        || !request.fields.get_all("sec-fetch-site").all(is_from_here)
}

/// Returns true if DNS rebinding cannot produce `authority`: an address, or localhost.
fn resists_rebinding(authority: &str) -> bool {
    match Authority::parse(authority) {
        Ok(asked) => {
            asked.host.eq_ignore_ascii_case("localhost")
                || asked.bare_host().parse::<IpAddr>().is_ok()
        }
        // HTTP/1.0, which browsers do not use.
        Err(_) => authority.is_empty(),
    }
}

fn unknown_user() -> Reply {
    let mut fields = HeaderMap::new();
    let challenge =
        HeaderValue::from_static("Basic realm=\"farlink's operator\", charset=\"UTF-8\"");
    fields.insert(WWW_AUTHENTICATE, challenge);
    Reply::new(StatusCode::UNAUTHORIZED, fields, Bytes::new())
}

fn text(status: StatusCode, text: impl Into<Bytes>) -> Reply {
    let mut fields = HeaderMap::new();
    let plain = "text/plain; version=0.0.4; charset=utf-8";
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(plain));
    Reply::new(status, fields, text.into())
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use cache::{CacheKey, CacheRequest, ExchangeTimes, MemoryLimits, StoragePolicy};
    use http::Method;

    use super::*;
    use crate::caching::CacheSettings;

    /// A store that contains `uris`.
    fn store(uris: &[(u32, &str)]) -> Arc<CacheStore> {
        let limits = MemoryLimits { bytes: 1 << 20, entry_bytes: 1 << 16 };
        let settings = CacheSettings { limits, policy: StoragePolicy::default() };
        let store = CacheStore::new(settings, (1, 2), Duration::from_secs(1));
        for (part, uri) in uris {
            let key = CacheKey::new(Partition(*part), cache::Scheme::Http, "a.test", uri);
            let now = cache::Date::from_unix_secs(1);
            let mut fields = HeaderMap::new();
            fields.insert("cache-control", HeaderValue::from_static("max-age=60"));
            let nothing = HeaderMap::new();
            let request = CacheRequest::new(&Method::GET, &nothing);
            let exchange = ExchangeTimes { sent: now, received: now };
            let storable = cache::storable(
                &request,
                StatusCode::OK,
                &fields,
                exchange,
                &StoragePolicy::default(),
            );
            let ticket = store.memory().ticket(&key);
            let body = Bytes::from_static(b"x");
            store.insert(&key, ticket, StatusCode::OK, storable.expect("storable"), body);
        }
        store
    }

    fn ask(admin: &AdminHandler, method: &str, target: &str) -> (u16, String) {
        answered(admin.handle(RequestHead::new(method, "127.0.0.1:9", target)))
    }

    fn answered(answer: Answer) -> (u16, String) {
        let reply = match answer {
            Answer::Ready(reply) => reply,
            Answer::Later(mut later) => {
                match later.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(Response::Whole(reply)) => reply,
                    _ => panic!("without a disk the operator is answered at once"),
                }
            }
        };
        let body = String::from_utf8(reply.body.to_vec()).expect("text");
        (reply.head.parts.status().as_u16(), body)
    }

    #[test]
    fn pages_of_other_sites_are_turned_away() {
        let admin = AdminHandler::new(Vec::new(), Rc::default(), None, Duration::ZERO);
        let asked = |host: &str, fields: &[(&'static str, &str)]| {
            let mut map = HeaderMap::new();
            for (name, value) in fields {
                map.append(*name, value.parse().expect("a value"));
            }
            let head =
                RequestHead { fields: (&map).into(), ..RequestHead::new("GET", host, "/health") };
            answered(admin.handle(head)).0
        };
        for host in ["127.0.0.1:9", "[::1]:9", "localhost:9", "LocalHost", ""] {
            assert_eq!(asked(host, &[]), 200, "{host}");
        }
        for host in ["evil.test", "127.0.0.1.evil.test:9", "localhost.evil.test", "a@127.0.0.1"] {
            assert_eq!(asked(host, &[]), 421, "{host}");
        }
        assert_eq!(asked("127.0.0.1:9", &[("origin", "http://127.0.0.1:9")]), 200);
        for origin in ["http://evil.test", "null", "http://127.0.0.1:8", "https://127.0.0.1:9"] {
            assert_eq!(asked("127.0.0.1:9", &[("origin", origin)]), 403, "{origin}");
        }
        assert_eq!(asked("127.0.0.1:9", &[("sec-fetch-site", "cross-site")]), 403);
        assert_eq!(asked("127.0.0.1:9", &[("sec-fetch-site", "none")]), 200);
    }

    #[test]
    fn operators_are_known_by_their_passwords() {
        let hash = crate::access::PasswordHash::new("secret").expect("randomness");
        let users = Arc::new(Users::parse(&format!("anna:{hash}")).expect("users"));
        let right = b"Basic YW5uYTpzZWNyZXQ=";
        assert_eq!(users.verify(right).as_deref(), Some("anna"));
        let admin = AdminHandler::new(Vec::new(), Rc::default(), Some(users), Duration::ZERO);
        let mut fields = HeaderMap::new();
        let ask = |fields: &HeaderMap| {
            let head = RequestHead::new("GET", "proxy.example", "/health");
            answered(admin.handle(RequestHead { fields: fields.into(), ..head })).0
        };
        assert_eq!(ask(&fields), 401);
        fields.insert("authorization", HeaderValue::from_bytes(right).expect("a value"));
        assert_eq!(ask(&fields), 200);
    }

    #[test]
    fn what_is_purged_is_gone_from_every_part() {
        let store = store(&[(0, "/a"), (1, "/a"), (1, "/b"), (1, "/c/d")]);
        let state = ProxyState { store: RefCell::new(Some(store)), ..ProxyState::default() };
        state.partitions.replace(vec![Partition(1)]);
        let admin = AdminHandler::new(Vec::new(), Rc::new(state), None, Duration::ZERO);
        let purge = |query: &str| ask(&admin, "POST", &format!("/purge?{query}"));
        assert_eq!(purge("url=http%3A%2F%2Fa.test%2Fa"), (200, "2\n".to_owned()));
        assert_eq!(purge("url=http://a.test/a"), (200, "0\n".to_owned()));
        assert_eq!(purge("prefix=http://a.test/c/"), (200, "1\n".to_owned()));
        assert_eq!(purge("all"), (200, "1\n".to_owned()));
        for wrong in ["", "url=x", "url=ftp://a/", "all&url=http://a/", "other=http://a/"] {
            assert_eq!(purge(wrong).0, 400, "{wrong}");
        }
        assert_eq!(ask(&admin, "GET", "/purge?all").0, 405);
        assert!(ask(&admin, "GET", "/metrics").1.contains("farlink_cache_entries 0"));
    }

    #[test]
    fn health_says_when_the_end_has_begun() {
        let admin = AdminHandler::new(Vec::new(), Rc::default(), None, Duration::ZERO);
        assert_eq!(ask(&admin, "GET", "/health"), (200, "ok\n".to_owned()));
        admin.0.state.is_draining.set(true);
        assert_eq!(ask(&admin, "GET", "/health").0, 503);
        assert_eq!(ask(&admin, "POST", "/purge?all").0, 404);
    }
}
