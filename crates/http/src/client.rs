//! Opening a connection of any protocol.

pub(crate) mod stream_limit;
pub(crate) mod streamed;

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use http::Request;
use thiserror::Error;
use world::TcpStream;

pub use self::streamed::{Incoming, IncomingBody};
use crate::h1::pipeline::Pipeline;
use crate::{Precedence, Progress, PushFilter, RequestError, h1, h2, h3, socks, spdy};
pub use tls::Protocol;
use tls::{ClientSessions, Security, Stream, Version};

/// A connection to be opened.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The address.
    pub address: SocketAddr,
    /// The tunnel to request from the proxy at that address, if any. The next fields then apply to the tunnel's far end.
    pub tunnel: Option<Tunnel>,
    /// The server's name, for TLS.
    pub host: String,
    /// Its security.
    pub security: Security,
    /// The protocol. In clear text by prior knowledge (RFC 9113 section 3.3), else as ALPN negotiates.
    pub protocol: Protocol,
    /// True if HTTP/1.1 requests are pipelined.
    pub pipelined: bool,
    /// TLS sessions and settings.
    pub sessions: ClientSessions,
    /// HTTP/1's settings.
    pub h1: h1::client::Settings,
    /// HTTP/2's settings.
    pub h2: h2::settings::Client,
    /// SPDY's settings.
    pub spdy: spdy::Config,
    /// Cache of its header blocks, for simulations. The default is none.
    pub recall: Option<spdy::Recall>,
    /// HTTP/3's settings.
    pub h3: h3::settings::Client,
    /// The pushed responses of HTTP/2 and SPDY that are wanted; without, pushes are refused.
    pub wanted: Option<PushFilter>,
}

impl Opening {
    /// An opening with the default settings and no sessions to resume.
    pub fn new(address: SocketAddr, host: &str, security: Security, protocol: Protocol) -> Opening {
        Opening {
            address,
            tunnel: None,
            host: host.to_owned(),
            security,
            protocol,
            pipelined: false,
            sessions: ClientSessions::default(),
            h1: h1::client::Settings::default(),
            h2: h2::settings::Client::CHROME,
            spdy: spdy::Config::CLIENT,
            recall: None,
            h3: h3::settings::Client::default(),
            wanted: None,
        }
    }

    /// The same with these TLS sessions.
    #[must_use]
    pub fn sessions(self, sessions: &ClientSessions) -> Opening {
        Opening { sessions: sessions.clone(), ..self }
    }
}

/// A tunnel through a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// The proxy's protocol.
    pub by: TunnelBy,
    /// The host at its far end.
    pub host: String,
    /// The port there.
    pub port: u16,
}

/// The protocol by which a proxy is asked for a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelBy {
    /// By HTTP/1.1's `CONNECT`, in clear text.
    Connect,
    /// By SOCKS5.
    Socks,
}

impl Tunnel {
    /// Requests the tunnel from the proxy at the other end of `tcp`.
    async fn through(&self, tcp: TcpStream) -> Result<TcpStream, RequestError> {
        let Tunnel { by, host, port } = self;
        match by {
            TunnelBy::Connect => h1::client::through(tcp, &format!("{host}:{port}")).await,
            TunnelBy::Socks => {
                let destination = socks::SocksDestination::new(host, *port).ok_or_else(|| {
                    RequestError::Unsendable(format!("SOCKS cannot carry the host name `{host}`"))
                })?;
                socks::client::through(tcp, destination).await
            }
        }
    }
}

/// Progress of opening a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectStage {
    /// The peer at the address has answered: the server, or the proxy on the way to it. Not reported over QUIC.
    Reached,
    /// The transport's handshake is done, and the tunnel, if any, is established.
    Connected,
    /// The TLS handshake is done. Not reported in clear text.
    Secured,
}

