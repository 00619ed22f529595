//! The operator's storage policy, where the standard leaves a cache the choice.

use http::HeaderName;

use crate::date::Seconds;

/// Storage policy, as far as RFC 9111 leaves it open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Freshness of responses that state none.
    pub heuristic: Heuristic,
    /// Treatment of responses that set cookies.
    pub set_cookie: SetCookie,
    /// Targeted fields that replace `Cache-Control` for this kind of cache, in order of precedence (RFC 9213).
    pub targets: Vec<HeaderName>,
}

/// Freshness of responses that state none (RFC 9111 section 4.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heuristic {
    /// Percent of the time since the last modification. The standard calls 10 typical.
    pub percent: u8,
    /// At most this long. A day: the standard once had caches warn of more (RFC 7234 section 5.5.4).
    pub at_most: Seconds,
}

impl Default for Heuristic {
    fn default() -> Heuristic {
        Heuristic { percent: 10, at_most: Seconds::new(86_400) }
    }
}

impl Heuristic {
    /// The lifetime of a response last modified `unmodified_millis` before it was sent.
    pub fn lifetime(&self, unmodified_millis: u64) -> Seconds {
        let millis = u128::from(unmodified_millis) * u128::from(self.percent) / 100;
        Seconds::of_millis(u64::try_from(millis).unwrap_or(u64::MAX)).min(self.at_most)
    }
}

/// Treatment of a response with `Set-Cookie`, which the standard lets caches store (RFC 9111 section 7.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetCookie {
    /// It is not stored, since a shared cookie may be a shared session. nginx and Varnish do the same.
    #[default]
    Refuse,
    /// It is stored without the cookie.
    Strip,
    /// It is stored as it is.
    Keep,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_but_not_more_than_a_day() {
        let heuristic = Heuristic::default();
        assert_eq!(heuristic.lifetime(100_000), Seconds::new(10));
        assert_eq!(heuristic.lifetime(u64::MAX), Seconds::new(86_400));
    }
}
