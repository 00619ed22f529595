//! Cache lookup: its outcome, and the decision to reuse a stored response (RFC 9111 sections 4, 4.2.4 and 5.2.1; RFC 5861).

use std::sync::Arc;

use crate::conditions::AnswerShape;
use crate::date::{Date, DeltaSeconds};
use crate::entry::{CacheEntry, EntryValue};
use crate::fields::FieldLines;
use crate::request::CacheRequest;
use crate::status::ForwardReason;
use crate::terms::{ReuseTerms, Validation};

/// Outcome of a cache lookup.
#[derive(Debug)]
pub enum Lookup<V> {
    /// An answer.
    Hit(Hit<V>),
    /// A stored response that the origin must confirm first, by the validators in its terms. If it has none, a new one is requested from
    /// the origin, and this one is kept in case the origin fails ([`ReuseTerms::serves_on_error`](crate::ReuseTerms::serves_on_error)).
    Validate {
        /// The stored response.
        entry: Arc<CacheEntry<V>>,
        /// Reason for the validation.
        reason: ValidationReason,
    },
    /// No usable entry: the origin must answer.
    Miss(ForwardReason),
    /// No stored response, and the request forbids asking the origin: 504 (RFC 9111 section 5.2.1.7).
    Unavailable,
}

/// An answer from the cache.
#[derive(Debug)]
pub struct Hit<V> {
    /// The stored response.
    pub entry: Arc<CacheEntry<V>>,
    /// Form of the answer.
    pub shape: AnswerShape,
    /// Its `Age`.
    pub age: DeltaSeconds,
    /// For a stale response, the side that tolerates it. If that is the origin, the response is to be
    /// validated in the background.
    pub stale: Option<Tolerance>,
}

impl<V: EntryValue> Lookup<V> {
    /// Judges the best match for a request.
    pub(crate) fn of<F: FieldLines + ?Sized>(
        found: Result<Arc<CacheEntry<V>>, ForwardReason>,
        request: &CacheRequest<'_, F>,
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

    fn judge<F: FieldLines + ?Sized>(
        entry: Arc<CacheEntry<V>>,
        request: &CacheRequest<'_, F>,
        now: Date,
    ) -> Lookup<V> {
        let stale = match entry.terms().reuse(request, now) {
            Reuse::Validate(reason) => {
                let terms = entry.terms();
                // Without a validator it can still stand in for an error.
                let is_of_use = terms.has_validator()
                    || terms.serves_on_error(request, DeltaSeconds::ZERO, now);
                return match is_of_use {
                    true => Lookup::Validate { entry, reason },
                    false => Lookup::Miss(reason.into()),
                };
            }
            Reuse::Fresh => None,
            Reuse::Stale(tolerance) => Some(tolerance),
        };
        let Some(shape) = entry.terms().shape(request, entry.value().body_length()) else {
            return Lookup::Miss(ForwardReason::Partial);
        };
        let age = entry.terms().age(now);
        Lookup::Hit(Hit { entry, shape, age, stale })
    }
}

/// Permitted reuse of a stored response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// At once: it is fresh.
    Fresh,
    /// At once, though it is stale.
    Stale(Tolerance),
    /// Once the origin has confirmed it.
    Validate(ValidationReason),
}

/// The side that tolerates a stale response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tolerance {
    /// The request: `max-stale`.
    Request,
    /// The origin, while the cache validates it in the background: `stale-while-revalidate`.
    WhileRevalidate,
}

/// Reason for validating a stored response first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidationReason {
    /// The response says `no-cache`.
    NoCache,
    /// It is stale.
    Stale,
    /// The request says `no-cache`.
    RequestNoCache,
    /// It is older than the request's `max-age`.
    RequestMaxAge,
    /// It does not stay fresh as long as the request's `min-fresh` wants.
    RequestMinFresh,
}

