//! Certificates issued on demand by the operator's authority: for a proxy that terminates its clients' TLS.
//!
//! The host's name and the date are arguments. All leaves share one key, ECDSA with P-256, generated with the issuer
//! and never written anywhere. They are valid for a few days from the day before they are issued, for clients whose
//! clocks are slow, and cached for a day.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, PublicKeyData, SerialNumber,
    date_time_ymd,
};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use rustls::crypto::ring::Ticketer;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::ProducesTickets;
use rustls::sign::{CertifiedKey, SigningKey};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

use super::identity::FILLER;
use super::public::{certificates, presenting};
use super::server::Server;
use super::settings::Protocol;

pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Validity of a leaf from its creation.
const LEAF_LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Number of hosts whose certificates are cached; the oldest is evicted.
const MOST_HOSTS: usize = 1_000;

/// RFC 5280 appendix A.1: `ub-common-name`.
const MOST_COMMON_NAME: usize = 64;

/// The reason that an authority or one of its certificates is unavailable.
#[derive(Debug, thiserror::Error)]
pub enum IssuerError {
    /// The text holds no certificate.
    #[error("no readable certificate found (PEM, `-----BEGIN CERTIFICATE-----`)")]
    NoCertificate,
    /// The certificate is not an authority's.
    #[error("the first certificate is not an authority's: {0}")]
    NoAuthority(&'static str),
    /// The text holds no key.
    #[error(
        "no private key found that signs certificates (PEM, PKCS#8, not encrypted: ECDSA, RSA or Ed25519)"
    )]
    NoKey,
    /// The certificate and the key do not match.
    #[error("the key is not that of the authority's certificate")]
    OtherKey,
    /// The machine has no randomness.
    #[error("the system's random number generator failed")]
    NoRandomness,
    /// The certificate cannot be created.
    #[error("cannot create the certificate: {0}")]
    Unmade(#[from] rcgen::Error),
    /// TLS rejects the certificate.
    #[error("TLS rejects the created certificate: {0}")]
    Refused(#[from] rustls::Error),
}

impl IssuerError {
    /// Returns true if the key is to blame, rather than the certificate.
    pub fn is_of_key(&self) -> bool {
        matches!(self, IssuerError::NoKey | IssuerError::OtherKey)
    }
}

/// An authority that issues certificates. Threads share it.
pub struct Issuer {
    issuer: rcgen::Issuer<'static, KeyPair>,
    /// The authority's own certificate and those above it, which are sent after each leaf.
    above: Vec<CertificateDer<'static>>,
    /// Validity of its own certificate, in seconds since 1970.
    valid: RangeInclusive<i64>,
    leaf_key: KeyPair,
    leaf_signer: Arc<dyn SigningKey>,
    ticketer: Arc<dyn ProducesTickets>,
    protocols: Vec<Protocol>,
    kept: Mutex<BTreeMap<String, CachedCertificate>>,
}

/// A host's cached certificate.
struct CachedCertificate {
    server: Server,
    made: Duration,
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer").field("protocols", &self.protocols).finish_non_exhaustive()
    }
}

