//! A stored response in memory: its key, the terms of its use, and the value that a server sends.

use bytes::Bytes;
use http::StatusCode;

use crate::fields::Section;
use crate::key::{CacheKey, OwnedKey};
use crate::storing::Storable;
use crate::terms::ReuseTerms;
use crate::vary::Vary;

/// A server's representation of an answer: a body and a head, prepared as it likes.
pub trait EntryValue {
    /// Length of its body in bytes.
    fn body_length(&self) -> u64;

    /// Memory held beside its own structure, in bytes.
    fn weight(&self) -> usize;
}

/// A response as it is stored, with nothing prepared: the form for the disk tier and for simple servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredResponse {
    /// Its status code.
    pub status: StatusCode,
    /// Its fields, without `Age`.
    pub fields: Section,
    /// Its whole body, or the body of a part.
    pub body: Bytes,
}

impl EntryValue for StoredResponse {
    fn body_length(&self) -> u64 {
        self.body.len() as u64
    }

    fn weight(&self) -> usize {
        self.fields.text().len() + self.body.len()
    }
}

/// A stored response.
#[derive(Debug)]
pub struct CacheEntry<V> {
    key: OwnedKey,
    vary: Vary,
    terms: ReuseTerms,
    value: V,
}

impl<V> CacheEntry<V> {
    /// The response to a request for `key`, with its `storable` parts; `value` is the server's representation.
    pub fn new(key: &CacheKey<'_>, storable: Storable, value: V) -> CacheEntry<V> {
        CacheEntry { key: key.to_owned(), vary: storable.vary, terms: storable.terms, value }
    }

    /// Its primary key.
    pub fn key(&self) -> &OwnedKey {
        &self.key
    }

    /// Its secondary key: the requests that it matches.
    pub fn vary(&self) -> &Vary {
        &self.vary
    }

    /// Terms of its reuse.
    pub fn terms(&self) -> &ReuseTerms {
        &self.terms
    }

    /// The server's representation.
    pub fn value(&self) -> &V {
        &self.value
    }

    /// The same response, with its value converted for another server.
    pub fn converted<W>(&self, convert: impl FnOnce(&V) -> W) -> CacheEntry<W> {
        let CacheEntry { key, vary, terms, value } = self;
        CacheEntry {
            key: key.clone(),
            vary: vary.clone(),
            terms: terms.clone(),
            value: convert(value),
        }
    }

    /// Returns true if it replaces the other: same key, same choosing fields, and it covers all of the other's body.
    pub(crate) fn supersedes(&self, other: &CacheEntry<V>) -> bool {
        let covers =
            self.terms.content_range().is_none_or(|own| other.terms.content_range() == Some(own));
        covers && self.vary == other.vary && self.key == other.key
    }
}

impl<V: EntryValue> CacheEntry<V> {
    /// True unless it is a part whose body length differs from its `Content-Range`.
    pub(crate) fn is_sound(&self) -> bool {
        self.terms.content_range().is_none_or(|part| part.size() == self.value.body_length())
    }

    /// Total memory held.
    pub fn weight(&self) -> usize {
        weight::<V>(&self.key, &self.vary, &self.terms) + self.value.weight()
    }

    /// Total memory that the entry of a `storable` response will hold, its value excluded.
    pub(crate) fn weight_without_value(key: &OwnedKey, storable: &Storable) -> usize {
        weight::<V>(key, &storable.vary, &storable.terms)
    }
}

fn weight<V>(key: &OwnedKey, vary: &Vary, terms: &ReuseTerms) -> usize {
    size_of::<CacheEntry<V>>() + key.uri().len() + vary.weight() + terms.weight()
}
