//! Outcome of a cache lookup.

use std::sync::Arc;

use crate::conditions::Shape;
use crate::date::{Date, Seconds};
use crate::entry::{Entry, Value};
use crate::fields::Fields;
use crate::request::Request;
use crate::reuse::{Reason, Reuse, Tolerance};
use crate::status::Forward;

/// Outcome of a cache lookup.
#[derive(Debug)]
pub enum Lookup<V> {
    /// An answer.
    Hit(Hit<V>),
    /// A stored response that the origin must confirm first, by the validators in its terms. If it has none, a new one is requested from
    /// the origin, and this one is kept in case the origin fails ([`Terms::serves_on_error`](crate::Terms::serves_on_error)).
    Validate {
        /// The stored response.
        entry: Arc<Entry<V>>,
        /// Reason for the validation.
        reason: Reason,
    },
    /// Nothing: the origin must answer.
    Miss(Forward),
    /// No stored response, and the request forbids asking the origin: 504 (RFC 9111 section 5.2.1.7).
    Unavailable,
}

/// An answer from the cache.
#[derive(Debug)]
pub struct Hit<V> {
    /// The stored response.
    pub entry: Arc<Entry<V>>,
    /// Form of the answer.
    pub shape: Shape,
    /// Its `Age`.
    pub age: Seconds,
    /// For a stale response, the side that tolerates it. If that is the origin, the response is to be
    /// validated in the background.
    pub stale: Option<Tolerance>,
}

impl<V: Value> Lookup<V> {
    /// Judges the best match for a request.
    pub(crate) fn of<F: Fields + ?Sized>(
        found: Result<Arc<Entry<V>>, Forward>,
        request: &Request<'_, F>,
        now: Date,
    ) -> Lookup<V> {
        let judged = match found {
            Ok(entry) => Lookup::judge(entry, request, now),
            Err(why) => Lookup::Miss(why),
        };
        match judged {
            Lookup::Hit(_) => judged,
            _ if request.directives().only_if_cached => Lookup::Unavailable,
            _ => judged,
        }
    }

    fn judge<F: Fields + ?Sized>(
        entry: Arc<Entry<V>>,
        request: &Request<'_, F>,
        now: Date,
    ) -> Lookup<V> {
        let stale = match entry.terms().reuse(request, now) {
            Reuse::Validate(reason) => {
                let terms = entry.terms();
                // Without a validator it can still stand in for an error.
                let is_of_use =
                    terms.has_validator() || terms.serves_on_error(request, Seconds::ZERO, now);
                return match is_of_use {
                    true => Lookup::Validate { entry, reason },
                    false => Lookup::Miss(reason.into()),
                };
            }
            Reuse::Fresh => None,
            Reuse::Stale(tolerance) => Some(tolerance),
        };
        let Some(shape) = entry.terms().shape(request, entry.value().body_length()) else {
            return Lookup::Miss(Forward::Partial);
        };
        let age = entry.terms().age(now);
        Lookup::Hit(Hit { entry, shape, age, stale })
    }
}
