//! The cryptography: ring's, AES-128-GCM first (the fastest with AES instructions, and the usual choice of browsers and
//! servers), with the system's randomness or a seeded stream.

use std::sync::{Arc, OnceLock};

use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::{self, cipher_suite as suites};

use super::seeded;

/// The source of a TLS end's random bytes and ephemeral keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Randomness {
    /// The operating system. Sizes and times repeat from run to run, bytes do not (*trace-exact*).
    System,
    /// A separate stream for each end (`"tls/client"`, `"tls/server"`): the bytes repeat too (*byte-exact*), for
    /// captures. Not secret. Each provider made from it stays in memory until the process ends (about 100 bytes),
    /// because rustls requires `'static`.
    Seeded(chance::Stream),
}

/// The provider for this kind of randomness.
pub(super) fn provider(randomness: &Randomness) -> Arc<CryptoProvider> {
    static SYSTEM: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    match randomness {
        Randomness::System => Arc::clone(SYSTEM.get_or_init(|| Arc::new(system()))),
        Randomness::Seeded(stream) => {
            let random = seeded::Random::leak(stream.clone());
            let mut provider = system();
            provider.secure_random = random;
            // The other groups stay on offer, so that the ClientHello keeps its size; all our ends take the first.
            provider.kx_groups[0] = seeded::X25519::leak(random);
            Arc::new(provider)
        }
    }
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
