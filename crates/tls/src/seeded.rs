//! Byte-exact randomness and key exchange. Simulations only: nothing here is secret.

use std::sync::{Mutex, PoisonError};

use chance::Stream;
use rustls::crypto::{
    ActiveKeyExchange, GetRandomFailed, SecureRandom, SharedSecret, SupportedKxGroup,
};
use rustls::{Error, NamedGroup, PeerMisbehaved};
use x25519_dalek::{X25519_BASEPOINT_BYTES, x25519};

/// A seeded source in the place of rustls's secure randomness.
#[derive(Debug)]
pub(super) struct Random(Mutex<Stream>);

impl Random {
    /// rustls requires `'static`.
    pub(super) fn leak(stream: Stream) -> &'static Random {
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
        Ok(Box::new(Exchange { private, public: x25519(private, X25519_BASEPOINT_BYTES) }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

struct Exchange {
    private: [u8; 32],
    public: [u8; 32],
}

impl ActiveKeyExchange for Exchange {
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
