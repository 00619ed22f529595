//! Responses in the cache: prepared for answers, and on their way in while they pass to the client.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use cache::{
    AnswerShape, CacheStatus, DeltaSeconds, EntryValue, Hit, InsertTicket, OwnedKey, Section,
    Storable, StoredResponse,
};
use http::header::{AGE, ALT_SVC, CONTENT_RANGE, HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};
use http_stack::Reply;
use http_stack::server::Head;

use super::collapsed_forwarding::SingleFlight;
use super::store::CacheStore;

/// This cache's name in `Cache-Status`.
pub const NAME: &str = "farlink";

/// The `Cache-Status` field (RFC 9211).
pub const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// A stored response, with the head of its latest answer, which answers share while its age is the same whole second.
#[derive(Debug)]
pub struct PreparedResponse {
    status: StatusCode,
    /// Its fields, without `Age`.
    fields: HeaderMap,
    body: Bytes,
    weight: usize,
    latest: Mutex<Option<(VolatileFields, Arc<Head>)>>,
}

/// Values in an answer's head that are not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
struct VolatileFields {
    age: DeltaSeconds,
    status: CacheStatus,
    alternative: Option<HeaderValue>,
}

impl PreparedResponse {
    /// A response with these fields and this body.
    pub fn new(status: StatusCode, fields: HeaderMap, body: Bytes) -> PreparedResponse {
        let weight = PreparedResponse::weight_of(&fields, body.len());
        PreparedResponse { status, fields, body, weight, latest: Mutex::default() }
    }

    /// Weight of a response with these fields and a body of that length.
    pub fn weight_of(fields: &impl cache::FieldLines, body_bytes: usize) -> usize {
        /// Overhead of a map entry, beside its text.
        const FIELD_BYTES: usize = 80;
        let mut text = 0;
        fields.each(|name, value| text += name.len() + value.len() + FIELD_BYTES);
        // The fields are in the latest head as well, twice: as a map and as text.
        (3 * text).saturating_add(body_bytes)
    }

    /// The stored body.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The stored fields.
    pub fn fields(&self) -> &HeaderMap {
        &self.fields
    }

    /// The stored status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The response without anything prepared, the form for the disk tier.
    pub fn stored(&self) -> StoredResponse {
        let PreparedResponse { status, fields, body, .. } = self;
        StoredResponse { status: *status, fields: Section::of(fields), body: body.clone() }
    }

    /// Prepares a response read from disk.
    pub fn of_stored(stored: &StoredResponse) -> PreparedResponse {
        PreparedResponse::new(stored.status, stored.fields.to_map(), stored.body.clone())
    }

    /// The answer for `hit`, with the cache's status `did`, and its alternative services (`Alt-Svc`). Nothing is allocated if the last answer
    /// had the same head.
    pub fn reply(
        hit: &Hit<PreparedResponse>,
        did: &CacheStatus,
        ttl: i64,
        alternative: Option<&HeaderValue>,
    ) -> Reply {
        let prepared = hit.entry.value();
        let status = CacheStatus { ttl: Some(ttl), ..*did };
        let volatile = VolatileFields { age: hit.age, status, alternative: alternative.cloned() };
        if hit.shape == AnswerShape::Whole {
            let head = prepared.whole_head(volatile);
            return Reply { head, body: prepared.body.clone() };
        }
        let mut fields = prepared.fields_with(&volatile);
        let (status, body) = match &hit.shape {
            AnswerShape::Whole => (prepared.status, prepared.body.clone()),
            AnswerShape::NotModified => (StatusCode::NOT_MODIFIED, Bytes::new()),
            AnswerShape::Part { from, range } => {
                fields.insert(CONTENT_RANGE, value(range));
                let from = usize::try_from(*from).unwrap_or(usize::MAX);
                let length = usize::try_from(range.last - range.first + 1).unwrap_or(usize::MAX);
                (StatusCode::PARTIAL_CONTENT, prepared.body.slice(from..from + length))
            }
            AnswerShape::Unsatisfiable { whole } => {
                fields.insert(CONTENT_RANGE, value(&format_args!("bytes */{whole}")));
                (StatusCode::RANGE_NOT_SATISFIABLE, Bytes::new())
            }
        };
        Reply::new(status, fields, body)
    }

