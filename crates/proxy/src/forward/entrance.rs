//! Entry point of requests: client, route and access control.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use http::header::PROXY_AUTHORIZATION;
use http_stack::server::{Acceptor, RequestBody};
use http_stack::wheel::Wheel;
use http_stack::{Answer, Handler, RequestHead};
use tls::PublicClient;
use tokio::sync::Semaphore;
use units::Time;

use super::reception::{Admitted, Reception, in_one_form};
use super::refusal::Refused;
use super::replies;
use super::route::{Route, route};
use crate::caching::Store;
use crate::config::Settings;
use crate::journal::Journal;
use crate::target::{Authority, Scheme, Target};
use crate::upstream::Upstream;

/// Number of passwords verified at once, each on a thread of its own: guessing must not occupy all cores.
const VERIFIERS: usize = 1;

/// A proxy on one core.
pub struct Proxy {
    pub(super) settings: Arc<Settings>,
    pub(super) upstream: Upstream,
    /// The store, if there is a cache.
    pub(super) store: Option<Arc<Store>>,
    /// Acceptor for intercepted tunnels.
    pub(super) inside: Acceptor,
    pub(super) journal: Rc<dyn Journal>,
    /// Unix time at which the world's clock started.
    pub(super) start: Duration,
    verifiers: Semaphore,
    /// Round-robin counter for an origin's several servers.
    turn: Cell<usize>,
}

impl Proxy {
    /// A proxy with these settings and parts.
    pub fn new(settings: Arc<Settings>, parts: ProxyParts) -> Rc<Proxy> {
        let ProxyParts { tls, store, wheel, inside, journal, start } = parts;
        let upstream = Upstream::new(settings.upstream.clone(), tls, wheel);
        let (verifiers, turn) = (Semaphore::new(VERIFIERS), Cell::new(0));
        Rc::new(Proxy { settings, upstream, store, inside, journal, start, verifiers, turn })
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
    pub store: Option<Arc<Store>>,
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
pub struct Entrance {
    reception: Reception,
    address: SocketAddr,
}

impl Entrance {
    /// The port at `address`, over TLS or in clear text.
    pub fn new(proxy: &Rc<Proxy>, scheme: Scheme, address: SocketAddr) -> Entrance {
        let reception = Reception { proxy: Rc::clone(proxy), scheme, alternative: None };
        Entrance { reception, address }
    }

    /// The same port, which advertises an `alternative` (`Alt-Svc`) for the sites behind this proxy.
    #[must_use]
    pub fn telling(mut self, alternative: Option<HeaderValue>) -> Entrance {
        self.reception.alternative = alternative;
        self
    }

    fn admit(&self, head: &RequestHead<'_>) -> Result<Admitted, Refused> {
        let Reception { proxy, scheme, .. } = &self.reception;
        let settings = &*proxy.settings;
        let is_served = head.peer.is_none_or(|peer| settings.access.clients.permit(peer.ip()));
        if !is_served {
            return Err(Refused::unserved_client());
        }
        let in_one_form = in_one_form(head.protocol);
        let asked = (in_one_form && !head.is_connect()).then_some(head.scheme);
        let target = Target::of(head.method, head.target, head.authority, asked)?;
        let route = route(settings, target, *scheme, in_one_form)?;
        if let (Route::Pac, Some(file)) = (&route, &settings.pac) {
            let place = self.place(head.authority);
            return Ok(Admitted::Own(replies::pac(&file.pac, *scheme, &place)));
        }
        let judged = route.judge();
        // The sites behind this proxy are public; the forward proxy is for its users.
        let is_reverse = matches!(route, Route::Reverse { .. });
        let users = settings.access.users.as_ref().filter(|_| !is_reverse);
        let Some(users) = users else {
            judged?;
            return Ok(self.reception.prepare(route, head, None));
        };
        let claim =
            head.fields.get(PROXY_AUTHORIZATION.as_str()).ok_or_else(Refused::unknown_user)?;
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

impl Handler for Entrance {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        self.reception.answer(self.admit(&request), request, None)
    }

    fn receive(&self, request: RequestHead<'_>, body: RequestBody) -> Result<Answer, RequestBody> {
        Ok(self.reception.answer(self.admit(&request), request, Some(body)))
    }
}
