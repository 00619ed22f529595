//! Validation of a stored response with the origin, the update by its answer, and invalidation by unsafe requests (RFC 9111 sections 4.3, 3.2
//! and 4.4).

use http::header::{IF_MODIFIED_SINCE, IF_NONE_MATCH};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use url::Url;

use crate::conditions::opaque;
use crate::fields::{FieldLines, Section};
use crate::terms::ReuseTerms;

impl ReuseTerms {
    /// The conditions of a request that validates it (section 4.3.1). They replace the client's own.
    pub fn validators(&self) -> impl Iterator<Item = (HeaderName, &HeaderValue)> {
        let etag = self.etag().map(|value| (IF_NONE_MATCH, value));
        let modified = self.last_modified().map(|value| (IF_MODIFIED_SINCE, value));
        etag.into_iter().chain(modified)
    }

    /// Returns true if a 304 with these fields selects this response (section 4.3.4): the same validator, by strong or weak comparison as in the
    /// 304, or none in it.
    pub fn confirmed_by(&self, not_modified: &(impl FieldLines + ?Sized)) -> bool {
        if let Some(tag) = not_modified.value("etag") {
            return match tag.starts_with(b"W/") {
                true => self.etag().is_some_and(|own| opaque(own.as_bytes()) == opaque(tag)),
                // A weak stored tag cannot be confirmed by a strong one.
                false => self.strong_etag() == Some(tag),
            };
        }
        match not_modified.value("last-modified") {
            Some(date) => self.last_modified().is_none_or(|own| own.as_bytes() == date),
            // No validators on either side: the 304 refers to the validated response.
            None => true,
        }
    }
}

/// The stored fields, updated with those of a 304 (section 3.2). The result is judged as any response is:
/// [`storable`](crate::storable) leaves out fields that must not be stored.
pub fn updated(stored: &Section, update: &(impl FieldLines + ?Sized)) -> Section {
    let mut lines: Vec<(String, Vec<u8>)> = Vec::new();
    stored.each(|name, value| {
        if kept(name) || !update.has(&name.to_ascii_lowercase()) {
            lines.push((name.to_owned(), value.to_vec()));
        }
    });
    update.each(|name, value| {
        if !kept(name) {
            lines.push((name.to_owned(), value.to_vec()));
        }
    });
    Section::of(&lines[..])
}

/// Fields that describe the stored body (section 3.2) and are not updated.
fn kept(name: &str) -> bool {
    ["content-length", "content-encoding", "content-range", "transfer-encoding"]
        .iter()
        .any(|own| name.eq_ignore_ascii_case(own))
}

/// Fields of a client's request that a validating request replaces with its own, or that make no sense in a request for the whole.
pub fn replaced_in_validation(name: &str) -> bool {
    ["if-none-match", "if-modified-since", "if-range", "range"]
        .iter()
        .any(|own| name.eq_ignore_ascii_case(own))
}

/// The URIs whose stored responses a successful unsafe request invalidates: its target, and the URIs in `Location` and `Content-Location` at
/// the same origin. URIs of other origins are left alone, so that one site cannot empty the cache of another.
pub fn invalidated(
    method: &Method,
    target: &Url,
    status: StatusCode,
    response: &(impl FieldLines + ?Sized),
) -> Vec<Url> {
    // A non-error response is one with a 2xx or 3xx code. Safe methods: RFC 9110 section 9.2.1.
    if method.is_safe() || !(status.is_success() || status.is_redirection()) {
        return Vec::new();
    }
    let mut uris = vec![target.clone()];
    for name in ["location", "content-location"] {
        let named = response.value(name).and_then(|value| std::str::from_utf8(value).ok());
        let named = named.and_then(|value| target.join(value).ok());
        uris.extend(named.filter(|uri| uri.origin() == target.origin()));
    }
    for uri in &mut uris {
        uri.set_fragment(None);
    }
    uris.sort();
    uris.dedup();
    uris
}

#[cfg(test)]
mod tests {
    use http::{Method, StatusCode};

    use super::*;
    use crate::date::Date;
    use crate::request::CacheRequest;
    use crate::storing::StoragePolicy;
    use crate::storing::storable;
    use crate::terms::ExchangeTimes;

    const MODIFIED: (&str, &str) = ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT");

