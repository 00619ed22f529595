//! Conditions that a client puts to a stored response: `If-None-Match`, `If-Modified-Since`, `If-Range` (RFC 9111 section 4.3.2, RFC 9110
//! section 13). `If-Match` and `If-Unmodified-Since` are for origins; a cache leaves them alone.

use http::StatusCode;

use crate::date::Date;
use crate::fields::{FieldLines, members};
use crate::ranges::{ContentRange, Selected, select};
use crate::request::CacheRequest;
use crate::terms::ReuseTerms;

/// Form of the answer to a request, as drawn from a stored response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerShape {
    /// The whole response, with its own status code.
    Whole,
    /// 304: the client has it already.
    NotModified,
    /// 206 with these bytes of the stored body as part of the representation.
    Part {
        /// Offset of the first byte in the stored body.
        from: u64,
        /// Value of `Content-Range`.
        range: ContentRange,
    },
    /// 416: the range begins past the end; `Content-Range: bytes */whole`.
    Unsatisfiable {
        /// Length of the representation.
        whole: u64,
    },
}

impl ReuseTerms {
    /// Returns the form of the answer to `request` from a stored body of `length` bytes; `None` if the requested bytes are not all there, which
    /// happens only if the stored response is itself a part.
    pub fn shape<F: FieldLines + ?Sized>(
        &self,
        request: &CacheRequest<'_, F>,
        length: u64,
    ) -> Option<AnswerShape> {
        if request.conditional() && self.not_modified(request.fields()) {
            return Some(AnswerShape::NotModified);
        }
        let range = request.range().filter(|_| self.range_applies(request.fields()));
        match (range, self.content_range()) {
            (None, None) => Some(AnswerShape::Whole),
            (None, Some(_)) => None,
            (Some(range), None) => Some(match select(range, length) {
                Selected::Whole => AnswerShape::Whole,
                Selected::Unsatisfiable => AnswerShape::Unsatisfiable { whole: length },
                Selected::Part(part) => {
                    let range = ContentRange {
                        first: *part.start(),
                        last: *part.end(),
                        whole: Some(length),
                    };
                    AnswerShape::Part { from: range.first, range }
                }
            }),
            (Some(range), Some(held)) => within(range, held, length),
        }
    }

    /// Section 13.2.2, steps 3 and 4: `If-None-Match`, else `If-Modified-Since`. The condition is moot unless the stored status is 200 or
    /// 206.
    fn not_modified(&self, request: &(impl FieldLines + ?Sized)) -> bool {
        if self.status() != StatusCode::OK && self.status() != StatusCode::PARTIAL_CONTENT {
            return false;
        }
        let (mut asked, mut matched) = (false, false);
        request.values("if-none-match", |value| {
            asked = true;
            matched |= members(value).any(|tag| tag == b"*" || self.etag_is(tag));
        });
        if asked { matched } else { self.unmodified_since(request) }
    }

    /// Weak comparison (section 8.8.3.2).
    fn etag_is(&self, tag: &[u8]) -> bool {
        self.etag().is_some_and(|own| opaque(own.as_bytes()) == opaque(tag))
    }

    /// RFC 9111 section 4.3.2: without `Last-Modified` the stored response's date counts.
    fn unmodified_since(&self, request: &(impl FieldLines + ?Sized)) -> bool {
        let Some(since) = request.value("if-modified-since").and_then(Date::parse) else {
            return false;
        };
        let modified = self.last_modified().and_then(|value| Date::parse(value.as_bytes()));
        modified.unwrap_or(self.date()) <= since
    }

    /// `If-Range` (section 13.1.5): ranges apply only if the client's part is of this same representation, by strong comparison.
    fn range_applies(&self, request: &(impl FieldLines + ?Sized)) -> bool {
        if self.status() != StatusCode::OK && self.status() != StatusCode::PARTIAL_CONTENT {
            return false;
        }
        let Some(validator) = request.value("if-range") else { return true };
        match Date::parse(validator) {
            Some(date) => self.strong_date() == Some(date),
            None => self.strong_etag() == Some(validator),
        }
    }

    /// The entity tag, if it is a strong one.
    pub(crate) fn strong_etag(&self) -> Option<&[u8]> {
        self.etag().map(|tag| tag.as_bytes()).filter(|tag| tag.starts_with(b"\""))
    }

    /// The modification date, if it is strong: at least a second before the response's own (section 8.8.2.2).
    fn strong_date(&self) -> Option<Date> {
        let modified = Date::parse(self.last_modified()?.as_bytes())?;
        (self.date().millis_since(modified) >= 1_000).then_some(modified)
    }
}

/// The opaque part of an entity tag, without its weakness prefix.
pub(crate) fn opaque(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}

