//! Keys that authenticate the two ends: Ed25519 (RFC 8032), written in base64 like WireGuard's.
//!
//! There are no certificates, no authority and no dates: each end is given the other's public key, and accepts no other.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair};
use thiserror::Error;

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
        "a key is 32 bytes in base64, 44 characters ending in `=`; `farlink pep key` makes one"
    )]
    Malformed,
    /// The system provides no random bytes.
    #[error("the system has no random bytes to make a key of")]
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
    pub(super) fn pkcs8(&self) -> Vec<u8> {
        const HEAD: [u8; 16] =
            [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
        [&HEAD[..], &self.0].concat()
    }
}

impl PublicKey {
    /// Encodes it as a SubjectPublicKeyInfo (RFC 8410 section 4), the form of a raw public key (RFC 7250).
    pub(super) fn spki(&self) -> Vec<u8> {
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
