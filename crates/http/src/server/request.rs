//! A request's head, as passed to handlers.

use std::net::SocketAddr;

use http::header::HOST;
use http::{HeaderMap, Method, Uri};

use super::Fields;
use crate::socks;
use tls::Protocol;

/// A request's head, borrowed from the connection's buffer.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    /// `GET`, ...
    pub method: &'a str,
    /// The scheme of the requested URL: from a target in absolute form or `:scheme` (in SPDY too), else by whether the
    /// connection is secured; empty in a `CONNECT`.
    pub scheme: &'a str,
    /// The `Host` field or the `:authority` pseudo-field; empty if there is none.
    pub authority: &'a str,
    /// Path and query; over HTTP/1 as sent (RFC 9112 section 3.2): a whole URL to a proxy, host and port in a
    /// `CONNECT`, `*` in an `OPTIONS` for the server itself.
    pub target: &'a str,
    /// The protocol of the request.
    pub protocol: Protocol,
    /// The version of SOCKS if a tunnel was requested by it; `protocol` is meaningless then.
    pub socks: Option<socks::Version>,
    /// Its fields, including those of framing and of the connection if they were sent.
    pub fields: Fields<'a>,
    /// The client's address; `None` if the transport has none.
    pub peer: Option<SocketAddr>,
    /// The size of the request's body, as far as it has arrived.
    pub body_bytes: u64,
}

impl<'a> RequestHead<'a> {
    /// A clear-text HTTP/1.1 request without fields, body and peer, as a base for others.
    pub fn new(method: &'a str, authority: &'a str, target: &'a str) -> RequestHead<'a> {
        RequestHead {
            method,
            scheme: "http",
            authority,
            target,
            protocol: Protocol::H1,
            socks: None,
            fields: Fields::default(),
            peer: None,
            body_bytes: 0,
        }
    }

    /// The head of an HTTP/2 or HTTP/3 request. A `Host` field replaces a missing `:authority` (RFC 9113 section 8.3.1).
    pub(crate) fn of_parts(
        method: &'a Method,
        uri: &'a Uri,
        fields: &'a HeaderMap,
    ) -> RequestHead<'a> {
        let authority = uri.authority().map(|authority| authority.as_str());
        let host = || fields.get(HOST)?.to_str().ok();
        let authority = authority.or_else(host).unwrap_or("");
        let path = uri.path_and_query().map_or("/", |target| target.as_str());
        // RFC 9113 section 8.5: a CONNECT has neither scheme nor path.
        let target = if *method == Method::CONNECT { authority } else { path };
        RequestHead {
            scheme: uri.scheme_str().unwrap_or(""),
            fields: fields.into(),
            ..RequestHead::new(method.as_str(), authority, target)
        }
    }

    /// The GET whose response is promised with the answer to this request.
    pub(crate) fn promised(self, target: &'a str) -> RequestHead<'a> {
        RequestHead { method: "GET", target, fields: Fields::default(), body_bytes: 0, ..self }
    }

    /// Returns true if a tunnel is requested (RFC 9110 section 9.3.6).
    pub fn is_connect(&self) -> bool {
        self.method == "CONNECT"
    }
}
