//! The server's side: a UDP port that accepts connections.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use quinn::crypto::rustls::QuicServerConfig;
use units::Time;
use world::BatchSocket;

use super::Settings;
use super::connection::Connection;
use crate::h3::account;
use crate::h3::endpoint::{self, Draws, WorldDate};
use crate::h3::qlog::Log;
use crate::h3::socket::Socket;

/// Limit of handshakes under way while unvalidated addresses are accepted; beyond it clients get a Retry token (RFC
/// 9000 section 8.1.2).
const UNPROVEN: usize = 100;

/// A UDP port that accepts connections.
pub struct Listener {
    endpoint: quinn::Endpoint,
    config: quinn::ServerConfig,
    settings: Settings,
    address: SocketAddr,
    /// Cloned by each handshake under way, to count them.
    shaking: Rc<()>,
}

/// A connection request.
pub struct Incoming {
    incoming: quinn::Incoming,
    config: quinn::ServerConfig,
    settings: Settings,
    address: SocketAddr,
    asked_at: Time,
    _shaking: Rc<()>,
}

impl Listener {
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
        settings: &Settings,
    ) -> io::Result<Listener> {
        let socket = BatchSocket::bind(address)?;
        let address = socket.local_addr()?;
        let mut draws = Draws::at(address);
        let crypto = QuicServerConfig::try_from(crypto).expect("it has the suite of first packets");
        let mut config = quinn::ServerConfig::new(Arc::new(crypto), draws.token_key());
        config.time_source(Arc::new(WorldDate));
        let (socket, own) = (settings.over(Socket::own(socket)), draws.endpoint_config());
        let endpoint = endpoint::open_over(socket, own, Some(config.clone()))?;
        let (settings, shaking) = (settings.clone(), Rc::default());
        Ok(Listener { endpoint, config, settings, address, shaking })
    }

    /// The listening address.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The next connection request; none if the socket has failed.
    pub async fn accept(&self) -> Option<Incoming> {
        loop {
            let incoming = self.endpoint.accept().await?;
            let is_crowded = Rc::strong_count(&self.shaking) > UNPROVEN;
            if is_crowded && !incoming.remote_address_validated() {
                // No state is kept for a client that does not come back.
                let _ = incoming.retry();
                continue;
            }
            return Some(Incoming {
                incoming,
                config: self.config.clone(),
                settings: self.settings.clone(),
                address: self.address,
                asked_at: world::now(),
                _shaking: Rc::clone(&self.shaking),
            });
        }
    }

    /// Waits until all connections are closed, and their peers told.
    pub async fn idle(&self) {
        self.endpoint.wait_idle().await;
    }
}

impl Incoming {
    /// Refuses it at once (CONNECTION_REFUSED, RFC 9000 section 20.1).
    pub fn refuse(self) {
        self.incoming.refuse();
    }

    /// Completes the handshake.
    ///
    /// # Errors
    /// If the peer fails the handshake.
    pub async fn accept(mut self) -> io::Result<Connection> {
        let (watch, log) = (account::watch(), Log::open());
        let mut transport = self.settings.config(watch.clone());
        transport.qlog_stream(log.stream());
        self.config.transport_config(Arc::new(transport));
        let quic = self.incoming.accept_with(Arc::new(self.config))?.await?;
        let ip = quic.local_ip().unwrap_or(self.address.ip());
        let local = SocketAddr::new(ip, self.address.port());
        Ok(Connection::begin(quic, local, self.asked_at, watch, log))
    }
}