impl Issuer {
    /// The operator's authority: its certificate, those above it after it, and its key. Servers speak `protocols`, the
    /// preferred first.
    ///
    /// # Errors
    /// If the texts hold no certificate or no key, the certificate is not an authority's, or certificate and key do not match.
    pub fn of_operator(
        chain: &[u8],
        key: &[u8],
        protocols: &[Protocol],
    ) -> Result<Issuer, IssuerError> {
        let above = certificates(chain).map_err(|_| IssuerError::NoCertificate)?;
        let (valid, public_key) = read(&above[0])?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| IssuerError::NoKey)?;
        let key = KeyPair::try_from(&key).map_err(|_| IssuerError::NoKey)?;
        if key.der_bytes() != public_key {
            return Err(IssuerError::OtherKey);
        }
        let issuer = rcgen::Issuer::from_ca_cert_der(&above[0], key)?;
        let leaf_key = KeyPair::generate()?;
        let private = PrivatePkcs8KeyDer::from(leaf_key.serialize_der());
        Ok(Issuer {
            issuer,
            above,
            valid,
            leaf_signer: any_supported_type(&private.into())?,
            leaf_key,
            ticketer: Ticketer::new()?,
            protocols: protocols.to_vec(),
            kept: Mutex::default(),
        })
    }

    /// Returns true if the authority's own certificate is valid at `now`, since 1970.
    pub fn is_valid_at(&self, now: Duration) -> bool {
        self.valid.contains(&(now.as_secs() as i64))
    }

    /// A server for `host`, a name or an address, at the date `now`, since 1970.
    ///
    /// # Errors
    /// If no certificate can have such a name.
    pub fn server(&self, host: &str, now: Duration) -> Result<Server, IssuerError> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(had) = kept.get(host)
            && now.saturating_sub(had.made) < DAY
        {
            return Ok(had.server.clone());
        }
        let server = self.make(host, now)?;
        if kept.len() >= MOST_HOSTS
            && let Some((oldest, _)) = kept.iter().min_by_key(|(_, kept)| kept.made)
        {
            let oldest = oldest.clone();
            kept.remove(&oldest);
        }
        kept.insert(host.to_owned(), CachedCertificate { server: server.clone(), made: now });
        Ok(server)
    }

    fn make(&self, host: &str, now: Duration) -> Result<Server, IssuerError> {
        let certified = self.certificate(&[host.to_owned()], None, now)?;
        Ok(Server::configured(presenting(certified, self.ticketer(), &self.protocols)?))
    }

    /// A certificate for `hosts`, names or addresses, at the date `now`, since 1970, with those above it. A private extension
    /// pads it until the chain has about `chain_bytes` (signatures vary by a few bytes), where they are not too few.
    ///
    /// # Errors
    /// If no certificate can have such a name.
    pub(super) fn certificate(
        &self,
        hosts: &[String],
        chain_bytes: Option<usize>,
        now: Duration,
    ) -> Result<CertifiedKey, IssuerError> {
        let signed = |filler: usize| -> Result<_, IssuerError> {
            let mut params = leaf(hosts, now)?;
            if filler > 0 {
                let extension = CustomExtension::from_oid_content(&FILLER, vec![0; filler]);
                params.custom_extensions.push(extension);
            }
            Ok(params.signed_by(&self.leaf_key, &self.issuer)?)
        };
        let mut leaf = signed(0)?;
        let chain = self.above.iter().map(|certificate| certificate.len()).sum::<usize>();
        let missing = chain_bytes.unwrap_or(0).saturating_sub(chain + leaf.der().len());
        if missing > FILLER_HEAD_BYTES {
            leaf = signed(missing - FILLER_HEAD_BYTES)?;
        }
        let chain = [&[leaf.der().clone()][..], &self.above].concat();
        Ok(CertifiedKey::new(chain, Arc::clone(&self.leaf_signer)))
    }

    /// The keys of its servers' tickets.
    pub(super) fn ticketer(&self) -> Arc<dyn ProducesTickets> {
        Arc::clone(&self.ticketer)
    }

    /// SHA-256 of the public key of all its leaves (`SubjectPublicKeyInfo`, DER), as for
    /// [`Identity::public_key_sha256`](crate::Identity::public_key_sha256).
    pub fn leaf_key_sha256(&self) -> [u8; 32] {
        let hash = digest(&SHA256, &self.leaf_key.subject_public_key_info());
        hash.as_ref().try_into().expect("SHA-256 has 32 bytes")
    }
}

/// Bytes of the padding extension beside its content: object identifier, lengths, and longer lengths around it.
const FILLER_HEAD_BYTES: usize = 20;

/// Validity of an authority's certificate, in seconds since 1970, and its public key.
fn read(certificate: &[u8]) -> Result<(RangeInclusive<i64>, Vec<u8>), IssuerError> {
    let (_, authority) =
        X509Certificate::from_der(certificate).map_err(|_| IssuerError::NoCertificate)?;
    judge(&authority)?;
    let validity = authority.validity();
    let valid = validity.not_before.timestamp()..=validity.not_after.timestamp();
    Ok((valid, authority.public_key().subject_public_key.data.to_vec()))
}

/// Checks that this is an authority's certificate (RFC 5280 section 4.2.1).
fn judge(certificate: &X509Certificate<'_>) -> Result<(), IssuerError> {
    let constraints = certificate.basic_constraints().ok().flatten();
    if !constraints.is_some_and(|constraints| constraints.value.ca) {
        return Err(IssuerError::NoAuthority("its basicConstraints do not say CA:TRUE"));
    }
    let usage = certificate.key_usage().ok().flatten();
    if usage.is_some_and(|usage| !usage.value.key_cert_sign()) {
        return Err(IssuerError::NoAuthority("its keyUsage does not allow keyCertSign"));
    }
    Ok(())
}