impl ReuseTerms {
    /// Decides on reuse of the response for `request` at the instant `now`. The caller has checked that it matches
    /// (key, `Vary`).
    pub fn reuse<F: FieldLines + ?Sized>(&self, request: &CacheRequest<'_, F>, now: Date) -> Reuse {
        let asked = request.directives();
        if asked.no_cache {
            return Reuse::Validate(ValidationReason::RequestNoCache);
        }
        if self.validation == Validation::Always {
            return Reuse::Validate(ValidationReason::NoCache);
        }
        // Section 5.2.1.1: an age up to max-age is acceptable, unless max-stale tolerates more.
        if asked.max_age.is_some_and(|limit| self.age_millis(now) > limit.as_millis())
            && asked.max_stale.is_none()
        {
            return Reuse::Validate(ValidationReason::RequestMaxAge);
        }
        let fresh = self.fresh_millis(now);
        // Section 5.2.1.3.
        if asked.min_fresh.is_some_and(|span| fresh < span.as_millis()) {
            return Reuse::Validate(ValidationReason::RequestMinFresh);
        }
        if fresh > 0 { Reuse::Fresh } else { self.reuse_stale(asked.max_stale, now) }
    }

    /// Section 4.2.4.
    fn reuse_stale(&self, max_stale: Option<DeltaSeconds>, now: Date) -> Reuse {
        let stale = self.stale_millis(now);
        if self.validation != Validation::Lenient {
            return Reuse::Validate(ValidationReason::Stale);
        }
        // Section 5.2.1.2: without a number, any staleness is acceptable.
        if max_stale.is_some_and(|limit| limit == DeltaSeconds::MAX || stale <= limit.as_millis()) {
            return Reuse::Stale(Tolerance::Request);
        }
        // RFC 5861 section 3.
        if self.while_revalidate > DeltaSeconds::ZERO && stale <= self.while_revalidate.as_millis()
        {
            return Reuse::Stale(Tolerance::WhileRevalidate);
        }
        Reuse::Validate(ValidationReason::Stale)
    }

    /// Returns true if it may stand in for an error of the origin - 500, 502, 503, 504, or unreachable (RFC 5861 section 4) - by its own
    /// directives, the request's, or the operator's `grace`.
    pub fn serves_on_error<F: FieldLines + ?Sized>(
        &self,
        request: &CacheRequest<'_, F>,
        grace: DeltaSeconds,
        now: Date,
    ) -> bool {
        if self.is_fresh(now)
            && self.validation != Validation::Always
            && !request.directives().no_cache
        {
            return true;
        }
        let tolerated =
            self.if_error.max(grace).max(request.directives().stale_if_error.unwrap_or_default());
        self.validation == Validation::Lenient
            && !request.directives().no_cache
            && tolerated > DeltaSeconds::ZERO
            && self.stale_millis(now) <= tolerated.as_millis()
    }
}

#[cfg(test)]
mod tests {
    use http::{Method, StatusCode};

    use super::*;
    use crate::storing::StoragePolicy;
    use crate::storing::storable;
    use crate::terms::ExchangeTimes;

    const START: u64 = 1_000_000_000;

    fn terms(cache_control: &str) -> ReuseTerms {
        let now = Date::from_unix_secs(START);
        let exchange = ExchangeTimes { sent: now, received: now };
        let request: &[(&str, &str)] = &[];
        let response = [("cache-control", cache_control), ("etag", "\"a\"")];
        let request = CacheRequest::new(&Method::GET, request);
        storable(&request, StatusCode::OK, &response[..], exchange, &StoragePolicy::default())
            .unwrap()
            .terms
    }

    fn reuse(stored: &str, asked: &str, after: u64) -> Reuse {
        let fields = [("cache-control", asked)];
        terms(stored).reuse(
            &CacheRequest::new(&Method::GET, &fields[..]),
            Date::from_unix_secs(START + after),
        )
    }

