//! TLS with third-party servers and clients: the operator's certificates, and certificate verification.
//!
//! Both versions of TLS are spoken, at the peer's choice.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, ProducesTickets, ResolvesServerCert};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, ServerConfig,
    SignatureScheme,
};
use tokio_rustls::TlsConnector;
use world::TcpStream;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

use super::host_certificates::HostCertificates;
use super::records::{MAX_RECORD_BYTES, Records};
use super::server::Server;
use super::settings::{Group, Protocol};
use super::stream::Stream;
use crate::client::server_name;
use crate::determinism::TlsClock;
use crate::determinism::{Randomness, provider};
use crate::identity::FixedLeaves;

/// The problem with certificates or keys.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The text holds no certificate.
    #[error("no certificate found (PEM, `-----BEGIN CERTIFICATE-----`)")]
    NoCertificate,
    /// The text holds no key.
    #[error("no private key found (PEM, PKCS#8, PKCS#1 or SEC1, not encrypted)")]
    NoKey,
    /// The system's authorities are unavailable.
    #[error("cannot read the system's certificate authorities: {0}")]
    NoAuthorities(String),
    /// TLS rejects them.
    #[error("the certificate and the key are unusable: {0}")]
    Refused(#[from] Error),
}

/// An operator's certificate, those above it, and its key.
#[derive(Clone, Debug)]
pub struct Credentials(Arc<CertifiedKey>);

impl Credentials {
    /// Reads them from PEM texts; the operator's own certificate is the first.
    ///
    /// # Errors
    /// If the texts hold no certificate or no key, or they do not match.
    pub fn of_pem(chain: &[u8], key: &[u8]) -> Result<Credentials, CredentialError> {
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| CredentialError::NoKey)?;
        let certified = CertifiedKey::from_der(certificates(chain)?, key, &system_provider())?;
        Ok(Credentials(Arc::new(certified)))
    }
}

impl Server {
    /// A server that presents the certificate of the name that a client asks for, or else the first, and speaks `protocols`, the preferred
    /// first.
    ///
    /// # Errors
    /// If TLS rejects its settings.
    pub fn of_operator(
        credentials: &[Credentials],
        protocols: &[Protocol],
    ) -> Result<Server, CredentialError> {
        Ok(Server::configured(operators_config(credentials, protocols)?))
    }
}

/// For QUIC: TLS 1.3 that presents certificates as [`Server::of_operator`], speaks HTTP/3 alone, resumes sessions and takes no early data.
///
/// # Errors
/// If TLS rejects its settings.
pub fn operators_quic_config(credentials: &[Credentials]) -> Result<ServerConfig, CredentialError> {
    operators_config(credentials, &[Protocol::H3])
}

fn operators_config(
    credentials: &[Credentials],
    protocols: &[Protocol],
) -> Result<ServerConfig, CredentialError> {
    let ticketer = rustls::crypto::ring::Ticketer::new()?;
    Ok(presenting_by(Arc::new(by_name(credentials)), ticketer, protocols)?)
}

/// The certificates by the names that they hold for.
fn by_name(credentials: &[Credentials]) -> HostCertificates {
    let mut hosts = HostCertificates::default();
    for Credentials(certified) in credentials {
        let names = certified.cert.first().map_or(Vec::new(), |own| certificate_names(own));
        hosts.present(&names, certified);
    }
    hosts
}

/// Cryptography with the system's randomness.
fn system_provider() -> Arc<CryptoProvider> {
    provider(&Randomness::System, Group::default())
}

/// A server's configuration that presents `certified`, seals its tickets with `ticketer` and speaks `protocols`, the
/// preferred first.
pub(super) fn presenting(
    certified: CertifiedKey,
    ticketer: Arc<dyn ProducesTickets>,
    protocols: &[Protocol],
) -> Result<ServerConfig, Error> {
    presenting_by(Arc::new(SingleCertAndKey::from(certified)), ticketer, protocols)
}

/// The same with certificates that `resolver` chooses.
pub(super) fn presenting_by(
    resolver: Arc<dyn ResolvesServerCert>,
    ticketer: Arc<dyn ProducesTickets>,
    protocols: &[Protocol],
) -> Result<ServerConfig, Error> {
    let mut config = ServerConfig::builder_with_provider(system_provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(resolver);
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.alpn().to_vec()).collect();
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.ticketer = ticketer;
    Ok(config)
}

/// The authorities that a client trusts.
#[derive(Clone, Debug)]
pub struct Authorities(Arc<dyn ServerCertVerifier>);

impl Authorities {
    /// The machine's: from its package of certificates.
    ///
    /// # Errors
    /// If there are none.
    pub fn of_system() -> Result<Authorities, CredentialError> {
        let loaded = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(loaded.certs);
        if added == 0 {
            let why =
                loaded.errors.first().map_or("none are installed".to_owned(), ToString::to_string);
            return Err(CredentialError::NoAuthorities(why));
        }
        Authorities::of_roots(roots)
    }

