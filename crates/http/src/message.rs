//! A client's request, its head in the form of HTTP/2 and HTTP/3, and the progress reports of its response.
//!
//! Requests are `http::Request<Bytes>`: the body is known before it is sent.

use std::io;

use bytes::Bytes;
use http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, EXPECT, HOST, HeaderName, HeaderValue, TE,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, Method, Request};
use thiserror::Error;

use crate::h2::Group;

/// Connection-specific fields of HTTP/1, which make a message of HTTP/2 (RFC 9113 section 8.2.2), HTTP/3 (RFC 9114
/// section 4.2) and SPDY (draft 3.1 section 3.2.1) malformed, and `Host`, which those replace.
pub(crate) const HTTP1_ONLY: [HeaderName; 7] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    TRANSFER_ENCODING,
    UPGRADE,
    TE,
    HOST,
];

/// The urgency of a request: a browser's five levels, the most urgent first. HTTP/1.1 does not transmit it; each
/// protocol with priorities has its own mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Priority {
    Highest,
    High,
    Medium,
    Low,
    Lowest,
}

/// The precedence of a request: its place in queues at this end, and the priority in protocols that carry it beside the
/// request. RFC 9218's urgency is a field of the request itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precedence {
    /// Its level in the queue for a connection or a stream.
    pub level: Priority,
    /// SPDY's three bits: 0, the most urgent, to 7.
    pub spdy: u8,
    /// HTTP/2's weight of RFC 7540: 1 to 256.
    pub weight: u16,
    /// Its group where HTTP/2's requests form groups.
    pub group: Group,
}

/// Chrome's mapping of its five levels: to SPDY's bits 0 to 4 (`ConvertRequestPriorityToSpdyPriority`), and from those
/// to weights (`Spdy3PriorityToHttp2Weight`).
impl From<Priority> for Precedence {
    fn from(level: Priority) -> Precedence {
        let (spdy, weight) = match level {
            Priority::Highest => (0, 256),
            Priority::High => (1, 220),
            Priority::Medium => (2, 183),
            Priority::Low => (3, 147),
            Priority::Lowest => (4, 110),
        };
        Precedence { level, spdy, weight, group: Group::default() }
    }
}

/// Receives reports as a response arrives. The callee reads the world's clock if it needs the time.
pub trait Progress {
    /// The connection accepted the request (an HTTP/2 request may have waited for the number of streams to fall below
    /// the server's limit).
    fn admitted(&mut self) {}
    /// The request's last byte was handed to the transport.
    fn sent(&mut self, head_bytes: u64, body_bytes: u64);
    /// The response's head is complete. `head_bytes` is its size on the wire, before TLS.
    fn head(&mut self, status: u16, head_bytes: u64);
    /// The response's head names alternative services (`Alt-Svc`, RFC 7838), over HTTP/2 and HTTP/3; reported before
    /// the head itself.
    fn alternatives(&mut self, _field: &str) {}
    /// The response's head names the coding of the body that follows (`Content-Encoding`); reported before the head
    /// itself.
    fn content_coding(&mut self, _field: &[u8]) {}
    /// A piece of the response's body.
    fn data(&mut self, piece: &[u8]);
}

/// Reports the field `Content-Encoding`, if there is one.
pub(crate) fn report_coding(fields: &HeaderMap, progress: &mut dyn Progress) {
    if let Some(field) = fields.get(CONTENT_ENCODING) {
        progress.content_coding(field.as_bytes());
    }
}

/// Returns true if the sender of a head with these fields waits for 100 (Continue) (RFC 9110 section 10.1.1).
pub(crate) fn expects_continue(fields: &HeaderMap) -> bool {
    fields.get(EXPECT).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// The reason that a request has no (complete) response.
#[derive(Debug, Error)]
pub enum RequestError {
    /// The transport failed or closed before a byte of the response: a request without side effects
    /// may be sent again on another connection.
    #[error("the connection closed before the response began: {0}")]
    Unanswered(#[source] io::Error),
    /// The transport failed in the middle of the response.
    #[error("the connection broke in the middle of the response: {0}")]
    Broken(#[source] io::Error),
    /// The request cannot be sent by this protocol.
    #[error("the request cannot be sent: {0}")]
    Unsendable(String),
    /// The peer broke the protocol.
    #[error("the server broke the protocol: {0}")]
    Protocol(String),
    /// The peer refused this request only (HTTP/2's RST_STREAM, GOAWAY).
    #[error("the server refused the request: {0}")]
    Refused(String),
}

/// The head of `request`, whose URI must be absolute.
pub(crate) fn head(request: &Request<Bytes>) -> Result<Request<()>, RequestError> {
    streamed_head(request, Some(request.body().len() as u64))
}

/// The same for a request with a streamed body; `bytes` is its size, if known.
pub(crate) fn streamed_head<T>(
    request: &Request<T>,
    bytes: Option<u64>,
) -> Result<Request<()>, RequestError> {
    let uri = request.uri();
    if uri.scheme().is_none() || uri.authority().is_none() {
        return Err(RequestError::Unsendable(format!(
            "HTTP/2 and HTTP/3 need an absolute URI with scheme and host, this one is `{uri}`"
        )));
    }
    let mut head = Request::new(());
    *head.method_mut() = request.method().clone();
    *head.uri_mut() = uri.clone();
    let fields = head.headers_mut();
    fields.clone_from(request.headers());
    for name in &HTTP1_ONLY {
        fields.remove(name);
    }
    match bytes {
        None => drop(fields.remove(CONTENT_LENGTH)),
        Some(0) if ![Method::POST, Method::PUT, Method::PATCH].contains(request.method()) => {}
        Some(bytes) => drop(fields.insert(CONTENT_LENGTH, HeaderValue::from(bytes))),
    }
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(uri: &str, body: &'static [u8]) -> Request<Bytes> {
        let builder = Request::builder().uri(uri).method("POST");
        let builder = builder.header("host", "a.test").header("connection", "keep-alive");
        builder.header("accept", "*/*").body(Bytes::from_static(body)).expect("a request")
    }

    #[test]
    fn fields_of_http1_are_left_out_and_the_length_is_told() {
        let head = head(&request("https://a.test/x", b"12345")).expect("sendable");
        let fields: Vec<_> = head.headers().iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(fields, ["accept", "content-length"]);
        assert_eq!(head.headers()[CONTENT_LENGTH], "5");
    }

    #[test]
    fn a_relative_uri_is_refused() {
        assert!(matches!(head(&request("/x", b"")), Err(RequestError::Unsendable(_))));
    }
}
