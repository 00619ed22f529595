//! A request as a cache sees it: its method, its fields, and the values that control the answer, gathered in one pass.

use http::Method;

use crate::directives::RequestDirectives;
use crate::fields::FieldLines;

/// A request. Making one reads its fields once and allocates nothing.
#[derive(Debug)]
pub struct CacheRequest<'a, F: ?Sized> {
    method: &'a Method,
    fields: &'a F,
    directives: RequestDirectives,
    range: RangeField<'a>,
    conditional: bool,
    authorized: bool,
    has_body: bool,
    wants_upgrade: bool,
}

/// The `Range` field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RangeField<'a> {
    None,
    One(&'a [u8]),
    /// Several lines: invalid, hence ignored (RFC 9110 section 14.2).
    Several,
}

impl<'a, F: FieldLines + ?Sized> CacheRequest<'a, F> {
    /// A request of that method with these fields.
    pub fn new(method: &'a Method, fields: &'a F) -> CacheRequest<'a, F> {
        let directives = RequestDirectives::default();
        let mut request = CacheRequest {
            method,
            fields,
            directives,
            range: RangeField::None,
            conditional: false,
            authorized: false,
            has_body: false,
            wants_upgrade: false,
        };
        let (mut pragma, mut cache_control) = (false, false);
        fields.each(|name, value| match name.len() {
            5 if name.eq_ignore_ascii_case("range") => request.range = request.range.and(value),
            6 if name.eq_ignore_ascii_case("pragma") => {
                pragma |= value.eq_ignore_ascii_case(b"no-cache")
            }
            7 if name.eq_ignore_ascii_case("upgrade") => request.wants_upgrade = true,
            13 if name.eq_ignore_ascii_case("cache-control") => {
                cache_control = true;
                request.directives.read(value);
            }
            13 if name.eq_ignore_ascii_case("if-none-match") => request.conditional = true,
            13 if name.eq_ignore_ascii_case("authorization") => request.authorized = true,
            14 if name.eq_ignore_ascii_case("content-length") => request.has_body |= value != b"0",
            17 if name.eq_ignore_ascii_case("if-modified-since") => request.conditional = true,
            17 if name.eq_ignore_ascii_case("transfer-encoding") => request.has_body = true,
            _ => {}
        });
        // RFC 9111 section 5.4: `Pragma` counts where there is no `Cache-Control`.
        request.directives.no_cache |= pragma && !cache_control;
        request
    }

    /// Its method.
    pub fn method(&self) -> &'a Method {
        self.method
    }

    /// Its fields.
    pub fn fields(&self) -> &'a F {
        self.fields
    }

    /// Its cache directives.
    pub fn directives(&self) -> &RequestDirectives {
        &self.directives
    }

    /// Returns true if it bears credentials for the origin.
    pub fn authorized(&self) -> bool {
        self.authorized
    }

    /// Returns true if it has a body.
    pub fn has_body(&self) -> bool {
        self.has_body
    }

    /// True if it offers a switch to another protocol (`Upgrade`).
    pub fn wants_upgrade(&self) -> bool {
        self.wants_upgrade
    }

    /// Returns true if it has `If-None-Match` or `If-Modified-Since`.
    pub fn conditional(&self) -> bool {
        self.conditional
    }

    /// The value of `Range`, if it means anything: only GET has ranges (RFC 9110 section 14.2).
    pub fn range(&self) -> Option<&'a [u8]> {
        match self.range {
            RangeField::One(value) if self.method == Method::GET => Some(value),
            _ => None,
        }
    }

    /// Returns true if stored responses can answer that method.
    pub fn answerable(&self) -> bool {
        self.method == Method::GET || self.method == Method::HEAD
    }
}

impl<'a> RangeField<'a> {
    fn and(self, value: &'a [u8]) -> RangeField<'a> {
        if self == RangeField::None { RangeField::One(value) } else { RangeField::Several }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pragma_counts_only_without_cache_control() {
        let no_cache =
            |fields: &[(&str, &str)]| CacheRequest::new(&Method::GET, fields).directives().no_cache;
        assert!(no_cache(&[("Pragma", "no-cache")]));
        assert!(!no_cache(&[("Pragma", "no-cache"), ("Cache-Control", "max-age=5")]));
        assert!(!no_cache(&[("Pragma", "other")]));
    }

    #[test]
    fn ranges_are_for_get_and_single() {
        let fields = [("Range", "bytes=0-1")];
        assert_eq!(CacheRequest::new(&Method::GET, &fields[..]).range(), Some(&b"bytes=0-1"[..]));
        assert_eq!(CacheRequest::new(&Method::HEAD, &fields[..]).range(), None);
        let twice = [fields[0], fields[0]];
        assert_eq!(CacheRequest::new(&Method::GET, &twice[..]).range(), None);
    }

    #[test]
    fn a_body_is_seen_by_its_framing() {
        let body = |fields: &[(&str, &str)]| CacheRequest::new(&Method::GET, fields).has_body();
        assert!(body(&[("content-length", "3")]) && body(&[("Transfer-Encoding", "chunked")]));
        assert!(!body(&[("content-length", "0")]) && !body(&[]));
    }
}
