//! The server's end of TLS.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::{NoServerSessionStorage, ResolvesServerCert, ServerSessionMemoryCache};
use rustls::sign::SingleCertAndKey;
use tokio::io::DuplexStream;
use tokio_rustls::TlsAcceptor;
use world::TcpStream;

use super::early;
use super::identity::{ChainKind, Identity};
use super::model::{self, Modelled};
use super::records::{MAX_RECORD_BYTES, Records};
use super::settings::{Protocol, Resumption, Security, Settings, Version};
use super::stream::Stream;
use crate::determinism::Tickets;
use crate::determinism::TlsClock;
use crate::determinism::provider;

/// Number of tickets that a TLS 1.3 server sends after its handshake: two, as OpenSSL and so most servers.
const TICKETS: usize = 2;

/// Number of sessions remembered by a server that accepts early data: rustls's default.
const SESSIONS: usize = 256;

/// The most early data that a server accepts: the default of OpenSSL's `SSL_CTX_set_recv_max_early_data`.
const EARLY_DATA_BYTES: u32 = 16_384;

/// A server's configuration. Connections do not change it: any number of journeys may share it.
#[derive(Clone, Debug)]
pub struct Server(Handshaker);

#[derive(Clone, Debug)]
enum Handshaker {
    Real { config: Arc<ServerConfig>, buffer_bytes: usize, records: Records },
    Modelled { version: model::Version, settings: Box<Settings> },
}

impl Server {
    /// A server with all of `settings`; none in clear text.
    pub fn of(security: Security, settings: &Settings) -> Option<Server> {
        let version = match security {
            Security::None => return None,
            Security::Tls12 => Version::Tls12,
            Security::Tls13 => Version::Tls13,
            Security::Modelled(Modelled { version, .. }) => {
                let settings = Box::new(settings.clone());
                return Some(Server(Handshaker::Modelled { version, settings }));
            }
        };
        let Settings { identity, chain, protocols, .. } = settings;
        Some(Server::new(settings, version, *identity, *chain, protocols))
    }

    /// A server of this `version` that presents `identity` and speaks `protocols`, the preferred first.
    pub fn new(
        settings: &Settings,
        version: Version,
        identity: Identity,
        chain: ChainKind,
        protocols: &[Protocol],
    ) -> Server {
        let mut config = config(settings, version, identity, chain, protocols);
        config.max_fragment_size = settings.max_fragment_size();
        match settings.resumption {
            Resumption::Off => {
                config.session_storage = Arc::new(NoServerSessionStorage {});
                config.send_tls13_tickets = 0;
            }
            Resumption::Tickets => {
                config.session_storage = Arc::new(NoServerSessionStorage {});
                config.ticketer = Arc::new(Tickets::new());
            }
            Resumption::EarlyData => {
                config.session_storage = ServerSessionMemoryCache::new(SESSIONS);
                config.max_early_data_size = EARLY_DATA_BYTES;
                config.send_half_rtt_data = true;
            }
        }
        let Settings { buffer_bytes, records, .. } = *settings;
        Server(Handshaker::Real { config: Arc::new(config), buffer_bytes, records })
    }

    /// A server with `config`.
    pub(super) fn configured(config: ServerConfig) -> Server {
        let (buffer_bytes, records) = (MAX_RECORD_BYTES, Records::default());
        Server(Handshaker::Real { config: Arc::new(config), buffer_bytes, records })
    }

    /// Performs the handshake on `tcp`.
    ///
    /// # Errors
    /// If the transport or the handshake fails.
    pub async fn accept(&self, tcp: TcpStream) -> io::Result<Stream> {
        let (config, buffer_bytes, records) = match &self.0 {
            Handshaker::Real { config, buffer_bytes, records } => (config, *buffer_bytes, *records),
            Handshaker::Modelled { version, settings } => {
                return Ok(Stream::modelled(model::accept(tcp, *version, settings).await?));
            }
        };
        let limit = Some(buffer_bytes);
        if config.max_early_data_size > 0 {
            let stream = early::accept(tcp, Arc::clone(config), limit).await?;
            return Ok(Stream::early(stream, records));
        }
        let tls = TlsAcceptor::from(Arc::clone(config))
            .accept_with(tcp, |session| session.set_buffer_limit(limit))
            .await?;
        Ok(Stream::tls(tls.into(), records))
    }
}

impl Server {
    /// Performs the handshake over `pipe` with a client whose real address is `client`.
    ///
    /// # Errors
    /// If the handshake fails, or the TLS is modelled: the model requires TCP.
    pub async fn accept_inside(
        &self,
        pipe: DuplexStream,
        client: Option<SocketAddr>,
    ) -> io::Result<Stream> {
        let Handshaker::Real { config, buffer_bytes, records } = &self.0 else {
            let message = "a modelled TLS runs over TCP alone";
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        };
        let tls = TlsAcceptor::from(Arc::clone(config))
            .accept_with(pipe, |session| session.set_buffer_limit(Some(*buffer_bytes)))
            .await?;
        Ok(Stream::inside(tls, client, *records))
    }
}

/// For QUIC: TLS 1.3 that speaks HTTP/3 alone and accepts early data. It remembers its sessions, unlike [`Server`]:
/// rustls accepts early data only in such resumptions, so that it cannot be replayed.
pub fn quic_config(settings: &Settings) -> ServerConfig {
    let (identity, protocols) = (settings.identity, [Protocol::H3]);
    let mut config = config(settings, Version::Tls13, identity, settings.chain, &protocols);
    // RFC 9001 section 4.6.1: all or nothing; QUIC's own limits hold.
    config.max_early_data_size = u32::MAX;
    config.session_storage = ServerSessionMemoryCache::new(SESSIONS);
    config
}

fn config(
    settings: &Settings,
    version: Version,
    identity: Identity,
    chain: ChainKind,
    protocols: &[Protocol],
) -> ServerConfig {
    let mut certified = identity.certified(chain);
    certified.ocsp = (settings.staple_bytes > 0).then(|| vec![0; settings.staple_bytes]);
    let certificate: Arc<dyn ResolvesServerCert> = Arc::new(SingleCertAndKey::from(certified));
    let clock = Arc::new(TlsClock { start: settings.start });
    let mut config =
        ServerConfig::builder_with_details(provider(&settings.randomness, settings.group), clock)
            .with_protocol_versions(&version.only())
            .expect("ring's suites cover both versions")
            .with_no_client_auth()
            .with_cert_resolver(certificate);
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.alpn().to_vec()).collect();
    config.send_tls13_tickets = TICKETS;
    config
}
