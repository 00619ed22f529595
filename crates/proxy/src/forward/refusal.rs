//! Refused requests, and the answers to them.

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, PROXY_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use http_stack::Reply;

use super::replies::METHODS;
use crate::access::Refusal;
use crate::fields::MalformedField;
use crate::target::TargetError;
use crate::upstream::FetchError;

const PROXY_STATUS: HeaderName = HeaderName::from_static("proxy-status");

/// Reason for refusing a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The status of the answer.
    pub status: StatusCode,
    /// The error type (RFC 9209 section 2.3).
    pub kind: &'static str,
    /// The reason, for humans.
    pub message: String,
}

impl Refused {
    /// A refusal.
    pub fn new(status: StatusCode, kind: &'static str, message: impl ToString) -> Refused {
        Refused { status, kind, message: message.to_string() }
    }

    /// Refusal of a client whose address is not served.
    pub fn unserved_client() -> Refused {
        let message = "this proxy does not serve your address";
        Refused::new(StatusCode::FORBIDDEN, "http_request_denied", message)
    }

    /// Refusal of a client that must authenticate.
    pub fn unknown_user() -> Refused {
        let status = StatusCode::PROXY_AUTHENTICATION_REQUIRED;
        Refused::new(status, "http_request_denied", "this proxy asks for a name and a password")
    }

    /// The answer: plain text, never stored.
    pub fn reply(&self) -> Reply {
        let mut fields = HeaderMap::new();
        fields.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        fields.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
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

impl From<TargetError> for Refused {
    fn from(error: TargetError) -> Refused {
        Refused::new(StatusCode::BAD_REQUEST, "http_request_error", error)
    }
}

impl From<MalformedField> for Refused {
    fn from(error: MalformedField) -> Refused {
        Refused::new(StatusCode::BAD_REQUEST, "http_request_error", error)
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Refused {
        let kind = match refusal {
            Refusal::Address(_) => "destination_ip_prohibited",
            _ => "http_request_denied",
        };
        Refused::new(StatusCode::FORBIDDEN, kind, refusal)
    }
}

impl From<&FetchError> for Refused {
    fn from(error: &FetchError) -> Refused {
        Refused::new(error.status(), error.kind(), error)
    }
}
