//! The client's end of TLS.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;
use world::TcpStream;

use super::clock::WorldClock;
use super::provider::provider;
use super::settings::{Protocol, Settings};
use super::stream::Stream;
use super::trust::FixedLeaves;

/// How many servers' sessions a client remembers.
const SESSIONS: usize = 64;

/// A client's configuration and its sessions. Clones share both: a journey makes one and keeps it, so
/// that its later visits resume; a fresh one has no sessions.
#[derive(Clone, Debug)]
pub struct Client {
    h1: Arc<ClientConfig>,
    h2: Arc<ClientConfig>,
    buffer_bytes: usize,
}

impl Client {
    /// A client without sessions.
    pub fn new(settings: &Settings) -> Client {
        let base = base(settings);
        let mut h1 = base.clone();
        h1.alpn_protocols = vec![Protocol::H1.alpn().to_vec()];
        let mut h2 = base;
        h2.alpn_protocols = vec![Protocol::H2.alpn().to_vec(), Protocol::H1.alpn().to_vec()];
        Client { h1: Arc::new(h1), h2: Arc::new(h2), buffer_bytes: settings.buffer_bytes }
    }

    /// Shakes hands on `tcp` with the server called `host`, offering `protocol` (and HTTP/1.1 beside
    /// HTTP/2, as browsers do). What the server chose is [`Stream::protocol`].
    ///
    /// # Errors
    /// If `host` is neither a DNS name nor an address, the transport fails or the handshake does.
    pub async fn connect(
        &self,
        tcp: TcpStream,
        host: &str,
        protocol: Protocol,
    ) -> io::Result<Stream> {
        let name = ServerName::try_from(host).map_err(|_| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("`{host}` is neither a DNS name nor an address that TLS could ask for"),
            )
        })?;
        let config = match protocol {
            Protocol::H1 => &self.h1,
            Protocol::H2 => &self.h2,
        };
        let limit = Some(self.buffer_bytes);
        let tls = TlsConnector::from(Arc::clone(config))
            .connect_with(name.to_owned(), tcp, |session| session.set_buffer_limit(limit))
            .await?;
        Ok(Stream::tls(tls.into()))
    }
}

/// All but the names of protocols.
fn base(settings: &Settings) -> ClientConfig {
    static TRUST: OnceLock<Arc<FixedLeaves>> = OnceLock::new();
    let provider = provider(&settings.randomness);
    let algorithms = provider.signature_verification_algorithms;
    let trust = TRUST.get_or_init(|| Arc::new(FixedLeaves { algorithms }));
    let clock = Arc::new(WorldClock { start: settings.start });
    let mut config = ClientConfig::builder_with_details(provider, clock)
        .with_protocol_versions(&settings.versions())
        .expect("ring's suites cover both versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(trust) as _)
        .with_no_client_auth();
    config.resumption = Resumption::in_memory_sessions(SESSIONS);
    config.max_fragment_size = settings.max_fragment_size();
    config
}
