//! Invalidation by unsafe requests (RFC 9111 section 4.4).

use http::{Method, StatusCode};
use url::Url;

use crate::fields::Fields;

/// The URIs whose stored responses a successful unsafe request invalidates: its target, and the URIs in `Location` and `Content-Location` at
/// the same origin. URIs of other origins are left alone, so that one site cannot empty the cache of another.
pub fn invalidated(
    method: &Method,
    target: &Url,
    status: StatusCode,
    response: &(impl Fields + ?Sized),
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
    use super::*;

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
