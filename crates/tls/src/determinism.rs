//! Cryptography that makes handshakes repeat: randomness, key exchange, signatures, the date and tickets.
//!
//! The provider is ring's, AES-128-GCM first (the fastest with AES instructions, and the usual choice of browsers and
//! servers), with the system's randomness or a seeded stream.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use ::ring::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ::ring::digest::{SHA256, digest};
use chance::RandomStream;
use rustls::crypto::ring::cipher_suite as suites;
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret,
    SupportedKxGroup, ring,
};
use rustls::pki_types::{SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::ProducesTickets;
use rustls::sign::{Signer, SigningKey};
use rustls::time_provider::TimeProvider;
use rustls::{Error, NamedGroup, PeerMisbehaved, SignatureAlgorithm, SignatureScheme};
use units::Time;
use x25519_dalek::{X25519_BASEPOINT_BYTES, x25519};

use crate::post_quantum::X25519MlKem768;
use crate::settings::Group;

/// The source of a TLS end's random bytes and ephemeral keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Randomness {
    /// The operating system. Sizes and times repeat from run to run, bytes do not (*trace-exact*).
    System,
    /// A separate stream for each end (`"tls/client"`, `"tls/server"`): the bytes repeat too (*byte-exact*), for
    /// captures. Not secret. Each provider made from it stays in memory until the process ends (about 100 bytes),
    /// because rustls requires `'static`.
    Seeded(chance::RandomStream),
}

/// The provider for this kind of randomness, with this group first.
pub(super) fn provider(randomness: &Randomness, group: Group) -> Arc<CryptoProvider> {
    static X25519_FIRST: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    static HYBRID_FIRST: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    match randomness {
        Randomness::System => {
            let made = match group {
                Group::X25519 => &X25519_FIRST,
                Group::X25519MlKem768 => &HYBRID_FIRST,
            };
            Arc::clone(made.get_or_init(|| Arc::new(preferring(group, system()))))
        }
        Randomness::Seeded(stream) => {
            let random = Random::leak(stream.clone());
            let mut provider = system();
            provider.secure_random = random;
            // The other groups stay on offer, so that the ClientHello keeps its size; all our ends take the first.
            provider.kx_groups[0] = X25519::leak(random);
            Arc::new(preferring(group, provider))
        }
    }
}

/// The provider with the group before all others. Its own first is X25519.
fn preferring(group: Group, mut provider: CryptoProvider) -> CryptoProvider {
    if group == Group::X25519MlKem768 {
        let hybrid = X25519MlKem768::leak(provider.kx_groups[0], provider.secure_random);
        provider.kx_groups.insert(0, hybrid);
    }
    provider
}

fn system() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: vec![
            suites::TLS13_AES_128_GCM_SHA256,
            suites::TLS13_AES_256_GCM_SHA384,
            suites::TLS13_CHACHA20_POLY1305_SHA256,
            suites::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            suites::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            suites::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
            suites::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            suites::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
            suites::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        ],
        ..ring::default_provider()
    }
}

/// A seeded source in the place of rustls's secure randomness.
#[derive(Debug)]
pub(super) struct Random(Mutex<RandomStream>);

impl Random {
    /// rustls requires `'static`.
    pub(super) fn leak(stream: RandomStream) -> &'static Random {
        Box::leak(Box::new(Random(Mutex::new(stream))))
    }
}

impl SecureRandom for Random {
    fn fill(&self, out: &mut [u8]) -> Result<(), GetRandomFailed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fill(out);
        Ok(())
    }
}

