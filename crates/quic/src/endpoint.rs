//! quinn's endpoints in a world: a client's, for one connection, and a server's UDP port.

mod randomness;

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use quinn::crypto::HandshakeTokenKey;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{AsyncUdpSocket, EndpointConfig, TransportConfig, VarInt};
use units::Time;
use world::BatchSocket;

use self::randomness::{EndpointRandomness, WorldDate};
use crate::runtime::{WorldRuntime, WorldSocket};
use crate::steering::Steering;

/// A socket below QUIC, possibly with a layer on it.
pub(crate) type Layered = Arc<dyn AsyncUdpSocket>;

/// A client's endpoint, for one connection.
pub struct ClientEndpoint {
    endpoint: quinn::Endpoint,
    randomness: EndpointRandomness,
    local: SocketAddr,
    peer: SocketAddr,
}

impl ClientEndpoint {
    /// An endpoint for a connection to `peer`.
    ///
    /// # Errors
    /// If the address is unreachable.
    pub fn open(peer: SocketAddr) -> io::Result<ClientEndpoint> {
        ClientEndpoint::open_over(peer, |socket| Arc::new(socket))
    }

    /// The same with a layer on the socket.
    pub(crate) fn open_over(
        peer: SocketAddr,
        layer: impl FnOnce(WorldSocket) -> Layered,
    ) -> io::Result<ClientEndpoint> {
        let socket = BatchSocket::connect(peer)?;
        let local = socket.local_addr()?;
        let mut randomness = EndpointRandomness::at(local);
        let config = randomness.endpoint_config();
        let endpoint = endpoint(layer(WorldSocket::own(socket)), config, None)?;
        Ok(ClientEndpoint { endpoint, randomness, local, peer })
    }

    /// The address of this end.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Begins the handshake with the server, which must satisfy `crypto` as `host`.
    ///
    /// # Errors
    /// If `host` is no valid name.
    ///
    /// # Panics
    /// If `crypto` lacks the suite of QUIC's first packets (AES-128-GCM, TLS 1.3).
    pub fn connect(
        &mut self,
        host: &str,
        crypto: Arc<rustls::ClientConfig>,
        transport: TransportConfig,
    ) -> Result<quinn::Connecting, quinn::ConnectError> {
        let crypto =
            QuicClientConfig::try_from(crypto).expect("it has the suite of QUIC's first packets");
        let mut config = quinn::ClientConfig::new(Arc::new(crypto));
        config.transport_config(Arc::new(transport)).token_store(Arc::new(quinn::NoneTokenStore));
        if let Some(id) = self.randomness.initial_id() {
            config.initial_dst_cid_provider(Arc::new(move || id));
        }
        self.endpoint.connect_with(config, self.peer, tls::unbracketed(host))
    }

    /// Changes the client's address at this time, while `connection`, its only one, is open (connection migration, RFC
    /// 9000 section 9), as when a NAT rebinds it or a network gives it another port. A connection whose handshake is
    /// incomplete stays.
    ///
    /// The server sees packets from elsewhere, follows them and validates the path (PATH_CHALLENGE, section 8.2). Only
    /// the port changes: a host has one IP address in either world. For a server that means a NAT rebinding, after which
    /// quinn keeps the congestion window and the round-trip time (section 9.4 allows it); another IP address would reset
    /// both.
    pub async fn migrate(self, connection: quinn::Connection, at: Time) {
        if at <= world::now() {
            return;
        }
        let span = at.since(world::now());
        if world::timeout(span, connection.closed()).await.is_ok() {
            return;
        }
        // A client that gets no other address keeps its own.
        if let Ok(socket) = BatchSocket::connect(self.peer) {
            let _ = self.endpoint.rebind_abstract(Arc::new(WorldSocket::own(socket)));
        }
    }
}

/// A server's UDP port.
pub struct ServerEndpoint {
    endpoint: quinn::Endpoint,
    config: RefCell<quinn::ServerConfig>,
    address: SocketAddr,
    /// Limit of handshakes under way with unvalidated clients.
    unproven: Cell<Option<usize>>,
    /// Cloned by each handshake under way, to count them.
    handshakes: Rc<()>,
}

impl ServerEndpoint {
    /// Listens at `address`; port 0 picks a free one. While `unproven` handshakes are under way, a client with an
    /// unvalidated address is told to come back with a token (Retry, RFC 9000 section 8.1.2).
    ///
    /// # Errors
    /// If the address is taken or not ours.
    pub fn bind(
        address: SocketAddr,
        crypto: Arc<QuicServerConfig>,
        unproven: Option<usize>,
    ) -> io::Result<ServerEndpoint> {
        ServerEndpoint::bind_over(address, crypto, unproven, |socket| Arc::new(socket))
    }

    /// The same with a layer on the socket.
    pub(crate) fn bind_over(
        address: SocketAddr,
        crypto: Arc<QuicServerConfig>,
        unproven: Option<usize>,
        layer: impl FnOnce(WorldSocket) -> Layered,
    ) -> io::Result<ServerEndpoint> {
        let socket = BatchSocket::bind(address)?;
        let address = socket.local_addr()?;
        let mut randomness = EndpointRandomness::at(address);
        let config = server_config(crypto, randomness.token_key());
        let (socket, own) = (layer(WorldSocket::own(socket)), randomness.endpoint_config());
        let endpoint = endpoint(socket, own, Some(config.clone()))?;
        Ok(ServerEndpoint::new(endpoint, config, address, unproven))
    }

