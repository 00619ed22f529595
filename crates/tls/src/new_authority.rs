//! A new authority for [`Issuer`](super::Issuer): a key and a self-signed certificate.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, KeyPair, KeyUsagePurpose,
    PublicKeyData,
};
use ring::digest::{SHA256, digest};

use super::issuing::{DAY, IssuerError, validity};

/// Validity: a key that its operator forgets does not stay dangerous for long.
const LIFETIME: Duration = Duration::from_secs(2 * 365 * 24 * 60 * 60);

/// A new authority's files.
pub struct NewAuthority {
    /// Its certificate, PEM: clients must trust it.
    pub certificate: String,
    /// Its private key, PEM (PKCS#8, ECDSA with P-256): to be kept secret.
    pub key: String,
}

impl NewAuthority {
    /// Creates an authority, valid for two years from the date `now`, since 1970. It signs leaves only, no further authorities.
    ///
    /// # Errors
    /// If the machine has no randomness.
    pub fn new(now: Duration) -> Result<NewAuthority, IssuerError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name(&key));
        validity(&mut params, now.saturating_sub(DAY), now + LIFETIME)?;
        let certificate = params.self_signed(&key)?;
        Ok(NewAuthority {
            certificate: pem("CERTIFICATE", certificate.der()),
            key: pem("PRIVATE KEY", &key.serialize_der()),
        })
    }
}

/// A unique name per authority, so that clients that know several can tell them apart.
fn name(key: &KeyPair) -> String {
    let hash = digest(&SHA256, key.der_bytes());
    let [a, b, c, d, ..] = hash.as_ref() else { unreachable!("it has 32 bytes") };
    format!("farlink interception {a:02x}{b:02x}{c:02x}{d:02x}")
}

/// PEM encoding (RFC 7468).
fn pem(label: &str, der: &[u8]) -> String {
    const LINE: usize = 64;
    let text = STANDARD.encode(der);
    let mut pem = format!("-----BEGIN {label}-----\n");
    for start in (0..text.len()).step_by(LINE) {
        pem.push_str(&text[start..text.len().min(start + LINE)]);
        pem.push('\n');
    }
    pem + &format!("-----END {label}-----\n")
}
