//! The client's end of TLS.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::{fmt, io};

use rustls::ClientConfig;
use rustls::client::ClientSessionMemoryCache;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;
use world::TcpStream;

use super::model::{self, Modelled};
use super::records::Records;
use super::settings::{Protocol, Resumption, Settings, Version};
use super::stream::Stream;
use crate::determinism::TlsClock;
use crate::determinism::provider;
use crate::identity::FixedLeaves;

/// Number of servers whose sessions a client remembers.
const SESSIONS: usize = 256;

/// A client's settings and the sessions that it may resume. Clones share both: a journey makes one
/// and keeps it, so that its later visits resume; a fresh one has no sessions.
#[derive(Clone)]
pub struct ClientSessions(Rc<SessionsInner>);

struct SessionsInner {
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
        ClientSessions(Rc::new(SessionsInner { settings, store, quic_store, modelled, configs }))
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
        let SessionsInner { settings, modelled: sessions, .. } = &*self.0;
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

impl SessionsInner {
    fn config(&self, version: Version, protocol: Protocol) -> ClientConfig {
        static TRUST: OnceLock<Arc<FixedLeaves>> = OnceLock::new();
        let provider = provider(&self.settings.randomness, self.settings.group);
        let algorithms = provider.signature_verification_algorithms;
        let trust = TRUST.get_or_init(|| Arc::new(FixedLeaves { algorithms }));
        let clock = Arc::new(TlsClock { start: self.settings.start });
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

/// The longest label in DNS, in bytes (RFC 1035, section 2.3.4).
const LONGEST_LABEL: usize = 63;

/// The server called `host`: a DNS name or an address, an IPv6 address with or without brackets.
///
/// # Errors
/// If it is neither; the message gives the reason.
pub fn server_name(host: &str) -> io::Result<ServerName<'static>> {
    let name = ServerName::try_from(unbracketed(host)).map(|name| name.to_owned());
    name.map_err(|_| {
        let label = host.split('.').find(|label| label.len() > LONGEST_LABEL);
        let message = match label {
            Some(label) => format!(
                "`{host}` is no host name: its label `{label}` has {} bytes, and DNS allows {LONGEST_LABEL}",
                label.len()
            ),
            None => format!("`{host}` is neither a DNS name nor an address that TLS could ask for"),
        };
        io::Error::new(io::ErrorKind::InvalidInput, message)
    })
}

/// A host as TLS names it: without the brackets that a URL puts around an IPv6 address (RFC 3986, section 3.2.2).
pub fn unbracketed(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Group;

    /// Size of the first flight, with its record's header.
    fn hello_bytes(group: Group) -> usize {
        let settings = Settings { group, ..Settings::default() };
        let config = ClientSessions::new(settings).config(Version::Tls13, Protocol::H2);
        let name = server_name("www.page.test").unwrap();
        let mut connection = rustls::ClientConnection::new(config, name).unwrap();
        let mut hello = Vec::new();
        connection.write_tls(&mut hello).unwrap()
    }

    #[test]
    fn hybrid_key_exchange_fills_a_packet_with_the_hello() {
        let usual = hello_bytes(Group::X25519);
        assert_eq!(usual, 250);
        // Another share of group, size and key, and the group's name among those supported.
        assert_eq!(hello_bytes(Group::X25519MlKem768), usual + 4 + 1216 + 2);
    }

    #[test]
    fn names_and_addresses() {
        for host in ["a.test", "[2001:db8::7]", "2001:db8::7", "192.0.2.1", "a_b.test"] {
            assert!(server_name(host).is_ok(), "{host}");
        }
        assert!(matches!(server_name("[::1]"), Ok(ServerName::IpAddress(_))));
        let long = format!("{}.test", "a".repeat(64));
        let error = server_name(&long).unwrap_err().to_string();
        assert!(error.contains("has 64 bytes, and DNS allows 63"), "{error}");
        assert!(server_name(&format!("{}.test", "a".repeat(63))).is_ok());
        assert!(server_name("a b").is_err());
    }
}
