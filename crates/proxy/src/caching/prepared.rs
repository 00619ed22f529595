//! A stored response, prepared for answers.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use cache::{CacheStatus, Hit, DeltaSeconds, Section, AnswerShape, StoredResponse, EntryValue};
use http::header::{AGE, ALT_SVC, CONTENT_RANGE, HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};
use http_stack::Reply;
use http_stack::server::Head;

/// This cache's name in `Cache-Status`.
pub const NAME: &str = "farlink";

/// The `Cache-Status` field (RFC 9211).
pub const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// A stored response, with the head of its latest answer, which answers share while its age is the same whole second.
#[derive(Debug)]
pub struct Prepared {
    status: StatusCode,
    /// Its fields, without `Age`.
    fields: HeaderMap,
    body: Bytes,
    weight: usize,
    latest: Mutex<Option<(Told, Arc<Head>)>>,
}

/// Values in an answer's head that are not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Told {
    age: DeltaSeconds,
    status: CacheStatus,
    alternative: Option<HeaderValue>,
}

impl Prepared {
    /// A response with these fields and this body.
    pub fn new(status: StatusCode, fields: HeaderMap, body: Bytes) -> Prepared {
        let weight = Prepared::weight_of(&fields, body.len());
        Prepared { status, fields, body, weight, latest: Mutex::default() }
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
        let Prepared { status, fields, body, .. } = self;
        StoredResponse { status: *status, fields: Section::of(fields), body: body.clone() }
    }

    /// Prepares a response read from disk.
    pub fn of_stored(stored: &StoredResponse) -> Prepared {
        Prepared::new(stored.status, stored.fields.to_map(), stored.body.clone())
    }

    /// The answer for `hit`, with the cache's status `did`, and its alternative services (`Alt-Svc`). Nothing is allocated if the last answer
    /// had the same head.
    pub fn reply(
        hit: &Hit<Prepared>,
        did: &CacheStatus,
        ttl: i64,
        alternative: Option<&HeaderValue>,
    ) -> Reply {
        let prepared = hit.entry.value();
        let status = CacheStatus { ttl: Some(ttl), ..*did };
        let told = Told { age: hit.age, status, alternative: alternative.cloned() };
        if hit.shape == AnswerShape::Whole {
            let head = prepared.whole_head(told);
            return Reply { head, body: prepared.body.clone() };
        }
        let mut fields = prepared.fields_telling(&told);
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

    fn whole_head(&self, told: Told) -> Arc<Head> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        match &*latest {
            Some((same, head)) if *same == told => Arc::clone(head),
            _ => {
                let fields = self.fields_telling(&told);
                let head = Arc::new(Head::new(self.status, fields, self.body.len() as u64));
                *latest = Some((told, Arc::clone(&head)));
                head
            }
        }
    }

    fn fields_telling(&self, told: &Told) -> HeaderMap {
        let mut fields = self.fields.clone();
        if let Some(alternative) = &told.alternative {
            fields.insert(ALT_SVC, alternative.clone());
        }
        fields.insert(AGE, value(&told.age));
        fields.append(CACHE_STATUS, value(&told.status.of(NAME)));
        fields
    }
}

fn value(text: &impl ToString) -> HeaderValue {
    HeaderValue::from_str(&text.to_string()).expect("numbers and tokens are ASCII")
}

impl EntryValue for Prepared {
    fn body_length(&self) -> u64 {
        self.body.len() as u64
    }

    fn weight(&self) -> usize {
        self.weight
    }
}
