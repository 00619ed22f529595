//! Validation of a stored response with the origin, and the update by its answer (RFC 9111 sections 4.3 and 3.2).

use http::header::{IF_MODIFIED_SINCE, IF_NONE_MATCH};
use http::{HeaderName, HeaderValue};

use crate::conditions::opaque;
use crate::fields::{Fields, Section};
use crate::terms::Terms;

impl Terms {
    /// The conditions of a request that validates it (section 4.3.1). They replace the client's own.
    pub fn validators(&self) -> impl Iterator<Item = (HeaderName, &HeaderValue)> {
        let etag = self.etag().map(|value| (IF_NONE_MATCH, value));
        let modified = self.last_modified().map(|value| (IF_MODIFIED_SINCE, value));
        etag.into_iter().chain(modified)
    }

    /// Returns true if a 304 with these fields selects this response (section 4.3.4): the same validator, by strong or weak comparison as in the
    /// 304, or none in it.
    pub fn confirmed_by(&self, not_modified: &(impl Fields + ?Sized)) -> bool {
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

    /// The effect of a 200 to HEAD on the stored response (section 4.3.5); `length` is its body's.
    pub fn after_head(&self, head: &(impl Fields + ?Sized), length: u64) -> AfterHead {
        let same = |name, own: Option<&HeaderValue>| {
            head.value(name).is_none_or(|new| own.is_some_and(|own| own.as_bytes() == new))
        };
        let lengths =
            head.value("content-length").is_none_or(|new| new == length.to_string().as_bytes());
        if same("etag", self.etag()) && same("last-modified", self.last_modified()) && lengths {
            AfterHead::Update
        } else {
            AfterHead::Invalidate
        }
    }
}

/// Effect of a HEAD on a stored response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterHead {
    /// It takes on the head's fields.
    Update,
    /// It is of another representation: invalidate it.
    Invalidate,
}

/// The stored fields, updated with those of a 304 or of a response to HEAD (section 3.2). The result is judged as any response is:
/// [`storable`](crate::storable) leaves out fields that must not be stored.
pub fn updated(stored: &Section, update: &(impl Fields + ?Sized)) -> Section {
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

#[cfg(test)]
mod tests {
    use http::{Method, StatusCode};

    use super::*;
    use crate::date::Date;
    use crate::policy::Policy;
    use crate::request::Request;
    use crate::storing::storable;
    use crate::terms::Exchange;

    const MODIFIED: (&str, &str) = ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT");

    fn terms(fields: &[(&str, &str)]) -> Terms {
        let now = Date::from_unix_secs(1_000_000_000);
        let none: &[(&str, &str)] = &[];
        let fields: Vec<_> =
            fields.iter().copied().chain([("cache-control", "max-age=9")]).collect();
        let exchange = Exchange { sent: now, received: now };
        let request = Request::new(&Method::GET, none);
        storable(&request, StatusCode::OK, &fields[..], exchange, &Policy::default()).unwrap().terms
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

    /// RFC 9111 section 4.3.5.
    #[test]
    fn a_head_updates_or_invalidates() {
        let terms = terms(&[("etag", "\"a\""), MODIFIED]);
        let after = |fields: &[(&str, &str)]| terms.after_head(fields, 100);
        assert_eq!(after(&[("etag", "\"a\""), ("content-length", "100")]), AfterHead::Update);
        assert_eq!(after(&[("x", "y")]), AfterHead::Update);
        assert_eq!(after(&[("etag", "\"b\"")]), AfterHead::Invalidate);
        assert_eq!(after(&[("content-length", "99")]), AfterHead::Invalidate);
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
}