/// The reason that a connection could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The transport's handshake failed.
    #[error("no connection to {address}: {source}")]
    Connect {
        /// The address.
        address: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// The proxy refused the tunnel.
    #[error("the proxy at {proxy} refused CONNECT to {}:{}: {source}", tunnel.host, tunnel.port)]
    Tunnel {
        /// The proxy.
        proxy: SocketAddr,
        /// The tunnel.
        tunnel: Tunnel,
        /// The reason.
        source: RequestError,
    },
    /// The TLS handshake failed.
    #[error("the TLS handshake with `{host}` failed: {source}")]
    Secure {
        /// The server's name.
        host: String,
        /// The reason.
        source: io::Error,
    },
    /// The server speaks another protocol.
    #[error("`{host}` does not speak {wanted}: ALPN agreed on {}", agreed.map_or("nothing", Protocol::name))]
    Protocol {
        /// The server's name.
        host: String,
        /// The requested protocol.
        wanted: Protocol,
        /// The server's choice.
        agreed: Option<Protocol>,
    },
    /// HTTP/3 was requested without TLS 1.3.
    #[error(
        "HTTP/3 runs over QUIC, which is secured by TLS 1.3 (RFC 9001) and never by `{security}`: use tls13"
    )]
    Unsecured {
        /// The requested security.
        security: Security,
    },
    /// The protocol could not be started.
    #[error("failed to begin HTTP: {0}")]
    Begin(#[source] RequestError),
}

/// Opens a connection. `observe` receives each stage when it is reached and reads the world's clock if it needs the time.
///
/// # Errors
/// See [`OpenError`].
pub async fn open(
    opening: Opening,
    observe: &mut impl FnMut(ConnectStage),
) -> Result<ClientConnection, OpenError> {
    if opening.protocol == Protocol::H3 {
        return open_quic(&opening, observe).await;
    }
    let Opening {
        address,
        tunnel,
        host,
        security,
        protocol,
        pipelined,
        sessions,
        h1,
        h2,
        spdy,
        recall,
        wanted,
        ..
    } = opening;
    let tcp = TcpStream::connect(address)
        .await
        .map_err(|source| OpenError::Connect { address, source })?;
    observe(ConnectStage::Reached);
    let tcp = match tunnel {
        None => tcp,
        Some(tunnel) => match tunnel.through(tcp).await {
            Ok(tcp) => tcp,
            Err(source) => return Err(OpenError::Tunnel { proxy: address, tunnel, source }),
        },
    };
    observe(ConnectStage::Connected);
    let shaken = match security {
        Security::None => Ok(Stream::plain(tcp)),
        Security::Tls12 => sessions.connect(tcp, &host, Version::Tls12, protocol).await,
        Security::Tls13 => sessions.connect(tcp, &host, Version::Tls13, protocol).await,
        Security::Modelled(model) => sessions.connect_modelled(tcp, &host, model, protocol).await,
    };
    let stream = match shaken {
        Ok(stream) => stream,
        Err(source) => return Err(OpenError::Secure { host, source }),
    };
    if security.is_secure() {
        observe(ConnectStage::Secured);
        // RFC 9113 section 3.2: HTTP/2 over TLS must be negotiated, and so must SPDY. HTTP/1 may go without. Early data
        // use the protocol of the resumed session (RFC 8446 section 4.2.10).
        let agreed = stream.protocol();
        let may_go_without = stream.is_early() || matches!(protocol, Protocol::H10 | Protocol::H1);
        if agreed != Some(protocol) && !(agreed.is_none() && may_go_without) {
            return Err(OpenError::Protocol { host, wanted: protocol, agreed });
        }
    }
    Ok(match protocol {
        Protocol::H1 if pipelined => ClientConnection::Pipelined(Pipeline::new(stream, h1)),
        Protocol::H10 | Protocol::H1 => {
            ClientConnection::H1(Box::new(h1::client::Connection::new(stream, h1)))
        }
        Protocol::H2 => {
            let local = stream.local_addr().ok();
            let (handle, driver) =
                h2::connect_wanting(stream, &h2, wanted).await.map_err(OpenError::Begin)?;
            drop(world::spawn(driver));
            ClientConnection::H2 { handle, local }
        }
        Protocol::Spdy(version) => {
            let local = stream.local_addr().ok();
            let recall = recall.as_ref();
            let (handle, driver) = spdy::connect_wanting(stream, version, spdy, wanted, recall);
            drop(world::spawn(driver));
            ClientConnection::Spdy { handle, local }
        }
        Protocol::H3 => unreachable!("HTTP/3 has no stream below it"),
    })
}

impl ClientConnection {
    /// HTTP on an open stream with the right security: the protocol that ALPN negotiated, else `otherwise`.
    ///
    /// # Errors
    /// If the stream fails.
    pub async fn begin(
        stream: Stream,
        otherwise: Protocol,
        h2: &h2::settings::Client,
    ) -> Result<ClientConnection, OpenError> {
        let local = stream.local_addr().ok();
        match stream.protocol().unwrap_or(otherwise) {
            Protocol::H2 => {
                let (handle, driver) = h2::connect(stream, h2).await.map_err(OpenError::Begin)?;
                drop(world::spawn(driver));
                Ok(ClientConnection::H2 { handle, local })
            }
            _ => {
                let settings = h1::client::Settings::default();
                Ok(ClientConnection::H1(Box::new(h1::client::Connection::new(stream, settings))))
            }
        }
    }
}

