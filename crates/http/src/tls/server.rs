//! The server's end of TLS.

use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::{NoServerSessionStorage, ResolvesServerCert, ServerSessionMemoryCache};
use rustls::sign::SingleCertAndKey;
use tokio_rustls::TlsAcceptor;
use world::TcpStream;

use super::clock::WorldClock;
use super::identity::{Chain, Identity};
use super::provider::provider;
use super::settings::{Protocol, Settings, Version};
use super::stream::Stream;
use super::tickets::Tickets;

/// How many tickets a TLS 1.3 server sends after its handshake: two, as OpenSSL and so most servers.
const TICKETS: usize = 2;

/// How many sessions a QUIC server remembers: rustls's default.
const SESSIONS: usize = 256;

/// A server's configuration. It has no state that a connection changes: any number of journeys may
/// share it.
#[derive(Clone, Debug)]
pub struct Server {
    config: Arc<ServerConfig>,
    buffer_bytes: usize,
}

impl Server {
    /// A server of this `version` that presents `identity` and speaks `protocols`, the preferred first.
    pub fn new(
        settings: &Settings,
        version: Version,
        identity: Identity,
        chain: Chain,
        protocols: &[Protocol],
    ) -> Server {
        let mut config = config(settings, version, identity, chain, protocols);
        config.max_fragment_size = settings.max_fragment_size();
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.ticketer = Arc::new(Tickets::new());
        Server { config: Arc::new(config), buffer_bytes: settings.buffer_bytes }
    }

    /// Shakes hands on `tcp`.
    ///
    /// # Errors
    /// If the transport or the handshake fails.
    pub async fn accept(&self, tcp: TcpStream) -> io::Result<Stream> {
        let limit = Some(self.buffer_bytes);
        let tls = TlsAcceptor::from(Arc::clone(&self.config))
            .accept_with(tcp, |session| session.set_buffer_limit(limit))
            .await?;
        Ok(Stream::tls(tls.into()))
    }
}

/// For QUIC: TLS 1.3 that speaks HTTP/3 alone and takes early data. It remembers its sessions, unlike [`Server`]: rustls takes early data
/// in no other resumption, so that none can be replayed.
pub(crate) fn quic_config(settings: &Settings) -> ServerConfig {
    let (identity, protocols) = (settings.identity, [Protocol::H3]);
    let mut config = config(settings, Version::Tls13, identity, Chain::Whole, &protocols);
    // RFC 9001 section 4.6.1: all or nothing; QUIC's own limits hold.
    config.max_early_data_size = u32::MAX;
    config.session_storage = ServerSessionMemoryCache::new(SESSIONS);
    config
}

fn config(
    settings: &Settings,
    version: Version,
    identity: Identity,
    chain: Chain,
    protocols: &[Protocol],
) -> ServerConfig {
    let certificate: Arc<dyn ResolvesServerCert> =
        Arc::new(SingleCertAndKey::from(identity.certified(chain)));
    let clock = Arc::new(WorldClock { start: settings.start });
    let mut config = ServerConfig::builder_with_details(provider(&settings.randomness), clock)
        .with_protocol_versions(&version.only())
        .expect("ring's suites cover both versions")
        .with_no_client_auth()
        .with_cert_resolver(certificate);
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.alpn().to_vec()).collect();
    config.send_tls13_tickets = TICKETS;
    config
}
