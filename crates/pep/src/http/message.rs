//! Message heads on the leg.

use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, IF_MATCH,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Field with the size of a response's body before compression for the leg. (`Content-Length` would be the size on
/// the leg.)
pub(super) const LENGTH: &str = "farlink-length";
/// Field with the compression of a response's body for the leg.
pub(super) const CODING: &str = "farlink-coding";
/// Field of the far end's own error responses; the status is the reason.
pub(super) const FAILED: &str = "farlink-failed";
/// The only compression: deflate without a wrapper (RFC 1951).
pub(super) const DEFLATE: HeaderValue = HeaderValue::from_static("deflate");

/// Fields of one connection (RFC 9110 section 7.6.1), or of the framing of a message on it.
const HOP: [HeaderName; 6] = [CONNECTION, CONTENT_LENGTH, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];
const HOP_BY_CUSTOM: [&str; 2] = ["keep-alive", "proxy-connection"];

/// Removes the fields of the connection that a message came by, and those that we add on the leg.
pub(super) fn strip_hop(fields: &mut HeaderMap) {
    let named: Vec<HeaderName> = fields
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP) {
        fields.remove(name);
    }
    for name in HOP_BY_CUSTOM.into_iter().chain([LENGTH, CODING, FAILED]) {
        fields.remove(name);
    }
}

/// Returns true if the answer to a request with these fields may be one that was fetched without them.
pub(super) fn is_plain(fields: &HeaderMap) -> bool {
    let particular = [
        AUTHORIZATION,
        IF_MATCH,
        IF_MODIFIED_SINCE,
        IF_NONE_MATCH,
        IF_RANGE,
        IF_UNMODIFIED_SINCE,
        RANGE,
    ];
    !particular.iter().any(|name| fields.contains_key(name))
}

/// A field's value, if it is text.
pub(super) fn text<'a>(fields: &'a HeaderMap, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(|value| value.to_str().ok())
}

/// The media type, in lower case, without parameters.
pub(super) fn media_type(fields: &HeaderMap) -> String {
    let value = text(fields, CONTENT_TYPE.as_str()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Returns true if compression is likely to help: text, and not compressed by the server.
pub(super) fn is_compressible(fields: &HeaderMap) -> bool {
    let media_type = media_type(fields);
    let is_text = media_type.starts_with("text/")
        || ["javascript", "json", "xml"].iter().any(|part| media_type.ends_with(part));
    is_text && !fields.contains_key(CONTENT_ENCODING)
}
