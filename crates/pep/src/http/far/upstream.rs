//! The far end's connections to servers, kept alive between requests, and their responses on the way to the leg.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, SendStream};
use http::{Request, Response, StatusCode};
use http_stack::h1::client::{Connection, Incoming, Settings};
use http_stack::{Body, BodyError, RequestError};
use units::Time;
use world::TcpStream;

use crate::admin::Counters;
use crate::http::message::{self, LegDeflater};
use crate::leg::PIECE_BYTES;
use crate::split::{self, room};

/// Idle timeout of a connection: servers close theirs after 5 s (Apache) to 75 s (nginx).
const IDLE: Duration = Duration::from_secs(4);
/// Maximum number of idle connections to one server: as many as a browser opens.
const IDLE_TO_ONE: usize = 6;

/// Timeout for a silent server: nginx's `proxy_read_timeout`.
const SILENCE: Duration = Duration::from_secs(60);

type KeptConnection = (Connection<TcpStream>, Time);

/// Idle connections.
#[derive(Clone, Default)]
pub(super) struct ServerConnections(Rc<RefCell<BTreeMap<SocketAddr, Vec<KeptConnection>>>>);

/// A response whose body is still to come.
pub(super) struct ServerResponse {
    pub(super) head: Response<()>,
    pub(super) length: Option<u64>,
    body: Incoming<TcpStream>,
    home: ServerConnections,
    target: SocketAddr,
}

impl ServerConnections {
    /// Sends a request without a body to `target`. It is resent if it went by an idle connection that the server had closed meanwhile. `inform`
    /// is called with interim responses.
    pub(super) async fn fetch(
        &self,
        target: SocketAddr,
        request: &Request<()>,
        patience: Duration,
        inform: &mut dyn FnMut(Response<()>),
    ) -> Result<ServerResponse, RequestError> {
        if let Some(kept) = self.take(target) {
            match self.exchange(kept, target, request, inform).await {
                Err(RequestError::Unanswered(_)) => {}
                answered => return answered,
            }
        }
        let tcp = split::connect(target, patience).await.map_err(RequestError::Unanswered)?;
        self.exchange(Connection::new(tcp, Settings::default()), target, request, inform).await
    }

    async fn exchange(
        &self,
        connection: Connection<TcpStream>,
        target: SocketAddr,
        request: &Request<()>,
        inform: &mut dyn FnMut(Response<()>),
    ) -> Result<ServerResponse, RequestError> {
        let exchange = connection.exchange_informed(request, None, inform);
        let exchange = world::timeout(SILENCE, exchange).await;
        let late = |elapsed| RequestError::Broken(io::Error::new(io::ErrorKind::TimedOut, elapsed));
        let (head, length, body) = exchange.map_err(late)??;
        Ok(ServerResponse { head, length, body, home: self.clone(), target })
    }

    fn take(&self, target: SocketAddr) -> Option<Connection<TcpStream>> {
        let now = world::now();
        let mut all = self.0.borrow_mut();
        // Every lookup sweeps: no timer is needed for idle connections.
        all.retain(|_, kept| {
            kept.retain(|(_, since)| now.since(*since) < IDLE);
            !kept.is_empty()
        });
        let kept = all.get_mut(&target)?;
        loop {
            let (mut connection, _) = kept.pop()?;
            if connection.is_reusable() {
                return Some(connection);
            }
        }
    }

    fn keep(&self, target: SocketAddr, connection: Connection<TcpStream>) {
        let mut all = self.0.borrow_mut();
        let kept = all.entry(target).or_default();
        if kept.len() < IDLE_TO_ONE {
            kept.push((connection, world::now()));
        }
    }
}

impl ServerResponse {
    /// The next piece of the body; `None` at its end.
    ///
    /// # Errors
    /// If it broke off.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, BodyError> {
        let next = std::future::poll_fn(|cx| self.body.poll_next(cx));
        world::timeout(SILENCE, next).await.map_err(|_| BodyError::Stalled)?.transpose()
    }

    /// Returns the connection, if it can be reused.
    pub(super) fn finish(self) {
        if let Some(connection) = self.body.into_connection() {
            self.home.keep(self.target, connection);
        }
    }
}

