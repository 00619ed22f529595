//! Entry point of requests: client, route and access control; authentication of SOCKS clients, which precedes their requests.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use http::header::PROXY_AUTHORIZATION;
use http::{HeaderValue, StatusCode};
use http_stack::server::{Acceptor, RequestBody};
use http_stack::socks::Version;
use http_stack::socks::server::{Authenticator, Verdict};
use http_stack::timer_wheel::Wheel;
use http_stack::{Answer, Handler, RequestHead};
use tls::{Protocol, PublicClient};
use tokio::sync::Semaphore;
use units::Time;

use super::dispatch::{Admitted, Dispatcher, has_single_target_form, refuse};
use super::held::ImageQueue;
use super::replies::{self, RefusedRequest};
use super::route::{RequestRoute, route};
use crate::caching::CacheStore;
use crate::config::ProxyConfig;
use crate::journal::{Journal, LogEntry, RequestNote};
use crate::rules::{RuleSubject, permit};
use crate::target::{Authority, RequestTarget, Scheme};
use crate::upstream::Upstream;

/// Number of passwords verified at once, each on a thread of its own: guessing must not occupy all cores.
const VERIFIERS: usize = 1;

/// A proxy on one core.
pub struct Proxy {
    pub(super) settings: Arc<ProxyConfig>,
    pub(super) upstream: Upstream,
    /// The store, if there is a cache.
    pub(super) store: Option<Arc<CacheStore>>,
    /// Acceptor for intercepted tunnels.
    pub(super) inside: Acceptor,
    pub(super) journal: Rc<dyn Journal>,
    /// Unix time at which the world's clock started.
    pub(super) start: Duration,
    /// Images that are encoded again.
    pub(super) images: ImageQueue,
    verifiers: Semaphore,
    /// Round-robin counter for an origin's several servers.
    turn: Cell<usize>,
}

impl Proxy {
    /// A proxy with these settings and parts.
    pub fn new(settings: Arc<ProxyConfig>, parts: ProxyParts) -> Rc<Proxy> {
        let ProxyParts { tls, store, wheel, inside, journal, start } = parts;
        let upstream = Upstream::new(settings.upstream.clone(), tls, wheel);
        Rc::new(Proxy {
            settings,
            upstream,
            store,
            inside,
            journal,
            start,
            images: ImageQueue::new(),
            verifiers: Semaphore::new(VERIFIERS),
            turn: Cell::new(0),
        })
    }

    /// Connections to origins.
    pub fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// The current Unix time.
    pub(super) fn date(&self) -> Duration {
        self.start + world::now().since(Time::ZERO)
    }

    /// The user of the credentials in `Proxy-Authorization`, if they are valid.
    pub(super) async fn verify(&self, claim: Vec<u8>) -> Option<String> {
        let users = self.settings.access.users.clone();
        let verifier = self.verifiers.acquire().await;
        let user = world::blocking(move || users?.verify(&claim)).await;
        drop(verifier);
        user
    }

    /// Judges a request by the operator's rules.
    fn permit(
        &self,
        route: &RequestRoute<'_, '_>,
        head: &RequestHead<'_>,
    ) -> Result<(), RefusedRequest> {
        let Some((host, path)) = route.place() else { return Ok(()) };
        let client = head.peer.map(|peer| peer.ip());
        let subject = RuleSubject { host, path, method: head.method, client };
        match permit(&self.settings.access_rules, &subject, || self.date()) {
            true => Ok(()),
            false => {
                let message = "a rule of this proxy denies this request";
                Err(RefusedRequest::denied(StatusCode::FORBIDDEN, message))
            }
        }
    }

    pub(super) fn next_turn(&self) -> usize {
        let turn = self.turn.get();
        self.turn.set(turn.wrapping_add(1));
        turn
    }
}

/// Resources of a proxy.
pub struct ProxyParts {
    /// TLS client for origins.
    pub tls: PublicClient,
    /// The store, if there is a cache.
    pub store: Option<Arc<CacheStore>>,
    /// The core's timers.
    pub wheel: Wheel,
    /// Acceptor for intercepted tunnels.
    pub inside: Acceptor,
    /// Journal of requests.
    pub journal: Rc<dyn Journal>,
    /// Unix time at which the world's clock started.
    pub start: Duration,
}

/// A port of a proxy, as its handler.
pub struct ProxyHandler {
    reception: Dispatcher,
    address: SocketAddr,
}

