//! An HTTP/3 server: a UDP port, its connections, and a task for each request.
//!
//! QUIC itself decides what goes into the next packet, so nothing is held back here: replies are handed over whole and
//! quinn serves streams of equal rank in turn, a packet each.

mod answer;
mod session;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use ::h3::error::{Code, ConnectionError};
use quic::{ServerEndpoint, Steering};
use quinn::VarInt;
use quinn::crypto::rustls::QuicServerConfig;
use thiserror::Error;
use tls::CredentialError;

use super::settings;
pub use session::Incoming;

/// The reason that a connection ended prematurely.
#[derive(Debug, Error)]
pub enum H3ServerError {
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

    /// A server that presents the operator's certificates. It accepts no early data: that can be replayed, and an upstream server could not
    /// tell (RFC 8470).
    ///
    /// # Errors
    /// If TLS rejects its settings.
    pub fn of_operator(
        credentials: &[tls::Credentials],
        settings: settings::Server,
    ) -> Result<Acceptor, CredentialError> {
        Ok(Acceptor::of(tls::operators_quic_config(credentials)?, settings))
    }

    /// A server with this configuration of TLS, which speaks HTTP/3 alone.
    pub fn of(config: rustls::ServerConfig, settings: settings::Server) -> Acceptor {
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
    endpoint: ServerEndpoint,
    settings: RefCell<Arc<settings::Server>>,
}

impl Listener {
    /// Listens at `address`; port 0 picks a free one.
    ///
    /// # Errors
    /// If the address is taken or not ours.
    pub fn bind(address: SocketAddr, acceptor: &Acceptor) -> io::Result<Listener> {
        let Acceptor { crypto, settings } = acceptor;
        let endpoint = ServerEndpoint::bind(address, Arc::clone(crypto), settings.unproven)?;
        Ok(Listener { endpoint, settings: RefCell::new(Arc::clone(settings)) })
    }

    /// Listens at `address` as one `worker` of `steering`, numbered from 0: each does so, on a thread of its own.
    ///
    /// # Errors
    /// If the address is taken or not ours.
    pub fn join(
        address: SocketAddr,
        acceptor: &Acceptor,
        seat: (&Steering, u16),
    ) -> io::Result<Listener> {
        let Acceptor { crypto, settings } = acceptor;
        let endpoint = ServerEndpoint::join(address, Arc::clone(crypto), settings.unproven, seat)?;
        Ok(Listener { endpoint, settings: RefCell::new(Arc::clone(settings)) })
    }

    /// The listening address.
    pub fn local_addr(&self) -> SocketAddr {
        self.endpoint.local_addr()
    }

    /// Uses `acceptor` for connections from now on.
    pub fn take_by(&self, acceptor: &Acceptor) {
        let Acceptor { crypto, settings } = acceptor;
        self.endpoint.reconfigure(Arc::clone(crypto), settings.unproven);
        self.settings.replace(Arc::clone(settings));
    }

    /// The next connection request; none if the socket has failed.
    pub async fn accept(&self) -> Option<Incoming> {
        let request = self.endpoint.accept().await?;
        Some(Incoming { request, settings: Arc::clone(&self.settings.borrow()) })
    }

    /// Waits until all connections are closed.
    pub async fn idle(&self) {
        self.endpoint.idle().await;
    }

    /// Closes all connections without an error, and waits until the clients are told.
    pub async fn close(&self) {
        let code = u32::try_from(Code::H3_NO_ERROR.value()).expect("HTTP/3's codes are small");
        self.endpoint.close(VarInt::from_u32(code)).await;
    }
}
