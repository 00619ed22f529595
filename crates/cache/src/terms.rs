//! Terms of reuse of a stored response: everything that the decision needs, read once when it is stored.
//!
//! Freshness lifetime and age follow RFC 9111 section 4.2, in milliseconds where the standard counts seconds, to avoid losing a second to rounding.

use http::{HeaderValue, StatusCode};

use crate::date::{Date, DeltaSeconds};
use crate::directives::ResponseDirectives;
use crate::fields::{FieldLines, members};
use crate::ranges::ContentRange;
use crate::storing::Heuristic;

/// Times of an exchange with the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeTimes {
    /// Time of sending the request (`request_time`).
    pub sent: Date,
    /// Time of receiving the response's head (`response_time`).
    pub received: Date,
}

/// The terms of a stored response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReuseTerms {
    status: StatusCode,
    exchange: ExchangeTimes,
    /// `date_value`: time of generation at the origin.
    date: Date,
    initial_age: DeltaSeconds,
    lifetime: Lifetime,
    pub(crate) validation: Validation,
    pub(crate) while_revalidate: DeltaSeconds,
    pub(crate) if_error: DeltaSeconds,
    etag: Option<HeaderValue>,
    last_modified: Option<HeaderValue>,
    content_range: Option<ContentRange>,
}

/// Freshness lifetime and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// The origin.
    Explicit(DeltaSeconds),
    /// This cache, from the time since the last modification (section 4.2.2).
    Heuristic(DeltaSeconds),
}

impl Lifetime {
    /// The lifetime itself.
    pub fn seconds(self) -> DeltaSeconds {
        match self {
            Lifetime::Explicit(seconds) | Lifetime::Heuristic(seconds) => seconds,
        }
    }
}

/// Validation requirement of a stored response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// Before each use: `no-cache`.
    Always,
    /// Once it is stale, in any case: `must-revalidate`, `proxy-revalidate`, `s-maxage`.
    Strict,
    /// Once it is stale, unless the request or the response tolerates it.
    Lenient,
}

impl ReuseTerms {
    /// The terms that a response's fields state.
    pub(crate) fn of(
        status: StatusCode,
        response: &(impl FieldLines + ?Sized),
        directives: &ResponseDirectives,
        exchange: ExchangeTimes,
        heuristic: &Heuristic,
    ) -> ReuseTerms {
        // A response without a date gets that of its reception (RFC 9110 section 6.6.1).
        let date = response.value("date").and_then(Date::parse).unwrap_or(exchange.received);
        let validator =
            |name| response.value(name).and_then(|value| HeaderValue::from_bytes(value).ok());
        ReuseTerms {
            status,
            exchange,
            date,
            initial_age: initial_age(response, date, exchange),
            lifetime: lifetime(status, response, directives, date, heuristic),
            validation: Validation::of(directives),
            while_revalidate: directives.stale_while_revalidate.unwrap_or_default(),
            if_error: directives.stale_if_error.unwrap_or_default(),
            etag: validator("etag"),
            last_modified: validator("last-modified"),
            // The field is meaningless in any other response (RFC 9110 section 14.4).
            content_range: (status == StatusCode::PARTIAL_CONTENT)
                .then(|| ContentRange::stated_by(response))
                .flatten(),
        }
    }

    /// The status code.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns true if it may be used without validation, at least for a while.
    pub fn is_ever_fresh(&self) -> bool {
        self.validation != Validation::Always && self.lifetime.seconds() > DeltaSeconds::ZERO
    }

    /// Times of the exchange that fetched it.
    pub fn exchange(&self) -> ExchangeTimes {
        self.exchange
    }

    /// Time of generation at the origin.
    pub fn date(&self) -> Date {
        self.date
    }

    /// Freshness lifetime and its source.
    pub fn lifetime(&self) -> Lifetime {
        self.lifetime
    }

    /// The entity tag.
    pub fn etag(&self) -> Option<&HeaderValue> {
        self.etag.as_ref()
    }

    /// Time of the last modification, as the origin wrote it.
    pub fn last_modified(&self) -> Option<&HeaderValue> {
        self.last_modified.as_ref()
    }

    /// The part of the representation that it holds; `None` if all of it.
    pub fn content_range(&self) -> Option<&ContentRange> {
        self.content_range.as_ref()
    }

