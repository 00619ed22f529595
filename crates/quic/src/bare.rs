//! QUIC without HTTP/3: connections between two cooperating ends, whose streams carry other data.
//!
//! Every stream is bidirectional and opened by the client. Writes are accepted while at most [`UNSENT_BYTES`] wait
//! unsent: data in QUIC can no longer be overtaken.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use units::Time;

use crate::account::{Account, ByteCounts, Recorder};
use crate::endpoint::{
    ClientEndpoint, ConnectionRequest, Handshake, Layered, ServerEndpoint, local_addr,
};
pub use crate::fec::{Fec, FecCounts, MOST as MOST_IN_GROUP};
use crate::fec::{FecSocket, OVERHEAD_BYTES};
use crate::runtime::WorldSocket;
use crate::transport::Transport;

/// Limit of unsent bytes behind those in flight.
const UNSENT_BYTES: u64 = 16 << 10;

/// The largest datagram probed on a path: quinn's default (1,500 less the headers of IPv6 and UDP).
const LARGEST_BYTES: usize = 1_452;

/// The packet reordering threshold (RFC 9002 section 6.1.1).
const OVERTAKING_PACKETS: u32 = 3;

/// The time threshold of loss detection in round trips where parity may restore a packet: 9/8 (RFC 9002 section 6.1.2)
/// leave a group no time.
const PATIENT_TIME_THRESHOLD: f32 = 1.25;

/// The only close code of connections: reasons are given on the streams, if at all.
const OVER: VarInt = VarInt::from_u32(0);

/// Limit of handshakes under way while unvalidated addresses are accepted; beyond it clients get a Retry token (RFC
/// 9000 section 8.1.2).
const UNPROVEN: usize = 100;

/// The settings of one end.
#[derive(Clone, Debug)]
pub struct StreamSettings {
    /// Windows and congestion control.
    pub transport: Transport,
    /// Limit of open streams that the peer has opened.
    pub streams: u32,
    /// Interval of keep-alives.
    pub keep_alive: Duration,
    /// Idle timeout.
    pub idle: Duration,
    /// Forward error correction; both ends must have it, or neither.
    pub fec: Option<Fec>,
}

impl StreamSettings {
    fn recorded(&self) -> (TransportConfig, Recorder) {
        let (mut config, recorder) = self.transport.recorded();
        let idle = IdleTimeout::try_from(self.idle).unwrap_or(VarInt::MAX.into());
        config
            .max_concurrent_bidi_streams(self.streams.into())
            .max_concurrent_uni_streams(VarInt::from_u32(0))
            .keep_alive_interval(Some(self.keep_alive))
            .max_idle_timeout(Some(idle));
        if let Some(fec) = &self.fec {
            let mut probing = MtuDiscoveryConfig::default();
            probing.upper_bound((LARGEST_BYTES - OVERHEAD_BYTES) as u16);
            // A datagram restored by parity comes after the rest of its group, and must not have been declared lost before.
            config
                .mtu_discovery_config(Some(probing))
                .packet_threshold(OVERTAKING_PACKETS + u32::from(fec.every))
                .time_threshold(PATIENT_TIME_THRESHOLD);
        }
        (config, recorder)
    }

    /// The socket below QUIC.
    fn layered(&self, socket: WorldSocket) -> Layered {
        match &self.fec {
            None => Arc::new(socket),
            Some(fec) => Arc::new(FecSocket::new(socket, fec)),
        }
    }
}

/// Opens a connection to `address`, where a server named `host` must satisfy `crypto`. It is usable as soon as this end
/// has completed the handshake: whether the server accepts the client shows afterwards.
///
/// # Errors
/// If the address is unreachable, the server does not answer or the handshake fails.
///
/// # Panics
/// If `crypto` lacks the suite of QUIC's first packets (AES-128-GCM, TLS 1.3).
pub async fn connect(
    address: SocketAddr,
    host: &str,
    crypto: Arc<rustls::ClientConfig>,
    settings: &StreamSettings,
) -> io::Result<StreamConnection> {
    let opened_at = world::now();
    let mut endpoint = ClientEndpoint::open_over(address, |socket| settings.layered(socket))?;
    let (transport, recorder) = settings.recorded();
    let connecting = endpoint.connect(host, crypto, transport).map_err(io::Error::other)?;
    Ok(StreamConnection::begin(connecting.await?, endpoint.local_addr(), opened_at, recorder))
}

/// A UDP port that accepts connections.
pub struct StreamListener {
    endpoint: ServerEndpoint,
    settings: StreamSettings,
}

/// A connection request.
pub struct Incoming {
    request: ConnectionRequest,
    settings: StreamSettings,
}

impl StreamListener {
    /// Listens at `address`, with the identity of `crypto`; port 0 picks a free one.
    ///
    /// # Errors
    /// If the address is taken or not ours.
    ///
    /// # Panics
    /// If `crypto` lacks the suite of QUIC's first packets (AES-128-GCM, TLS 1.3).
    pub fn bind(
        address: SocketAddr,
        crypto: Arc<rustls::ServerConfig>,
        settings: &StreamSettings,
    ) -> io::Result<StreamListener> {
        let crypto =
            QuicServerConfig::try_from(crypto).expect("it has the suite of QUIC's first packets");
        let layer = |socket| settings.layered(socket);
        let endpoint = ServerEndpoint::bind_over(address, Arc::new(crypto), Some(UNPROVEN), layer)?;
        Ok(StreamListener { endpoint, settings: settings.clone() })
    }

