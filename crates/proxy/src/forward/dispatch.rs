//! Request dispatch after access control: cache hit or upstream fetch.

use std::future::ready;
use std::rc::Rc;
use std::sync::Arc;

use cache::{CacheKey, Hit, Lookup, Partition, Tolerance};
use http::header::{ACCEPT_ENCODING, ORIGIN};
use http::{HeaderMap, HeaderValue, Method, Response};
use http_stack::server::RequestBody;
use http_stack::{Answer, Reply, RequestHead};
use tls::Protocol;

use super::cached::{hit_answer, hit_reply};
use super::entrance::Proxy;
use super::job::ForwardJob;
use super::replies;
use super::replies::RefusedRequest;
use super::route::RequestRoute;
use super::transit::Interims;
use crate::caching::{CacheStore, PreparedResponse, RequestFields};
use crate::early_hints::{BrowserRequest, Hint, early_hints};
use crate::journal::{HitSummary, LogEntry, RequestNote, RequestOutcome};
use crate::target::Scheme;

/// Dispatcher for requests on connections of one scheme.
pub(super) struct Dispatcher {
    pub(super) proxy: Rc<Proxy>,
    pub(super) scheme: Scheme,
    /// Alternative service to advertise for the sites behind this proxy (`Alt-Svc`), if any. Other parties' origins are not advertised.
    pub(super) alternative: Option<HeaderValue>,
}

/// A cache hit.
pub(super) struct StoredHit {
    store: Arc<CacheStore>,
    hit: Hit<PreparedResponse>,
    alternative: Option<HeaderValue>,
    /// Hints (103) ahead of it.
    hints: Option<Response<()>>,
}

impl StoredHit {
    fn alternative(&self) -> Option<&HeaderValue> {
        self.alternative.as_ref()
    }
}

/// Result of admission.
pub(super) enum Admitted {
    /// An answer of the proxy itself.
    Own(Reply),
    /// A cache hit.
    Stored(Option<String>, StoredHit),
    /// An authenticated user, or a client that need not authenticate; the job may still be refused.
    Known(Option<String>, Result<ForwardJob, RefusedRequest>),
    /// A client with credentials yet to be verified.
    Claimed(Vec<u8>, Result<ForwardJob, RefusedRequest>),
}

