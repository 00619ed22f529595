//! Forwarding of requests to origins and of their answers.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use cache::{CacheStatus, OwnedKey};
use http::header::{CONNECTION, DATE, HeaderName, HeaderValue, UPGRADE};
use http::{HeaderMap, Method, StatusCode};
use http_stack::server::RequestBody;
use http_stack::{Reply, Response};
use units::Time;
use url::Url;

use super::dispatch::{note_reply, refuse};
use super::entrance::Proxy;
use super::job::{Fetch, ForwardJob};
use super::outgoing::{OutgoingBody, Transformation};
use super::replies;
use super::replies::RefusedRequest;
use super::transit::{BodyEnds, CountedBody, CountedTunnel, RelayedBody};
use crate::caching::{CACHE_NAME, CACHE_STATUS, CacheFill, key_of_url};
use crate::fields;
use crate::journal::{RequestNote, RequestOutcome, RequestTimes};
use crate::observation::{Observed, ObservedResponse};
use crate::upstream::{FetchError, Fetched, OriginAddress, ReachPolicy};

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

impl Proxy {
    /// Carries out `job` and returns the answer.
    pub(super) async fn carry_out(
        self: &Rc<Proxy>,
        job: ForwardJob,
        body: Option<RequestBody>,
        mut note: RequestNote,
    ) -> Response {
        match job {
            ForwardJob::Options => {
                note.entry.outcome = RequestOutcome::Own;
                note_reply(&mut note, replies::options()).into()
            }
            ForwardJob::Purge(keys) => {
                note.entry.outcome = RequestOutcome::Own;
                note_reply(&mut note, self.purge(&keys).await).into()
            }
            ForwardJob::Tunnel(destination) => match &self.settings.intercept {
                Some(intercept) if intercept.covers(&destination.host) => {
                    self.end_tunnel(intercept, &destination, note)
                }
                _ => self.tunnel(destination, note).await,
            },
            ForwardJob::Fetch(fetch) => {
                let is_safe = [Method::GET, Method::HEAD].contains(fetch.request.method());
                let alternative = fetch.alternative.clone();
                let response = match self.store.clone() {
                    Some(store) if is_safe && body.is_none() && !fetch.is_upgrade => {
                        self.answer_by_cache(&store, *fetch, note).await
                    }
                    _ => self.pass(*fetch, body, note).await,
                };
                match alternative {
                    Some(alternative) => replies::telling(response, alternative),
                    None => response,
                }
            }
        }
    }

    /// Forwards a request without consulting the cache, and invalidates responses that it makes invalid.
    async fn pass(
        &self,
        mut fetch: Fetch,
        body: Option<RequestBody>,
        mut note: RequestNote,
    ) -> Response {
        if body.is_some() {
            // The body would have to precede the other protocol.
            for name in [CONNECTION, UPGRADE] {
                fetch.request.headers_mut().remove(name);
            }
        }
        let received = Rc::new(Cell::new(0));
        let observed = self.observed(&fetch, &note);
        let body = body.map(|body| observed.request_body(counted(body, &received)));
        let (key, method) = (fetch.key.clone(), fetch.request.method().clone());
        match self.fetch(&fetch, &fetch.request, body).await {
            Err(error) => {
                let problem = error.to_string();
                observed.tell(|exchange| exchange.end(self.date(), Some(&problem)));
                fail(&mut note, &error)
            }
            Ok(fetched) if fetched.head.status() == StatusCode::SWITCHING_PROTOCOLS => {
                self.switch(fetched, note)
            }
            Ok(mut fetched) => {
                if let Some(key) = key {
                    self.invalidate(&key, &method, &fetched.head).await;
                }
                let transformation = self.transform(&mut fetched, &fetch.request).await;
                observed.tell(|exchange| exchange.response(&self.observed_response(&fetched)));
                let ends = BodyEnds { received, observed, start: self.start };
                self.relay(fetched, transformation, note, CacheFill::nothing(), None, ends)
            }
        }
    }

    /// The observer of a fetch, if there is one.
    fn observed(&self, fetch: &Fetch, note: &RequestNote) -> Observed {
        let at = self.start + note.entry.times.request.since(Time::ZERO);
        let observer = self.settings.observer.as_ref();
        Observed::new(observer.map(|observer| observer.begin(at, &fetch.request)))
    }

