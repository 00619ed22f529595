//! Answers from the cache (RFC 9111): a hit, a hit after validation with the origin, or a new answer that is stored while it passes.

use std::rc::Rc;
use std::sync::Arc;

use cache::{
    CacheEntry, CacheStatus, DeltaSeconds, ForwardReason, Handling, Hit, Lookup, OwnedKey, Section,
    Tolerance, replaced_in_validation,
};
use http::{HeaderValue, Method, Request, StatusCode};
use http_stack::Response;
use http_stack::server::Reply;

use super::dispatch::{note_reply, refuse};
use super::entrance::Proxy;
use super::job::Fetch;
use super::pass::{fail, note_fetched};
use super::replies::RefusedRequest;
use super::transit::BodyEnds;
use crate::caching::{
    CACHE_NAME, CACHE_STATUS, CacheFill, CacheStore, FlightRole, PreparedResponse,
};
use crate::journal::{Journal, LogEntry, RequestNote, RequestOutcome};
use crate::upstream::Fetched;

/// A request that the cache alone cannot answer.
struct CacheMiss {
    key: OwnedKey,
    fetch: Fetch,
    /// Reason for forwarding to the origin.
    why: ForwardReason,
    /// True if it has waited for another request's answer.
    collapsed: bool,
}

/// A stored response, to be confirmed.
type StoredEntry = Arc<CacheEntry<PreparedResponse>>;

impl Proxy {
    /// Answers a GET or HEAD.
    pub(super) async fn answer_by_cache(
        self: &Rc<Proxy>,
        store: &Arc<CacheStore>,
        mut fetch: Fetch,
        mut note: RequestNote,
    ) -> Response {
        let Some(key) = fetch.key.clone() else {
            unreachable!("a request through the cache has a key")
        };
        let mut collapsed = false;
        let mut recalled = !store.has_disk();
        let (why, stored) = loop {
            let asked = fetch.asked();
            let request = cache::CacheRequest::new(fetch.request.method(), &asked);
            let found = store.memory().lookup(&key.borrow(), &request, store.now());
            let (why, stored) = match found {
                Lookup::Hit(hit) => {
                    fetch.flight = None;
                    if hit.stale == Some(Tolerance::WhileRevalidate) {
                        self.revalidate(store, key, fetch, Arc::clone(&hit.entry));
                    }
                    return hit_reply(store, &hit, None, &mut note).into();
                }
                Lookup::Unavailable if recalled => return unavailable(&mut note).into(),
                Lookup::Unavailable => (ForwardReason::UriMiss, None),
                Lookup::Miss(why) => (why, None),
                Lookup::Validate { entry, reason } => (reason.into(), Some(entry)),
            };
            let waits = store.is_collapsible(&key.borrow(), &request, stored.is_some());
            if waits && !collapsed && fetch.flight.is_none() {
                match store.flights().enter(&key).await {
                    FlightRole::Leader(flight) => fetch.flight = Some(flight),
                    // The leader has consulted the disk as well.
                    FlightRole::Waited => {
                        (collapsed, recalled) = (true, true);
                        continue;
                    }
                }
            }
            if stored.is_some() || std::mem::replace(&mut recalled, true) {
                break (why, stored);
            }
            store.recall(&key, &fetch.asked()).await;
        };
        let miss = CacheMiss { key, fetch, why, collapsed };
        match stored {
            None => self.fetch_new(store, miss, note).await,
            Some(stored) => self.validate(store, miss, &stored, note).await,
        }
    }

    /// Fetches from the origin, and stores the answer.
    async fn fetch_new(
        self: &Rc<Proxy>,
        store: &Arc<CacheStore>,
        miss: CacheMiss,
        mut note: RequestNote,
    ) -> Response {
        let ticket = store.memory().ticket(&miss.key.borrow());
        let sent = world::now();
        match self.fetch(&miss.fetch, &miss.fetch.request, None).await {
            Err(error) => fail(&mut note, &error),
            Ok(fetched) => self.store_and_relay(store, miss, fetched, (ticket, sent), note).await,
        }
    }