    /// The listening address.
    pub fn local_addr(&self) -> SocketAddr {
        self.endpoint.local_addr()
    }

    /// The next connection request; none if the socket has failed.
    pub async fn accept(&self) -> Option<Incoming> {
        let request = self.endpoint.accept().await?;
        Some(Incoming { request, settings: self.settings.clone() })
    }

    /// Waits until all connections are closed, and their peers told.
    pub async fn idle(&self) {
        self.endpoint.idle().await;
    }
}

impl Incoming {
    /// Refuses it at once (CONNECTION_REFUSED, RFC 9000 section 20.1).
    pub fn refuse(self) {
        self.request.refuse();
    }

    /// Completes the handshake.
    ///
    /// # Errors
    /// If the peer fails the handshake.
    pub async fn accept(self) -> io::Result<StreamConnection> {
        let (transport, recorder) = self.settings.recorded();
        let Handshake { connecting, requested_at, listening, slot: _slot } =
            self.request.accept(transport)?;
        let quic = connecting.await?;
        let local = local_addr(&quic, listening);
        Ok(StreamConnection::begin(quic, local, requested_at, recorder))
    }
}

/// A connection. Clones share it; when the last is dropped and no stream is left, it is closed.
#[derive(Clone)]
pub struct StreamConnection(Rc<ConnectionState>);

/// The state that a connection's streams share.
struct ConnectionState {
    quic: quinn::Connection,
    counts: Rc<ByteCounts>,
}

impl StreamConnection {
    /// A connection whose handshake is complete, with its account.
    fn begin(
        quic: quinn::Connection,
        local: SocketAddr,
        opened_at: Time,
        recorder: Recorder,
    ) -> StreamConnection {
        let counts = Rc::default();
        let account = Account::open(&quic, local, opened_at, &counts, recorder);
        account.established();
        let over = quic.clone();
        drop(world::spawn(async move {
            over.closed().await;
            account.close();
        }));
        StreamConnection(Rc::new(ConnectionState { quic, counts }))
    }

    /// Opens a stream; none if the connection is lost, or the peer's stream limit is reached.
    pub fn open(&self) -> Option<Stream> {
        let mut cx = Context::from_waker(Waker::noop());
        match pin!(self.0.quic.open_bi()).poll(&mut cx) {
            Poll::Ready(Ok(both)) => Some(Stream::new(both, Rc::clone(&self.0))),
            Poll::Ready(Err(_)) | Poll::Pending => None,
        }
    }

    /// The next stream opened by the peer.
    ///
    /// # Errors
    /// If the connection is over.
    pub async fn accept(&self) -> io::Result<Stream> {
        Ok(Stream::new(self.0.quic.accept_bi().await?, Rc::clone(&self.0)))
    }

    /// Closes it at once, with all its streams.
    pub fn close(&self) {
        self.0.quic.close(OVER, b"");
    }
}

impl ConnectionState {
    /// Limits streams' writes to the congestion window and a small backlog.
    fn make_room(&self) {
        let in_flight = self.quic.stats().path.cwnd;
        self.quic.set_send_window(in_flight.saturating_add(UNSENT_BYTES));
    }
}

impl Drop for ConnectionState {
    fn drop(&mut self) {
        self.quic.close(OVER, b"");
    }
}

/// The fate of the written bytes after the end: acknowledged, unwanted, or lost with the connection.
type Acknowledged = Pin<Box<dyn Future<Output = io::Result<()>>>>;

/// Both directions of a stream. Dropping it ends the sending direction and stops the receiving one.
pub struct Stream {
    send: quinn::SendStream,
    receive: quinn::RecvStream,
    ended: Option<Acknowledged>,
    connection: Rc<ConnectionState>,
}

impl Stream {
    fn new(
        (send, receive): (quinn::SendStream, quinn::RecvStream),
        connection: Rc<ConnectionState>,
    ) -> Stream {
        Stream { send, receive, ended: None, connection }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(AsyncRead::poll_read(Pin::new(&mut self.receive), cx, buf))?;
        self.connection.counts.add_received(buf.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.connection.make_room();
        let written = ready!(AsyncWrite::poll_write(Pin::new(&mut self.send), cx, bytes))?;
        self.connection.counts.add_sent(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Ends the stream, and waits until all bytes are acknowledged or unwanted: a closed connection retransmits nothing.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.ended.is_none() {
            // It has ended before: the wait is for that end.
            drop(self.send.finish());
            let stopped = self.send.stopped();
            self.ended = Some(Box::pin(async move { Ok(stopped.await.map(drop)?) }));
        }
        self.ended.as_mut().expect("it was put there").as_mut().poll(cx)
    }
}
