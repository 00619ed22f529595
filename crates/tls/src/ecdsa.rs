//! ECDSA signatures of one size.
//!
//! A signature's two numbers are written without leading zeros (RFC 3279 section 2.2.3), so P-256 randomly gives 70 to
//! 72 bytes and occasionally fewer. A simulated handshake must have the same size each time, so this key signs again
//! until the signature has the likeliest size.

use std::sync::Arc;

use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::sign::{Signer, SigningKey};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};

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
