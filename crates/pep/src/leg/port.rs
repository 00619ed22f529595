//! A far end's port for near ends.

use std::io;
use std::net::SocketAddr;

use quic::bare;
use world::TcpListener;

use super::{Acceptor, Over, Settings};

/// A port that near ends connect to.
#[expect(clippy::large_enum_variant, reason = "a far end has one")]
pub enum Port {
    /// A leg over TCP.
    Tcp(TcpListener),
    /// A leg over QUIC.
    Quic(bare::Listener),
}

impl Port {
    /// Listens at `address`, according to `settings`.
    pub(crate) fn bind(
        address: SocketAddr,
        acceptor: &Acceptor,
        settings: &Settings,
    ) -> io::Result<Port> {
        match &settings.over {
            Over::Tcp => TcpListener::bind(address).map(Port::Tcp),
            Over::Quic(quic) => {
                let set = settings.quic(quic);
                bare::Listener::bind(address, acceptor.quic(), &set).map(Port::Quic)
            }
        }
    }

    /// The listening address.
    ///
    /// # Errors
    /// If the socket has lost its address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Port::Tcp(listener) => listener.local_addr(),
            Port::Quic(listener) => Ok(listener.local_addr()),
        }
    }
}
