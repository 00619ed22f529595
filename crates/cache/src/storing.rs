//! Storing a response (RFC 9111 section 3), and the operator's policy where the standard leaves a cache the choice.
//!
//! The reason against it is a value, for logs and `Cache-Status`. Only responses to GET are stored; the caller must check that the whole body
//! arrived (section 3.3).

use http::{HeaderName, Method, StatusCode};

use crate::date::DeltaSeconds;
use crate::directives::ResponseDirectives;
use crate::fields::{FieldLines, Section, members};
use crate::ranges::ContentRange;
use crate::request::CacheRequest;
use crate::terms::{ExchangeTimes, Lifetime, ReuseTerms, heuristically_cacheable};
use crate::vary::Vary;

/// Reason for not storing a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum NotStored {
    #[error("only responses to GET are stored")]
    Method,
    #[error("the request had a body, which is no part of the key")]
    RequestBody,
    #[error("the status code is not storable")]
    Status,
    #[error("the part has no valid Content-Range, or its length differs from it")]
    Part,
    #[error("the request says no-store")]
    RequestNoStore,
    #[error("the response says no-store")]
    NoStore,
    #[error("the response is private")]
    Private,
    #[error("the request bore credentials, and the response does not allow sharing")]
    Authorization,
    #[error(
        "nothing allows storing: no lifetime, no `public`, and no heuristically cacheable status code"
    )]
    NothingAllows,
    #[error("`Vary` is `*` or malformed")]
    VaryStar,
    #[error("the response sets a cookie")]
    SetCookie,
    #[error("the request had cookies, and the response does not say how long it is fresh")]
    Cookie,
    #[error("the request had a field that origins use but caches do not key on")]
    UnkeyedField,
    #[error("the response is stale already and has no validator")]
    Useless,
}

impl NotStored {
    /// One word, for counters and `Cache-Status`' `detail`.
    pub fn token(self) -> &'static str {
        match self {
            NotStored::Method => "method",
            NotStored::RequestBody => "request-body",
            NotStored::Status => "status",
            NotStored::Part => "content-range",
            NotStored::RequestNoStore => "request-no-store",
            NotStored::NoStore => "no-store",
            NotStored::Private => "private",
            NotStored::Authorization => "authorization",
            NotStored::NothingAllows => "nothing-allows",
            NotStored::VaryStar => "vary",
            NotStored::SetCookie => "set-cookie",
            NotStored::Cookie => "cookie",
            NotStored::UnkeyedField => "unkeyed-field",
            NotStored::Useless => "useless",
        }
    }
}

impl NotStored {
    /// True if the reason lies in the response: another request for the same object is likely to fare no better.
    pub fn is_of_response(self) -> bool {
        !matches!(
            self,
            NotStored::Method
                | NotStored::RequestBody
                | NotStored::Part
                | NotStored::RequestNoStore
                | NotStored::Authorization
                | NotStored::Cookie
                | NotStored::UnkeyedField
        )
    }
}

/// The storable parts of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storable {
    /// Terms of its reuse.
    pub terms: ReuseTerms,
    /// Its secondary key: the requests that it matches.
    pub vary: Vary,
    /// Its fields without those that must not be stored, and without `Age`, which is calculated for each use.
    pub fields: Section,
}

impl Storable {
    /// True unless `length` is known and differs from the length that the head states.
    pub fn fits(&self, length: Option<u64>) -> bool {
        let part = self.terms.content_range();
        part.is_none_or(|part| length.is_none_or(|length| length == part.size()))
    }
}