    /// Returns true if it has a validator for a conditional request to the origin.
    pub fn has_validator(&self) -> bool {
        self.etag.is_some() || self.last_modified.is_some()
    }

    /// `current_age` (section 4.2.3), in milliseconds.
    pub(crate) fn age_millis(&self, now: Date) -> u64 {
        self.initial_age.as_millis() + now.millis_since(self.exchange.received)
    }

    /// The value of `Age` to send (section 5.1).
    pub fn age(&self, now: Date) -> DeltaSeconds {
        DeltaSeconds::of_millis(self.age_millis(now))
    }

    /// Remaining freshness in milliseconds; zero once it is stale.
    pub(crate) fn fresh_millis(&self, now: Date) -> u64 {
        self.lifetime.seconds().as_millis().saturating_sub(self.age_millis(now))
    }

    /// Milliseconds since it became stale; zero while it is fresh.
    pub(crate) fn stale_millis(&self, now: Date) -> u64 {
        self.age_millis(now).saturating_sub(self.lifetime.seconds().as_millis())
    }

    /// Returns true if it is fresh: its lifetime exceeds its age (section 4.2).
    pub fn is_fresh(&self, now: Date) -> bool {
        self.fresh_millis(now) > 0
    }

    /// Seconds until it becomes stale, negative once it is: `ttl` of RFC 9211.
    pub fn ttl(&self, now: Date) -> i64 {
        let millis = self.lifetime.seconds().as_millis() as i64
            - self.age_millis(now).min(i64::MAX as u64 / 2) as i64;
        millis.div_euclid(1_000)
    }

    /// Memory beside the structure itself.
    pub(crate) fn weight(&self) -> usize {
        let validators = [&self.etag, &self.last_modified];
        validators.into_iter().flatten().map(HeaderValue::len).sum()
    }
}

impl Validation {
    fn of(directives: &ResponseDirectives) -> Validation {
        // Section 5.2.2.10: s-maxage implies proxy-revalidate.
        let strict = directives.must_revalidate
            || directives.proxy_revalidate
            || directives.s_maxage.is_some();
        match directives.no_cache {
            true => Validation::Always,
            false if strict => Validation::Strict,
            false => Validation::Lenient,
        }
    }
}

/// `corrected_initial_age` (section 4.2.3).
fn initial_age(
    response: &(impl FieldLines + ?Sized),
    date: Date,
    exchange: ExchangeTimes,
) -> DeltaSeconds {
    // Section 5.1: the first member of a list counts; a value that is not a number is ignored.
    let age =
        response.value("age").and_then(|value| members(value).next()).and_then(DeltaSeconds::parse);
    let apparent = exchange.received.millis_since(date);
    let corrected =
        age.unwrap_or_default().as_millis() + exchange.received.millis_since(exchange.sent);
    DeltaSeconds::of_millis(apparent.max(corrected))
}

/// `freshness_lifetime` (section 4.2.1) in a shared cache.
fn lifetime(
    status: StatusCode,
    response: &(impl FieldLines + ?Sized),
    directives: &ResponseDirectives,
    date: Date,
    heuristic: &Heuristic,
) -> Lifetime {
    if let Some(seconds) = directives.s_maxage.or(directives.max_age) {
        return Lifetime::Explicit(seconds);
    }
    if let Some(expires) = response.value("expires").filter(|_| !directives.targeted) {
        // Section 5.3: an invalid date, `0` above all, lies in the past.
        let millis = Date::parse(expires).map_or(0, |expires| expires.millis_since(date));
        return Lifetime::Explicit(DeltaSeconds::of_millis(millis));
    }
    let modified = response.value("last-modified").and_then(Date::parse);
    let known = directives.public || heuristically_cacheable(status);
    Lifetime::Heuristic(match modified {
        Some(modified) if known => heuristic.lifetime(date.millis_since(modified)),
        _ => DeltaSeconds::ZERO,
    })
}

