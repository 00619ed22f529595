//! The operator's port: metrics, health, and what is to be forgotten. Not for clients: it has no password.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cache::{DiskError, Key, Partition};
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, StatusCode};
use http_stack::{Answer, Handler, Reply, RequestHead};
use url::{Position, Url, form_urlencoded};

use crate::caching::{Forgotten, Store};
use crate::journal::{Metrics, exposition};
use crate::upstream::{Destination, Health, ServerTally};

/// Answers the operator.
pub struct Admin {
    cores: Vec<Arc<Metrics>>,
    state: Rc<State>,
    /// The date, since 1970, at which the world's clock began.
    start: Duration,
}

/// What changes while the proxy is at work.
#[derive(Debug, Default)]
pub struct State {
    /// Whether it comes to its end.
    pub is_draining: Cell<bool>,
    /// What is stored.
    pub store: RefCell<Option<Arc<Store>>>,
    /// The servers of origins behind it, and how they are.
    pub sites: RefCell<Vec<(Arc<[Destination]>, Arc<Health>)>>,
    /// The parts of the cache beside the forward proxy's: one for each table of origins behind it.
    pub partitions: RefCell<Vec<Partition>>,
}

impl Admin {
    /// Tells of all `cores`.
    pub fn new(cores: Vec<Arc<Metrics>>, state: Rc<State>, start: Duration) -> Admin {
        Admin { cores, state, start }
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
            // Whoever spreads load over several proxies sends no more here.
            true => text(StatusCode::SERVICE_UNAVAILABLE, "draining\n"),
            false => text(StatusCode::OK, "ok\n"),
        }
    }

    /// Forgets what `query` names.
    fn purge(&self, query: &str) -> Answer {
        let Some(store) = self.state.store.borrow().clone() else {
            let nothing = text(StatusCode::NOT_FOUND, "this proxy stores nothing\n");
            return Answer::Ready(nothing);
        };
        let Some(named) = Named::parse(query) else {
            let known =
                "name one thing to be forgotten: /purge?url=URL, /purge?prefix=URL or /purge?all\n";
            return Answer::Ready(text(StatusCode::BAD_REQUEST, known));
        };
        let mut parts = vec![Partition::default()];
        parts.extend_from_slice(&self.state.partitions.borrow());
        Answer::later(async move {
            match named.purge(&store, &parts).await {
                Ok(Forgotten { memory, disk: None }) => text(StatusCode::OK, format!("{memory}\n")),
                Ok(Forgotten { memory, disk: Some(disk) }) => {
                    text(StatusCode::OK, format!("{memory} in memory, {disk} on disk\n"))
                }
                Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
            }
        })
    }
}

/// What is to be forgotten: `url=URL`, `prefix=URL` or `all`.
enum Named {
    One(Url),
    Prefix(Url),
    All,
}

impl Named {
    fn parse(query: &str) -> Option<Named> {
        let mut named = form_urlencoded::parse(query.as_bytes());
        let (Some((name, value)), None) = (named.next(), named.next()) else { return None };
        let url =
            || Url::parse(&value).ok().filter(|url| ["http", "https"].contains(&url.scheme()));
        match (&*name, &*value) {
            ("all", "") => Some(Named::All),
            ("url", _) => url().map(Named::One),
            ("prefix", _) => url().map(Named::Prefix),
            _ => None,
        }
    }

    async fn purge(&self, store: &Store, parts: &[Partition]) -> Result<Forgotten, DiskError> {
        let mut sum = Forgotten::default();
        match self {
            Named::All => sum = store.purge_all().await?,
            Named::Prefix(url) => {
                for part in parts {
                    sum += store.purge_prefix(*part, url.as_str()).await?;
                }
            }
            Named::One(url) => {
                let scheme = match url.scheme() {
                    "https" => cache::Scheme::Https,
                    _ => cache::Scheme::Http,
                };
                let authority = &url[Position::BeforeHost..Position::AfterPort];
                let path = &url[Position::BeforePath..Position::AfterQuery];
                for part in parts {
                    sum += store.purge_key(&Key::new(*part, scheme, authority, path)).await?;
                }
            }
        }
        Ok(sum)
    }
}

impl Handler for Admin {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        let (path, query) = request.target.split_once('?').unwrap_or((request.target, ""));
        if (request.method, path) == ("POST", "/purge") {
            return self.purge(query);
        }
        Answer::Ready(match (request.method, path) {
            ("GET" | "HEAD", "/metrics") => text(StatusCode::OK, self.metrics()),
            ("GET" | "HEAD", "/health") => self.health(),
            (_, "/metrics" | "/health" | "/purge") => {
                text(StatusCode::METHOD_NOT_ALLOWED, "GET /metrics, GET /health, POST /purge\n")
            }
            _ => text(StatusCode::NOT_FOUND, "there are /metrics, /health and /purge\n"),
        })
    }
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

    use cache::{Exchange, Limits, Policy, Request};
    use http::Method;
    use http_stack::Response;

    use super::*;
    use crate::caching::Settings;

    /// A store that has `uris`.
    fn store(uris: &[(u32, &str)]) -> Arc<Store> {
        let limits = Limits { bytes: 1 << 20, entry_bytes: 1 << 16 };
        let settings = Settings { limits, policy: Policy::default() };
        let store = Store::new(settings, (1, 2), Duration::from_secs(1));
        for (part, uri) in uris {
            let key = Key::new(Partition(*part), cache::Scheme::Http, "a.test", uri);
            let now = cache::Date::from_unix_secs(1);
            let mut fields = HeaderMap::new();
            fields.insert("cache-control", HeaderValue::from_static("max-age=60"));
            let nothing = HeaderMap::new();
            let request = Request::new(&Method::GET, &nothing);
            let exchange = Exchange { sent: now, received: now };
            let storable =
                cache::storable(&request, StatusCode::OK, &fields, exchange, &Policy::default());
            let ticket = store.memory().ticket(&key);
            let body = Bytes::from_static(b"x");
            store.insert(&key, ticket, StatusCode::OK, storable.expect("storable"), body);
        }
        store
    }

    fn ask(admin: &Admin, method: &str, target: &str) -> (u16, String) {
        let reply = match admin.handle(RequestHead::new(method, "admin", target)) {
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
    fn what_is_purged_is_gone_from_every_part() {
        let store = store(&[(0, "/a"), (1, "/a"), (1, "/b"), (1, "/c/d")]);
        let state = State { store: RefCell::new(Some(store)), ..State::default() };
        state.partitions.replace(vec![Partition(1)]);
        let admin = Admin::new(Vec::new(), Rc::new(state), Duration::ZERO);
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
        let admin = Admin::new(Vec::new(), Rc::default(), Duration::ZERO);
        assert_eq!(ask(&admin, "GET", "/health"), (200, "ok\n".to_owned()));
        admin.state.is_draining.set(true);
        assert_eq!(ask(&admin, "GET", "/health").0, 503);
        assert_eq!(ask(&admin, "POST", "/purge?all").0, 404);
    }
}
