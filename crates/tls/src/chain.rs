//! Certificate chains of a chosen size.
//!
//! They are real certificates (RFC 5280): a leaf for the identity's key and as many intermediates as real chains of that size
//! have, each signed by the public test key for RSA-2048, as today's public CAs sign. A private extension pads them in place
//! of the fields of public certificates that they lack (policies, timestamps, names), so that the chain has the chosen size
//! to the byte. The chain is not verified up to a root: farlink's clients look at the leaf's key (see [`super::trust`]).

use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, DnType, IsCa, Issuer,
    KeyPair, PublicKeyData, SerialNumber, date_time_ymd,
};
use rustls::pki_types::CertificateDer;

/// The smallest chain: a leaf with an RSA-2048 key and signature has about 0.8 KB.
pub const LEAST_CHAIN_BYTES: usize = 1_000;
/// The largest: beyond any chain of public CAs, and the certificate message still fits one record.
pub const MOST_CHAIN_BYTES: usize = 12_000;

/// A certificate of usual size; a chain has as many of these as fit.
const USUAL_CERTIFICATE_BYTES: usize = 1_600;

/// The extension that holds the filler: 2.25 is the arc for anybody (ITU-T X.667), as in `assets/generate.sh`.
const FILLER: [u64; 3] = [2, 25, 102_976];

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Identity;

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
