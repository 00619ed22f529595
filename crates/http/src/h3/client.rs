//! An HTTP/3 client's connection: any number of concurrent requests.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use ::h3::client::{RequestStream, SendRequest};
use ::h3::error::{ConnectionError, StreamError};
use ::h3::quic::StreamId;
use bytes::{Buf, Bytes};
use http::Request;
use quic::{Account, ClientEndpoint, Recorder};
use units::Time;

use super::adapter::{
    self, BidiStream, ConnectionMeters, RecvStream, SendStream, SharedMeters, StreamOpener,
};
use super::settings;
use crate::client::stream_limit::StreamLimit;
use crate::client::{ConnectStage, OpenError};
use crate::message::report_coding;
use crate::{Priority, Progress, RequestError, alt_svc};
use tls::ClientSessions;

/// Opens a connection to the server called `host`. The handle sends requests; a task drives the connection until it has ended;
/// this end closes it when the last handle is dropped. With a session to resume it may be used before the server has answered.
///
/// # Errors
/// If the server is unreachable, it does not answer, or the handshake fails.
pub(crate) async fn connect(
    address: SocketAddr,
    host: &str,
    sessions: &ClientSessions,
    settings: &settings::Client,
    observe: &mut impl FnMut(ConnectStage),
) -> Result<Handle, OpenError> {
    let opened_at = world::now();
    let unreachable = |source| OpenError::Connect { address, source };
    let mut endpoint = ClientEndpoint::open(address).map_err(unreachable)?;
    let local = endpoint.local_addr();
    let (transport, recorder) = settings.transport.recorded();
    let connecting = endpoint.connect(host, sessions.quic(), transport).map_err(|error| {
        let source = io::Error::new(io::ErrorKind::InvalidInput, error);
        OpenError::Secure { host: host.to_owned(), source }
    })?;
    let shaken = shake_hands(connecting, settings.early_data).await;
    let connection = shaken.map_err(|error| of_opening(address, host, error))?;
    observe(ConnectStage::Connected);
    observe(ConnectStage::Secured);
    if let Some(at) = settings.migrate_at {
        drop(world::spawn(endpoint.migrate(connection.clone(), at)));
    }
    begin(connection, local, opened_at, recorder, settings).await.map_err(OpenError::Begin)
}

/// Waits for the handshake, unless a session is resumed and early data is allowed.
async fn shake_hands(
    connecting: quinn::Connecting,
    early_data: bool,
) -> Result<quinn::Connection, quinn::ConnectionError> {
    let (connection, complete) = match connecting.into_0rtt() {
        Ok(resumed) => resumed,
        Err(connecting) => return connecting.await,
    };
    if !early_data {
        complete.await;
    }
    connection.close_reason().map_or(Ok(connection), Err)
}

/// Begins HTTP/3 on a connection before its first bytes.
async fn begin(
    connection: quinn::Connection,
    local: SocketAddr,
    opened_at: Time,
    recorder: Recorder,
    settings: &settings::Client,
) -> Result<Handle, RequestError> {
    let tally = ConnectionMeters::shared(settings.header_list_bytes);
    let account = Account::open(&connection, local, opened_at, tally.borrow().counts(), recorder);
    account.established();
    let (mut driver, requests) = ::h3::client::builder()
        .max_field_section_size(settings.header_list_bytes)
        .send_grease(false)
        .build(adapter::Connection::new(&connection, &tally))
        .await
        .map_err(|error| of_connection(&error, false))?;
    // One request at a time opens its stream: requests beyond the server's limit wait here, the most urgent first.
    let stream_limit = StreamLimit::new(1);
    let closing = stream_limit.clone();
    drop(world::spawn(async move {
        // The reason is reported to the requests that fail with it.
        let _ = driver.wait_idle().await;
        closing.close();
        account.close();
    }));
    Ok(Handle { requests, connection, local, tally, stream_limit })
}

/// Sends requests on one connection. Clones share it.
#[derive(Clone)]
pub struct Handle {
    requests: SendRequest<StreamOpener, Bytes>,
    connection: quinn::Connection,
    local: SocketAddr,
    tally: SharedMeters,
    stream_limit: StreamLimit,
}

impl Handle {
    /// The QUIC connection below HTTP/3, for other uses.
    #[cfg(test)]
    pub(super) fn quic(&self) -> &quinn::Connection {
        &self.connection
    }

    /// HTTP/3's own handle, for callers that need more of a response.
    #[cfg(test)]
    pub(super) fn requests(&self) -> SendRequest<StreamOpener, Bytes> {
        self.requests.clone()
    }

    /// Returns true if the connection takes new requests.
    pub fn is_usable(&self) -> bool {
        !self.stream_limit.is_closed() && self.connection.close_reason().is_none()
    }

    /// The address of this end.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Number of times that the server has validated this end's address (PATH_CHALLENGE, RFC 9000 section 8.2).
    pub fn path_challenges(&self) -> u64 {
        self.connection.stats().frame_rx.path_challenge
    }