/// X25519 (RFC 7748) with private keys from a seeded source: ring's own does not accept a key.
#[derive(Debug)]
pub(super) struct X25519(&'static Random);

impl X25519 {
    /// rustls requires `'static`.
    pub(super) fn leak(random: &'static Random) -> &'static X25519 {
        Box::leak(Box::new(X25519(random)))
    }
}

impl SupportedKxGroup for X25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut private = [0; 32];
        self.0.fill(&mut private)?;
        Ok(Box::new(SeededExchange { private, public: x25519(private, X25519_BASEPOINT_BYTES) }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

struct SeededExchange {
    private: [u8; 32],
    public: [u8; 32],
}

impl ActiveKeyExchange for SeededExchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer: [u8; 32] = peer.try_into().map_err(|_| PeerMisbehaved::InvalidKeyShare)?;
        let secret = x25519(self.private, peer);
        // RFC 8446 section 7.4.2: an all-zero result is refused.
        if secret == [0; 32] {
            return Err(PeerMisbehaved::InvalidKeyShare.into());
        }
        Ok(SharedSecret::from(&secret[..]))
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

// ECDSA signatures of one size.
//
// A signature's two numbers are written without leading zeros (RFC 3279 section 2.2.3), so P-256 randomly gives 70 to
// 72 bytes and occasionally fewer. A simulated handshake must have the same size each time, so this key signs again
// until the signature has the likeliest size.

/// The size of half of all signatures.
pub(super) const SIGNATURE_BYTES: usize = 71;

/// A key that needs more is broken: a good one needs two attempts on average.
const ATTEMPTS: u32 = 1_000;

/// A key for P-256 whose signatures all have [`SIGNATURE_BYTES`].
#[derive(Debug)]
pub(super) struct EvenSignatures(Arc<dyn SigningKey>);

impl EvenSignatures {
    pub(super) fn of(key: Arc<dyn SigningKey>) -> Arc<dyn SigningKey> {
        Arc::new(EvenSignatures(key))
    }
}

impl SigningKey for EvenSignatures {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        self.0.choose_scheme(offered).map(|signer| Box::new(Even(signer)) as _)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        self.0.public_key()
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.0.algorithm()
    }
}

#[derive(Debug)]
struct Even(Box<dyn Signer>);

impl Signer for Even {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        for _ in 0..ATTEMPTS {
            let signature = self.0.sign(message)?;
            if signature.len() == SIGNATURE_BYTES {
                return Ok(signature);
            }
        }
        Err(Error::General(format!("no signature had {SIGNATURE_BYTES} bytes")))
    }

    fn scheme(&self) -> SignatureScheme {
        self.0.scheme()
    }
}

/// The date at which a world's clock starts unless its plan says otherwise: 2026-01-01 00:00:00 UTC, since 1970. It
/// affects only the age of TLS tickets and lies within the test certificates' validity.
pub const PLAN_START: Duration = Duration::from_secs(1_767_225_600);

/// Tells rustls the date.
#[derive(Debug)]
pub(super) struct TlsClock {
    pub(super) start: Duration,
}

impl TimeProvider for TlsClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(self.start + world::now().since(Time::ZERO)))
    }
}

// Session tickets without clock and randomness.
//
// rustls's own ticketer rotates its keys by the machine's clock. This one has a fixed, public key, so that all
// journeys of a process can share configurations and a ticket's bytes depend on the session alone. A ticket's age is
// still checked, by the world's clock.

/// Lifetime of a ticket, in seconds: 12 hours, as in rustls.
const LIFETIME_SECS: u32 = 12 * 60 * 60;

/// Public on purpose: tickets of test servers protect nothing.
const KEY: &[u8; 16] = b"farlink/no/key/!";

/// Seals session states into tickets and opens them again.
pub(super) struct Tickets(LessSafeKey);

impl Tickets {
    pub(super) fn new() -> Tickets {
        let key = UnboundKey::new(&AES_128_GCM, KEY).expect("the key has AES-128's length");
        Tickets(LessSafeKey::new(key))
    }
}

impl std::fmt::Debug for Tickets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tickets")
    }
}

impl ProducesTickets for Tickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        LIFETIME_SECS
    }

    /// A ticket is a nonce, taken from the state's digest, and the sealed state.
    fn encrypt(&self, state: &[u8]) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        nonce.copy_from_slice(&digest(&SHA256, state).as_ref()[..NONCE_LEN]);
        let mut sealed = state.to_vec();
        self.0
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::empty(),
                &mut sealed,
            )
            .ok()?;
        Some([&nonce[..], &sealed].concat())
    }

    fn decrypt(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = ticket.split_first_chunk::<NONCE_LEN>()?;
        let mut sealed = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let state = self.0.open_in_place(nonce, Aad::empty(), &mut sealed).ok()?;
        Some(state.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_repeats_opens_and_is_refused_when_changed() {
        let tickets = Tickets::new();
        let ticket = tickets.encrypt(b"session").expect("sealed");
        assert_eq!(Some(&ticket), Tickets::new().encrypt(b"session").as_ref());
        assert_eq!(tickets.decrypt(&ticket).as_deref(), Some(&b"session"[..]));
        for at in 0..ticket.len() {
            let mut forged = ticket.clone();
            forged[at] ^= 1;
            assert_eq!(tickets.decrypt(&forged), None, "byte {at} changed");
            assert_eq!(tickets.decrypt(&ticket[..at]), None, "cut at {at}");
        }
    }
}