    fn observed_response<'a>(&self, fetched: &'a Fetched) -> ObservedResponse<'a> {
        ObservedResponse {
            head: &fetched.head,
            connected: self.start + fetched.connected.since(Time::ZERO),
            at: self.date(),
            opened: fetched.opened.as_ref(),
        }
    }

    /// Joins the client to an origin that switches protocols.
    fn switch(&self, fetched: Fetched, mut note: RequestNote) -> Response {
        note_fetched(&mut note, &fetched);
        let Fetched { mut head, body, .. } = fetched;
        let Some(tunnel) = body.into_tunnel() else {
            let message = "the origin switches to another protocol without being asked";
            let refused =
                RefusedRequest::new(StatusCode::BAD_GATEWAY, "http_protocol_error", message);
            return refuse(&mut note, &refused).into();
        };
        let protocol = head.headers_mut().remove(UPGRADE);
        self.rewrite_head(&mut head);
        head.headers_mut().extend(protocol.map(|protocol| (UPGRADE, protocol)));
        note.entry.outcome = RequestOutcome::Tunnelled;
        Response::Switched { head, far: Box::new(CountedTunnel { tunnel, note }) }
    }

    /// Forwards an answer with its body as transformed. `status` reports the cache's part.
    pub(super) fn relay(
        &self,
        fetched: Fetched,
        transformation: Transformation,
        mut note: RequestNote,
        filling: CacheFill,
        status: Option<CacheStatus>,
        ends: BodyEnds,
    ) -> Response {
        note_fetched(&mut note, &fetched);
        let Fetched { mut head, length, body, .. } = fetched;
        self.rewrite_head(&mut head);
        self.add_server_timing(head.headers_mut(), &note.entry.times);
        if let Some(status) = status {
            let value = HeaderValue::from_str(&status.of(CACHE_NAME).to_string());
            head.headers_mut().append(CACHE_STATUS, value.expect("tokens are ASCII"));
        }
        let body = OutgoingBody::new(body, transformation);
        let body = Box::new(RelayedBody::new(body, note, filling, ends));
        Response::Streamed { head, length, body }
    }

    /// Turns an origin's head into this proxy's own. Idempotent.
    pub(super) fn rewrite_head(&self, head: &mut http::Response<()>) {
        let version = head.version();
        fields::strip(head.headers_mut());
        if !self.settings.via.has_passed(head.headers()) {
            self.settings.via.add(head.headers_mut(), version);
        }
        if !head.headers().contains_key(DATE) {
            // RFC 9110 section 6.6.1: a recipient with a clock adds the time of receipt to an answer without a date.
            let date = httpdate::fmt_http_date(std::time::UNIX_EPOCH + self.date());
            let date = HeaderValue::from_str(&date).expect("a date is ASCII");
            head.headers_mut().insert(DATE, date);
        }
    }

    pub(super) fn reach(&self, is_operators: bool) -> ReachPolicy<'_> {
        match &self.settings.forward {
            Some(forward) if !is_operators => ReachPolicy::Client(&forward.destinations),
            _ => ReachPolicy::Operator,
        }
    }

    async fn tunnel(&self, destination: OriginAddress, mut note: RequestNote) -> Response {
        let (tunnel, address) = match self.upstream.tunnel(&destination, self.reach(false)).await {
            Ok(opened) => opened,
            Err(error) => return fail(&mut note, &error),
        };
        let now = Some(world::now());
        let times = &mut note.entry.times;
        *times = RequestTimes { connected: now, client_first: now, ..*times };
        (note.entry.status, note.entry.origin) = (200, Some(address));
        note.entry.outcome = RequestOutcome::Tunnelled;
        Response::Tunnel(Box::new(CountedTunnel { tunnel, note }))
    }

    /// Removes the stored responses under `keys`.
    async fn purge(&self, keys: &[OwnedKey]) -> Reply {
        let mut removed = 0;
        for (store, key) in
            self.store.iter().flat_map(|store| keys.iter().map(move |key| (store, key)))
        {
            match store.purge_key(&key.borrow()).await {
                Ok(forgotten) => removed += forgotten.memory + forgotten.disk.unwrap_or(0),
                Err(error) => return replies::purge_failed(&error),
            }
        }
        replies::purged(removed)
    }

    /// RFC 9111 section 4.4.
    async fn invalidate(&self, key: &OwnedKey, method: &Method, head: &http::Response<()>) {
        let (Some(store), Ok(target)) = (&self.store, Url::parse(key.uri())) else { return };
        for url in cache::invalidated(method, &target, head.status(), head.headers()) {
            store.forget(&key_of_url(key.partition(), &url)).await;
        }
    }

    /// Adds this proxy's own fields.
    fn add_server_timing(&self, fields: &mut HeaderMap, times: &RequestTimes) {
        if self.settings.server_timing {
            let since = |at: Option<Time>| at.map_or(Duration::ZERO, |at| at.since(times.request));
            let [connected, first] = [times.connected, times.origin_first].map(since);
            let millis = |span: Duration| span.as_micros() as f64 / 1e3;
            let (wait, origin) = (millis(connected), millis(first.saturating_sub(connected)));
            let value = format!("proxy-connect;dur={wait}, proxy-origin;dur={origin}");
            fields.append(SERVER_TIMING, HeaderValue::from_str(&value).expect("numbers are ASCII"));
        }
    }
}

/// Notes an origin's answer, and its times.
pub(super) fn note_fetched(note: &mut RequestNote, fetched: &Fetched) {
    let now = Some(world::now());
    let times = &mut note.entry.times;
    let connected = Some(fetched.connected);
    *times = RequestTimes { connected, origin_first: now, client_first: now, ..*times };
    note.see_response(fetched.head.status(), fetched.head.headers());
    note.entry.origin = fetched.opened.as_ref().map(|opened| opened.address);
}

fn counted(body: RequestBody, received: &Rc<Cell<u64>>) -> RequestBody {
    let (length, received) = (body.length(), Rc::clone(received));
    RequestBody::new(Box::new(CountedBody { body, received }), length)
}

/// The answer for a failed fetch.
pub(super) fn fail(note: &mut RequestNote, error: &FetchError) -> Response {
    let reply = refuse(note, &RefusedRequest::from(error));
    if !matches!(error, FetchError::Forbidden(_)) {
        note.entry.outcome = RequestOutcome::Failed(error.kind());
    }
    reply.into()
}