    /// The smoothed round trip, once the server has been heard of.
    pub fn rtt(&self) -> Option<Duration> {
        let stats = self.connection.stats();
        (stats.udp_rx.datagrams > 0).then_some(stats.path.rtt)
    }

    /// Sends `request` and reports its response to `progress`. At the server's stream limit the request waits, the most
    /// urgent first. Dropping the future ends the stream.
    ///
    /// # Errors
    /// See [`RequestError`].
    pub async fn fetch(
        &self,
        request: &Request<Bytes>,
        priority: Priority,
        progress: &mut dyn Progress,
    ) -> Result<(), RequestError> {
        let head = crate::message::head(request)?;
        let Ok(permit) = self.stream_limit.acquire(priority).await else {
            return Err(RequestError::Unanswered(io::ErrorKind::NotConnected.into()));
        };
        let mut requests = self.requests.clone();
        let stream = requests.send_request(head).await.map_err(|e| of_stream(e, false))?;
        drop(permit);
        progress.admitted();
        let progress = RefCell::new(progress);
        H3Exchange { tally: &self.tally, progress }.run(stream, request.body().clone()).await
    }
}

/// One request and its response.
struct H3Exchange<'a> {
    tally: &'a SharedMeters,
    progress: RefCell<&'a mut dyn Progress>,
}

impl H3Exchange<'_> {
    async fn run(
        &self,
        stream: RequestStream<BidiStream, Bytes>,
        body: Bytes,
    ) -> Result<(), RequestError> {
        let id = stream.id();
        let (up, down) = stream.split();
        let mut upload = pin!(self.upload(id, up, body));
        let mut download = pin!(self.download(id, down));
        let mut uploading = true;
        poll_fn(|cx| {
            // The reason for a stopped upload shows in the response.
            if uploading && upload.as_mut().poll(cx).is_ready() {
                uploading = false;
            }
            download.as_mut().poll(cx)
        })
        .await
    }

    async fn upload(
        &self,
        id: StreamId,
        mut stream: RequestStream<SendStream, Bytes>,
        body: Bytes,
    ) -> Result<(), StreamError> {
        if !body.is_empty() {
            stream.send_data(body).await?;
        }
        stream.finish().await?;
        let sent = self.tally.borrow().sent(id);
        self.progress.borrow_mut().sent(sent.head_bytes, sent.body_bytes);
        Ok(())
    }

    async fn download(
        &self,
        id: StreamId,
        mut stream: RequestStream<RecvStream, Bytes>,
    ) -> Result<(), RequestError> {
        let head = loop {
            let head = stream.recv_response().await.map_err(|e| of_stream(e, false))?;
            if !head.status().is_informational() {
                break head;
            }
        };
        let head_bytes = self.tally.borrow().received(id).head_bytes;
        alt_svc::tell(head.headers(), &mut **self.progress.borrow_mut());
        report_coding(head.headers(), &mut **self.progress.borrow_mut());
        self.progress.borrow_mut().head(head.status().as_u16(), head_bytes);
        let begun = |error| of_stream(error, true);
        while let Some(mut piece) = stream.recv_data().await.map_err(begun)? {
            while piece.has_remaining() {
                let bytes = piece.chunk().len();
                self.progress.borrow_mut().data(piece.chunk());
                piece.advance(bytes);
            }
        }
        stream.recv_trailers().await.map(drop).map_err(begun)
    }
}

fn of_opening(address: SocketAddr, host: &str, error: quinn::ConnectionError) -> OpenError {
    use quinn::ConnectionError as Error;
    let kind = match &error {
        Error::TimedOut => io::ErrorKind::TimedOut,
        Error::Reset | Error::VersionMismatch | Error::CidsExhausted => io::ErrorKind::Other,
        Error::TransportError(_) | Error::ConnectionClosed(_) | Error::ApplicationClosed(_) => {
            let source = io::Error::other(error);
            return OpenError::Secure { host: host.to_owned(), source };
        }
        Error::LocallyClosed => io::ErrorKind::NotConnected,
    };
    OpenError::Connect { address, source: io::Error::new(kind, error) }
}

/// The error reported to the caller; `begun` if the response had begun.
fn of_stream(error: StreamError, begun: bool) -> RequestError {
    match error {
        StreamError::RemoteTerminate { .. } => RequestError::Refused(error.to_string()),
        StreamError::ConnectionError { 0: error, .. } => of_connection(&error, begun),
        StreamError::RemoteClosing { .. } | StreamError::Undefined { .. } => {
            transport(begun, error.to_string())
        }
        _ => RequestError::Protocol(error.to_string()),
    }
}

fn of_connection(error: &ConnectionError, begun: bool) -> RequestError {
    match error {
        ConnectionError::Remote { .. } | ConnectionError::Timeout { .. } => {
            transport(begun, error.to_string())
        }
        ConnectionError::Local { .. } if error.is_h3_no_error() => {
            transport(begun, error.to_string())
        }
        _ => RequestError::Protocol(error.to_string()),
    }
}

fn transport(begun: bool, message: String) -> RequestError {
    let error = io::Error::other(message);
    if begun { RequestError::Broken(error) } else { RequestError::Unanswered(error) }
}
