//! A stored response in memory: what it is found by, on what terms it may be used, and what a server sends.

use bytes::Bytes;
use http::StatusCode;

use crate::fields::Section;
use crate::key::{Key, OwnedKey};
use crate::storing::Storable;
use crate::terms::Terms;
use crate::vary::Vary;

/// What a server keeps for an answer: a body and a head, prepared as it likes.
pub trait Value {
    /// How many bytes its body has.
    fn body_length(&self) -> u64;

    /// How much memory it holds beside its own structure.
    fn weight(&self) -> usize;
}

/// A response as it is stored: nothing prepared. What goes to disk, and what a simple server needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its status code.
    pub status: StatusCode,
    /// Its fields, without `Age`.
    pub fields: Section,
    /// Its whole body, or that of a part.
    pub body: Bytes,
}

impl Value for Stored {
    fn body_length(&self) -> u64 {
        self.body.len() as u64
    }

    fn weight(&self) -> usize {
        self.fields.text().len() + self.body.len()
    }
}

/// A stored response.
#[derive(Debug)]
pub struct Entry<V> {
    key: OwnedKey,
    vary: Vary,
    terms: Terms,
    value: V,
}

impl<V> Entry<V> {
    /// The response to a request for `key`, of which `storable` may be stored; `value` is what its server keeps.
    pub fn new(key: &Key<'_>, storable: Storable, value: V) -> Entry<V> {
        Entry { key: key.to_owned(), vary: storable.vary, terms: storable.terms, value }
    }

    /// What it is found by.
    pub fn key(&self) -> &OwnedKey {
        &self.key
    }

    /// For which requests it is.
    pub fn vary(&self) -> &Vary {
        &self.vary
    }

    /// On what terms it may be used.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// What its server keeps.
    pub fn value(&self) -> &V {
        &self.value
    }

    /// The same response, of which another server keeps what `convert` makes of it.
    pub fn converted<W>(&self, convert: impl FnOnce(&V) -> W) -> Entry<W> {
        let Entry { key, vary, terms, value } = self;
        Entry { key: key.clone(), vary: vary.clone(), terms: terms.clone(), value: convert(value) }
    }

    /// Whether it takes the other's place: same key, same choosing fields, and all of what the other holds.
    pub(crate) fn supersedes(&self, other: &Entry<V>) -> bool {
        let covers =
            self.terms.content_range().is_none_or(|own| other.terms.content_range() == Some(own));
        covers && self.vary == other.vary && self.key == other.key
    }
}

impl<V: Value> Entry<V> {
    /// True unless it is a part whose body has another length than its `Content-Range` says.
    pub(crate) fn is_sound(&self) -> bool {
        self.terms.content_range().is_none_or(|part| part.size() == self.value.body_length())
    }

    /// All memory that it holds.
    pub fn weight(&self) -> usize {
        weight::<V>(&self.key, &self.vary, &self.terms) + self.value.weight()
    }

    /// All memory that the entry of what is `storable` will hold beside its value's.
    pub(crate) fn weight_without_value(key: &OwnedKey, storable: &Storable) -> usize {
        weight::<V>(key, &storable.vary, &storable.terms)
    }
}

fn weight<V>(key: &OwnedKey, vary: &Vary, terms: &Terms) -> usize {
    size_of::<Entry<V>>() + key.uri().len() + vary.weight() + terms.weight()
}