/// Judges a response to `request`.
pub fn storable<Q: FieldLines + ?Sized, R: FieldLines + ?Sized>(
    request: &CacheRequest<'_, Q>,
    status: StatusCode,
    response: &R,
    exchange: ExchangeTimes,
    policy: &StoragePolicy,
) -> Result<Storable, NotStored> {
    let directives = ResponseDirectives::for_targets(response, &policy.targets);
    request_allows(request)?;
    response_allows(request, status, response, &directives)?;
    let vary = Vary::of(request.fields(), response).map_err(|_| NotStored::VaryStar)?;
    unkeyed(request.fields(), &vary)?;
    let strip_cookie = strips_cookie(response, &directives, policy)?;
    let terms = ReuseTerms::of(status, response, &directives, exchange, &policy.heuristic);
    if matches!(terms.lifetime(), Lifetime::Heuristic(_)) && request.fields().has("cookie") {
        return Err(NotStored::Cookie);
    }
    if !terms.has_validator() && !terms.is_fresh(exchange.received) {
        return Err(NotStored::Useless);
    }
    let fields = stored_fields(response, &directives, strip_cookie);
    Ok(Storable { terms, vary, fields })
}

fn request_allows<Q: FieldLines + ?Sized>(request: &CacheRequest<'_, Q>) -> Result<(), NotStored> {
    if *request.method() != Method::GET {
        return Err(NotStored::Method);
    }
    if request.has_body() {
        return Err(NotStored::RequestBody);
    }
    // Section 5.2.1.5.
    if request.directives().no_store {
        return Err(NotStored::RequestNoStore);
    }
    Ok(())
}

/// Section 3, item by item.
fn response_allows<Q: FieldLines + ?Sized>(
    request: &CacheRequest<'_, Q>,
    status: StatusCode,
    response: &(impl FieldLines + ?Sized),
    directives: &ResponseDirectives,
) -> Result<(), NotStored> {
    // A 304 updates what is stored and is not stored itself (section 3.2); interim responses are not final.
    if status.is_informational() || status == StatusCode::NOT_MODIFIED {
        return Err(NotStored::Status);
    }
    // A part is stored if it states its range; multipart/byteranges does not (section 3.3).
    if status == StatusCode::PARTIAL_CONTENT && ContentRange::stated_by(response).is_none() {
        return Err(NotStored::Part);
    }
    // Section 5.2.2.3: must-understand overrides no-store in caches that understand the code.
    if directives.must_understand && !understood(status) {
        return Err(NotStored::Status);
    }
    if directives.no_store && !directives.must_understand {
        return Err(NotStored::NoStore);
    }
    if directives.private {
        return Err(NotStored::Private);
    }
    // Section 3.5.
    let shareable =
        directives.must_revalidate || directives.public || directives.s_maxage.is_some();
    if request.authorized() && !shareable {
        return Err(NotStored::Authorization);
    }
    let lifetime = directives.max_age.is_some()
        || directives.s_maxage.is_some()
        || (response.has("expires") && !directives.targeted);
    if !(lifetime || directives.public || heuristically_cacheable(status)) {
        return Err(NotStored::NothingAllows);
    }
    Ok(())
}

/// Status codes whose caching requirements are implemented: codes without special requirements, and 206.
fn understood(status: StatusCode) -> bool {
    heuristically_cacheable(status)
        || matches!(status.as_u16(), 302 | 303 | 307 | 400 | 403 | 451 | 500 | 502 | 503 | 504)
}

/// Fields by which a request can change the answers of many origins (hosts and paths of links and redirections, the method), though no
/// cache keys on them: a client that may send them can poison a cache. A proxy removes them or sets them itself; if one reaches the
/// origin as the client sent it, the response is not stored, unless it varies on that field.
pub const UNKEYED: [&str; 19] = [
    "client-ip",
    "forwarded",
    "true-client-ip",
    "x-client-ip",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-prefix",
    "x-forwarded-proto",
    "x-forwarded-scheme",
    "x-forwarded-server",
    "x-forwarded-ssl",
    "x-host",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-host",
    "x-original-url",
    "x-real-ip",
    "x-rewrite-url",
];

