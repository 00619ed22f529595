//! Where requests come in: who asks, for what, and whether that may be.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use cache::{Hit, Lookup, Tolerance};
use http::header::PROXY_AUTHORIZATION;
use http::{Method, StatusCode};
use http_stack::server::RequestBody;
use http_stack::tls::{Protocol, PublicClient};
use http_stack::wheel::Wheel;
use http_stack::{Answer, Handler, Reply, RequestHead};
use tokio::sync::Semaphore;

use super::cached::{hit_answer, hit_reply};
use super::job::Job;
use super::refusal::Refused;
use super::replies;
use super::route::{Route, route};
use crate::caching::{Prepared, Shown, Store};
use crate::config::Settings;
use crate::journal::{Brief, Entry, Journal, Note, Outcome};
use crate::target::{Scheme, Target};
use crate::upstream::Upstream;

/// As many passwords are verified at once, each on a thread of its own: who guesses does not occupy all cores.
const VERIFIERS: usize = 1;

/// A proxy on one core.
pub struct Proxy {
    pub(super) settings: Arc<Settings>,
    pub(super) upstream: Upstream,
    /// What is stored, if anything is to be.
    pub(super) store: Option<Arc<Store>>,
    pub(super) journal: Rc<dyn Journal>,
    /// The date, since 1970, at which the world's clock began.
    pub(super) start: Duration,
    pub(super) verifiers: Semaphore,
    /// Chooses among an origin's several servers.
    turn: Cell<usize>,
}

impl Proxy {
    /// A proxy that does what `settings` say with all that it is given.
    pub fn new(settings: Arc<Settings>, parts: ProxyParts) -> Rc<Proxy> {
        let ProxyParts { tls, store, wheel, journal, start } = parts;
        let upstream = Upstream::new(settings.upstream.clone(), tls, wheel);
        let (verifiers, turn) = (Semaphore::new(VERIFIERS), Cell::new(0));
        Rc::new(Proxy { settings, upstream, store, journal, start, verifiers, turn })
    }

    /// The way to origins.
    pub fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    fn next_turn(&self) -> usize {
        let turn = self.turn.get();
        self.turn.set(turn.wrapping_add(1));
        turn
    }
}

/// What a proxy works with.
pub struct ProxyParts {
    /// The client of origins over TLS.
    pub tls: PublicClient,
    /// What is stored, if anything is to be.
    pub store: Option<Arc<Store>>,
    /// The core's timers.
    pub wheel: Wheel,
    /// Whom it tells of requests.
    pub journal: Rc<dyn Journal>,
    /// The date, since 1970, at which the world's clock began.
    pub start: Duration,
}

/// A port of a proxy, as its handler.
pub struct Entrance {
    proxy: Rc<Proxy>,
    scheme: Scheme,
    address: SocketAddr,
}

impl Entrance {
    /// The port at `address`, over TLS or in clear text.
    pub fn new(proxy: &Rc<Proxy>, scheme: Scheme, address: SocketAddr) -> Entrance {
        Entrance { proxy: Rc::clone(proxy), scheme, address }
    }

    fn answer(&self, head: RequestHead<'_>, body: Option<RequestBody>) -> Answer {
        let admitted = self.admit(&head);
        if let Ok(Admitted::Stored(_, store, hit)) = &admitted
            && !self.proxy.journal.wants_hits()
        {
            return Answer::Ready(self.brief_hit(store, hit, head.protocol));
        }
        let mut note = Note::new(entry(&head), &self.proxy.journal);
        match admitted {
            Err(refused) => Answer::Ready(refuse(&mut note, &refused)),
            Ok(Admitted::Own(reply)) => Answer::Ready(own(&mut note, reply)),
            Ok(Admitted::Stored(user, store, hit)) => {
                note.entry.user = user;
                Answer::Ready(hit_reply(&store, &hit, &mut note))
            }
            Ok(Admitted::Known(user, job)) => {
                note.entry.user = user;
                self.begin(job, body, note)
            }
            Ok(Admitted::Claimed(claim, job)) => {
                let (proxy, users) =
                    (Rc::clone(&self.proxy), self.proxy.settings.access.users.clone());
                Answer::later(async move {
                    let verifier = proxy.verifiers.acquire().await;
                    let user = world::blocking(move || users?.verify(&claim)).await;
                    drop(verifier);
                    let Some(user) = user else {
                        return refuse(&mut note, &Refused::unknown_user()).into();
                    };
                    note.entry.user = Some(user);
                    match job {
                        Ok(job) => proxy.carry_out(job, body, note).await,
                        Err(refused) => refuse(&mut note, &refused).into(),
                    }
                })
            }
        }
    }

    /// The answer that a hit is, of which nobody wants to know more than that it was given.
    fn brief_hit(&self, store: &Store, hit: &Hit<Prepared>, protocol: Protocol) -> Reply {
        let reply = hit_answer(store, hit);
        let status = reply.head.parts.status().as_u16();
        let sent_bytes = reply.body.len() as u64;
        self.proxy.journal.hit(Brief { protocol, status, sent_bytes });
        reply
    }

    fn begin(
        &self,
        job: Result<Job, Refused>,
        body: Option<RequestBody>,
        mut note: Note,
    ) -> Answer {
        match job {
            Err(refused) => Answer::Ready(refuse(&mut note, &refused)),
            Ok(Job::Options) => Answer::Ready(own(&mut note, replies::options())),
            Ok(job) => {
                let proxy = Rc::clone(&self.proxy);
                Answer::later(async move { proxy.carry_out(job, body, note).await })
            }
        }
    }

