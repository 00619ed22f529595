//! What the proxy answers by itself.

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, StatusCode};
use http_stack::Reply;

use crate::pac;
use crate::target::Scheme;

/// The auto-configuration file, which names the proxy as it was asked for: at `place`.
pub(super) fn pac(pac: &pac::Pac, scheme: Scheme, place: &str) -> Reply {
    let kind = match scheme {
        Scheme::Http => "PROXY",
        Scheme::Https => "HTTPS",
    };
    let mut fields = HeaderMap::new();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(pac::MEDIA_TYPE));
    let text = pac.text(&format!("{kind} {place}"));
    Reply::new(StatusCode::OK, fields, Bytes::from(text))
}

/// What can be asked for (RFC 9110 section 9.3.7).
pub(super) fn options() -> Reply {
    let mut fields = HeaderMap::new();
    let methods = "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, CONNECT";
    fields.insert(ALLOW, HeaderValue::from_static(methods));
    Reply::new(StatusCode::NO_CONTENT, fields, Bytes::new())
}
