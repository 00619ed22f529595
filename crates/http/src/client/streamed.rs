//! Exchanges with streamed bodies, over HTTP/1.1 and HTTP/2.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use tls::Stream;

use super::ClientConnection;
use crate::message::expects_continue;
use crate::server::{Body, BodyError, RequestBody};
use crate::{Priority, RequestError, h1, h2};

/// A response whose head has come.
pub struct Incoming {
    /// Status and fields, including those of framing and of the connection.
    pub head: Response<()>,
    /// The body's size, if the head tells it.
    pub length: Option<u64>,
    /// The body.
    pub body: IncomingBody,
}

/// A response's body, as the server sends it.
pub struct IncomingBody(BodyProtocol);

enum BodyProtocol {
    H1(Box<h1::client::Incoming<Stream>>),
    H2(Box<h2::Incoming>),
}

impl ClientConnection {
    /// Sends `request` with `body`, and returns the response when its head has come. The URI is absolute.
    ///
    /// # Errors
    /// See [`RequestError`]; an HTTP/1 connection is gone then.
    pub async fn exchange(
        self,
        request: &Request<()>,
        body: Option<RequestBody>,
    ) -> Result<Incoming, RequestError> {
        self.exchange_informed(request, body, &mut |_| {}).await
    }

    /// The same; `inform` receives interim responses except 100.
    ///
    /// # Errors
    /// As above.
    pub async fn exchange_informed(
        self,
        request: &Request<()>,
        body: Option<RequestBody>,
        inform: &mut dyn FnMut(Response<()>),
    ) -> Result<Incoming, RequestError> {
        match self {
            ClientConnection::H1(connection) => {
                let exchange = connection.exchange_informed(request, body, inform);
                let (head, length, body) = exchange.await?;
                Ok(Incoming { head, length, body: IncomingBody(BodyProtocol::H1(Box::new(body))) })
            }
            ClientConnection::H2 { handle, .. } => {
                let exchange = handle.exchange(request, body, Priority::Medium, inform);
                let (head, length, body) = exchange.await?;
                Ok(Incoming { head, length, body: IncomingBody(BodyProtocol::H2(Box::new(body))) })
            }
            ClientConnection::Pipelined(_)
            | ClientConnection::Spdy { .. }
            | ClientConnection::H3(_) => {
                let message = "bodies go piece by piece over HTTP/1.1 and HTTP/2 only";
                Err(RequestError::Unsendable(message.to_owned()))
            }
        }
    }
}

impl IncomingBody {
    /// Returns true once the body has ended.
    pub fn is_ended(&self) -> bool {
        match &self.0 {
            BodyProtocol::H1(body) => body.is_ended(),
            BodyProtocol::H2(body) => body.is_ended(),
        }
    }

    /// The stream in the protocol that the server has switched to, after it has answered 101.
    pub fn into_switched(self) -> Option<Stream> {
        match self.0 {
            BodyProtocol::H1(body) => {
                let (stream, ahead) = body.into_switched();
                Some(stream.after(ahead))
            }
            BodyProtocol::H2(_) => None,
        }
    }

    /// The HTTP/1 connection, if it is reusable now that this body has ended.
    pub fn into_connection(self) -> Option<ClientConnection> {
        match self.0 {
            BodyProtocol::H1(body) => {
                body.into_connection().map(|c| ClientConnection::H1(Box::new(c)))
            }
            BodyProtocol::H2(_) => None,
        }
    }
}

impl Body for IncomingBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        match &mut self.0 {
            BodyProtocol::H1(body) => body.poll_next(cx),
            BodyProtocol::H2(body) => body.poll_next(cx),
        }
    }
}

// Request bodies held back until the server wants them (RFC 9110 section 10.1.1).

/// Timeout of the wait for 100 (Continue), as in curl: many servers do not know it.
const PATIENCE: Duration = Duration::from_secs(1);

/// The wait that holds a body back.
#[derive(Default)]
pub(crate) struct ContinueWait(Option<Pin<Box<dyn Future<Output = ()>>>>);

impl ContinueWait {
    /// The hold of a body whose head has these fields.
    pub(crate) fn of(fields: &HeaderMap) -> ContinueWait {
        ContinueWait(expects_continue(fields).then(|| Box::pin(world::sleep(PATIENCE)) as _))
    }

    /// Ready once the body may go.
    pub(crate) fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(continue_wait) = &mut self.0 {
            ready!(continue_wait.as_mut().poll(cx));
            self.0 = None;
        }
        Poll::Ready(())
    }

    /// Ends the hold because the server has answered; returns true if the body was held until now.
    pub(crate) fn end(&mut self) -> bool {
        self.0.take().is_some()
    }
}
