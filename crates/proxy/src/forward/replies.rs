//! What the proxy answers by itself.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALLOW, ALT_SVC, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, StatusCode};
use http_stack::{Head, Reply, Response};

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

/// The same response, which tells where else it can be had (RFC 7838). What the origin says of that is not about this proxy.
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

/// What can be asked for (RFC 9110 section 9.3.7).
pub(super) fn options() -> Reply {
    let mut fields = HeaderMap::new();
    fields.insert(ALLOW, METHODS);
    Reply::new(StatusCode::NO_CONTENT, fields, Bytes::new())
}

/// The methods that are passed on or answered.
pub(super) const METHODS: HeaderValue =
    HeaderValue::from_static("GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS, CONNECT");

/// So many stored responses were removed.
pub(super) fn purged(count: u64) -> Reply {
    plain(StatusCode::OK, format!("{count} removed\n"))
}

/// The disk failed: after a restart what was to be removed may be there again.
pub(super) fn purge_failed(error: &cache::DiskError) -> Reply {
    plain(StatusCode::INTERNAL_SERVER_ERROR, format!("farlink: {error}\n"))
}

fn plain(status: StatusCode, text: String) -> Reply {
    let mut fields = HeaderMap::new();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Reply::new(status, fields, Bytes::from(text))
}
