//! What a server hands to its handler, and what the handler hands back.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use crate::Priority;
use crate::h1::codec::encode::response_head;

pub use crate::acceptor::{Acceptor, Served};

/// A request's head, borrowed from the connection's buffer.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    /// `GET`, ...
    pub method: &'a str,
    /// The `Host` field or the `:authority` pseudo-field; empty if there is none.
    pub authority: &'a str,
    /// Path and query (or a whole URL: a request to a proxy).
    pub target: &'a str,
    /// The size of the request's body.
    pub body_bytes: u64,
}

/// Answers requests. One handler serves all connections of a core.
pub trait Handler: 'static {
    /// Called when a request, body included, has arrived.
    fn handle(&self, request: RequestHead<'_>) -> Answer;

    /// What is pushed with the answer to `request`, in this order, where protocol and client take pushed responses.
    /// Called before [`Handler::handle`] for the same request.
    fn pushes(&self, _request: RequestHead<'_>) -> Vec<Push> {
        Vec::new()
    }
}

/// A response that is sent without having been asked for: to a GET for a path of the same authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// Path and query.
    pub path: String,
    /// How urgent it is: the server's own view, for want of the client's.
    pub priority: Priority,
}

/// An answer, now or later.
pub enum Answer {
    /// It is there: nothing is allocated or spawned to send it.
    Ready(Reply),
    /// It takes time.
    Later(Pin<Box<dyn Future<Output = Reply>>>),
}

/// A whole response, shared by all who are given it.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The head, ready for each protocol.
    pub head: Arc<Head>,
    /// The body; not sent in answer to `HEAD`.
    pub body: Bytes,
}

impl Reply {
    /// Prepares a response. `fields` as in [`Head::new`].
    pub fn new(status: StatusCode, fields: HeaderMap, body: Bytes) -> Reply {
        Reply { head: Arc::new(Head::new(status, fields, body.len() as u64)), body }
    }
}

/// A response's head, prepared once for every protocol.
#[derive(Debug)]
pub struct Head {
    /// Status and fields, without framing (`Content-Length`, `Connection`).
    pub parts: http::Response<()>,
    /// The same as HTTP/1.1 text, with `Content-Length`, to the empty line.
    pub h1: Bytes,
}

/// Fields that each protocol writes itself or has no place for (RFC 9110 section 7.6.1, RFC 9113
/// section 8.2.2).
const FRAMING: [&str; 7] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

impl Head {
    /// Prepares the head of a response with a body of `body_bytes`. Fields of framing and of the
    /// connection are left out of `fields`: each protocol has its own.
    pub fn new(status: StatusCode, mut fields: HeaderMap, body_bytes: u64) -> Head {
        for name in FRAMING {
            fields.remove(name);
        }
        let mut text = Vec::with_capacity(256);
        response_head(&mut text, status, &fields, body_bytes);
        let mut parts = http::Response::new(());
        *parts.status_mut() = status;
        *parts.headers_mut() = fields;
        Head { parts, h1: text.into() }
    }

    /// Whether the status allows no body (RFC 9110 sections 15.3.5 and 15.4.5).
    pub fn is_bodiless(&self) -> bool {
        matches!(self.parts.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_prepared_for_each_protocol() {
        let mut fields = HeaderMap::new();
        fields.insert("content-length", "99".parse().unwrap());
        fields.insert("connection", "keep-alive".parse().unwrap());
        fields.insert("server", "farlink".parse().unwrap());
        let reply = Reply::new(StatusCode::OK, fields, Bytes::from_static(b"hello"));
        assert_eq!(
            reply.head.h1,
            "HTTP/1.1 200 OK\r\nserver: farlink\r\ncontent-length: 5\r\n\r\n"
        );
        assert_eq!(reply.head.parts.headers().len(), 1);
        assert!(!reply.head.is_bodiless());
        let empty = Reply::new(StatusCode::NOT_MODIFIED, HeaderMap::new(), Bytes::new());
        assert!(empty.head.is_bodiless());
    }
}