    /// Forwards a new answer and stores it if allowed.
    async fn store_and_relay(
        &self,
        store: &Arc<CacheStore>,
        miss: CacheMiss,
        mut fetched: Fetched,
        (ticket, sent): (cache::InsertTicket, units::Time),
        note: RequestNote,
    ) -> Response {
        self.rewrite_head(&mut fetched.head);
        let request = &miss.fetch.request;
        // What is stored is what the client gets: each coding is a variant of its own.
        let transformation = self.transform(&mut fetched, request).await;
        let status = fetched.head.status();
        let judged = match *request.method() == Method::GET {
            true => {
                let (asked, fields) = (miss.fetch.asked(), fetched.head.headers());
                store.storable(&miss.key, &asked, status, fields, sent)
            }
            false => Err(cache::NotStored::Method),
        };
        let judged = match judged {
            Ok(storable) if !storable.fits(fetched.length) => Err(cache::NotStored::Part),
            judged => judged,
        };
        let cache_status = CacheStatus::new(Handling::Forwarded(miss.why));
        let mut cache_status = CacheStatus { collapsed: miss.collapsed, ..cache_status };
        let filling = match judged {
            Err(why) => {
                cache_status.detail = Some(why.token());
                if why.is_of_response() && answers_all(status) {
                    store.hit_for_miss().remember(ticket, store.now());
                }
                CacheFill::nothing()
            }
            Ok(storable) if !store.has_room(&miss.key, &storable, fetched.length) => {
                cache_status.detail = Some("too-large");
                store.hit_for_miss().remember(ticket, store.now());
                CacheFill::nothing()
            }
            Ok(storable) => {
                cache_status.stored = true;
                store.hit_for_miss().forget(ticket);
                CacheFill::new(store, miss.key, ticket, status, storable, miss.fetch.flight)
            }
        };
        self.relay(fetched, transformation, note, filling, Some(cache_status), BodyEnds::default())
    }

    /// Validates a stored response with the origin (RFC 9111 section 4.3).
    async fn validate(
        self: &Rc<Proxy>,
        store: &Arc<CacheStore>,
        miss: CacheMiss,
        stored: &StoredEntry,
        mut note: RequestNote,
    ) -> Response {
        let ticket = store.memory().ticket(&miss.key.borrow());
        let sent = world::now();
        let request = &miss.fetch.request;
        let asking = conditional(request, stored);
        let answered = self.fetch(&miss.fetch, &asking, None).await;
        let status = match &answered {
            Err(error) => error.status(),
            Ok(fetched) => fetched.head.status(),
        };
        // RFC 5861 section 4: any error that the client would get.
        if matches!(status.as_u16(), 500 | 502 | 503 | 504) {
            let asked = miss.fetch.asked();
            let asked = cache::CacheRequest::new(request.method(), &asked);
            if stored.terms().serves_on_error(&asked, DeltaSeconds::ZERO, store.now())
                && let Some(hit) = hit(store, stored, &miss.fetch)
            {
                return hit_reply(store, &hit, None, &mut note).into();
            }
        }
        let mut fetched = match answered {
            Err(error) => return fail(&mut note, &error),
            Ok(fetched) => fetched,
        };
        // Without validators of the cache's own, a 304 answers the client's conditions.
        if status != StatusCode::NOT_MODIFIED || !stored.terms().has_validator() {
            return self.store_and_relay(store, miss, fetched, (ticket, sent), note).await;
        }
        self.rewrite_head(&mut fetched.head);
        self.confirm(fetched.head.headers_mut(), asking.headers());
        if !stored.terms().confirmed_by(fetched.head.headers()) {
            drop(fetched);
            return self.fetch_new(store, miss, note).await;
        }
        note_fetched(&mut note, &fetched);
        let fields =
            cache::updated(&Section::of(stored.value().fields()), fetched.head.headers()).to_map();
        let status = stored.value().status();
        let judged = store.storable(&miss.key, &miss.fetch.asked(), status, &fields, sent);
        let confirmed = match judged {
            Ok(storable) => {
                store.hit_for_miss().forget(ticket);
                store.insert_confirmed(stored, ticket, status, storable)
            }
            Err(_) => {
                store.forget(&miss.key.borrow()).await;
                None
            }
        };
        let cache_status = CacheStatus {
            forwarded_status: Some(StatusCode::NOT_MODIFIED),
            stored: confirmed.is_some(),
            ..CacheStatus::new(Handling::Forwarded(miss.why))
        };
        let reply = match confirmed.and_then(|entry| hit(store, &entry, &miss.fetch)) {
            Some(hit) => {
                let ttl = hit.entry.terms().ttl(store.now());
                PreparedResponse::reply(&hit, &cache_status, ttl, None)
            }
            None => {
                let mut fields = fields;
                fields.append(CACHE_STATUS, header(&cache_status));
                Reply::new(status, fields, stored.value().body().clone())
            }
        };
        note.entry.outcome = RequestOutcome::Validated;
        note_reply(&mut note, reply).into()
    }

