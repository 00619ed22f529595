//! The fixed identities that servers present.
//!
//! Their keys are public (see `assets/README.md`): they identify a server to farlink's clients and to a browser that was
//! told to trust them, and protect nothing. A chain is a leaf and an intermediate, as on real sites, of the same size for
//! both keys, so that the choice changes the length of the server's flight only by the signature (64 bytes against 256).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rcgen::KeyPair;
use ring::digest::{SHA256, digest};
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::chain;
use super::ecdsa::EvenSignatures;

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
pub enum Chain {
    /// Leaf and intermediate: 2,656 bytes of certificates, today's usual size (2 to 4 KB).
    Whole,
    /// The leaf alone: 1,481 bytes, as a server with a self-signed certificate.
    Leaf,
    /// A generated chain of this size, with as many certificates as real chains of the size have.
    OfBytes(usize),
}

/// The size of [`Chain::Whole`].
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
        chain::chain(&self.key_pair(), &Identity::Rsa2048.key_pair(), bytes)
    }

    /// A generated chain, cached for the process.
    fn kept_chain(self, bytes: usize) -> Vec<CertificateDer<'static>> {
        type Kept = Mutex<BTreeMap<(Identity, usize), Vec<CertificateDer<'static>>>>;
        static KEPT: Kept = Mutex::new(BTreeMap::new());
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
            Identity::EcdsaP256 => super::ecdsa::SIGNATURE_BYTES,
        }
    }

    /// The certificate of the server itself, DER.
    pub(super) fn leaf(self) -> &'static CertificateDer<'static> {
        &self.fixture().chain[0]
    }

    /// The certificates that are sent, DER, the server's own first.
    pub(super) fn chain(self, chain: Chain) -> Vec<CertificateDer<'static>> {
        match chain {
            Chain::Whole => self.fixture().chain.clone(),
            Chain::Leaf => self.fixture().chain[..1].to_vec(),
            Chain::OfBytes(bytes) => self.kept_chain(bytes),
        }
    }

    /// Total size of the certificates sent, in bytes.
    pub fn chain_bytes(self, chain: Chain) -> usize {
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
    pub(super) fn certified(self, chain: Chain) -> CertifiedKey {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_have_the_documented_size() {
        for identity in Identity::ALL {
            assert_eq!(identity.chain_bytes(Chain::Whole), WHOLE_BYTES, "{identity:?}");
            assert_eq!(identity.chain_bytes(Chain::OfBytes(4_000)), 4_000, "{identity:?}");
        }
        for committed in [Identity::Ed25519, Identity::Rsa2048] {
            assert_eq!(committed.chain_bytes(Chain::Leaf), 1_481, "{committed:?}");
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
            for chain in [Chain::Whole, Chain::OfBytes(1_000)] {
                identity.certified(chain).keys_match().expect("the key belongs to the leaf");
            }
        }
    }
}
