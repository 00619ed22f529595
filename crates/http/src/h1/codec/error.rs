//! Errors in messages.

use thiserror::Error;

/// The reason that a message was refused. The connection is not usable afterwards: the start of the next message is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The start line or a field is malformed.
    #[error("the head is malformed: {0}")]
    Syntax(httparse::Error),
    /// RFC 9112 section 2.2 lets a recipient accept a bare LF; it is a smuggling vector, so it is refused.
    #[error("a line ends in LF without CR")]
    BareLf,
    /// Not HTTP/1.0 or HTTP/1.1.
    #[error("the version is neither HTTP/1.0 nor HTTP/1.1")]
    Version,
    /// The head, or the overhead of a chunked body, is larger than allowed.
    #[error("the head or the trailers are larger than allowed")]
    TooLarge,
    /// The head has more fields than allowed.
    #[error("the head has more fields than allowed")]
    TooManyFields,
    /// An HTTP/1.1 request must have exactly one valid Host (RFC 9112 section 3.2).
    #[error("the Host field is missing, repeated or malformed")]
    Host,
    /// `Content-Length` is not a number, too large, or several that differ (RFC 9112 section 6.3).
    #[error("Content-Length is malformed or ambiguous")]
    ContentLength,
    /// `Transfer-Encoding` in HTTP/1.0, beside `Content-Length`, or with `chunked` misplaced
    /// (RFC 9112 sections 6.1 and 6.3).
    #[error("Transfer-Encoding makes the body's length ambiguous")]
    TransferEncoding,
    /// A transfer coding other than `chunked`.
    #[error("a transfer coding other than chunked is used")]
    UnknownCoding,
    /// A `CONNECT` with a body, which has no meaning (RFC 9110 section 9.3.6).
    #[error("a CONNECT has a body")]
    ConnectBody,
    /// A chunk's size line or end is malformed (RFC 9112 section 7.1).
    #[error("the chunked coding is malformed")]
    Chunk,
    /// An unrequested protocol switch (RFC 9110 section 15.2.2).
    #[error("the server switched protocols unasked")]
    Switched,
    /// The connection ended within a message (RFC 9112 section 8).
    #[error("the connection ended in the middle of a message")]
    Truncated,
}

impl Error {
    /// The status with which a server refuses such a request.
    pub fn status(self) -> http::StatusCode {
        match self {
            // RFC 6585 section 5.
            Error::TooLarge | Error::TooManyFields => {
                http::StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
            }
            // RFC 9112 section 6.1.
            Error::UnknownCoding => http::StatusCode::NOT_IMPLEMENTED,
            Error::Version => http::StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            _ => http::StatusCode::BAD_REQUEST,
        }
    }
}

impl From<httparse::Error> for Error {
    fn from(error: httparse::Error) -> Error {
        match error {
            httparse::Error::Version => Error::Version,
            httparse::Error::TooManyHeaders => Error::TooManyFields,
            other => Error::Syntax(other),
        }
    }
}