/// Status codes that RFC 9110 section 15.1 calls heuristically cacheable, and 308 (section 15.4.9).
pub(crate) fn heuristically_cacheable(status: StatusCode) -> bool {
    matches!(status.as_u16(), 200 | 203 | 204 | 206 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_000_000_000;

    fn at(secs: u64) -> Date {
        Date::from_unix_secs(secs)
    }

    fn terms(fields: &[(&str, String)]) -> ReuseTerms {
        let exchange = ExchangeTimes { sent: at(NOW), received: at(NOW) };
        ReuseTerms::of(
            StatusCode::OK,
            fields,
            &ResponseDirectives::of(fields),
            exchange,
            &Heuristic::default(),
        )
    }

    fn field(name: &'static str, value: impl ToString) -> (&'static str, String) {
        (name, value.to_string())
    }

    fn lifetime_of(fields: &[(&str, String)]) -> Lifetime {
        terms(fields).lifetime()
    }

    /// RFC 9111 section 4.2.1.
    #[test]
    fn lifetime_comes_from_the_strongest_statement() {
        let explicit = |secs| Lifetime::Explicit(DeltaSeconds::new(secs));
        let (date, expires) = (field("date", at(NOW)), field("expires", at(NOW + 30)));
        let modified = field("last-modified", at(NOW - 1_000));
        let both = field("cache-control", "max-age=10, s-maxage=20");
        assert_eq!(lifetime_of(&[date.clone(), expires.clone(), both]), explicit(20));
        assert_eq!(
            lifetime_of(&[expires.clone(), field("cache-control", "max-age=10")]),
            explicit(10)
        );
        assert_eq!(lifetime_of(&[date.clone(), expires, modified.clone()]), explicit(30));
        assert_eq!(lifetime_of(&[field("expires", "0"), modified.clone()]), explicit(0));
        assert_eq!(lifetime_of(&[date, modified]), Lifetime::Heuristic(DeltaSeconds::new(100)));
        assert_eq!(lifetime_of(&[]), Lifetime::Heuristic(DeltaSeconds::ZERO));
    }

    /// RFC 9111 section 4.2.2.
    #[test]
    fn the_heuristic_is_for_known_codes_and_has_a_limit() {
        let fields = [field("date", at(NOW)), field("last-modified", at(NOW - 100_000_000))];
        assert_eq!(lifetime_of(&fields).seconds(), DeltaSeconds::new(86_400));
        let exchange = ExchangeTimes { sent: at(NOW), received: at(NOW) };
        let found = |directives: &ResponseDirectives| {
            ReuseTerms::of(
                StatusCode::FOUND,
                &fields[..],
                directives,
                exchange,
                &Heuristic::default(),
            )
            .lifetime()
            .seconds()
        };
        assert_eq!(found(&ResponseDirectives::default()), DeltaSeconds::ZERO);
        assert_eq!(
            found(&ResponseDirectives { public: true, ..Default::default() }),
            DeltaSeconds::new(86_400)
        );
    }

    /// RFC 9111 section 4.2.3.
    #[test]
    fn age_counts_the_way_and_the_stay() {
        let fields = [field("date", at(NOW - 7)), field("age", "5")];
        let exchange = ExchangeTimes { sent: at(NOW - 4), received: at(NOW) };
        let of = |fields: &[(&str, String)]| {
            ReuseTerms::of(
                StatusCode::OK,
                fields,
                &ResponseDirectives::default(),
                exchange,
                &Heuristic::default(),
            )
        };
        // Age 5 and a delay of 4 exceed the apparent age of 7.
        assert_eq!(of(&fields).age(at(NOW + 10)), DeltaSeconds::new(19));
        assert_eq!(of(&fields[..1]).age(at(NOW)), DeltaSeconds::new(7));
        // The first member of a list counts; a value that is not a number is ignored.
        assert_eq!(
            of(&[fields[0].clone(), field("age", "20, 3")]).age(at(NOW)),
            DeltaSeconds::new(24)
        );
        assert_eq!(
            of(&[fields[0].clone(), field("age", "soon")]).age(at(NOW)),
            DeltaSeconds::new(7)
        );
        // A date in the future does not reduce the age.
        assert_eq!(of(&[field("date", at(NOW + 60))]).age(at(NOW)), DeltaSeconds::new(4));
    }

    #[test]
    fn fresh_until_the_age_reaches_the_lifetime() {
        let terms = terms(&[field("cache-control", "max-age=10")]);
        let just_before = Date::from_unix_millis(NOW * 1_000 + 9_999);
        assert!(terms.is_fresh(just_before) && !terms.is_fresh(at(NOW + 10)));
        assert_eq!((terms.ttl(at(NOW)), terms.ttl(at(NOW + 15))), (10, -5));
    }
}