/// QUIC includes the TLS handshake: both stages are reached at once.
async fn open_quic(
    opening: &Opening,
    observe: &mut impl FnMut(ConnectStage),
) -> Result<ClientConnection, OpenError> {
    let Opening { address, host, security, sessions, h3, .. } = opening;
    if *security != Security::Tls13 {
        return Err(OpenError::Unsecured { security: *security });
    }
    h3::connect(*address, host, sessions, h3, observe).await.map(ClientConnection::H3)
}

/// A client's connection.
pub enum ClientConnection {
    /// HTTP/1.0 and HTTP/1.1: one request at a time.
    H1(Box<h1::client::Connection<Stream>>),
    /// HTTP/1.1: shared and pipelined, responses in the order of the requests.
    Pipelined(Pipeline<Stream>),
    /// HTTP/2: shared, any number of concurrent requests.
    H2 {
        /// Sends requests.
        handle: h2::Handle,
        /// The address of this end.
        local: Option<SocketAddr>,
    },
    /// SPDY: shared, too.
    Spdy {
        /// Sends requests.
        handle: spdy::Handle,
        /// The address of this end.
        local: Option<SocketAddr>,
    },
    /// HTTP/3: shared, too.
    H3(h3::Handle),
}

impl ClientConnection {
    /// Sends `request` and reports its response to `progress`.
    ///
    /// # Errors
    /// See [`RequestError`].
    pub async fn fetch(
        &mut self,
        request: &Request<Bytes>,
        precedence: impl Into<Precedence>,
        progress: &mut dyn Progress,
    ) -> Result<(), RequestError> {
        let precedence = precedence.into();
        let priority = precedence.level;
        match self {
            ClientConnection::H1(connection) => {
                progress.admitted();
                connection.fetch(request, priority, progress).await
            }
            ClientConnection::Pipelined(pipeline) => {
                pipeline.fetch(request, priority, progress).await
            }
            ClientConnection::H2 { handle, .. } => {
                handle.fetch(request, precedence, progress).await
            }
            ClientConnection::Spdy { handle, .. } => {
                handle.fetch(request, precedence, progress).await
            }
            ClientConnection::H3(handle) => handle.fetch(request, priority, progress).await,
        }
    }

    /// Returns true if another request may be sent.
    pub fn is_reusable(&mut self) -> bool {
        match self {
            ClientConnection::H1(connection) => connection.is_reusable(),
            ClientConnection::Pipelined(pipeline) => pipeline.is_usable(),
            ClientConnection::H2 { handle, .. } => handle.is_usable(),
            ClientConnection::Spdy { handle, .. } => handle.is_usable(),
            ClientConnection::H3(handle) => handle.is_usable(),
        }
    }

    /// Returns true if requests can share it.
    pub fn is_shared(&self) -> bool {
        !matches!(self, ClientConnection::H1(_))
    }

    /// The server's limit of concurrent requests, if requests share the connection and the limit is known.
    pub fn most_requests(&self) -> Option<usize> {
        match self {
            ClientConnection::H2 { handle, .. } => Some(handle.most_streams()),
            _ => None,
        }
    }

    /// Another handle of the same connection, if requests can share it.
    pub fn share(&self) -> Option<ClientConnection> {
        match self {
            ClientConnection::H1(_) => None,
            ClientConnection::Pipelined(pipeline) => {
                Some(ClientConnection::Pipelined(pipeline.clone()))
            }
            ClientConnection::H2 { handle, local } => {
                Some(ClientConnection::H2 { handle: handle.clone(), local: *local })
            }
            ClientConnection::Spdy { handle, local } => {
                Some(ClientConnection::Spdy { handle: handle.clone(), local: *local })
            }
            ClientConnection::H3(handle) => Some(ClientConnection::H3(handle.clone())),
        }
    }

    /// The address of this end.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        match self {
            ClientConnection::H1(connection) => connection.stream().local_addr().ok(),
            ClientConnection::Pipelined(pipeline) => {
                pipeline.with_stream(|stream| stream.local_addr().ok())
            }
            ClientConnection::H2 { local, .. } | ClientConnection::Spdy { local, .. } => *local,
            ClientConnection::H3(handle) => Some(handle.local_addr()),
        }
    }
}
