//! The fixed identities that servers present, their certificate chains, and trust in them.
//!
//! Their keys are public (see `assets/README.md`): they identify a server to farlink's clients and to a browser that was
//! told to trust them, and protect nothing. A chain is a leaf and an intermediate, as on real sites, of the same size for
//! both keys, so that the choice changes the length of the server's flight only by the signature (64 bytes against 256).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, DnType, IsCa, Issuer,
    KeyPair, PublicKeyData, SerialNumber, date_time_ymd,
};
use ring::digest::{SHA256, digest};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::sign::any_supported_type;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

use crate::determinism::EvenSignatures;

/// A server's fixed identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Identity {
    /// Ed25519: every signature has 64 bytes, and it is cheap. For simulated servers.
    Ed25519,
    /// RSA-2048: for browsers, which reject Ed25519.
    Rsa2048,
    /// ECDSA with P-256, as on most of today's servers: its signatures are kept at 71 bytes.
    EcdsaP256,
}

/// The certificates that a server sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChainKind {
    /// Leaf and intermediate: 2,656 bytes of certificates, today's usual size (2 to 4 KB).
    Whole,
    /// The leaf alone: 1,481 bytes, as a server with a self-signed certificate.
    Leaf,
    /// A generated chain of this size, with as many certificates as real chains of the size have.
    OfBytes(usize),
}

/// The size of [`ChainKind::Whole`].
const WHOLE_BYTES: usize = 2_656;

/// The files of one identity, read once a process.
struct Fixture {
    chain: Vec<CertificateDer<'static>>,
    key: Arc<dyn rustls::sign::SigningKey>,
}

impl Identity {
    /// All identities.
    pub(super) const ALL: [Identity; 3] =
        [Identity::Ed25519, Identity::Rsa2048, Identity::EcdsaP256];

    fn fixture(self) -> &'static Fixture {
        static ED25519: OnceLock<Fixture> = OnceLock::new();
        static RSA_2048: OnceLock<Fixture> = OnceLock::new();
        static ECDSA_P256: OnceLock<Fixture> = OnceLock::new();
        match self {
            Identity::Ed25519 => ED25519.get_or_init(|| {
                read(
                    include_bytes!("../assets/ed25519-chain.pem"),
                    include_bytes!("../assets/ed25519-key.pem"),
                )
            }),
            Identity::Rsa2048 => RSA_2048.get_or_init(|| {
                read(
                    include_bytes!("../assets/rsa-chain.pem"),
                    include_bytes!("../assets/rsa-key.pem"),
                )
            }),
            Identity::EcdsaP256 => ECDSA_P256.get_or_init(|| Fixture {
                chain: self.made_chain(WHOLE_BYTES),
                key: EvenSignatures::of(signing_key(self.key_pem().as_bytes())),
            }),
        }
    }

    fn key_pem(self) -> &'static str {
        match self {
            Identity::Ed25519 => include_str!("../assets/ed25519-key.pem"),
            Identity::Rsa2048 => include_str!("../assets/rsa-key.pem"),
            Identity::EcdsaP256 => include_str!("../assets/ecdsa-key.pem"),
        }
    }

    /// The key in the form for making certificates.
    pub(super) fn key_pair(self) -> KeyPair {
        let key = private_key(self.key_pem().as_bytes());
        KeyPair::try_from(&key).expect("the committed key is PKCS#8")
    }

    fn made_chain(self, bytes: usize) -> Vec<CertificateDer<'static>> {
        chain(&self.key_pair(), &Identity::Rsa2048.key_pair(), bytes)
    }

    /// A generated chain, cached for the process.
    fn kept_chain(self, bytes: usize) -> Vec<CertificateDer<'static>> {
        type ChainCache = Mutex<BTreeMap<(Identity, usize), Vec<CertificateDer<'static>>>>;
        static KEPT: ChainCache = Mutex::new(BTreeMap::new());
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        kept.entry((self, bytes)).or_insert_with(|| self.made_chain(bytes)).clone()
    }

    /// The public key, as certificates hold it (`SubjectPublicKeyInfo`, DER).
    pub(super) fn public_key(self) -> Vec<u8> {
        let key = self.fixture().key.public_key().expect("ring's keys tell their public half");
        key.to_vec()
    }

    /// The length of its signatures.
    pub(super) fn signature_bytes(self) -> usize {
        match self {
            Identity::Ed25519 => 64,
            Identity::Rsa2048 => 256,
            Identity::EcdsaP256 => crate::determinism::SIGNATURE_BYTES,
        }
    }

    /// The certificate of the server itself, DER.
    pub(super) fn leaf(self) -> &'static CertificateDer<'static> {
        &self.fixture().chain[0]
    }

    /// The certificates that are sent, DER, the server's own first.
    pub(super) fn chain(self, chain: ChainKind) -> Vec<CertificateDer<'static>> {
        match chain {
            ChainKind::Whole => self.fixture().chain.clone(),
            ChainKind::Leaf => self.fixture().chain[..1].to_vec(),
            ChainKind::OfBytes(bytes) => self.kept_chain(bytes),
        }
    }

    /// Total size of the certificates sent, in bytes.
    pub fn chain_bytes(self, chain: ChainKind) -> usize {
        self.chain(chain).iter().map(|certificate| certificate.len()).sum()
    }

    /// The root that a browser must be told to trust, PEM; `None` if the chain ends below one.
    pub fn root_pem(self) -> Option<&'static str> {
        match self {
            Identity::Ed25519 => Some(include_str!("../assets/ed25519-root.pem")),
            Identity::Rsa2048 => Some(include_str!("../assets/rsa-root.pem")),
            Identity::EcdsaP256 => None,
        }
    }

    /// SHA-256 of the server's public key (`SubjectPublicKeyInfo`, DER): given to Chromium's
    /// `--ignore-certificate-errors-spki-list`, it makes the certificate acceptable under any name.
    pub fn public_key_sha256(self) -> [u8; 32] {
        let hash = digest(&SHA256, &self.public_key());
        hash.as_ref().try_into().expect("SHA-256 has 32 bytes")
    }

    /// The chain and key in rustls's form.
    pub(super) fn certified(self, chain: ChainKind) -> CertifiedKey {
        CertifiedKey::new(self.chain(chain), Arc::clone(&self.fixture().key))
    }
}