fn unkeyed(request: &(impl FieldLines + ?Sized), vary: &Vary) -> Result<(), NotStored> {
    let mut found = false;
    request.each(|name, _| {
        // CGI and WSGI treat underscores as hyphens.
        let hyphenated =
            name.bytes().map(|byte| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() });
        let suspect = UNKEYED
            .iter()
            .any(|unkeyed| unkeyed.len() == name.len() && unkeyed.bytes().eq(hyphenated.clone()));
        found |= suspect && !vary.names().any(|varied| name.eq_ignore_ascii_case(varied.as_str()));
    });
    if found { Err(NotStored::UnkeyedField) } else { Ok(()) }
}

/// Returns true if cookies are to be stripped.
fn strips_cookie(
    response: &(impl FieldLines + ?Sized),
    directives: &ResponseDirectives,
    policy: &StoragePolicy,
) -> Result<bool, NotStored> {
    // Withheld already: `no-cache="set-cookie"`.
    if !response.has("set-cookie") || directives.withheld.contains(&http::header::SET_COOKIE) {
        return Ok(false);
    }
    match policy.set_cookie {
        SetCookie::Refuse => Err(NotStored::SetCookie),
        SetCookie::Strip => Ok(true),
        SetCookie::Keep => Ok(false),
    }
}

/// Fields of one connection or of proxies on the way (section 3.1; RFC 9110 section 7.6.1), and fields that are generated for
/// each use.
const NOT_STORED: [&str; 15] = [
    "age",
    "alt-svc",
    "cache-status",
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "proxy-connection",
    "proxy-status",
    "server-timing",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

fn stored_fields(
    response: &(impl FieldLines + ?Sized),
    directives: &ResponseDirectives,
    strip_cookie: bool,
) -> Section {
    let mut dropped = directives.withheld.clone();
    if strip_cookie {
        dropped.push(http::header::SET_COOKIE);
    }
    // Fields that `Connection` names belong to the connection, too.
    response.values("connection", |value| {
        dropped.extend(members(value).filter_map(|name| HeaderName::from_bytes(name).ok()));
    });
    Section::of_those(response, |name| {
        let own = NOT_STORED.iter().any(|other| name.eq_ignore_ascii_case(other));
        !own && !dropped.iter().any(|other| name.eq_ignore_ascii_case(other.as_str()))
    })
}

/// Storage policy, as far as RFC 9111 leaves it open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoragePolicy {
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
    pub at_most: DeltaSeconds,
}

impl Default for Heuristic {
    fn default() -> Heuristic {
        Heuristic { percent: 10, at_most: DeltaSeconds::new(86_400) }
    }
}