/// A response that is sent as it arrives.
pub(super) struct RelayedResponse<'a> {
    stream: SendStream<Bytes>,
    deflater: Option<LegDeflater>,
    counters: &'a Counters,
}

impl<'a> RelayedResponse<'a> {
    /// Sends the head of a fetched response. `None` if the near end is gone.
    pub(super) fn begin(
        respond: &mut SendResponse<Bytes>,
        fetched: &ServerResponse,
        deflater: Option<LegDeflater>,
        counters: &'a Counters,
    ) -> Option<RelayedResponse<'a>> {
        let head = to_client(&fetched.head, fetched.length, deflater.is_some());
        let stream = respond.send_response(head, false).ok()?;
        Some(RelayedResponse { stream, deflater, counters })
    }

    /// Sends the next piece of the body. `None` if the near end is gone.
    pub(super) async fn piece(&mut self, piece: Bytes) -> Option<()> {
        let plain_bytes = piece.len() as u64;
        let coded = match &mut self.deflater {
            Some(deflater) => deflater.piece(&piece).ok()?,
            None => piece,
        };
        self.counters.saved_bytes.add(plain_bytes.saturating_sub(coded.len() as u64));
        send(&mut self.stream, coded).await
    }

    /// Ends the body; the stream may stay open behind it.
    pub(super) async fn body_end(&mut self) -> Option<()> {
        match self.deflater.take() {
            Some(deflater) => send(&mut self.stream, deflater.end().ok()?).await,
            None => Some(()),
        }
    }

    /// Ends the stream.
    pub(super) fn end(mut self) {
        drop(self.stream.send_data(Bytes::new(), true));
    }

    /// Resets the stream: a truncated response must not look complete.
    pub(super) fn break_off(mut self) {
        self.stream.send_reset(Reason::INTERNAL_ERROR);
    }
}

/// Gathers a response of at most `most` bytes; `None` if it is larger or broke off.
pub(super) async fn gather(
    mut fetched: ServerResponse,
    most: usize,
) -> Option<(Response<()>, Bytes)> {
    let mut body = Vec::new();
    if fetched.length.is_some_and(|length| length > most as u64) {
        return None;
    }
    loop {
        match fetched.next().await {
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) => {
                let head = fetched.head.clone();
                fetched.finish();
                return Some((head, body.into()));
            }
            Err(_) => return None,
        }
        if body.len() > most {
            return None;
        }
    }
}

/// Sends all of `data` as the stream's window allows; `None` if the stream broke.
pub(super) async fn send(stream: &mut SendStream<Bytes>, mut data: Bytes) -> Option<()> {
    while !data.is_empty() {
        stream.reserve_capacity(data.len().min(PIECE_BYTES));
        let room = poll_fn(|cx| room(stream, cx)).await?;
        let piece = data.split_to(room.min(data.len()));
        stream.send_data(piece, false).ok()?;
    }
    Some(())
}

/// Tells the near end that it must handle this itself.
pub(super) fn fail(respond: &mut SendResponse<Bytes>, status: StatusCode) {
    let mut response = Response::new(());
    *response.status_mut() = status;
    // Without this field it would look like the server's own answer.
    response.headers_mut().insert(message::FAILED, http::HeaderValue::from_static("1"));
    drop(respond.send_response(response, true));
}

/// A client's request in the form for a server: origin form, to the requested host.
pub(super) fn to_server(mut request: Request<()>) -> Request<()> {
    message::strip_hop(request.headers_mut());
    *request.version_mut() = http::Version::HTTP_11;
    request
}

/// A server's response in its form for the leg.
pub(super) fn to_client(
    head: &Response<()>,
    length: Option<u64>,
    is_deflated: bool,
) -> Response<()> {
    let mut head = head.clone();
    message::strip_hop(head.headers_mut());
    *head.version_mut() = http::Version::HTTP_2;
    let fields = head.headers_mut();
    if let Some(length) = length {
        fields.insert(message::LENGTH, length.into());
    }
    if is_deflated {
        fields.insert(message::CODING, message::DEFLATE);
    }
    head
}