    /// Validates in the background (RFC 5861 section 3), unless that is under way.
    fn revalidate(
        self: &Rc<Proxy>,
        store: &Arc<CacheStore>,
        key: OwnedKey,
        fetch: Fetch,
        stored: StoredEntry,
    ) {
        if store.flights().is_under_way(&key) {
            return;
        }
        let (proxy, store) = (Rc::clone(self), Arc::clone(store));
        let mut fetch = fetch.for_the_proxy();
        drop(world::spawn(async move {
            let FlightRole::Leader(flight) = store.flights().enter(&key).await else { return };
            fetch.flight = Some(flight);
            let url = key.uri().to_owned();
            let miss = CacheMiss { key, fetch, why: ForwardReason::Stale, collapsed: false };
            let journal: Rc<dyn Journal> = Rc::new(());
            let record = LogEntry::new(None, "GET", url, tls::Protocol::H1);
            let note = RequestNote::new(record, &journal);
            if let Response::Streamed { mut body, .. } =
                proxy.validate(&store, miss, &stored, note).await
            {
                // The body must be read to be stored.
                while let Some(Ok(_)) = std::future::poll_fn(|cx| body.poll_next(cx)).await {}
            }
        }));
    }
}

/// Returns true if a response of this status describes the object, rather than one client's copy or range of it.
fn answers_all(status: StatusCode) -> bool {
    !matches!(status.as_u16(), 206 | 304 | 412 | 416)
}

/// A conditional request that validates `stored`; unchanged if `stored` has no validator.
fn conditional(request: &Request<()>, stored: &StoredEntry) -> Request<()> {
    let mut request = request.clone();
    if !stored.terms().has_validator() {
        return request;
    }
    let names: Vec<_> =
        request.headers().keys().filter(|n| replaced_in_validation(n.as_str())).cloned().collect();
    for name in names {
        request.headers_mut().remove(name);
    }
    for (name, value) in stored.terms().validators() {
        request.headers_mut().insert(name, value.clone());
    }
    request
}

/// The hit that `entry` is for `fetch`, fresh or not.
fn hit(store: &CacheStore, entry: &StoredEntry, fetch: &Fetch) -> Option<Hit<PreparedResponse>> {
    let asked = fetch.asked();
    let asked = cache::CacheRequest::new(fetch.request.method(), &asked);
    let shape = entry.terms().shape(&asked, entry.value().body().len() as u64)?;
    Some(Hit { entry: Arc::clone(entry), shape, age: entry.terms().age(store.now()), stale: None })
}

/// The answer for a hit, with its note filled in.
pub(super) fn hit_reply(
    store: &CacheStore,
    hit: &Hit<PreparedResponse>,
    alternative: Option<&HeaderValue>,
    note: &mut RequestNote,
) -> Reply {
    note.entry.outcome = RequestOutcome::Hit;
    note_reply(note, hit_answer(store, hit, alternative))
}

/// The answer for a hit.
pub(super) fn hit_answer(
    store: &CacheStore,
    hit: &Hit<PreparedResponse>,
    alternative: Option<&HeaderValue>,
) -> Reply {
    let ttl = hit.entry.terms().ttl(store.now());
    PreparedResponse::reply(hit, &CacheStatus::new(Handling::Hit), ttl, alternative)
}

fn header(status: &CacheStatus) -> HeaderValue {
    HeaderValue::from_str(&status.of(CACHE_NAME).to_string()).expect("tokens are ASCII")
}

/// RFC 9111 section 5.2.1.7.
fn unavailable(note: &mut RequestNote) -> Reply {
    let message = "nothing is stored for this request, and `only-if-cached` rules out the origin";
    refuse(
        note,
        &RefusedRequest::new(StatusCode::GATEWAY_TIMEOUT, "proxy_internal_response", message),
    )
}
