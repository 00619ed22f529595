//! X25519MLKEM768: the key exchange of today's browsers, whose shares make a ClientHello larger than a packet.
//!
//! Chrome (since 131) and Firefox (since 132) offer it first. The client's share has 1,216 bytes, the server's 1,120,
//! where X25519 has 32 (draft-ietf-tls-ecdhe-mlkem; FIPS 203). A handshake over a narrow uplink is longer by
//! it, and QUIC's client needs a second packet for its first flight.
//!
//! The random bytes come from the provider's source, so that a seeded exchange repeats byte for byte.

use ml_kem::array::Array;
use ml_kem::{
    B32, Ciphertext, Decapsulate, DecapsulationKey768, EncapsulationKey768, KeyExport, MlKem768,
    Seed,
};
use rustls::crypto::{
    ActiveKeyExchange, CompletedKeyExchange, SecureRandom, SharedSecret, SupportedKxGroup,
};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};

/// The size of ML-KEM-768's public key (FIPS 203 table 3), which the client sends before its X25519 share.
const PUBLIC_KEY_BYTES: usize = 1184;
/// The size of ML-KEM-768's ciphertext (FIPS 203 table 3), which the server sends before its X25519 share.
const CIPHERTEXT_BYTES: usize = 1088;

/// The group, over an implementation of X25519.
#[derive(Debug)]
pub(super) struct X25519MlKem768 {
    pub(super) x25519: &'static dyn SupportedKxGroup,
    pub(super) random: &'static dyn SecureRandom,
}

impl X25519MlKem768 {
    /// rustls requires `'static`.
    pub(super) fn leak(
        x25519: &'static dyn SupportedKxGroup,
        random: &'static dyn SecureRandom,
    ) -> &'static X25519MlKem768 {
        Box::leak(Box::new(X25519MlKem768 { x25519, random }))
    }
}

impl SupportedKxGroup for X25519MlKem768 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut seed = Seed::default();
        self.random.fill(&mut seed)?;
        let ml_kem = DecapsulationKey768::from_seed(seed);
        let x25519 = self.x25519.start()?;
        let share = [&ml_kem.encapsulation_key().to_bytes(), x25519.pub_key()].concat();
        Ok(Box::new(StartedExchange { ml_kem, x25519, share }))
    }

    fn start_and_complete(&self, client_share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let (public_key, x25519_share) = split(client_share, PUBLIC_KEY_BYTES)?;
        let public_key = Array::try_from(public_key).map_err(invalid)?;
        let public_key = EncapsulationKey768::new(&public_key).map_err(invalid)?;
        let mut message = B32::default();
        self.random.fill(&mut message)?;
        let (ciphertext, secret) = public_key.encapsulate_deterministic(&message);
        let x25519 = self.x25519.start_and_complete(x25519_share)?;
        Ok(CompletedKeyExchange {
            group: self.name(),
            pub_key: [&ciphertext[..], &x25519.pub_key].concat(),
            secret: both(&secret, &x25519.secret),
        })
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

/// The client's half, until the server's share arrives.
struct StartedExchange {
    ml_kem: DecapsulationKey768,
    x25519: Box<dyn ActiveKeyExchange>,
    share: Vec<u8>,
}

impl ActiveKeyExchange for StartedExchange {
    fn complete(self: Box<Self>, server_share: &[u8]) -> Result<SharedSecret, Error> {
        let (ciphertext, x25519_share) = split(server_share, CIPHERTEXT_BYTES)?;
        let ciphertext = Ciphertext::<MlKem768>::try_from(ciphertext).map_err(invalid)?;
        let secret = self.ml_kem.decapsulate(&ciphertext);
        Ok(both(&secret, &self.x25519.complete(x25519_share)?))
    }

    /// The share that is sent beside this one, as browsers do: a server without the hybrid costs no round trip.
    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        Some((self.x25519.group(), self.x25519.pub_key()))
    }

    fn complete_hybrid_component(
        self: Box<Self>,
        server_share: &[u8],
    ) -> Result<SharedSecret, Error> {
        self.x25519.complete(server_share)
    }

    fn pub_key(&self) -> &[u8] {
        &self.share
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }
}

/// The two parts of a share.
fn split(share: &[u8], ml_kem_bytes: usize) -> Result<(&[u8], &[u8]), Error> {
    share.split_at_checked(ml_kem_bytes).ok_or_else(|| PeerMisbehaved::InvalidKeyShare.into())
}

fn both(ml_kem: &[u8], x25519: &SharedSecret) -> SharedSecret {
    SharedSecret::from([ml_kem, x25519.secret_bytes()].concat())
}

fn invalid<E>(_: E) -> Error {
    PeerMisbehaved::InvalidKeyShare.into()
}

#[cfg(test)]
mod tests {
    use rustls::crypto::ring;

    use super::*;

    fn group() -> X25519MlKem768 {
        X25519MlKem768 {
            x25519: ring::kx_group::X25519,
            random: ring::default_provider().secure_random,
        }
    }

    #[test]
    fn both_ends_hold_one_secret() {
        let client = group().start().unwrap();
        assert_eq!(client.pub_key().len(), 1216);
        let server = group().start_and_complete(client.pub_key()).unwrap();
        assert_eq!(server.pub_key.len(), 1120);
        let secret = client.complete(&server.pub_key).unwrap();
        assert_eq!(secret.secret_bytes().len(), 64);
        assert_eq!(secret.secret_bytes(), server.secret.secret_bytes());
    }

    #[test]
    fn shares_of_a_wrong_size_are_refused() {
        for bytes in [0, 32, 1119, 1121] {
            assert!(group().start().unwrap().complete(&vec![1; bytes]).is_err(), "{bytes}");
            assert!(group().start_and_complete(&vec![1; bytes + 96]).is_err(), "{bytes}");
        }
        // FIPS 203 section 7.2: every number of a public key is below 3329.
        assert!(group().start_and_complete(&[0xff; 1216]).is_err());
    }
}
