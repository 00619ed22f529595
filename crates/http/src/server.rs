//! What a server hands to its handler, and what the handler hands back.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;

pub use crate::acceptor::{Acceptor, ServeError};

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
    /// The body.
    pub body: Bytes,
}

/// A response's head, prepared once for every protocol.
#[derive(Debug)]
pub struct Head {
    /// Status and fields, without framing (`Content-Length`, `Connection`).
    pub parts: http::Response<()>,
    /// The same as HTTP/1.1 text, with `Content-Length`, to the empty line.
    pub h1: Bytes,
}