    /// The authorities of a PEM text.
    ///
    /// # Errors
    /// If it holds no certificate, or one that is not an authority's.
    pub fn of_pem(text: &[u8]) -> Result<Authorities, CredentialError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(text)? {
            roots.add(certificate)?;
        }
        Authorities::of_roots(roots)
    }

    /// No authorities: every server is refused.
    pub fn none() -> Authorities {
        Authorities(Arc::new(Nobody))
    }

    /// Every certificate is accepted: for test servers with certificates of their own.
    pub fn unverified() -> Authorities {
        let algorithms = system_provider().signature_verification_algorithms;
        Authorities(Arc::new(Anybody { algorithms }))
    }

    /// The fixed keys of our own servers: for simulated ones.
    pub fn fixed() -> Authorities {
        let algorithms = system_provider().signature_verification_algorithms;
        Authorities(Arc::new(FixedLeaves { algorithms }))
    }

    fn of_roots(roots: RootCertStore) -> Result<Authorities, CredentialError> {
        let provider = system_provider();
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| CredentialError::NoAuthorities(error.to_string()))?;
        Ok(Authorities(verifier))
    }
}

/// Refuses every certificate.
#[derive(Debug)]
struct Nobody;

impl ServerCertVerifier for Nobody {
    fn verify_server_cert(
        &self,
        _leaf: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        system_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Accepts every certificate. The server must have its key.
#[derive(Debug)]
struct Anybody {
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _leaf: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// DNS names and addresses that a certificate (DER) holds for; none of one that cannot be read.
pub fn certificate_names(certificate: &[u8]) -> Vec<String> {
    let Ok((_, certificate)) = X509Certificate::from_der(certificate) else { return Vec::new() };
    let Ok(Some(names)) = certificate.subject_alternative_name() else { return Vec::new() };
    let name = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => Some(Ipv4Addr::from(<[u8; 4]>::try_from(*bytes).ok()?).to_string()),
            16 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(*bytes).ok()?).to_string()),
            _ => None,
        },
        _ => None,
    };
    names.value.general_names.iter().filter_map(name).collect()
}

/// The certificates of a PEM text.
pub(super) fn certificates(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, CredentialError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    match read {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(CredentialError::NoCertificate),
    }
}

/// A client of any server, which verifies its certificate. Clones share the sessions to resume.
#[derive(Clone, Debug)]
pub struct PublicClient {
    /// For servers that speak HTTP/1.1.
    h1: Arc<ClientConfig>,
    /// For servers that may choose HTTP/2.
    h2: Arc<ClientConfig>,
}

impl PublicClient {
    /// A client that trusts `authorities`; `start` is the date, since 1970, at which the world's clock began: certificates expire.
    ///
    /// # Errors
    /// If ring's suites covered no version of TLS; they do.
    pub fn new(
        authorities: &Authorities,
        start: std::time::Duration,
    ) -> Result<PublicClient, CredentialError> {
        let config = |protocols: &[Protocol]| -> Result<Arc<ClientConfig>, CredentialError> {
            let clock = Arc::new(TlsClock { start });
            let mut config = ClientConfig::builder_with_details(system_provider(), clock)
                .with_safe_default_protocol_versions()?
                .dangerous()
                .with_custom_certificate_verifier(Arc::clone(&authorities.0))
                .with_no_client_auth();
            config.alpn_protocols = protocols.iter().map(|p| p.alpn().to_vec()).collect();
            Ok(Arc::new(config))
        };
        let (h1, h2) = (config(&[Protocol::H1])?, config(&[Protocol::H2, Protocol::H1])?);
        Ok(PublicClient { h1, h2 })
    }

    /// Performs the handshake on `tcp` with the server called `host`, offering HTTP/1.1 and, if that is the `protocol`, HTTP/2.
    ///
    /// # Errors
    /// If `host` is neither a DNS name nor an address, the transport fails, or the server's identity cannot be verified.
    pub async fn connect(
        &self,
        tcp: TcpStream,
        host: &str,
        protocol: Protocol,
    ) -> io::Result<Stream> {
        let name = server_name(host)?;
        let config = if protocol == Protocol::H2 { &self.h2 } else { &self.h1 };
        let tls = TlsConnector::from(Arc::clone(config))
            .connect_with(name, tcp, |session| {
                session.set_buffer_limit(Some(MAX_RECORD_BYTES));
            })
            .await?;
        Ok(Stream::tls(tls.into(), Records::default()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Issuer, NewAuthority};

    #[test]
    fn each_name_has_the_certificate_that_holds_for_it() {
        let now = Duration::from_secs(1_790_000_000);
        let NewAuthority { certificate, key } = NewAuthority::new(now).unwrap();
        let issuer = Issuer::of_operator(certificate.as_bytes(), key.as_bytes(), &[]).unwrap();
        let made = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            Credentials(Arc::new(issuer.certificate(&names, None, now).unwrap()))
        };
        let all = [made(&["a.test"]), made(&["*.b.test", "b.test"]), made(&["a.test", "c.test"])];
        let hosts = by_name(&all);
        let is = |name: &str, index: usize| {
            hosts.find(name).is_some_and(|found| Arc::ptr_eq(found, &all[index].0))
        };
        assert!(is("a.test", 0) && is("b.test", 1) && is("www.B.test", 1) && is("c.test", 2));
        assert!(hosts.find("d.test").is_none());
        Server::of_operator(&all, &[Protocol::H2, Protocol::H1]).unwrap();
    }
}