/// The part that a range selects of a stored part with a body of `length` bytes, if all of it is there.
fn within(range: &[u8], held: &ContentRange, length: u64) -> Option<AnswerShape> {
    let whole = held.whole.filter(|_| held.size() == length)?;
    match select(range, whole) {
        Selected::Whole => None,
        Selected::Unsatisfiable => Some(AnswerShape::Unsatisfiable { whole }),
        Selected::Part(part) => {
            let inside = held.first <= *part.start() && *part.end() <= held.last;
            let range = ContentRange { first: *part.start(), last: *part.end(), whole: held.whole };
            inside.then_some(AnswerShape::Part {
                from: range.first.saturating_sub(held.first),
                range,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::storing::StoragePolicy;
    use crate::storing::storable;
    use crate::terms::ExchangeTimes;

    const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const LATER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";
    const EARLIER: &str = "Sun, 06 Nov 1994 08:49:36 GMT";

    fn terms(status: u16, fields: &[(&str, &str)]) -> ReuseTerms {
        let now = Date::from_unix_secs(1_000_000_000);
        let none: &[(&str, &str)] = &[];
        let fields: Vec<_> =
            fields.iter().copied().chain([("cache-control", "max-age=9")]).collect();
        let exchange = ExchangeTimes { sent: now, received: now };
        let status = StatusCode::from_u16(status).unwrap();
        storable(
            &CacheRequest::new(&Method::GET, none),
            status,
            &fields[..],
            exchange,
            &StoragePolicy::default(),
        )
        .unwrap()
        .terms
    }

    fn shape(terms: &ReuseTerms, request: &[(&str, &str)]) -> Option<AnswerShape> {
        terms.shape(&CacheRequest::new(&Method::GET, request), 100)
    }

    /// RFC 9110 sections 13.1.2, 13.1.3 and 13.2.2.
    #[test]
    fn a_client_that_has_it_gets_304() {
        let terms = terms(200, &[("etag", "\"a\""), ("last-modified", MODIFIED)]);
        for (request, expected) in [
            (("if-none-match", "\"b\", W/\"a\""), AnswerShape::NotModified),
            (("if-none-match", "*"), AnswerShape::NotModified),
            (("if-none-match", "\"b\""), AnswerShape::Whole),
            (("if-modified-since", MODIFIED), AnswerShape::NotModified),
            (("if-modified-since", EARLIER), AnswerShape::Whole),
            (("if-modified-since", "yesterday"), AnswerShape::Whole),
        ] {
            assert_eq!(shape(&terms, &[request]), Some(expected), "{request:?}");
        }
        let both = [("if-none-match", "\"b\""), ("if-modified-since", MODIFIED)];
        assert_eq!(
            shape(&terms, &both),
            Some(AnswerShape::Whole),
            "the tag stands before the date"
        );
        let lines = [("if-none-match", "\"b\""), ("if-none-match", "\"a\"")];
        assert_eq!(shape(&terms, &lines), Some(AnswerShape::NotModified));
    }

    #[test]
    fn conditions_are_moot_for_other_codes() {
        let terms = terms(404, &[("etag", "\"a\"")]);
        assert_eq!(shape(&terms, &[("if-none-match", "\"a\"")]), Some(AnswerShape::Whole));
        assert_eq!(shape(&terms, &[("range", "bytes=0-4")]), Some(AnswerShape::Whole));
    }

    fn part(from: u64, first: u64, last: u64) -> Option<AnswerShape> {
        Some(AnswerShape::Part { from, range: ContentRange { first, last, whole: Some(100) } })
    }

    /// RFC 9110 section 13.1.5.
    #[test]
    fn if_range_compares_strongly() {
        let strong = terms(200, &[("etag", "\"a\""), ("last-modified", MODIFIED)]);
        let asked = |terms: &ReuseTerms, validator| {
            shape(terms, &[("range", "bytes=2-5"), ("if-range", validator)])
        };
        assert_eq!(asked(&strong, "\"a\""), part(2, 2, 5));
        assert_eq!(asked(&strong, MODIFIED), part(2, 2, 5));
        for other in ["\"b\"", "W/\"a\"", LATER, EARLIER] {
            assert_eq!(asked(&strong, other), Some(AnswerShape::Whole), "{other}");
        }
        let weak =
            terms(200, &[("etag", "W/\"a\""), ("last-modified", MODIFIED), ("date", MODIFIED)]);
        assert_eq!(asked(&weak, "W/\"a\""), Some(AnswerShape::Whole));
        assert_eq!(
            asked(&weak, MODIFIED),
            Some(AnswerShape::Whole),
            "modified in the second in which it was sent"
        );
    }

    #[test]
    fn ranges_are_cut_from_a_stored_whole() {
        let terms = terms(200, &[("etag", "\"a\"")]);
        assert_eq!(shape(&terms, &[("range", "bytes=90-")]), part(90, 90, 99));
        assert_eq!(
            shape(&terms, &[("range", "bytes=100-")]),
            Some(AnswerShape::Unsatisfiable { whole: 100 })
        );
        assert_eq!(shape(&terms, &[("range", "bytes=0-1, 5-6")]), Some(AnswerShape::Whole));
    }

    #[test]
    fn a_stored_part_answers_what_lies_in_it() {
        let terms = terms(206, &[("etag", "\"a\""), ("content-range", "bytes 10-29/100")]);
        let asked =
            |range| terms.shape(&CacheRequest::new(&Method::GET, &[("range", range)][..]), 20);
        assert_eq!(asked("bytes=15-20"), part(5, 15, 20));
        assert_eq!(asked("bytes=5-20"), None);
        assert_eq!(asked("bytes=-70"), None);
        assert_eq!(shape(&terms, &[]), None, "no request for the whole");
        let short =
            terms.shape(&CacheRequest::new(&Method::GET, &[("range", "bytes=25-29")][..]), 19);
        assert_eq!(short, None, "a body that is not the part has nothing to cut from");
    }
}
