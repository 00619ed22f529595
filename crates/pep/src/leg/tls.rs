//! TLS 1.3 between the two ends: raw public keys (RFC 7250), each end's pinned at the other.
//!
//! Client and server both prove possession of the key that the other was given. Sessions are not resumed: a leg lasts for hours, and
//! secrets that are not kept cannot be stolen. The protocol's name in ALPN includes its version: ends of different versions fail the
//! handshake.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::ring::default_provider;
use rustls::crypto::ring::sign::any_eddsa_type;
use rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{
    CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::time_provider::TimeProvider;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    SignatureScheme,
};
use thiserror::Error;
use tls::PLAN_START;
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};
use units::Time;
use world::TcpStream;

/// The protocol and its version.
const ALPN: &[u8] = b"farlink-pep/1";

/// Limit of buffered plaintext while TCP has not taken earlier ciphertext: data here can no longer be overtaken.
const BUFFER_BYTES: usize = 16 * 1024;

/// TLS clients must name a server; the name is not checked.
pub(super) const FAR_NAME: &str = "far.farlink.invalid";

/// The client's end: the near half of the proxy.
#[derive(Clone)]
pub struct LegConnector(Arc<ClientConfig>);

/// The server's end: the far half.
#[derive(Clone)]
pub struct LegAcceptor(Arc<ServerConfig>);

impl LegConnector {
    /// A connector with the key `own` that connects only to the owner of `peer`.
    ///
    /// # Panics
    /// Never: ring has suites of TLS 1.3 and takes every key of Ed25519.
    pub fn new(own: &PrivateKey, peer: PublicKey) -> LegConnector {
        let mut config = ClientConfig::builder_with_details(Arc::new(default_provider()), clock())
            .with_protocol_versions(&[&TLS13])
            .expect("ring has suites of TLS 1.3")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(PinnedKey::new(peer)))
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(raw(own))));
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.resumption = Resumption::disabled();
        // The far end is known by its key: a name would tell others who it is.
        config.enable_sni = false;
        LegConnector(Arc::new(config))
    }

    /// The configuration for QUIC (RFC 9001), whose handshake is that of TLS 1.3.
    pub(super) fn quic(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0)
    }

    /// Performs the handshake on `tcp`.
    ///
    /// # Errors
    /// If the transport fails, or the far end lacks the key or the version.
    pub async fn connect(&self, tcp: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(FAR_NAME).expect("a DNS name");
        let limit = |session: &mut rustls::ClientConnection| {
            session.set_buffer_limit(Some(BUFFER_BYTES));
        };
        let connector = TlsConnector::from(Arc::clone(&self.0));
        Ok(connector.connect_with(name, tcp, limit).await?.into())
    }
}

impl LegAcceptor {
    /// An acceptor with the key `own` that lets in only the owner of `peer`.
    ///
    /// # Panics
    /// Never, like [`LegConnector::new`].
    pub fn new(own: &PrivateKey, peer: PublicKey) -> LegAcceptor {
        let mut config = ServerConfig::builder_with_details(Arc::new(default_provider()), clock())
            .with_protocol_versions(&[&TLS13])
            .expect("ring has suites of TLS 1.3")
            .with_client_cert_verifier(Arc::new(PinnedKey::new(peer)))
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(raw(own))));
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.send_tls13_tickets = 0;
        LegAcceptor(Arc::new(config))
    }

    /// The configuration for QUIC. There, a client without ALPN fails the handshake (RFC 9001 section 8.1).
    pub(super) fn quic(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0)
    }

    /// Performs the handshake on `tcp`.
    ///
    /// # Errors
    /// If the transport fails, or the near end lacks the key or the version.
    pub async fn accept(&self, tcp: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let limit = |session: &mut rustls::ServerConnection| {
            session.set_buffer_limit(Some(BUFFER_BYTES));
        };
        let acceptor = TlsAcceptor::from(Arc::clone(&self.0));
        let stream = acceptor.accept_with(tcp, limit).await?;
        // A client without ALPN would pass the handshake.
        if stream.get_ref().1.alpn_protocol() != Some(ALPN) {
            let message = "the near end negotiated no protocol version (ALPN)";
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(stream.into())
    }
}

fn raw(own: &PrivateKey) -> Arc<CertifiedKey> {
    let key = any_eddsa_type(&PrivatePkcs8KeyDer::from(own.pkcs8()));
    let spki = CertificateDer::from(own.public().spki());
    Arc::new(CertifiedKey::new(vec![spki], key.expect("ring takes every key of Ed25519")))
}

/// Verifier that accepts one key only.
#[derive(Debug)]
struct PinnedKey {
    spki: Vec<u8>,
    provider: CryptoProvider,
}

impl PinnedKey {
    fn new(peer: PublicKey) -> PinnedKey {
        PinnedKey { spki: peer.spki(), provider: default_provider() }
    }