impl Heuristic {
    /// The lifetime of a response last modified `unmodified_millis` before it was sent.
    pub fn lifetime(&self, unmodified_millis: u64) -> DeltaSeconds {
        let millis = u128::from(unmodified_millis) * u128::from(self.percent) / 100;
        DeltaSeconds::of_millis(u64::try_from(millis).unwrap_or(u64::MAX)).min(self.at_most)
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
    use crate::date::Date;

    type Lines<'a> = &'a [(&'a str, &'a str)];

    fn judge_with(
        policy: &StoragePolicy,
        request: Lines<'_>,
        status: u16,
        response: Lines<'_>,
    ) -> Result<Storable, NotStored> {
        let now = Date::from_unix_secs(1_000_000_000);
        let exchange = ExchangeTimes { sent: now, received: now };
        let request = CacheRequest::new(&Method::GET, request);
        storable(&request, StatusCode::from_u16(status).unwrap(), response, exchange, policy)
    }

    fn judge(request: Lines<'_>, status: u16, response: Lines<'_>) -> Result<Storable, NotStored> {
        judge_with(&StoragePolicy::default(), request, status, response)
    }

    const FRESH: (&str, &str) = ("cache-control", "max-age=60");

    fn refused(request: Lines<'_>, status: u16, response: Lines<'_>) -> NotStored {
        judge(request, status, response).unwrap_err()
    }

    /// RFC 9111 section 3.
    #[test]
    fn what_says_no_is_not_stored() {
        assert_eq!(
            refused(&[("cache-control", "no-store")], 200, &[FRESH]),
            NotStored::RequestNoStore
        );
        assert_eq!(refused(&[], 200, &[FRESH, ("cache-control", "no-store")]), NotStored::NoStore);
        assert_eq!(refused(&[], 200, &[FRESH, ("cache-control", "private")]), NotStored::Private);
        assert_eq!(refused(&[], 302, &[]), NotStored::NothingAllows);
        assert_eq!(refused(&[], 304, &[FRESH]), NotStored::Status);
        assert_eq!(refused(&[], 200, &[]), NotStored::Useless);
        assert_eq!(refused(&[], 200, &[FRESH, ("vary", "*")]), NotStored::VaryStar);
        assert_eq!(refused(&[("content-length", "5")], 200, &[FRESH]), NotStored::RequestBody);
        for (status, response) in
            [(302, FRESH), (200, ("etag", "\"a\"")), (500, FRESH), (404, FRESH)]
        {
            judge(&[], status, &[response]).unwrap();
        }
    }

    /// RFC 9110 section 14.4.
    #[test]
    fn a_part_is_stored_if_it_is_the_one_it_says() {
        let part = |range, length| {
            judge(&[], 206, &[FRESH, ("content-range", range), ("content-length", length)])
        };
        assert!(part("bytes 4-9/10", "6").unwrap().terms.content_range().is_some());
        for (range, length) in [
            ("bytes 4-9/10", "5"),
            ("bytes 4-9/10", "x"),
            ("bytes */10", "6"),
            ("bytes 9-4/10", "6"),
            ("bytes 0-18446744073709551615/*", "1"),
            ("lines 4-9/10", "6"),
        ] {
            assert_eq!(part(range, length).unwrap_err(), NotStored::Part, "{range}");
        }
        let twice = [FRESH, ("content-range", "bytes 0-1/9"), ("content-range", "bytes 0-1/9")];
        assert_eq!(refused(&[], 206, &twice), NotStored::Part);
        assert_eq!(refused(&[], 206, &[FRESH]), NotStored::Part);
        let whole = judge(&[], 200, &[FRESH, ("content-range", "bytes 4-9/10")]).unwrap();
        assert_eq!(whole.terms.content_range(), None, "a 200 is the whole");
    }

    #[test]
    fn only_responses_to_get() {
        let exchange = ExchangeTimes { sent: Date::default(), received: Date::default() };
        for method in [Method::HEAD, Method::POST, Method::PUT] {
            let fields: Lines<'_> = &[];
            let request = CacheRequest::new(&method, fields);
            let judged = storable(
                &request,
                StatusCode::OK,
                &[FRESH][..],
                exchange,
                &StoragePolicy::default(),
            );
            assert_eq!(judged.unwrap_err(), NotStored::Method);
        }
    }

    /// RFC 9111 section 3.5.
    #[test]
    fn authorized_responses_need_leave_to_be_shared() {
        let request: Lines<'_> = &[("Authorization", "Basic xyz")];
        assert_eq!(refused(request, 200, &[FRESH]), NotStored::Authorization);
        for leave in ["public, max-age=5", "s-maxage=5", "must-revalidate, max-age=5"] {
            judge(request, 200, &[("cache-control", leave)]).unwrap();
        }
    }

    /// RFC 9111 section 5.2.2.3.
    #[test]
    fn must_understand_stands_before_no_store() {
        let fields: Lines<'_> = &[("cache-control", "must-understand, no-store, max-age=9")];
        judge(&[], 200, fields).unwrap();
        assert_eq!(refused(&[], 599, fields), NotStored::Status);
    }

    /// RFC 9111 sections 3.1, 5.2.2.4 and 5.2.2.7.
    #[test]
    fn fields_of_the_connection_and_withheld_ones_are_left_out() {
        let stored = judge(
            &[],
            200,
            &[
                ("Connection", "close, X-Hop"),
                ("X-Hop", "1"),
                ("Keep-Alive", "5"),
                ("Transfer-Encoding", "chunked"),
                ("Age", "3"),
                ("Cache-Control", "max-age=60, private=\"x-user\", no-cache=set-cookie"),
                ("X-User", "me"),
                ("Set-Cookie", "a=b"),
                ("Content-Type", "text/css"),
            ],
        );
        let text = stored.unwrap().fields.text().clone();
        let text = std::str::from_utf8(&text).unwrap();
        assert_eq!(
            text,
            "Cache-Control: max-age=60, private=\"x-user\", no-cache=set-cookie\r\nContent-Type: text/css\r\n"
        );
    }

    #[test]
    fn cookies_are_nobody_elses() {
        let response: Lines<'_> = &[FRESH, ("Set-Cookie", "id=1")];
        assert_eq!(refused(&[], 200, response), NotStored::SetCookie);
        let kept = |set_cookie| {
            judge_with(
                &StoragePolicy { set_cookie, ..StoragePolicy::default() },
                &[],
                200,
                response,
            )
            .unwrap()
        };
        assert!(!kept(SetCookie::Strip).fields.has("set-cookie"));
        assert!(kept(SetCookie::Keep).fields.has("set-cookie"));
        let dated: Lines<'_> = &[("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")];
        assert_eq!(refused(&[("cookie", "id=1")], 200, dated), NotStored::Cookie);
        judge(&[("cookie", "id=1")], 200, &[FRESH]).unwrap();
    }

    /// RFC 9213.
    #[test]
    fn targeted_fields_stand_before_cache_control() {
        let targets = vec![HeaderName::from_static("cdn-cache-control")];
        let policy = StoragePolicy { targets, ..StoragePolicy::default() };
        let response: Lines<'_> =
            &[("cache-control", "no-store"), ("expires", "0"), ("cdn-cache-control", "max-age=60")];
        let stored = judge_with(&policy, &[], 200, response).unwrap();
        assert_eq!(stored.terms.lifetime().seconds(), crate::date::DeltaSeconds::new(60));
        assert!(stored.fields.has("cdn-cache-control"), "others behind it read it, too");
        assert_eq!(refused(&[], 200, response), NotStored::NoStore);
        let forbidden: Lines<'_> = &[FRESH, ("cdn-cache-control", "no-store")];
        assert_eq!(judge_with(&policy, &[], 200, forbidden).unwrap_err(), NotStored::NoStore);
        let dated: Lines<'_> =
            &[("expires", "Sun, 06 Nov 2033 08:49:37 GMT"), ("cdn-cache-control", "public")];
        assert_eq!(judge_with(&policy, &[], 200, dated).unwrap_err(), NotStored::Useless);
        judge(&[], 200, dated).unwrap();
    }

    #[test]
    fn unkeyed_fields_poison_nothing() {
        let request: Lines<'_> = &[("X-Forwarded-Host", "evil.test")];
        assert_eq!(refused(request, 200, &[FRESH]), NotStored::UnkeyedField);
        assert_eq!(refused(&[("X_Original_URL", "/a")], 200, &[FRESH]), NotStored::UnkeyedField);
        let varied = judge(request, 200, &[FRESH, ("vary", "x-forwarded-host")]).unwrap();
        assert!(!varied.vary.matches(&[("host", "a")][..]));
    }

    #[test]
    fn a_tenth_but_not_more_than_a_day() {
        let heuristic = Heuristic::default();
        assert_eq!(heuristic.lifetime(100_000), DeltaSeconds::new(10));
        assert_eq!(heuristic.lifetime(u64::MAX), DeltaSeconds::new(86_400));
    }
}