/// Parses a chain and its key.
///
/// # Panics
/// If they are not PEM of the right kind: they are compiled in.
fn read(chain: &[u8], key: &[u8]) -> Fixture {
    let chain = CertificateDer::pem_slice_iter(chain)
        .collect::<Result<Vec<_>, _>>()
        .expect("the committed chain is PEM");
    Fixture { chain, key: signing_key(key) }
}

fn private_key(pem: &[u8]) -> PrivateKeyDer<'static> {
    PrivateKeyDer::from_pem_slice(pem).expect("the committed key is PEM")
}

fn signing_key(pem: &[u8]) -> Arc<dyn rustls::sign::SigningKey> {
    any_supported_type(&private_key(pem)).expect("the committed key is Ed25519, RSA or ECDSA")
}

// Certificate chains of a chosen size.
//
// They are real certificates (RFC 5280): a leaf for the identity's key and as many intermediates as real chains of that size
// have, each signed by the public test key for RSA-2048, as today's public CAs sign. A private extension pads them in place
// of the fields of public certificates that they lack (policies, timestamps, names), so that the chain has the chosen size
// to the byte. The chain is not verified up to a root: farlink's clients look at the leaf's key (below).

/// The smallest chain: a leaf with an RSA-2048 key and signature has about 0.8 KB.
pub const LEAST_CHAIN_BYTES: usize = 1_000;
/// The largest: beyond any chain of public CAs, and the certificate message still fits one record.
pub const MOST_CHAIN_BYTES: usize = 12_000;

/// A certificate of usual size; a chain has as many of these as fit.
const USUAL_CERTIFICATE_BYTES: usize = 1_600;

/// The extension that holds the filler: 2.25 is the arc for anybody (ITU-T X.667), as in `assets/generate.sh`.
pub(super) const FILLER: [u64; 3] = [2, 25, 102_976];

