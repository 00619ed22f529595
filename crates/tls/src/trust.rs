//! Trust in the fixed identities, by their keys, under any name.
//!
//! A simulated visit goes to whatever hosts its page names, all served by us; so the name in the certificate says nothing,
//! and a chain of signatures up to our own root would prove nothing beyond the comparison of the leaf's key. The handshake's
//! signature is verified, so that a server must hold the key. Not for third-party servers: their certificates are refused.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

use super::identity::Identity;

/// Trusts any leaf that holds the key of an [`Identity`].
#[derive(Debug)]
pub(super) struct FixedLeaves {
    pub(super) algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for FixedLeaves {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let known = Identity::ALL.iter().any(|identity| identity.leaf() == leaf);
        if known || holds_our_key(leaf)? {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
        }
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

/// Returns true if the leaf of a generated chain is for one of our keys.
fn holds_our_key(leaf: &CertificateDer<'_>) -> Result<bool, Error> {
    let key = ParsedCertificate::try_from(leaf)?.subject_public_key_info();
    Ok(Identity::ALL.iter().any(|identity| identity.public_key() == key.as_ref()))
}