    fn whole_head(&self, volatile: VolatileFields) -> Arc<Head> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        match &*latest {
            Some((same, head)) if *same == volatile => Arc::clone(head),
            _ => {
                let fields = self.fields_with(&volatile);
                let head = Arc::new(Head::new(self.status, fields, self.body.len() as u64));
                *latest = Some((volatile, Arc::clone(&head)));
                head
            }
        }
    }

    fn fields_with(&self, volatile: &VolatileFields) -> HeaderMap {
        let mut fields = self.fields.clone();
        if let Some(alternative) = &volatile.alternative {
            fields.insert(ALT_SVC, alternative.clone());
        }
        fields.insert(AGE, value(&volatile.age));
        fields.append(CACHE_STATUS, value(&volatile.status.of(NAME)));
        fields
    }
}

fn value(text: &impl ToString) -> HeaderValue {
    HeaderValue::from_str(&text.to_string()).expect("numbers and tokens are ASCII")
}

impl EntryValue for PreparedResponse {
    fn body_length(&self) -> u64 {
        self.body.len() as u64
    }

    fn weight(&self) -> usize {
        self.weight
    }
}

/// A response that is stored when all of it has passed. It is dropped if it breaks off, grows too large, or if too many bytes are
/// on their way into the cache.
pub struct CacheFill {
    /// `None` once there is nothing left to store.
    pending: Option<PendingResponse>,
}

struct PendingResponse {
    store: Arc<CacheStore>,
    key: OwnedKey,
    ticket: InsertTicket,
    status: StatusCode,
    storable: Storable,
    body: BytesMut,
    /// Memory reserved for `body`.
    held: FillReservation,
    /// The flight that other requests wait for.
    flight: Option<SingleFlight>,
}

/// Memory reserved for a body on its way.
struct FillReservation {
    store: Arc<CacheStore>,
    bytes: u64,
}

impl FillReservation {
    /// Reserves more memory; returns false if there is none.
    fn grow(&mut self, bytes: u64) -> bool {
        let has_room = self.store.begin_filling(bytes);
        self.bytes += if has_room { bytes } else { 0 };
        has_room
    }
}

impl Drop for FillReservation {
    fn drop(&mut self) {
        self.store.end_filling(self.bytes);
    }
}

impl CacheFill {
    /// A fill that stores nothing.
    pub fn nothing() -> CacheFill {
        CacheFill { pending: None }
    }

    /// For the response to a request for `key`.
    pub fn new(
        store: &Arc<CacheStore>,
        key: OwnedKey,
        ticket: InsertTicket,
        status: StatusCode,
        storable: Storable,
        flight: Option<SingleFlight>,
    ) -> CacheFill {
        let (held, body) =
            (FillReservation { store: Arc::clone(store), bytes: 0 }, BytesMut::new());
        let store = Arc::clone(store);
        let pending = PendingResponse { store, key, ticket, status, storable, body, held, flight };
        CacheFill { pending: Some(pending) }
    }

    /// Adds the next piece.
    pub fn add(&mut self, piece: &[u8]) {
        let Some(pending) = &mut self.pending else { return };
        if !pending.held.grow(piece.len() as u64) {
            self.pending = None;
            return;
        }
        pending.body.extend_from_slice(piece);
        let bytes = Some(pending.body.len() as u64);
        if !pending.store.has_room(&pending.key, &pending.storable, bytes) {
            pending.store.hit_for_miss().remember(pending.ticket, pending.store.now());
            self.pending = None;
        }
    }

    /// Stores the response: all of it has passed.
    pub fn finish(&mut self) {
        if let Some(PendingResponse { store, key, ticket, status, storable, body, held, flight }) =
            self.pending.take()
        {
            // Copied to its size: a buffer that grew piece by piece holds more.
            let body = Bytes::copy_from_slice(&body);
            store.insert(&key.borrow(), ticket, status, storable, body);
            drop(held);
            drop(flight);
        }
    }
}