    fn check(&self, presented: &CertificateDer<'_>) -> Result<(), Error> {
        if presented.as_ref() == self.spki {
            return Ok(());
        }
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn verify(
        &self,
        message: &[u8],
        presented: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(presented.as_ref());
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(message, &key, signature, algorithms)
    }
}

/// Methods common to the verifiers of servers and of clients. Raw keys are used in TLS 1.3 only.
macro_rules! signatures {
    () => {
        fn verify_tls12_signature(
            &self,
            _message: &[u8],
            _cert: &CertificateDer<'_>,
            _dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Err(Error::General("the leg requires TLS 1.3".to_owned()))
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.verify(message, cert, dss)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }

        fn requires_raw_public_keys(&self) -> bool {
            true
        }
    };
}

impl ServerCertVerifier for PinnedKey {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity).map(|()| ServerCertVerified::assertion())
    }

    signatures!();
}

impl ClientCertVerifier for PinnedKey {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity).map(|()| ClientCertVerified::assertion())
    }

    signatures!();
}

/// Nothing here depends on the date; rustls asks for it anyway, and in a simulated world it must not come from outside.
#[derive(Debug)]
struct LegClock;

impl TimeProvider for LegClock {
    fn current_time(&self) -> Option<UnixTime> {
        let since: Duration = world::now().since(Time::ZERO);
        Some(UnixTime::since_unix_epoch(PLAN_START + since))
    }
}

fn clock() -> Arc<LegClock> {
    Arc::new(LegClock)
}

// Keys: Ed25519 (RFC 8032), written in base64 like WireGuard's.
//
// There are no certificates, no authority and no dates: each end is given the other's public key, and accepts no other.

/// The size of a private key's seed and of a public key.
const BYTES: usize = 32;

/// An end's own key.
#[derive(Clone, PartialEq, Eq)]
pub struct PrivateKey([u8; BYTES]);

/// The public key of the other end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey([u8; BYTES]);

/// An invalid key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// Not base64.
    #[error(
        "a key is 32 bytes in base64, 44 characters ending in `=`: `farlink pep key` makes one"
    )]
    Malformed,
    /// The system provides no random bytes.
    #[error("the system has no random bytes")]
    NoRandomness,
}

impl PrivateKey {
    /// Generates a new key.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn generate() -> Result<PrivateKey, KeyError> {
        let mut seed = [0; BYTES];
        SystemRandom::new().fill(&mut seed).map_err(|_| KeyError::NoRandomness)?;
        Ok(PrivateKey(seed))
    }

    /// The key of this seed. For simulations: anyone who knows the seed has the key.
    pub fn from_seed(seed: [u8; BYTES]) -> PrivateKey {
        PrivateKey(seed)
    }

    /// Its public key.
    ///
    /// # Panics
    /// Never: every seed of this size is a key (RFC 8032 section 5.1.5).
    pub fn public(&self) -> PublicKey {
        let pair = Ed25519KeyPair::from_seed_unchecked(&self.0).expect("any 32 bytes are a seed");
        let public = pair.public_key().as_ref();
        PublicKey(public.try_into().expect("a public key of Ed25519 has 32 bytes"))
    }

    /// The base64 that [`FromStr`] parses. Anyone who has it can pose as this end.
    pub fn reveal(&self) -> String {
        BASE64_STANDARD.encode(self.0)
    }

    /// Encodes it in PKCS #8 (RFC 8410 section 7), the form for rustls.
    fn pkcs8(&self) -> Vec<u8> {
        const HEAD: [u8; 16] =
            [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
        [&HEAD[..], &self.0].concat()
    }
}

impl PublicKey {
    /// Encodes it as a SubjectPublicKeyInfo (RFC 8410 section 4), the form of a raw public key (RFC 7250).
    fn spki(&self) -> Vec<u8> {
        const HEAD: [u8; 12] = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];
        [&HEAD[..], &self.0].concat()
    }
}

fn decode(text: &str) -> Result<[u8; BYTES], KeyError> {
    let bytes = BASE64_STANDARD.decode(text.trim()).map_err(|_| KeyError::Malformed)?;
    bytes.try_into().map_err(|_| KeyError::Malformed)
}

impl FromStr for PrivateKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<PrivateKey, KeyError> {
        decode(text).map(PrivateKey)
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<PublicKey, KeyError> {
        decode(text).map(PublicKey)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64_STANDARD.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

/// Never reveals the key.
impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey(of {})", self.public())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_being_written() {
        let key = PrivateKey::generate().unwrap();
        assert_eq!(key.reveal().parse(), Ok(key.clone()));
        assert_eq!(key.public().to_string().parse(), Ok(key.public()));
        assert!(!format!("{key:?}").contains(&key.reveal()));
        assert_ne!(key, PrivateKey::generate().unwrap());
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in ["", "AAAA", "not base64 at all, and not a key either!!!!!"] {
            assert_eq!(text.parse::<PublicKey>(), Err(KeyError::Malformed), "{text}");
        }
    }

    /// RFC 8032 section 7.1, test 1.
    #[test]
    fn the_public_key_is_the_standards() {
        let seed = "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
        let public = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
        assert_eq!(seed.parse::<PrivateKey>().unwrap().public().to_string(), public);
    }
}
