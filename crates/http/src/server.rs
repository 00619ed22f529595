//! The interface between a server and its handler.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;

use http::header::HOST;
use http::{HeaderMap, Method, Uri};
use tls::Protocol;

use crate::socks;

pub use crate::acceptor::{Acceptor, Served};

mod body;
mod common;
mod feed;
mod pace;
mod response;

pub(crate) use body::CheckedBody;
pub use body::{Body, BodyError, Duplex, RequestBody};
pub(crate) use body::{Up, directions};
pub use common::Drain;
pub(crate) use common::DrainWatch;
pub use common::{ClientTimeouts, SharedServerState};
pub(crate) use feed::{Feed, FeedDemand, feed};
pub use pace::Pace;
pub(crate) use pace::Paced;
pub(crate) use pace::Patience;
pub(crate) use pace::{RequestProgress, StallVerdict, StallWatch};
pub use response::Fields;
pub use response::{Head, Push, Reply, Response};
pub(crate) use response::{interim, is_bodiless, refusal, strip_framing};

/// Answers requests. One handler serves all connections of a core.
pub trait Handler: 'static {
    /// Called when a request has arrived completely, including its body, which was counted and dropped. A `CONNECT` is
    /// complete with its head.
    fn handle(&self, request: RequestHead<'_>) -> Answer;

    /// Called when the head of a request with a body has arrived. A handler that wants the body answers and reads it meanwhile,
    /// with backpressure. If the handler returns the body, as is usual, [`Handler::handle`] is called at the body's end.
    ///
    /// # Errors
    /// The body, if it is unwanted.
    fn receive(&self, _request: RequestHead<'_>, body: RequestBody) -> Result<Answer, RequestBody> {
        Err(body)
    }

    /// Responses to push with the answer to `request`, in this order, if protocol and client support pushes. Called
    /// before [`Handler::handle`] for the same request.
    fn pushes(&self, _request: RequestHead<'_>) -> Vec<Push> {
        Vec::new()
    }
}

/// An answer, now or later.
pub enum Answer {
    /// Ready: nothing is allocated or spawned to send it.
    Ready(Reply),
    /// Delayed.
    Later(Later),
}

/// A response to come.
pub type Later = Pin<Box<dyn Future<Output = Response>>>;

impl Answer {
    /// The answer that `response` will return.
    pub fn later(response: impl Future<Output = impl Into<Response>> + 'static) -> Answer {
        Answer::Later(Box::pin(async move { response.await.into() }))
    }
}

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