impl ProxyHandler {
    /// The port at `address`, over TLS or in clear text.
    pub fn new(proxy: &Rc<Proxy>, scheme: Scheme, address: SocketAddr) -> ProxyHandler {
        let reception = Dispatcher { proxy: Rc::clone(proxy), scheme, alternative: None };
        ProxyHandler { reception, address }
    }

    /// The same port, which advertises an `alternative` (`Alt-Svc`) for the sites behind this proxy.
    #[must_use]
    pub fn telling(mut self, alternative: Option<HeaderValue>) -> ProxyHandler {
        self.reception.alternative = alternative;
        self
    }

    fn admit(&self, head: &RequestHead<'_>) -> Result<Admitted, RefusedRequest> {
        let Dispatcher { proxy, scheme, .. } = &self.reception;
        let settings = &*proxy.settings;
        let is_served = head.peer.is_none_or(|peer| settings.access.clients.permit(peer.ip()));
        if !is_served {
            return Err(RefusedRequest::unserved_client());
        }
        let single_form = has_single_target_form(head.protocol);
        let asked = (single_form && !head.is_connect()).then_some(head.scheme);
        let target = RequestTarget::of(head.method, head.target, head.authority, asked)?;
        let route = route(settings, target, *scheme, single_form)?;
        if let (RequestRoute::Pac, Some(file)) = (&route, &settings.pac) {
            let place = self.place(head.authority);
            return Ok(Admitted::Own(replies::pac_file(&file.pac, *scheme, &place)));
        }
        let judged = route.judge().and_then(|()| proxy.permit(&route, head));
        // The sites behind this proxy are public; the forward proxy is for its users.
        let is_reverse = matches!(route, RequestRoute::Reverse { .. });
        let users = settings.access.users.as_ref().filter(|_| !is_reverse);
        let Some(users) = users else {
            judged?;
            return Ok(self.reception.prepare(route, head, None));
        };
        let claim = head
            .fields
            .get(PROXY_AUTHORIZATION.as_str())
            .ok_or_else(RefusedRequest::unknown_user)?;
        Ok(match (users.recall(claim), judged) {
            (Some(user), Ok(())) => self.reception.prepare(route, head, Some(user)),
            (Some(user), Err(refused)) => Admitted::Known(Some(user), Err(refused)),
            (None, judged) => {
                let job = judged.and_then(|()| self.reception.job(route, head));
                Admitted::Claimed(claim.to_vec(), job)
            }
        })
    }

    /// This proxy's address, as the client knows it.
    fn place(&self, authority: &str) -> String {
        match Authority::parse(authority) {
            Ok(asked) => {
                let port = asked.port.unwrap_or(self.reception.scheme.default_port());
                format!("{}:{port}", asked.host)
            }
            Err(_) => self.address.to_string(),
        }
    }
}

impl Handler for ProxyHandler {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        self.reception.answer(self.admit(&request), request, None)
    }

    fn receive(&self, request: RequestHead<'_>, body: RequestBody) -> Result<Answer, RequestBody> {
        Ok(self.reception.answer(self.admit(&request), request, Some(body)))
    }
}

/// Placeholder target of clients refused before their request.
const NO_TARGET: &str = "-";

impl Proxy {
    /// Returns true if clients must authenticate.
    pub(crate) fn requires_users(&self) -> bool {
        self.settings.access.users.is_some()
    }
}

impl Authenticator for Proxy {
    /// Refused clients are noted here, since no request follows. Admitted ones are recalled with their request.
    fn admits(self: Rc<Self>, claim: HeaderValue, peer: Option<SocketAddr>) -> Verdict {
        let proxy = self;
        Box::pin(async move {
            let access = &proxy.settings.access;
            let is_served = peer.is_none_or(|peer| access.clients.permit(peer.ip()));
            if is_served && proxy.verify(claim.as_bytes().to_owned()).await.is_some() {
                return true;
            }
            let entry = LogEntry::new(peer, "CONNECT", NO_TARGET.to_owned(), Protocol::H1);
            let entry = LogEntry { socks: Some(Version::V5), ..entry };
            let mut note = RequestNote::new(entry, &proxy.journal);
            let refused = match is_served {
                true => RefusedRequest::unknown_user(),
                false => RefusedRequest::unserved_client(),
            };
            drop(refuse(&mut note, &refused));
            false
        })
    }
}
