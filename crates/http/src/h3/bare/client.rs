//! The client's side of a connection.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use quinn::crypto::rustls::QuicClientConfig;
use world::BatchSocket;

use super::Settings;
use super::connection::Connection;
use crate::h3::account;
use crate::h3::endpoint::{self, Draws};
use crate::h3::qlog::Log;
use crate::h3::socket::Socket;

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
    settings: &Settings,
) -> io::Result<Connection> {
    let opened_at = world::now();
    let socket = BatchSocket::connect(address)?;
    let local = socket.local_addr()?;
    let mut draws = Draws::at(local);
    let socket = settings.over(Socket::own(socket));
    let endpoint = endpoint::open_over(socket, draws.endpoint_config(), None)?;
    let (watch, log) = (account::watch(), Log::open());
    let mut transport = settings.config(watch.clone());
    transport.qlog_stream(log.stream());
    let crypto = QuicClientConfig::try_from(crypto).expect("it has the suite of first packets");
    let mut config = quinn::ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport)).token_store(Arc::new(quinn::NoneTokenStore));
    if let Some(id) = draws.initial_id() {
        config.initial_dst_cid_provider(Arc::new(move || id));
    }
    let name = tls::unbracketed(host);
    let connecting = endpoint.connect_with(config, address, name).map_err(io::Error::other)?;
    Ok(Connection::begin(connecting.await?, local, opened_at, watch, log))
}
