//! The leg between the two ends: HTTP/2 (RFC 9113) over TLS 1.3 over one TCP connection, or several; or over the streams of one QUIC connection.
//!
//! A carried connection is a `CONNECT` (section 8.5) to the address that its client requested: HTTP/2 gives it a stream with a window
//! of its own, half-close and reset. A page fetched at the far end is a `GET`, and objects that the far end fetches unasked are
//! promises (section 8.4). The near end is the client.
//!
//! Over QUIC (RFC 9000) each carried connection has a QUIC stream, and on it an HTTP/2 connection of its own, so that a lost packet holds up only the
//! connection that it belongs to.

mod channel;
mod settings;
mod tls;

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use quic::bare;
use world::{TcpListener, TcpStream};

pub use quic::bare::{Fec, MOST_IN_GROUP};

use self::channel::LegChannel;
pub(crate) use self::channel::{SharedStream, StreamLease};
pub(crate) use self::settings::PIECE_BYTES;
pub use self::settings::{LegQuic, LegSettings, LegTransport};
pub use self::tls::{KeyError, LegAcceptor, LegConnector, PrivateKey, PublicKey};

/// The near end's leg: its channels.
pub(crate) struct Leg {
    channels: Vec<Rc<LegChannel>>,
    next: Cell<usize>,
}

impl Leg {
    /// Starts a leg of `channels` connections to `far`, kept up from now on.
    pub(crate) fn start(
        far: SocketAddr,
        channels: usize,
        connector: &LegConnector,
        settings: &LegSettings,
    ) -> Leg {
        let start = |_| LegChannel::start(far, connector.clone(), settings.clone());
        Leg { channels: (0..channels.max(1)).map(start).collect(), next: Cell::new(0) }
    }

    /// A lease for the next stream; the channels take turns. `None` if the far end is gone or takes no more streams now:
    /// waiting would mean waiting for another connection to end.
    pub(crate) fn lease(&self) -> Option<StreamLease> {
        let first = self.next.get();
        self.next.set((first + 1) % self.channels.len());
        let (before, from) = self.channels.split_at(first);
        from.iter().chain(before).find_map(|channel| channel.lease())
    }

    /// Returns true if the far end is there.
    pub(crate) fn is_up(&self) -> bool {
        self.channels.iter().any(|channel| channel.is_up())
    }

    /// Waits until all channels are established.
    pub(crate) async fn stood(&self) {
        for channel in &self.channels {
            channel.stood().await;
        }
    }

    /// The shortest round-trip time to the far end; zero before the first measurement.
    pub(crate) fn rtt(&self) -> Duration {
        let measured = self.channels.iter().map(|channel| channel.rtt.least());
        measured.filter(|rtt| !rtt.is_zero()).min().unwrap_or_default()
    }
}

/// Applies `settings` to a socket of the leg.
fn tune(tcp: &TcpStream, settings: &LegSettings) -> io::Result<()> {
    tcp.set_notsent_lowat(settings.notsent_lowat_bytes)?;
    settings.congestion.as_deref().map_or(Ok(()), |name| tcp.set_congestion(name))
}

/// The far end of one channel.
pub(crate) type Accepted = h2::server::Connection<tokio_rustls::TlsStream<TcpStream>, Bytes>;

/// Performs the far end's handshake.
///
/// # Errors
/// If the near end fails the handshake, or takes too long.
pub(crate) async fn accept(
    tcp: TcpStream,
    acceptor: &LegAcceptor,
    settings: &LegSettings,
) -> io::Result<Accepted> {
    let accepting = async {
        tune(&tcp, settings)?;
        let tls = acceptor.accept(tcp).await?;
        settings.server().handshake::<_, Bytes>(tls).await.map_err(io::Error::other)
    };
    within(settings.patience, accepting).await
}

/// An HTTP/2 connection on one stream of a QUIC connection.
pub(crate) type LegStream = h2::server::Connection<bare::Stream, Bytes>;

/// Performs the far end's HTTP/2 handshake on `stream`.
///
/// # Errors
/// If the near end fails the handshake, or takes too long.
pub(crate) async fn accept_stream(
    stream: bare::Stream,
    settings: &LegSettings,
) -> io::Result<LegStream> {
    let accepting = settings.server().handshake::<_, Bytes>(stream);
    within(settings.patience, async { accepting.await.map_err(io::Error::other) }).await
}

/// The output of `future`, if it completes within `span`.
pub(crate) async fn within<T>(
    span: Duration,
    future: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    world::timeout(span, future)
        .await
        .map_err(|elapsed| io::Error::new(io::ErrorKind::TimedOut, elapsed))?
}

/// Completes when the near end no longer answers.
pub(crate) async fn until_gone(pings: h2::PingPong, settings: &LegSettings) {
    channel::watch_peer(pings, settings, &channel::LeastRtt::default(), || {}).await;
}

/// A port that near ends connect to.
#[expect(clippy::large_enum_variant, reason = "a far end has one")]
pub enum LegPort {
    /// A leg over TCP.
    Tcp(TcpListener),
    /// A leg over QUIC.
    Quic(bare::StreamListener),
}

impl LegPort {
    /// Listens at `address`, according to `settings`.
    pub(crate) fn bind(
        address: SocketAddr,
        acceptor: &LegAcceptor,
        settings: &LegSettings,
    ) -> io::Result<LegPort> {
        match &settings.over {
            LegTransport::Tcp => TcpListener::bind(address).map(LegPort::Tcp),
            LegTransport::Quic(quic) => {
                let set = settings.quic(quic);
                bare::StreamListener::bind(address, acceptor.quic(), &set).map(LegPort::Quic)
            }
        }
    }

    /// The listening address.
    ///
    /// # Errors
    /// If the socket has lost its address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            LegPort::Tcp(listener) => listener.local_addr(),
            LegPort::Quic(listener) => Ok(listener.local_addr()),
        }
    }
}