    fn admit(&self, head: &RequestHead<'_>) -> Result<Admitted, Refused> {
        let settings = &*self.proxy.settings;
        let is_served = head.peer.is_none_or(|peer| settings.access.clients.permit(peer.ip()));
        if !is_served {
            let message = "this proxy does not serve your address";
            return Err(Refused::new(StatusCode::FORBIDDEN, "http_request_denied", message));
        }
        let in_one_form = !matches!(head.protocol, Protocol::H10 | Protocol::H1);
        let scheme = (in_one_form && !head.is_connect()).then_some(head.scheme);
        let target = Target::of(head.method, head.target, head.authority, scheme)?;
        let route = route(settings, target, self.scheme, in_one_form)?;
        if let (Route::Pac, Some(file)) = (&route, &settings.pac) {
            let place = self.place(head.authority);
            return Ok(Admitted::Own(replies::pac(&file.pac, self.scheme, &place)));
        }
        // What is behind this proxy is for everybody; the way out through it is for its users.
        let is_reverse = matches!(route, Route::Reverse { .. });
        let users = settings.access.users.as_ref().filter(|_| !is_reverse);
        let Some(users) = users else { return Ok(self.prepare(route, head, None)) };
        let claim =
            head.fields.get(PROXY_AUTHORIZATION.as_str()).ok_or_else(Refused::unknown_user)?;
        Ok(match users.recall(claim) {
            Some(user) => self.prepare(route, head, Some(user)),
            None => Admitted::Claimed(claim.to_vec(), self.job(route, head)),
        })
    }

    /// What is to be done for a request that is let in: nothing, if the answer is stored.
    fn prepare(
        &self,
        route: Route<'_, '_>,
        head: &RequestHead<'_>,
        user: Option<String>,
    ) -> Admitted {
        if let Err(refused) = route.judge() {
            return Admitted::Known(user, Err(refused));
        }
        if let Some((store, hit)) = self.stored(&route, head) {
            return Admitted::Stored(user, store, hit);
        }
        Admitted::Known(user, self.job(route, head))
    }

    fn job(&self, route: Route<'_, '_>, head: &RequestHead<'_>) -> Result<Job, Refused> {
        let Proxy { settings, store, .. } = &*self.proxy;
        route.judge()?;
        let key = store.as_ref().and_then(|_| Some(route.key(self.scheme)?.to_owned()));
        Job::new(settings, route, head, self.scheme, key, self.proxy.next_turn())
    }

    /// The answer, if it is stored and nothing else is to be done about it. Allocates nothing.
    fn stored(
        &self,
        route: &Route<'_, '_>,
        head: &RequestHead<'_>,
    ) -> Option<(Arc<Store>, Hit<Prepared>)> {
        let store = self.proxy.store.as_ref()?;
        let method = match head.method {
            "GET" => Method::GET,
            "HEAD" => Method::HEAD,
            _ => return None,
        };
        let fields = Shown(head.fields);
        let request = cache::Request::new(&method, &fields);
        if request.has_body() {
            return None;
        }
        match store.memory().lookup(&route.key(self.scheme)?, &request, store.now()) {
            Lookup::Hit(hit) if hit.stale != Some(Tolerance::WhileRevalidate) => {
                Some((Arc::clone(store), hit))
            }
            _ => None,
        }
    }

    /// Where this proxy is, as the client knows it.
    fn place(&self, authority: &str) -> String {
        match crate::target::Authority::parse(authority) {
            Ok(asked) => {
                let port = asked.port.unwrap_or(self.scheme.default_port());
                format!("{}:{port}", asked.host)
            }
            Err(_) => self.address.to_string(),
        }
    }
}

impl Handler for Entrance {
    fn handle(&self, request: RequestHead<'_>) -> Answer {
        self.answer(request, None)
    }

    fn receive(&self, request: RequestHead<'_>, body: RequestBody) -> Result<Answer, RequestBody> {
        Ok(self.answer(request, Some(body)))
    }
}

/// A request that is let in.
enum Admitted {
    /// The proxy answers by itself.
    Own(Reply),
    /// The answer is stored.
    Stored(Option<String>, Arc<Store>, Hit<Prepared>),
    /// From a user who is known, or need not be; whether what is asked for may be is the job's to say.
    Known(Option<String>, Result<Job, Refused>),
    /// From somebody who claims to be a user.
    Claimed(Vec<u8>, Result<Job, Refused>),
}

fn entry(head: &RequestHead<'_>) -> Entry {
    let is_whole = matches!(head.protocol, Protocol::H10 | Protocol::H1) || head.is_connect();
    let url = match is_whole && !head.target.starts_with('/') {
        true => head.target.to_owned(),
        false => format!("{}://{}{}", head.scheme, head.authority, head.target),
    };
    Entry::new(head.peer, head.method, url, head.protocol)
}

pub(super) fn refuse(note: &mut Note, refused: &Refused) -> Reply {
    note.entry.outcome = Outcome::Refused(refused.kind);
    whole(note, refused.reply())
}

fn own(note: &mut Note, reply: Reply) -> Reply {
    note.entry.outcome = Outcome::Own;
    whole(note, reply)
}

/// Notes an answer that is there.
pub(super) fn whole(note: &mut Note, reply: Reply) -> Reply {
    let now = Some(world::now());
    note.entry.status = reply.head.parts.status().as_u16();
    note.entry.sent_bytes = reply.body.len() as u64;
    (note.entry.times.client_first, note.entry.times.client_last) = (now, now);
    reply
}
