//! `Cache-Status` (RFC 9211): a report of the cache's handling of a request.

use std::fmt;

use http::StatusCode;

use crate::lookup::ValidationReason;

/// Handling of a request by this cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheStatus {
    /// Source of the answer.
    pub handling: Handling,
    /// The status code of the origin's response, if there was one and it differs from the code sent on (`fwd-status`).
    pub forwarded_status: Option<StatusCode>,
    /// Seconds for which the response stays fresh, negative if it is stale (`ttl`).
    pub ttl: Option<i64>,
    /// True if the origin's response was stored (`stored`).
    pub stored: bool,
    /// True if the request waited for another one's response (`collapsed`).
    pub collapsed: bool,
    /// Additional information in one word (`detail`).
    pub detail: Option<&'static str>,
}

/// Source of the answer, or the reason for forwarding to the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handling {
    /// From the cache (`hit`).
    Hit,
    /// By the origin (`fwd`).
    Forwarded(ForwardReason),
    /// Neither: the request allowed an answer from the cache only (`only-if-cached`), and there is none.
    Unavailable,
}

/// Reason for forwarding a request to the origin (`fwd`, section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardReason {
    /// This cache is configured to bypass the request.
    Bypass,
    /// Its method is not answered from caches.
    Method,
    /// Nothing is stored under its URI.
    UriMiss,
    /// Responses are stored under its URI, but were selected by other fields.
    VaryMiss,
    /// It asked for validation.
    Request,
    /// The stored response is stale.
    Stale,
    /// Only a part of the requested range is stored.
    Partial,
}

impl ForwardReason {
    /// The name in section 2.2.
    pub const fn token(self) -> &'static str {
        match self {
            ForwardReason::Bypass => "bypass",
            ForwardReason::Method => "method",
            ForwardReason::UriMiss => "uri-miss",
            ForwardReason::VaryMiss => "vary-miss",
            ForwardReason::Request => "request",
            ForwardReason::Stale => "stale",
            ForwardReason::Partial => "partial",
        }
    }
}

impl From<ValidationReason> for ForwardReason {
    fn from(reason: ValidationReason) -> ForwardReason {
        match reason {
            ValidationReason::NoCache | ValidationReason::Stale => ForwardReason::Stale,
            ValidationReason::RequestNoCache
            | ValidationReason::RequestMaxAge
            | ValidationReason::RequestMinFresh => ForwardReason::Request,
        }
    }
}

impl CacheStatus {
    /// A status with nothing but its handling.
    pub const fn new(handling: Handling) -> CacheStatus {
        CacheStatus {
            handling,
            forwarded_status: None,
            ttl: None,
            stored: false,
            collapsed: false,
            detail: None,
        }
    }

    /// The field's member for the cache named `cache`, which must be a token.
    pub fn of<'a>(&'a self, cache: &'a str) -> impl fmt::Display + 'a {
        StatusMember { cache, status: self }
    }
}

struct StatusMember<'a> {
    cache: &'a str,
    status: &'a CacheStatus,
}

impl fmt::Display for StatusMember<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status;
        f.write_str(self.cache)?;
        match status.handling {
            Handling::Hit => f.write_str("; hit")?,
            Handling::Forwarded(why) => write!(f, "; fwd={}", why.token())?,
            Handling::Unavailable => {}
        }
        if let Some(code) = status.forwarded_status {
            write!(f, "; fwd-status={}", code.as_u16())?;
        }
        if let Some(ttl) = status.ttl {
            write!(f, "; ttl={ttl}")?;
        }
        if status.stored {
            f.write_str("; stored")?;
        }
        if status.collapsed {
            f.write_str("; collapsed")?;
        }
        match status.detail {
            Some(detail) => write!(f, "; detail={detail}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 9211 section 3.
    #[test]
    fn is_written_as_the_standard_shows() {
        let hit = CacheStatus { ttl: Some(376), ..CacheStatus::new(Handling::Hit) };
        assert_eq!(hit.of("ExampleCache").to_string(), "ExampleCache; hit; ttl=376");
        let miss = CacheStatus::new(Handling::Forwarded(ForwardReason::UriMiss));
        assert_eq!(
            CacheStatus { stored: true, ..miss }.of("ExampleCache").to_string(),
            "ExampleCache; fwd=uri-miss; stored"
        );
        let collapsed = CacheStatus { collapsed: true, ..miss };
        assert_eq!(
            collapsed.of("ExampleCache").to_string(),
            "ExampleCache; fwd=uri-miss; collapsed"
        );
        let validated = CacheStatus {
            forwarded_status: Some(StatusCode::NOT_MODIFIED),
            ..CacheStatus::new(Handling::Forwarded(ForwardReason::Stale))
        };
        assert_eq!(
            validated.of("ExampleCache").to_string(),
            "ExampleCache; fwd=stale; fwd-status=304"
        );
        let detail = CacheStatus { detail: Some("no-store"), ..miss };
        assert_eq!(detail.of("c").to_string(), "c; fwd=uri-miss; detail=no-store");
    }
}
