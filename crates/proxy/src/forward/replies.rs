//! Answers of the proxy itself.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALLOW, ALT_SVC, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, StatusCode};
use http_stack::{Head, Reply, Response};

use crate::pac;
use crate::target::Scheme;

/// The auto-configuration file, which names the proxy by the address in the request: `place`.
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

/// The same response with this proxy's `Alt-Svc` (RFC 7838). The origin's own value does not apply to this proxy.
pub(super) fn telling(response: Response, alternative: HeaderValue) -> Response {
    match response {
        Response::Whole(Reply { head, body }) => {
            let mut fields = head.parts.headers().clone();
            fields.insert(ALT_SVC, alternative);
            let head = Arc::new(Head::new(head.parts.status(), fields, head.body_bytes));
            Response::Whole(Reply { head, body })
        }
        Response::Streamed { mut head, length, body } => {
            head.headers_mut().insert(ALT_SVC, alternative);
            Response::Streamed { head, length, body }
        }
        other => other,
    }
}

/// The methods supported (RFC 9110 section 9.3.7).
pub(super) fn options() -> Reply {
    let mut fields = HeaderMap::new();
    fields.insert(ALLOW, METHODS);
    Reply::new(StatusCode::NO_CONTENT, fields, Bytes::new())
}

/// The methods that are forwarded or answered.
pub(super) const METHODS: HeaderValue =
    HeaderValue::from_static("GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, CONNECT");

/// Success of a purge: `count` stored responses were removed.
pub(super) fn purged(count: u64) -> Reply {
    plain(StatusCode::OK, format!("{count} removed\n"))
}

/// Failure of a purge on disk: the responses may be back after a restart.
pub(super) fn purge_failed(error: &cache::DiskError) -> Reply {
    plain(StatusCode::INTERNAL_SERVER_ERROR, format!("farlink: {error}\n"))
}

fn plain(status: StatusCode, text: String) -> Reply {
    let mut fields = HeaderMap::new();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Reply::new(status, fields, Bytes::from(text))
}
