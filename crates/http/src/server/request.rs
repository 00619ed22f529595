//! A request's head, as a handler sees it.

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
    /// Of the URL that is asked for: as a target in absolute form, `:scheme` and SPDY's `:scheme` say it, else by whether the
    /// connection is secured; empty in a `CONNECT`.
    pub scheme: &'a str,
    /// The `Host` field or the `:authority` pseudo-field; empty if there is none.
    pub authority: &'a str,
    /// Path and query; as it was sent over HTTP/1 (RFC 9112 section 3.2): a whole URL to a proxy, host and port in a
    /// `CONNECT`, `*` in an `OPTIONS` for the server itself.
    pub target: &'a str,
    /// What the request came by.
    pub protocol: Protocol,
    /// The version of SOCKS by which a tunnel was asked for, if it was; what it came by is no HTTP then.
    pub socks: Option<socks::Version>,
    /// Its fields. What frames the message and speaks of the connection is among them where it was sent.
    pub fields: Fields<'a>,
    /// Who asks; `None` if the transport cannot tell.
    pub peer: Option<SocketAddr>,
    /// The size of the request's body, as far as it has arrived.
    pub body_bytes: u64,
}

impl<'a> RequestHead<'a> {
    /// A request in clear text over HTTP/1.1 without fields and body, from nobody: others differ from it.
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

    /// As HTTP/2 and HTTP/3 have it. The authority is the `Host` field's where `:authority` is missing (RFC 9113 section
    /// 8.3.1).
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

    /// The GET that is promised an answer with the answer to this request.
    pub(crate) fn promised(self, target: &'a str) -> RequestHead<'a> {
        RequestHead { method: "GET", target, fields: Fields::default(), body_bytes: 0, ..self }
    }

    /// Whether a tunnel is asked for (RFC 9110 section 9.3.6).
    pub fn is_connect(&self) -> bool {
        self.method == "CONNECT"
    }
}
