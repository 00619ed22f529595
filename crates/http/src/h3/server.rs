//! An HTTP/3 server: a UDP port, its connections, and a task for each request.
//!
//! QUIC itself decides what goes into the next packet, so nothing is held back here: replies are handed over whole and
//! quinn serves streams of equal rank in turn, a packet each.

mod answer;
mod incoming;
mod open;
mod session;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use ::h3::error::{Code, ConnectionError};
use quinn::VarInt;
use quinn::crypto::rustls::QuicServerConfig;
use thiserror::Error;
use world::BatchSocket;

pub use self::incoming::Incoming;
use self::incoming::Shaking;
use super::endpoint::{self, Draws, WorldDate};
use super::settings;
use super::socket::Socket;
use super::steering::Steering;
use tls::CredentialError;

/// The reason that a connection ended prematurely.
#[derive(Debug, Error)]
pub enum Broken {
    /// QUIC's handshake failed.
    #[error("the QUIC handshake failed: {0}")]
    Handshake(#[from] quinn::ConnectionError),
    /// The client did not complete the handshake in time.
    #[error("the QUIC handshake took too long")]
    Slow,
    /// It failed later.
    #[error("the HTTP/3 connection failed: {0}")]
    Connection(#[from] ConnectionError),
}

/// Settings with which a server accepts connections. Cheap to clone; clones share the sessions that clients may resume.
#[derive(Clone)]
pub struct Acceptor {
    crypto: Arc<QuicServerConfig>,
    settings: Arc<settings::Server>,
}

impl Acceptor {
    /// A server with this identity and these settings.
    pub fn new(tls: &tls::Settings, settings: settings::Server) -> Acceptor {
        Acceptor::of(tls::quic_config(tls), settings)
    }

    /// A server that presents the operator's certificates (PEM), its own first. It accepts no early data: that can be
    /// replayed, and an upstream server could not tell (RFC 8470).
    ///
    /// # Errors
    /// If the texts hold no certificate or no key, or they do not match.
    pub fn of_operator(
        chain: &[u8],
        key: &[u8],
        settings: settings::Server,
    ) -> Result<Acceptor, CredentialError> {
        Ok(Acceptor::of(tls::operators_quic_config(chain, key)?, settings))
    }

    fn of(config: rustls::ServerConfig, settings: settings::Server) -> Acceptor {
        let crypto = QuicServerConfig::try_from(config)
            .expect("our providers have the suite of QUIC's first packets");
        Acceptor { crypto: Arc::new(crypto), settings: Arc::new(settings) }
    }
}

impl fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acceptor").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// A UDP port that accepts QUIC connections.
pub struct Listener {
    endpoint: quinn::Endpoint,
    config: RefCell<quinn::ServerConfig>,
    settings: RefCell<Arc<settings::Server>>,
    address: SocketAddr,
    shaking: Rc<Cell<usize>>,
}

impl Listener {
    /// Listens at `address`; port 0 picks a free one.
    ///
    /// # Errors
    /// If the address is taken or not ours.
    pub fn bind(address: SocketAddr, acceptor: &Acceptor) -> io::Result<Listener> {
        let socket = BatchSocket::bind(address)?;
        let address = socket.local_addr()?;
        let mut draws = Draws::at(address);
        let config = server_config(acceptor, draws.token_key());
        let (socket, own) = (Socket::own(socket), draws.endpoint_config());
        let endpoint = endpoint::open(socket, own, Some(config.clone()))?;
        Ok(Listener::new(endpoint, config, acceptor, address))
    }

    /// Listens at `address` as one `worker` of `steering`, numbered from 0: each does so, on a thread of its own.
    ///
    /// # Errors
    /// If the address is taken or not ours.
    pub fn join(
        address: SocketAddr,
        acceptor: &Acceptor,
        (steering, worker): (&Steering, u16),
    ) -> io::Result<Listener> {
        let socket = BatchSocket::bind_shared(address)?;
        let address = socket.local_addr()?;
        let berth = steering.berth(address, worker);
        let config = server_config(acceptor, steering.token_key());
        let ids = berth.endpoint_config();
        let endpoint = endpoint::open(Socket::shared(socket, berth), ids, Some(config.clone()))?;
        Ok(Listener::new(endpoint, config, acceptor, address))
    }

    fn new(
        endpoint: quinn::Endpoint,
        config: quinn::ServerConfig,
        acceptor: &Acceptor,
        address: SocketAddr,
    ) -> Listener {
        let settings = RefCell::new(Arc::clone(&acceptor.settings));
        let config = RefCell::new(config);
        Listener { endpoint, config, settings, address, shaking: Rc::default() }
    }

    /// The listening address.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Uses `acceptor` for connections from now on.
    pub fn take_by(&self, acceptor: &Acceptor) {
        self.config.borrow_mut().crypto = Arc::clone(&acceptor.crypto) as _;
        self.settings.replace(Arc::clone(&acceptor.settings));
    }

    /// The next connection request; none if the socket has failed.
    pub async fn accept(&self) -> Option<Incoming> {
        loop {
            let incoming = self.endpoint.accept().await?;
            let settings = Arc::clone(&self.settings.borrow());
            let is_proven = incoming.remote_address_validated();
            let is_crowded = settings.unproven.is_some_and(|most| self.shaking.get() >= most);
            if is_crowded && !is_proven {
                // A client that is really there comes back with a token (RFC 9000 section 8.1.2); no state is kept for others.
                let _ = incoming.retry();
                continue;
            }
            return Some(Incoming {
                incoming,
                config: self.config.borrow().clone(),
                settings,
                address: self.address,
                asked_at: world::now(),
                shaking: Shaking::count(&self.shaking),
            });
        }
    }

    /// Waits until all connections are closed.
    pub async fn idle(&self) {
        self.endpoint.wait_idle().await;
    }

    /// Closes all connections without an error, and waits until the clients are told.
    pub async fn close(&self) {
        let code = u32::try_from(Code::H3_NO_ERROR.value()).expect("HTTP/3's codes are small");
        self.endpoint.close(VarInt::from_u32(code), b"");
        self.endpoint.wait_idle().await;
    }
}

fn server_config(
    acceptor: &Acceptor,
    token_key: Arc<dyn quinn::crypto::HandshakeTokenKey>,
) -> quinn::ServerConfig {
    let crypto: Arc<QuicServerConfig> = Arc::clone(&acceptor.crypto);
    let mut config = quinn::ServerConfig::new(crypto, token_key);
    config.time_source(Arc::new(WorldDate));
    config
}