impl Dispatcher {
    /// Answers a request, if it is `admitted`.
    pub(super) fn answer(
        &self,
        admitted: Result<Admitted, RefusedRequest>,
        head: RequestHead<'_>,
        body: Option<RequestBody>,
    ) -> Answer {
        if let Ok(Admitted::Stored(_, found)) = &admitted
            && !self.proxy.journal.wants_hits()
        {
            let reply = self.brief_hit(found, head.protocol);
            return after(found.hints.clone(), reply);
        }
        let mut note = RequestNote::new(entry(&head), &self.proxy.journal);
        note.see_request(head.fields);
        match admitted {
            Err(refused) => Answer::Ready(refuse(&mut note, &refused)),
            Ok(Admitted::Own(reply)) => Answer::Ready(note_own(&mut note, reply)),
            Ok(Admitted::Stored(user, found)) => {
                note.entry.user = user;
                let StoredHit { store, hit, .. } = &found;
                let reply = hit_reply(store, hit, found.alternative(), &mut note);
                after(found.hints, reply)
            }
            Ok(Admitted::Known(user, job)) => {
                note.entry.user = user;
                self.begin(job, body, note)
            }
            Ok(Admitted::Claimed(claim, job)) => {
                let proxy = Rc::clone(&self.proxy);
                interims(&job).before(async move {
                    let Some(user) = proxy.verify(claim).await else {
                        return refuse(&mut note, &RefusedRequest::unknown_user()).into();
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

    /// The answer for a hit when the journal wants no entry of it.
    fn brief_hit(&self, found: &StoredHit, protocol: Protocol) -> Reply {
        let reply = hit_answer(&found.store, &found.hit, found.alternative());
        let status = reply.head.parts.status().as_u16();
        let sent_bytes = reply.body.len() as u64;
        self.proxy.journal.hit(HitSummary { protocol, status, sent_bytes });
        reply
    }

    fn begin(
        &self,
        job: Result<ForwardJob, RefusedRequest>,
        body: Option<RequestBody>,
        mut note: RequestNote,
    ) -> Answer {
        match job {
            Err(refused) => Answer::Ready(refuse(&mut note, &refused)),
            Ok(ForwardJob::Options) => Answer::Ready(note_own(&mut note, replies::options())),
            Ok(job) => {
                let proxy = Rc::clone(&self.proxy);
                job.interims().before(async move { proxy.carry_out(job, body, note).await })
            }
        }
    }

    /// Prepares a request admitted along `route`: a job, or nothing if the answer is stored.
    pub(super) fn prepare(
        &self,
        route: RequestRoute<'_, '_>,
        head: &RequestHead<'_>,
        user: Option<String>,
    ) -> Admitted {
        let hints = self.hints(&route, head);
        if hints.is_some() {
            self.proxy.journal.hinted();
        }
        if let Some(found) = self.stored(&route, head) {
            return Admitted::Stored(user, StoredHit { hints, ..found });
        }
        let job = self.job(route, head);
        if let (Ok(job), Some(hints)) = (&job, hints) {
            job.interims().put(hints);
        }
        Admitted::Known(user, job)
    }

    /// The job for a request along `route`.
    pub(super) fn job(
        &self,
        route: RequestRoute<'_, '_>,
        head: &RequestHead<'_>,
    ) -> Result<ForwardJob, RefusedRequest> {
        let Proxy { settings, store, .. } = &*self.proxy;
        let key = store.as_ref().and_then(|_| Some(route.key(self.scheme)?.to_owned()));
        let alternative = self.alternative_along(&route);
        let mut job =
            ForwardJob::new(settings, route, head, self.scheme, key, self.proxy.next_turn())?;
        if let ForwardJob::Fetch(fetch) = &mut job {
            fetch.alternative = alternative;
        }
        Ok(job)
    }

    /// Learns from a request, and finds what to hint ahead of its answer. Browsers honour hints over HTTP/2 and HTTP/3.
    fn hints(&self, route: &RequestRoute<'_, '_>, head: &RequestHead<'_>) -> Option<Response<()>> {
        let hints = self.proxy.settings.early_hints.as_ref()?;
        if head.method != "GET" || !matches!(head.protocol, Protocol::H2 | Protocol::H3) {
            return None;
        }
        let field = |name| head.fields.get(name).and_then(|value| str::from_utf8(value).ok());
        let (_, Some(path)) = route.place()? else { return None };
        let origin = format!("{}://{}", head.scheme, head.authority);
        let request = BrowserRequest {
            origin: &origin,
            path,
            destination: field("sec-fetch-dest")?,
            mode: field("sec-fetch-mode")?,
            referer: field("referer"),
            priority: field("priority"),
            initiator: field("origin"),
            client: match route {
                RequestRoute::Forward { .. } => head.peer.map(|peer| peer.ip()),
                _ => None,
            },
        };
        let learnt = hints.see(&request, world::now());
        if learnt.is_empty() {
            return None;
        }
        let codings = head.fields.get(ACCEPT_ENCODING.as_str()).map(HeaderValue::from_bytes);
        let mut fields: HeaderMap =
            codings.into_iter().flatten().map(|value| (ACCEPT_ENCODING, value)).collect();
        // Fonts are asked for with it, and answers may differ by it.
        fields.extend(HeaderValue::from_str(&origin).ok().map(|origin| (Some(ORIGIN), origin)));
        let is_fresh = |hint: &&Hint| match *hint.origin == *origin {
            true => {
                route.key_of(&hint.path, self.scheme).is_some_and(|it| self.is_fresh(&it, &fields))
            }
            false => {
                foreign_key(&hint.origin, &hint.path).is_some_and(|it| self.is_fresh(&it, &fields))
            }
        };
        early_hints(&origin, learnt.iter().filter(is_fresh))
    }

    /// True if the answer to a GET with these fields is fresh in memory: then it is for all clients.
    fn is_fresh(&self, key: &CacheKey<'_>, fields: &HeaderMap) -> bool {
        let Some(store) = &self.proxy.store else { return false };
        let fields = RequestFields(fields.into());
        let request = cache::CacheRequest::new(&Method::GET, &fields);
        matches!(store.memory().lookup(key, &request, store.now()), Lookup::Hit(_))
    }

    fn alternative_along(&self, route: &RequestRoute<'_, '_>) -> Option<HeaderValue> {
        self.alternative.clone().filter(|_| matches!(route, RequestRoute::Reverse { .. }))
    }

    /// The stored answer, if nothing else is to be done about it. Allocates nothing.
    fn stored(&self, route: &RequestRoute<'_, '_>, head: &RequestHead<'_>) -> Option<StoredHit> {
        let store = self.proxy.store.as_ref()?;
        let method = match head.method {
            "GET" => Method::GET,
            "HEAD" => Method::HEAD,
            _ => return None,
        };
        let fields = RequestFields(head.fields);
        let request = cache::CacheRequest::new(&method, &fields);
        // A client that offers to switch protocols does not want the common answer.
        if request.has_body() || request.wants_upgrade() {
            return None;
        }
        match store.memory().lookup(&route.key(self.scheme)?, &request, store.now()) {
            Lookup::Hit(hit) if hit.stale != Some(Tolerance::WhileRevalidate) => {
                let (store, alternative) = (Arc::clone(store), self.alternative_along(route));
                Some(StoredHit { store, hit, alternative, hints: None })
            }
            _ => None,
        }
    }
}

/// A reply, after hints if there are some.
fn after(hints: Option<Response<()>>, reply: Reply) -> Answer {
    match hints {
        None => Answer::Ready(reply),
        Some(head) => {
            let then = Box::pin(ready(reply.into()));
            Answer::Later(Box::pin(ready(http_stack::Response::Interim { head, then })))
        }
    }
}

/// Cache key of an object of any origin, as the forward proxy has it.
fn foreign_key<'a>(origin: &'a str, path: &'a str) -> Option<CacheKey<'a>> {
    let (scheme, authority) = origin.split_once("://")?;
    let scheme = [Scheme::Http, Scheme::Https].into_iter().find(|it| it.name() == scheme)?;
    Some(CacheKey::new(Partition::default(), scheme, authority, path))
}

/// Interim responses before the answer of `job`.
fn interims(job: &Result<ForwardJob, RefusedRequest>) -> Interims {
    job.as_ref().map_or_else(|_| Interims::default(), ForwardJob::interims)
}

/// Returns true if the protocol writes targets in one form only: HTTP/2 and later, and SPDY.
pub(super) fn has_single_target_form(protocol: Protocol) -> bool {
    !matches!(protocol, Protocol::H10 | Protocol::H1)
}

fn entry(head: &RequestHead<'_>) -> LogEntry {
    let is_whole = !has_single_target_form(head.protocol) || head.is_connect();
    let url = match is_whole && !head.target.starts_with('/') {
        true => head.target.to_owned(),
        false => format!("{}://{}{}", head.scheme, head.authority, head.target),
    };
    LogEntry { socks: head.socks, ..LogEntry::new(head.peer, head.method, url, head.protocol) }
}

pub(super) fn refuse(note: &mut RequestNote, refused: &RefusedRequest) -> Reply {
    note.entry.outcome = RequestOutcome::Refused(refused.kind);
    note_reply(note, refused.reply())
}

fn note_own(note: &mut RequestNote, reply: Reply) -> Reply {
    note.entry.outcome = RequestOutcome::Own;
    note_reply(note, reply)
}

/// Notes an answer that is complete.
pub(super) fn note_reply(note: &mut RequestNote, reply: Reply) -> Reply {
    let now = Some(world::now());
    note.see_response(reply.head.parts.status(), reply.head.parts.headers());
    // A SOCKS client gets a code only.
    note.entry.sent_bytes = note.entry.socks.map_or(reply.body.len() as u64, |_| 0);
    (note.entry.times.client_first, note.entry.times.client_last) = (now, now);
    reply
}
