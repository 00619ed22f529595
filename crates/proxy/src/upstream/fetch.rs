//! Exchanges with origins: a request, and its response or the error.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_stack::RequestError;
use http_stack::client::{ClientConnection, Incoming, OpenError};
use http_stack::h1::codec::encode::AbsoluteForm;
use http_stack::server::{Body, BodyError, RequestBody};
use http_stack::timer_wheel::{Timer, Wheel};
use thiserror::Error;
use tls::PublicClient;
use units::Time;

use super::UpstreamSettings;
use super::body::OriginTunnel;
use super::body::ResponseBody;
use super::connect::{OpenedConnection, OriginAddress, ReachPolicy};
use super::fairness::ClientPeer;
use super::parents::{self, Parents};
use super::pool::{ConnectionPool, PoolCount};
use crate::access::DestinationError;
use crate::target::Scheme;

/// Client for all origins. One per core; clones share its connections.
#[derive(Clone)]
pub struct Upstream {
    settings: Rc<UpstreamSettings>,
    parents: Rc<Parents>,
    pool: Rc<ConnectionPool>,
    tls: PublicClient,
    wheel: Wheel,
}

/// A request to fetch.
pub struct FetchOrder<'a> {
    /// Its destination.
    pub destination: OriginAddress,
    /// The authority behind it.
    pub reach: ReachPolicy<'a>,
    /// The client.
    pub client: ClientPeer,
    /// Connect timeout, if it differs from the settings.
    pub connect_timeout: Option<Duration>,
    /// The request's head; its URI is absolute.
    pub request: Request<()>,
    /// Its body; left there as long as nothing of it was sent.
    pub body: &'a mut Option<RequestBody>,
    /// Called when it has the right to a connection.
    pub begun: &'a dyn Fn(),
}

/// A response whose head has arrived.
pub struct Fetched {
    /// Status and fields.
    pub head: Response<()>,
    /// The body's size, if the head states it; in answer to HEAD, that of GET's body.
    pub length: Option<u64>,
    /// The body.
    pub body: ResponseBody,
    /// Time at which there was a connection.
    pub connected: Time,
    /// The connection, if it was opened for this request.
    pub opened: Option<OpenedConnection>,
}

impl Upstream {
    /// A client without connections.
    pub fn new(settings: UpstreamSettings, tls: PublicClient, wheel: Wheel) -> Upstream {
        Upstream {
            parents: Rc::new(Parents::new(settings.parents.clone())),
            pool: ConnectionPool::new(settings.clone()),
            settings: Rc::new(settings),
            tls,
            wheel,
        }
    }

    /// Number of connections.
    pub fn count(&self) -> PoolCount {
        self.pool.count()
    }