    /// Listens at `address` as one `worker` of `steering`, numbered from 0: each does so, on a thread of its own.
    ///
    /// # Errors
    /// If the address is taken or not ours.
    pub fn join(
        address: SocketAddr,
        crypto: Arc<QuicServerConfig>,
        unproven: Option<usize>,
        (steering, worker): (&Steering, u16),
    ) -> io::Result<ServerEndpoint> {
        let socket = BatchSocket::bind_shared(address)?;
        let address = socket.local_addr()?;
        let seat = steering.seat(address, worker);
        let config = server_config(crypto, steering.token_key());
        let ids = seat.endpoint_config();
        let socket = Arc::new(WorldSocket::shared(socket, seat));
        let endpoint = endpoint(socket, ids, Some(config.clone()))?;
        Ok(ServerEndpoint::new(endpoint, config, address, unproven))
    }

    fn new(
        endpoint: quinn::Endpoint,
        config: quinn::ServerConfig,
        address: SocketAddr,
        unproven: Option<usize>,
    ) -> ServerEndpoint {
        let (config, unproven) = (RefCell::new(config), Cell::new(unproven));
        ServerEndpoint { endpoint, config, address, unproven, handshakes: Rc::default() }
    }

    /// The listening address.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Uses this identity and this limit for connections from now on.
    pub fn reconfigure(&self, crypto: Arc<QuicServerConfig>, unproven: Option<usize>) {
        self.config.borrow_mut().crypto = crypto;
        self.unproven.set(unproven);
    }

    /// The next connection request; none if the socket has failed.
    pub async fn accept(&self) -> Option<ConnectionRequest> {
        loop {
            let incoming = self.endpoint.accept().await?;
            let is_proven = incoming.remote_address_validated();
            let shaking = Rc::strong_count(&self.handshakes) - 1;
            let is_crowded = self.unproven.get().is_some_and(|most| shaking >= most);
            if is_crowded && !is_proven {
                // A client that is really there comes back with the token; no state is kept for others.
                let _ = incoming.retry();
                continue;
            }
            return Some(ConnectionRequest {
                incoming,
                config: self.config.borrow().clone(),
                address: self.address,
                requested_at: world::now(),
                handshake: HandshakeSlot(Rc::clone(&self.handshakes)),
            });
        }
    }

    /// Waits until all connections are closed, and their peers told.
    pub async fn idle(&self) {
        self.endpoint.wait_idle().await;
    }

    /// Closes all connections with an application's code, and waits until the clients are told.
    pub async fn close(&self, code: VarInt) {
        self.endpoint.close(code, b"");
        self.endpoint.wait_idle().await;
    }
}

/// A client's request for a connection.
pub struct ConnectionRequest {
    incoming: quinn::Incoming,
    config: quinn::ServerConfig,
    address: SocketAddr,
    requested_at: Time,
    handshake: HandshakeSlot,
}

/// One of a port's handshakes under way, until dropped.
pub struct HandshakeSlot(#[expect(dead_code, reason = "counted by its clones")] Rc<()>);

/// A server's handshake under way.
pub struct Handshake {
    /// Its future.
    pub connecting: quinn::Connecting,
    /// Time of the request.
    pub requested_at: Time,
    /// Its place among the port's handshakes.
    pub slot: HandshakeSlot,
    /// The port's address.
    pub listening: SocketAddr,
}

impl ConnectionRequest {
    /// The client's address.
    pub fn client(&self) -> SocketAddr {
        self.incoming.remote_address()
    }

    /// Refuses the client at once (CONNECTION_REFUSED, RFC 9000 section 20.1).
    pub fn refuse(self) {
        self.incoming.refuse();
    }

    /// Begins the handshake.
    ///
    /// # Errors
    /// If the client's first packet is invalid.
    pub fn accept(
        mut self,
        transport: TransportConfig,
    ) -> Result<Handshake, quinn::ConnectionError> {
        self.config.transport_config(Arc::new(transport));
        Ok(Handshake {
            connecting: self.incoming.accept_with(Arc::new(self.config))?,
            requested_at: self.requested_at,
            slot: self.handshake,
            listening: self.address,
        })
    }
}

/// The address at which a server has `connection`, accepted on a port bound at `listening`.
pub fn local_addr(connection: &quinn::Connection, listening: SocketAddr) -> SocketAddr {
    SocketAddr::new(connection.local_ip().unwrap_or(listening.ip()), listening.port())
}

fn endpoint(
    socket: Layered,
    config: EndpointConfig,
    server: Option<quinn::ServerConfig>,
) -> io::Result<quinn::Endpoint> {
    quinn::Endpoint::new_with_abstract_socket(config, server, socket, Arc::new(WorldRuntime))
}

fn server_config(
    crypto: Arc<QuicServerConfig>,
    token_key: Arc<dyn HandshakeTokenKey>,
) -> quinn::ServerConfig {
    let mut config = quinn::ServerConfig::new(crypto, token_key);
    config.time_source(Arc::new(WorldDate));
    config
}