fn leaf(hosts: &[String], now: Duration) -> Result<CertificateParams, IssuerError> {
    let mut params = CertificateParams::new(hosts)?;
    params.distinguished_name = DistinguishedName::new();
    let short = hosts.first().filter(|host| host.len() <= MOST_COMMON_NAME);
    let name = short.map_or("farlink", String::as_str);
    params.distinguished_name.push(DnType::CommonName, name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    validity(&mut params, now.saturating_sub(DAY), now + LEAF_LIFETIME)?;
    Ok(params)
}

/// Sets a certificate's validity, since 1970, and a unique serial number: browsers refuse two certificates with one
/// number from one authority.
pub(super) fn validity(
    params: &mut CertificateParams,
    from: Duration,
    to: Duration,
) -> Result<(), IssuerError> {
    let epoch = date_time_ymd(1970, 1, 1);
    (params.not_before, params.not_after) = (epoch + from, epoch + to);
    let mut serial = [0; 16];
    SystemRandom::new().fill(&mut serial).map_err(|_| IssuerError::NoRandomness)?;
    // Positive, and of fixed length (RFC 5280 section 4.1.2.2).
    serial[0] = serial[0] & 0x7f | 0x40;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    Ok(())
}

/// Validity: a key that its operator forgets does not stay dangerous for long.
const AUTHORITY_LIFETIME: Duration = Duration::from_secs(2 * 365 * 24 * 60 * 60);

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
        validity(&mut params, now.saturating_sub(DAY), now + AUTHORITY_LIFETIME)?;
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

#[cfg(test)]
mod tests {
    use super::{NewAuthority, *};

    const NOW: Duration = Duration::from_secs(1_790_000_000);

    fn issuer() -> Issuer {
        let NewAuthority { certificate, key } = NewAuthority::new(NOW).unwrap();
        Issuer::of_operator(certificate.as_bytes(), key.as_bytes(), &[Protocol::H1]).unwrap()
    }

    #[test]
    fn an_authority_is_told_from_other_certificates() {
        let of = |chain: &str, key: &str| {
            Issuer::of_operator(chain.as_bytes(), key.as_bytes(), &[]).unwrap_err().to_string()
        };
        let (one, other) = (NewAuthority::new(NOW).unwrap(), NewAuthority::new(NOW).unwrap());
        assert!(of(&one.certificate, &other.key).contains("not that of"));
        assert!(of("", &one.key).contains("no readable certificate"));
        assert!(of(&one.certificate, &one.certificate).contains("no private key"));
        let leaf = include_str!("../assets/rsa-chain.pem");
        let key = include_str!("../assets/rsa-key.pem");
        assert!(of(leaf, key).contains("CA:TRUE"), "{}", of(leaf, key));
    }

    #[test]
    fn a_leaf_is_for_its_host_and_signed_by_the_authority() {
        let issuer = issuer();
        for host in ["a.test", "127.0.0.1", "::1", &"a".repeat(70)] {
            let leaf =
                leaf(&[host.to_owned()], NOW).unwrap().signed_by(&issuer.leaf_key, &issuer.issuer);
            let leaf = leaf.unwrap();
            let (_, read) = X509Certificate::from_der(leaf.der()).unwrap();
            let (_, authority) = X509Certificate::from_der(&issuer.above[0]).unwrap();
            read.verify_signature(Some(authority.public_key())).unwrap();
            assert_eq!(read.issuer().as_raw(), authority.subject().as_raw());
            assert!(read.validity().not_before.timestamp() < NOW.as_secs() as i64);
            assert!(!read.is_ca());
            let names = read.subject_alternative_name().unwrap().unwrap();
            assert_eq!(names.value.general_names.len(), 1, "{host}");
        }
    }

    #[test]
    fn certificates_are_kept_for_a_day_and_not_without_end() {
        let issuer = issuer();
        let count = || issuer.kept.lock().unwrap().len();
        let made = |host: &str| issuer.kept.lock().unwrap()[host].made;
        issuer.server("a.test", NOW).unwrap();
        issuer.server("a.test", NOW + DAY / 2).unwrap();
        assert_eq!(made("a.test"), NOW);
        issuer.server("a.test", NOW + DAY).unwrap();
        assert_eq!((made("a.test"), count()), (NOW + DAY, 1));
        for number in 0..MOST_HOSTS {
            issuer.server(&format!("{number}.test"), NOW + 2 * DAY).unwrap();
        }
        assert_eq!(count(), MOST_HOSTS);
        assert!(!issuer.kept.lock().unwrap().contains_key("a.test"), "the oldest is forgotten");
    }

    #[test]
    fn an_authority_is_valid_for_its_time() {
        let issuer = issuer();
        assert!(issuer.is_valid_at(NOW) && !issuer.is_valid_at(NOW - 2 * DAY));
        assert!(!issuer.is_valid_at(NOW + 3 * 365 * DAY));
    }
}