    fn terms(fields: &[(&str, &str)]) -> ReuseTerms {
        let now = Date::from_unix_secs(1_000_000_000);
        let none: &[(&str, &str)] = &[];
        let fields: Vec<_> =
            fields.iter().copied().chain([("cache-control", "max-age=9")]).collect();
        let exchange = ExchangeTimes { sent: now, received: now };
        let request = CacheRequest::new(&Method::GET, none);
        storable(&request, StatusCode::OK, &fields[..], exchange, &StoragePolicy::default())
            .unwrap()
            .terms
    }

    #[test]
    fn both_validators_are_sent() {
        let terms = terms(&[("etag", "W/\"a\""), MODIFIED]);
        let sent: Vec<_> =
            terms.validators().map(|(name, value)| (name, value.to_str().unwrap())).collect();
        assert_eq!(sent, [(IF_NONE_MATCH, "W/\"a\""), (IF_MODIFIED_SINCE, MODIFIED.1)]);
    }

    /// RFC 9111 section 4.3.4.
    #[test]
    fn a_304_confirms_what_it_is_about() {
        let strong = terms(&[("etag", "\"a\""), MODIFIED]);
        for (fields, expected) in [
            (&[("etag", "\"a\"")][..], true),
            (&[("etag", "W/\"a\"")], true),
            (&[("etag", "\"b\"")], false),
            (&[MODIFIED], true),
            (&[("last-modified", "Sun, 06 Nov 1994 08:49:38 GMT")], false),
            (&[], true),
        ] {
            assert_eq!(strong.confirmed_by(fields), expected, "{fields:?}");
        }
        let weak = terms(&[("etag", "W/\"a\"")]);
        assert!(!weak.confirmed_by(&[("etag", "\"a\"")][..]), "a strong tag is another's");
    }

    /// RFC 9111 section 3.2.
    #[test]
    fn new_fields_replace_old_ones_but_not_the_bodys() {
        let stored = Section::of(
            &[
                ("Content-Length", "5"),
                ("X-A", "1"),
                ("x-a", "2"),
                ("Content-Type", "t"),
                ("Content-Encoding", "gzip"),
            ][..],
        );
        let new =
            [("x-a", "3"), ("Date", "d"), ("content-length", "0"), ("Content-Encoding", "br")];
        let text = updated(&stored, &new[..]).text().clone();
        let text = std::str::from_utf8(&text).unwrap();
        assert_eq!(
            text,
            "Content-Length: 5\r\nContent-Type: t\r\nContent-Encoding: gzip\r\nx-a: 3\r\nDate: d\r\n"
        );
    }

    fn of(method: Method, status: u16, fields: &[(&str, &str)]) -> Vec<String> {
        let target = Url::parse("http://a.test/x/y?z").unwrap();
        let status = StatusCode::from_u16(status).unwrap();
        invalidated(&method, &target, status, fields).into_iter().map(String::from).collect()
    }

    #[test]
    fn unsafe_and_successful_invalidates() {
        for method in [
            Method::POST,
            Method::PUT,
            Method::DELETE,
            Method::PATCH,
            Method::from_bytes(b"MOVE").unwrap(),
        ] {
            assert_eq!(of(method, 204, &[]), ["http://a.test/x/y?z"]);
        }
        assert_eq!(of(Method::POST, 303, &[]), ["http://a.test/x/y?z"]);
        assert!(of(Method::POST, 404, &[]).is_empty() && of(Method::POST, 500, &[]).is_empty());
        for method in [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE] {
            assert!(of(method, 200, &[]).is_empty());
        }
    }

    #[test]
    fn names_of_the_same_origin_count() {
        let fields = [("Location", "../new#part"), ("Content-Location", "http://a.test:80/z")];
        assert_eq!(
            of(Method::POST, 201, &fields),
            ["http://a.test/new", "http://a.test/x/y?z", "http://a.test/z"]
        );
        for other in
            ["http://b.test/x", "https://a.test/x", "http://a.test:81/x", "http://[", "\u{0}"]
        {
            let uris = of(Method::POST, 201, &[("location", other)]);
            assert!(uris.iter().all(|uri| uri.starts_with("http://a.test/")), "{other}: {uris:?}");
        }
    }
}