/// A chain of `bytes` for the public key `subject`, the leaf first; `issuer_key` signs all of it.
///
/// # Panics
/// If a certificate cannot be made, which means that our own keys are broken.
pub(super) fn chain(
    subject: &impl PublicKeyData,
    issuer_key: &KeyPair,
    bytes: usize,
) -> Vec<CertificateDer<'static>> {
    let bytes = bytes.clamp(LEAST_CHAIN_BYTES, MOST_CHAIN_BYTES);
    let count = bytes.div_ceil(USUAL_CERTIFICATE_BYTES);
    let share = bytes / count;
    (0..count)
        .map(|depth| {
            // The leaf takes the remainder.
            let size = if depth == 0 { bytes - share * (count - 1) } else { share };
            match depth {
                0 => certificate(subject, issuer_key, depth, size),
                _ => certificate(issuer_key, issuer_key, depth, size),
            }
        })
        .collect()
}

/// One certificate of exactly `size` bytes.
fn certificate(
    subject: &impl PublicKeyData,
    issuer_key: &KeyPair,
    depth: usize,
    size: usize,
) -> CertificateDer<'static> {
    let above = named(depth + 1, 0);
    let issuer = Issuer::from_params(&above, issuer_key);
    // DER's length fields grow with their values: the filler converges on the size, and a longer name reaches a size that it skips.
    for slack in 0..8 {
        let mut filler = 0;
        for _ in 0..4 {
            let mut params = named(depth, slack);
            let content = vec![0; filler];
            params.custom_extensions.push(CustomExtension::from_oid_content(&FILLER, content));
            let made = params.signed_by(subject, &issuer).expect("our own keys sign");
            if made.der().len() == size {
                return made.der().clone();
            }
            filler = (filler + size).saturating_sub(made.der().len());
        }
    }
    panic!("no certificate of {size} bytes can be made for a key of this size");
}

/// The subject at this depth of the chain, 0 being the leaf; `slack` letters pad its name.
fn named(depth: usize, slack: usize) -> CertificateParams {
    let mut params = CertificateParams::default();
    let name = match depth {
        0 => "farlink.test".to_owned(),
        _ => format!("farlink test intermediate {depth}"),
    };
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name + &"x".repeat(slack));
    params.not_before = date_time_ymd(2000, 1, 1);
    params.not_after = date_time_ymd(2100, 1, 1);
    params.serial_number = Some(SerialNumber::from(depth as u64 + 1));
    if depth > 0 {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    params
}

// Trust in the fixed identities, by their keys, under any name.
//
// A simulated visit goes to whatever hosts its page names, all served by us; so the name in the certificate says nothing,
// and a chain of signatures up to our own root would prove nothing beyond the comparison of the leaf's key. The handshake's
// signature is verified, so that a server must hold the key. Not for third-party servers: their certificates are refused.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;

    #[test]
    fn chains_have_the_documented_size() {
        for identity in Identity::ALL {
            assert_eq!(identity.chain_bytes(ChainKind::Whole), WHOLE_BYTES, "{identity:?}");
            assert_eq!(identity.chain_bytes(ChainKind::OfBytes(4_000)), 4_000, "{identity:?}");
        }
        for committed in [Identity::Ed25519, Identity::Rsa2048] {
            assert_eq!(committed.chain_bytes(ChainKind::Leaf), 1_481, "{committed:?}");
        }
    }

    #[test]
    fn the_public_key_of_rsa_has_the_hash_that_openssl_gives_it() {
        // openssl pkey -in assets/rsa-key.pem -pubout -outform DER | sha256sum
        let hash = Identity::Rsa2048.public_key_sha256();
        let text: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(text, "2e0f1eb5a4b3ff09ef7ea544fe300e2b6ac6e9160cf58f9a176487714d38496b");
        assert_ne!(hash, Identity::Ed25519.public_key_sha256());
    }

    #[test]
    fn each_key_belongs_to_its_leaf() {
        for identity in Identity::ALL {
            for chain in [ChainKind::Whole, ChainKind::OfBytes(1_000)] {
                identity.certified(chain).keys_match().expect("the key belongs to the leaf");
            }
        }
    }

    #[test]
    fn chains_have_the_chosen_size_for_every_key() {
        let issuer = Identity::Rsa2048.key_pair();
        for identity in Identity::ALL {
            let key = identity.key_pair();
            for (bytes, count) in
                [(1_000, 1), (1_013, 1), (1_601, 2), (2_656, 2), (4_000, 3), (6_000, 4)]
            {
                let chain = chain(&key, &issuer, bytes);
                assert_eq!(chain.iter().map(|one| one.len()).sum::<usize>(), bytes);
                assert_eq!(chain.len(), count, "{bytes}");
            }
        }
    }
}