    #[test]
    fn fresh_then_stale() {
        assert_eq!(reuse("max-age=10", "", 9), Reuse::Fresh);
        assert_eq!(reuse("max-age=10", "", 10), Reuse::Validate(ValidationReason::Stale));
        assert_eq!(
            reuse("max-age=10, no-cache", "", 0),
            Reuse::Validate(ValidationReason::NoCache)
        );
    }

    /// RFC 9111 section 5.2.1.
    #[test]
    fn requests_ask_for_more_or_less_freshness() {
        assert_eq!(
            reuse("max-age=10", "no-cache", 0),
            Reuse::Validate(ValidationReason::RequestNoCache)
        );
        assert_eq!(reuse("max-age=10", "max-age=5", 5), Reuse::Fresh);
        assert_eq!(
            reuse("max-age=10", "max-age=5", 6),
            Reuse::Validate(ValidationReason::RequestMaxAge)
        );
        assert_eq!(
            reuse("max-age=10", "max-age=0", 1),
            Reuse::Validate(ValidationReason::RequestMaxAge)
        );
        assert_eq!(reuse("max-age=10", "min-fresh=4", 6), Reuse::Fresh);
        assert_eq!(
            reuse("max-age=10", "min-fresh=5", 6),
            Reuse::Validate(ValidationReason::RequestMinFresh)
        );
        assert_eq!(reuse("max-age=10", "max-stale=5", 15), Reuse::Stale(Tolerance::Request));
        assert_eq!(
            reuse("max-age=10", "max-stale=5", 16),
            Reuse::Validate(ValidationReason::Stale)
        );
        assert_eq!(reuse("max-age=10", "max-stale", 1_000_000), Reuse::Stale(Tolerance::Request));
    }

    /// RFC 9111 sections 5.2.2.2, 5.2.2.8 and 5.2.2.10.
    #[test]
    fn strict_responses_are_never_used_stale() {
        for strict in ["max-age=10, must-revalidate", "max-age=10, proxy-revalidate", "s-maxage=10"]
        {
            let stored = format!("{strict}, stale-while-revalidate=100, stale-if-error=100");
            assert_eq!(
                reuse(&stored, "max-stale", 11),
                Reuse::Validate(ValidationReason::Stale),
                "{strict}"
            );
            assert!(!on_error(&stored, "", 11), "{strict}");
        }
    }

    /// RFC 5861 section 3.
    #[test]
    fn stale_while_revalidate_has_its_time() {
        let stored = "max-age=10, stale-while-revalidate=5";
        assert_eq!(reuse(stored, "", 15), Reuse::Stale(Tolerance::WhileRevalidate));
        assert_eq!(reuse(stored, "", 16), Reuse::Validate(ValidationReason::Stale));
        assert_eq!(
            reuse(stored, "max-age=12", 15),
            Reuse::Validate(ValidationReason::RequestMaxAge)
        );
    }

    fn on_error(stored: &str, asked: &str, after: u64) -> bool {
        let fields = [("cache-control", asked)];
        let request = CacheRequest::new(&Method::GET, &fields[..]);
        terms(stored).serves_on_error(
            &request,
            DeltaSeconds::ZERO,
            Date::from_unix_secs(START + after),
        )
    }

    /// RFC 5861 section 4.
    #[test]
    fn stale_if_error_stands_in() {
        assert!(on_error("max-age=10, stale-if-error=5", "", 15));
        assert!(!on_error("max-age=10, stale-if-error=5", "", 16));
        assert!(on_error("max-age=10", "stale-if-error=20", 16), "the request may allow it");
        assert!(!on_error("max-age=10", "", 16));
        assert!(!on_error("max-age=10, no-cache", "", 1));
        let none: &[(&str, &str)] = &[];
        let request = CacheRequest::new(&Method::GET, none);
        assert!(terms("max-age=10").serves_on_error(
            &request,
            DeltaSeconds::new(60),
            Date::from_unix_secs(START + 60)
        ));
    }
}
