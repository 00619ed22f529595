//! The client's end of TLS.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use rustls::client::ClientSessionMemoryCache;
use tokio_rustls::TlsConnector;
use world::TcpStream;

use super::clock::WorldClock;
use super::model::{self, Modelled};
use super::name::server_name;
use super::provider::provider;
use super::records::Records;
use super::settings::{Protocol, Resumption, Settings, Version};
use super::stream::Stream;
use super::trust::FixedLeaves;

/// Number of servers whose sessions a client remembers.
const SESSIONS: usize = 256;

/// A client's settings and the sessions that it may resume. Clones share both: a journey makes one
/// and keeps it, so that its later visits resume; a fresh one has no sessions.
#[derive(Clone)]
pub struct ClientSessions(Rc<Inner>);

struct Inner {
    settings: Settings,
    store: Arc<ClientSessionMemoryCache>,
    /// QUIC's sessions: they hold the server's transport parameters, too, and are of no use over TCP.
    quic_store: Arc<ClientSessionMemoryCache>,
    modelled: model::Sessions,
    /// Created on first use, one for each version and protocol.
    configs: RefCell<BTreeMap<(Version, Protocol), Arc<ClientConfig>>>,
}

impl Default for ClientSessions {
    fn default() -> ClientSessions {
        ClientSessions::new(Settings::default())
    }
}

impl fmt::Debug for ClientSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSessions").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}

impl ClientSessions {
    /// A client without sessions.
    pub fn new(settings: Settings) -> ClientSessions {
        let [store, quic_store] =
            [(); 2].map(|()| Arc::new(ClientSessionMemoryCache::new(SESSIONS)));
        let (modelled, configs) = Default::default();
        ClientSessions(Rc::new(Inner { settings, store, quic_store, modelled, configs }))
    }

    /// A client with the same settings that has no sessions.
    #[must_use]
    pub fn without_sessions(&self) -> ClientSessions {
        ClientSessions::new(self.0.settings.clone())
    }

    /// For QUIC: TLS 1.3 that offers HTTP/3 and, with a session to resume, early data.
    pub fn quic(&self) -> Arc<ClientConfig> {
        self.config(Version::Tls13, Protocol::H3)
    }

    /// Performs the handshake on `tcp` with the server called `host`, offering `protocol` (and HTTP/1.1 beside HTTP/2
    /// or SPDY, as browsers do). The server's choice is [`Stream::protocol`].
    ///
    /// # Errors
    /// If `host` is neither a DNS name nor an address, the transport fails or the handshake does.
    pub async fn connect(
        &self,
        tcp: TcpStream,
        host: &str,
        version: Version,
        protocol: Protocol,
    ) -> io::Result<Stream> {
        let name = server_name(host)?;
        let limit = Some(self.0.settings.buffer_bytes);
        let tls = TlsConnector::from(self.config(version, protocol))
            .early_data(self.0.settings.resumption == Resumption::EarlyData)
            .connect_with(name, tcp, |session| session.set_buffer_limit(limit))
            .await?;
        Ok(Stream::tls(tls.into(), Records::default()))
    }

    /// Like [`ClientSessions::connect`], with modelled TLS.
    pub async fn connect_modelled(
        &self,
        tcp: TcpStream,
        host: &str,
        modelled: Modelled,
        protocol: Protocol,
    ) -> io::Result<Stream> {
        let Inner { settings, modelled: sessions, .. } = &*self.0;
        let offered = offered(protocol);
        let stream = model::connect(tcp, host, modelled, offered, settings, sessions).await?;
        Ok(Stream::modelled(stream))
    }

    fn config(&self, version: Version, protocol: Protocol) -> Arc<ClientConfig> {
        let mut configs = self.0.configs.borrow_mut();
        let config = configs.entry((version, protocol));
        Arc::clone(config.or_insert_with(|| Arc::new(self.0.config(version, protocol))))
    }
}

impl Inner {
    fn config(&self, version: Version, protocol: Protocol) -> ClientConfig {
        static TRUST: OnceLock<Arc<FixedLeaves>> = OnceLock::new();
        let provider = provider(&self.settings.randomness);
        let algorithms = provider.signature_verification_algorithms;
        let trust = TRUST.get_or_init(|| Arc::new(FixedLeaves { algorithms }));
        let clock = Arc::new(WorldClock { start: self.settings.start });
        let mut config = ClientConfig::builder_with_details(provider, clock)
            .with_protocol_versions(&version.only())
            .expect("ring's suites cover both versions")
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(trust) as _)
            .with_no_client_auth();
        let offered = offered(protocol);
        config.alpn_protocols = offered.iter().map(|protocol| protocol.alpn().to_vec()).collect();
        if protocol == Protocol::H3 {
            // QUIC carries in its own packets what TLS puts into records.
            config.resumption = self.resumption(&self.quic_store);
            config.enable_early_data = true;
        } else {
            config.resumption = self.resumption(&self.store);
            config.enable_early_data = self.settings.resumption == Resumption::EarlyData;
            config.max_fragment_size = self.settings.max_fragment_size();
        }
        config
    }

    fn resumption(&self, store: &Arc<ClientSessionMemoryCache>) -> rustls::client::Resumption {
        match self.settings.resumption {
            Resumption::Off => rustls::client::Resumption::disabled(),
            _ => rustls::client::Resumption::store(Arc::clone(store) as _),
        }
    }
}

/// The protocols that a client offers to speak `protocol`.
fn offered(protocol: Protocol) -> Vec<Protocol> {
    match protocol {
        // ALPN is eighteen years younger than HTTP/1.0.
        Protocol::H10 => Vec::new(),
        Protocol::H1 => vec![Protocol::H1],
        Protocol::H2 | Protocol::Spdy(_) => vec![protocol, Protocol::H1],
        Protocol::H3 => vec![Protocol::H3],
    }
}
