//! Answers of the proxy itself, refusals among them.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{
    ALLOW, ALT_SVC, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
};
use http::{HeaderMap, StatusCode};
use http_stack::{Head, Reply, Response};

use crate::access::DestinationError;
use crate::fields::MalformedField;
use crate::pac;
use crate::target::{Scheme, TargetError};
use crate::upstream::FetchError;

/// The auto-configuration file, which names the proxy by the address in the request: `place`.
pub(super) fn pac_file(pac: &pac::Pac, scheme: Scheme, place: &str) -> Reply {
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
const METHODS: HeaderValue =
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
    Reply::new(status, plain_fields(), Bytes::from(text))
}

/// Fields of an answer in plain text, which is never stored.
fn plain_fields() -> HeaderMap {
    let plain = (CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    HeaderMap::from_iter([plain, (CACHE_CONTROL, HeaderValue::from_static("no-store"))])
}

const PROXY_STATUS: HeaderName = HeaderName::from_static("proxy-status");

/// Reason for refusing a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRequest {
    /// The status of the answer.
    pub status: StatusCode,
    /// The error type (RFC 9209 section 2.3).
    pub kind: &'static str,
    /// The reason, for humans.
    pub message: String,
}

impl RefusedRequest {
    /// A refusal.
    pub fn new(status: StatusCode, kind: &'static str, message: impl ToString) -> RefusedRequest {
        RefusedRequest { status, kind, message: message.to_string() }
    }

    /// Refusal of a malformed request.
    pub fn malformed(message: impl ToString) -> RefusedRequest {
        RefusedRequest::new(StatusCode::BAD_REQUEST, "http_request_error", message)
    }

    /// Refusal by this proxy's rules.
    pub fn denied(status: StatusCode, message: impl ToString) -> RefusedRequest {
        RefusedRequest::new(status, "http_request_denied", message)
    }

    /// Refusal of a client whose address is not served.
    pub fn unserved_client() -> RefusedRequest {
        RefusedRequest::denied(StatusCode::FORBIDDEN, "this proxy does not serve your address")
    }

    /// Refusal of a client that must authenticate.
    pub fn unknown_user() -> RefusedRequest {
        let message = "this proxy requires a user name and a password";
        RefusedRequest::denied(StatusCode::PROXY_AUTHENTICATION_REQUIRED, message)
    }

    /// The answer: plain text, never stored.
    pub fn reply(&self) -> Reply {
        let mut fields = plain_fields();
        let status = HeaderValue::from_str(&format!("farlink; error={}", self.kind));
        fields.insert(PROXY_STATUS, status.expect("the names of RFC 9209 are tokens"));
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            // RFC 9110 section 15.5.6.
            fields.insert(ALLOW, METHODS);
        }
        if self.status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            let challenge = HeaderValue::from_static("Basic realm=\"farlink\", charset=\"UTF-8\"");
            fields.insert(PROXY_AUTHENTICATE, challenge);
        }
        Reply::new(self.status, fields, Bytes::from(format!("farlink: {}\n", self.message)))
    }
}

impl From<TargetError> for RefusedRequest {
    fn from(error: TargetError) -> RefusedRequest {
        RefusedRequest::malformed(error)
    }
}

impl From<MalformedField> for RefusedRequest {
    fn from(error: MalformedField) -> RefusedRequest {
        RefusedRequest::malformed(error)
    }
}

impl From<DestinationError> for RefusedRequest {
    fn from(refusal: DestinationError) -> RefusedRequest {
        let kind = match refusal {
            DestinationError::Address(_) => "destination_ip_prohibited",
            _ => "http_request_denied",
        };
        RefusedRequest::new(StatusCode::FORBIDDEN, kind, refusal)
    }
}

impl From<&FetchError> for RefusedRequest {
    fn from(error: &FetchError) -> RefusedRequest {
        RefusedRequest::new(error.status(), error.kind(), error)
    }
}