    /// Fetches an order: by a parent if there are some and the origin is in clear text, by another one if the first cannot be reached.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub async fn fetch(
        &self,
        order: FetchOrder<'_>,
        inform: &mut dyn FnMut(Response<()>),
    ) -> Result<Fetched, FetchError> {
        if self.parents.is_empty() || order.destination.scheme != Scheme::Http {
            return self.fetch_directly(order, inform).await;
        }
        let FetchOrder { destination, client, connect_timeout, mut request, body, begun, .. } =
            order;
        request.extensions_mut().insert(AbsoluteForm);
        for parent in self.parents.in_order(destination.bare_host(), world::now()) {
            let order = FetchOrder {
                destination: parent.address,
                reach: ReachPolicy::Operator,
                client,
                connect_timeout: match parent.has_more {
                    true => Some(
                        connect_timeout.map_or(parents::ATTEMPT, |it| it.min(parents::ATTEMPT)),
                    ),
                    false => connect_timeout,
                },
                request: request.clone(),
                body: &mut *body,
                begun,
            };
            let fetched = self.fetch_directly(order, inform).await;
            let is_reached = !fetched.as_ref().is_err_and(FetchError::is_unreachable);
            self.parents.note(parent.index, is_reached, world::now());
            if is_reached || !parent.has_more {
                return fetched;
            }
        }
        unreachable!("the last parent's failure is final")
    }

    /// Fetches an order from its destination. A request that found its connection dead is retried once on others, if it has no body and is
    /// idempotent (RFC 9110 section 9.2.2). `inform` is called with interim responses except 100.
    ///
    /// # Errors
    /// See [`FetchError`].
    async fn fetch_directly(
        &self,
        order: FetchOrder<'_>,
        inform: &mut dyn FnMut(Response<()>),
    ) -> Result<Fetched, FetchError> {
        let FetchOrder { destination, reach, client, connect_timeout, request, body, begun } =
            order;
        let connect_timeout = connect_timeout.unwrap_or(self.settings.connect_timeout);
        let key = (destination, reach.is_operator());
        let is_repeatable = body.is_none() && request.method().is_idempotent();
        loop {
            let mut lease = self.pool.acquire(&key, client).await?;
            begun();
            let (connection, opened) = match lease.connection.take() {
                Some(connection) => (connection, None),
                None => {
                    let (connection, opened) = self.open(&key.0, reach, connect_timeout).await?;
                    lease.opened(&connection);
                    (connection, Some(opened))
                }
            };
            let connected = world::now();
            match self.exchange(connection, &request, body.take(), inform).await {
                Ok(Incoming { head, length, body }) => {
                    let timer = self.wheel.timer();
                    let is_head = *request.method() == Method::HEAD;
                    let length = if is_head { stated_length(head.headers()) } else { length };
                    let timer = (timer, self.settings.idle_timeout);
                    let body = match head.status() {
                        StatusCode::SWITCHING_PROTOCOLS => {
                            ResponseBody::switched(body, lease, timer)
                        }
                        _ => ResponseBody::new(body, length, lease, self.pool.transfers(), timer),
                    };
                    return Ok(Fetched { head, length, body, connected, opened });
                }
                Err(FetchError::Failed(RequestError::Unanswered(_)))
                    if is_repeatable && opened.is_none() => {}
                Err(error) => return Err(error),
            }
        }
    }

    async fn open(
        &self,
        destination: &OriginAddress,
        reach: ReachPolicy<'_>,
        span: Duration,
    ) -> Result<(ClientConnection, OpenedConnection), FetchError> {
        let opening =
            super::connect::open(destination, reach, &self.parents, &self.settings, &self.tls);
        world::timeout(span, opening).await.unwrap_or(Err(FetchError::ConnectTimeout))
    }

    /// The status of `destination`'s answer to `request`, over a connection of its own.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub async fn probe(
        &self,
        destination: &OriginAddress,
        request: &Request<()>,
        span: Duration,
    ) -> Result<StatusCode, FetchError> {
        let probing = async {
            let (connection, _) = self.open(destination, ReachPolicy::Operator, span).await?;
            Ok(self.exchange(connection, request, None, &mut |_| {}).await?.head.status())
        };
        world::timeout(span, probing).await.unwrap_or(Err(FetchError::FirstByteTimeout))
    }

    /// Opens a tunnel, through a parent if there is one.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub async fn tunnel(
        &self,
        destination: &OriginAddress,
        reach: ReachPolicy<'_>,
    ) -> Result<(OriginTunnel, SocketAddr), FetchError> {
        let connecting = super::connect::reach(destination, reach, &self.parents);
        let connected = world::timeout(self.settings.connect_timeout, connecting).await;
        let (stream, address) = connected.unwrap_or(Err(FetchError::ConnectTimeout))?;
        Ok((OriginTunnel::new(stream, self.wheel.timer(), self.settings.idle_timeout), address))
    }

    /// Sends the request and waits for the head. The timeout runs from the last piece of the request's body, or the last
    /// interim response.
    async fn exchange(
        &self,
        connection: ClientConnection,
        request: &Request<()>,
        body: Option<RequestBody>,
        inform: &mut dyn FnMut(Response<()>),
    ) -> Result<Incoming, FetchError> {
        let timer = Rc::new(self.wheel.timer());
        let span = self.settings.first_byte_timeout;
        timer.set(span);
        let body = body.map(|body| {
            let length = body.length();
            RequestBody::new(Box::new(Timed { body, timer: Rc::clone(&timer), span }), length)
        });
        let mut inform = |head| {
            timer.set(span);
            inform(head);
        };
        let mut exchange = pin!(connection.exchange_informed(request, body, &mut inform));
        poll_fn(|cx| match exchange.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(done.map_err(FetchError::Failed)),
            Poll::Pending => timer.poll_expired(cx).map(|()| Err(FetchError::FirstByteTimeout)),
        })
        .await
    }
}

/// RFC 9110 section 8.6.
fn stated_length(fields: &HeaderMap) -> Option<u64> {
    fields.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// A request's body that restarts a timer with each piece.
struct Timed {
    body: RequestBody,
    timer: Rc<Timer>,
    span: Duration,
}

impl Body for Timed {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let next = self.body.poll_next(cx);
        if next.is_ready() {
            self.timer.set(self.span);
        }
        next
    }
}

/// Reason for having no response to forward.
#[derive(Debug, Error)]
pub enum FetchError {
    /// Name resolution failed.
    #[error("the name of the origin cannot be resolved: {0}")]
    Unresolved(io::Error),
    /// The address is not allowed.
    #[error("{0}")]
    Forbidden(DestinationError),
    /// The connection attempt failed.
    #[error("cannot connect to the origin: {0}")]
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
    Failed(#[from] RequestError),
}

impl FetchError {
    /// Returns true if there was no connection.
    fn is_unreachable(&self) -> bool {
        matches!(
            self,
            FetchError::Unresolved(_) | FetchError::Unconnected(_) | FetchError::ConnectTimeout
        )
    }

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
        matches!(self, FetchError::Failed(RequestError::Unanswered(_) | RequestError::Broken(_)))
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
            FetchError::Forbidden(DestinationError::Address(_)) => "destination_ip_prohibited",
            FetchError::Forbidden(_) => "http_request_denied",
            FetchError::Unconnected(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                "connection_refused"
            }
            FetchError::Unconnected(_) => "destination_unavailable",
            FetchError::Insecure(_) => "tls_protocol_error",
            FetchError::ConnectTimeout => "connection_timeout",
            FetchError::Crowded | FetchError::QueueTimeout => "connection_limit_reached",
            FetchError::FirstByteTimeout => "http_response_timeout",
            FetchError::Failed(RequestError::Unanswered(_) | RequestError::Broken(_)) => {
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
