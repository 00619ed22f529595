//! Session tickets without clock and randomness.
//!
//! rustls's own ticketer rotates its keys by the machine's clock. This one has a fixed, public key, so that all
//! journeys of a process can share configurations and a ticket's bytes depend on the session alone. A ticket's age is
//! still checked, by the world's clock.

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};
use rustls::server::ProducesTickets;

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
