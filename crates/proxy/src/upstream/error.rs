//! Errors of requests to origins.

use std::io;

use http::StatusCode;
use http_stack::Failure;
use http_stack::client::OpenError;
use thiserror::Error;

use crate::access::Refusal;

/// Reason for having no response to forward.
#[derive(Debug, Error)]
pub enum FetchError {
    /// Name resolution failed.
    #[error("the name of the origin cannot be resolved: {0}")]
    Unresolved(io::Error),
    /// The address is not allowed.
    #[error("{0}")]
    Forbidden(Refusal),
    /// The connection attempt failed.
    #[error("there is no connection to the origin: {0}")]
    Unconnected(io::Error),
    /// The TLS handshake or the verification of the certificate failed.
    #[error("TLS with the origin failed: {0}")]
    Insecure(io::Error),
    /// Name resolution, connection or handshake took too long.
    #[error("the origin could not be reached in time")]
    ConnectTimeout,
    /// All connections are in use, and too many requests wait for one.
    #[error("too many requests wait for a connection to the origin")]
    Crowded,
    /// No connection became free in time.
    #[error("no connection to the origin became free in time")]
    QueueTimeout,
    /// The response did not begin in time.
    #[error("the origin did not answer in time")]
    FirstByteTimeout,
    /// The exchange failed.
    #[error("{0}")]
    Failed(#[from] Failure),
}

impl FetchError {
    /// Returns true if nothing of the request was sent, so that any request may be sent to another server.
    pub fn is_unsent(&self) -> bool {
        match self {
            FetchError::Unresolved(_)
            | FetchError::Unconnected(_)
            | FetchError::Insecure(_)
            | FetchError::ConnectTimeout
            | FetchError::Crowded
            | FetchError::QueueTimeout => true,
            FetchError::Forbidden(_) | FetchError::FirstByteTimeout | FetchError::Failed(_) => {
                false
            }
        }
    }

    /// Returns true if the connection ended before the response.
    pub fn is_broken_off(&self) -> bool {
        matches!(self, FetchError::Failed(Failure::Unanswered(_) | Failure::Broken(_)))
    }

    /// The status for the client: 502 if the origin failed, 504 if it took too long, 503 if this proxy has no room (RFC
    /// 9110 section 15.6).
    pub fn status(&self) -> StatusCode {
        match self {
            FetchError::Forbidden(_) => StatusCode::FORBIDDEN,
            FetchError::Crowded | FetchError::QueueTimeout => StatusCode::SERVICE_UNAVAILABLE,
            FetchError::ConnectTimeout | FetchError::FirstByteTimeout => {
                StatusCode::GATEWAY_TIMEOUT
            }
            _ => StatusCode::BAD_GATEWAY,
        }
    }

    /// Error type in `Proxy-Status` (RFC 9209 section 2.3).
    pub fn kind(&self) -> &'static str {
        match self {
            FetchError::Unresolved(_) => "dns_error",
            FetchError::Forbidden(Refusal::Address(_)) => "destination_ip_prohibited",
            FetchError::Forbidden(_) => "http_request_denied",
            FetchError::Unconnected(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                "connection_refused"
            }
            FetchError::Unconnected(_) => "destination_unavailable",
            FetchError::Insecure(_) => "tls_protocol_error",
            FetchError::ConnectTimeout => "connection_timeout",
            FetchError::Crowded | FetchError::QueueTimeout => "connection_limit_reached",
            FetchError::FirstByteTimeout => "http_response_timeout",
            FetchError::Failed(Failure::Unanswered(_) | Failure::Broken(_)) => {
                "connection_terminated"
            }
            FetchError::Failed(_) => "http_protocol_error",
        }
    }
}

impl From<OpenError> for FetchError {
    fn from(error: OpenError) -> FetchError {
        match error {
            OpenError::Begin(failure) => FetchError::Failed(failure),
            other => FetchError::Unconnected(io::Error::other(other)),
        }
    }
}
