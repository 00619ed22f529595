//! Texts for a page's bodies that shrink as much as the recorded ones: a compressing proxy has to be shown something compressible.

use bytes::Bytes;
use page::Object;

use crate::compression::{Coding, Encoder};

/// Length of a unit: letters that do not shrink, then a phrase that is the same in all units.
const UNIT_BYTES: u64 = 256;

/// Letters of base64: 6 bits each.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";

const PHRASE: &[u8] = b"<div class=\"item\"><span>text</span></div>\n";

/// Compressed size of a letter, and of the phrase for a byte of its unit, as the three codings have them (`texts_shrink_as_stated`).
const LETTER_SHARE: f64 = 0.757;
const UNIT_SHARE: f64 = 0.013;

/// The text of a page's object at `index` whose bytes compress to about `share`, at most three quarters.
pub(super) fn text(index: usize, bytes: u64, share: f64) -> Bytes {
    let letters = ((share - UNIT_SHARE) / LETTER_SHARE).clamp(0.0, 1.0) * UNIT_BYTES as f64;
    let letters = letters.round() as u64;
    let mut state = index as u64;
    let byte = |at: u64| {
        let in_unit = at % UNIT_BYTES;
        if in_unit >= letters {
            return PHRASE[(in_unit - letters) as usize % PHRASE.len()];
        }
        // Knuth's multiplier (TAOCP 3.3.4); the top bits of a linear congruence are random enough here.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        LETTERS[(state >> 58) as usize]
    };
    (0..bytes).map(byte).collect()
}

/// Lower bound of the bytes to which a proxy compresses the object at `index`, in any coding; `None` if it does not.
pub(super) fn least_compressed_bytes(index: usize, object: &Object) -> Option<u64> {
    let text = text(index, object.body_bytes, object.compressible_to()?);
    let compressed = |coding: Coding| {
        let mut encoder = Encoder::new(coding, Some(object.body_bytes)).ok()?;
        encoder.write(&text).ok()?;
        Some(encoder.ready().len() as u64 + encoder.finish().ok()?.len() as u64)
    };
    Coding::ALL.into_iter().filter_map(compressed).min().map(|least| least.min(object.body_bytes))
}

#[cfg(test)]
mod tests {
    use page::Kind;

    use super::*;

    #[test]
    fn texts_shrink_as_stated() {
        let page = page::open("synthetic:1x1KB").unwrap();
        for share in [0.1, 0.22, 0.36, 0.6] {
            for bytes in [4_000, 40_000, 400_000] {
                let object = Object {
                    body_bytes: bytes,
                    kind: Kind::Script,
                    coding: page::BodyCoding::Uncompressed {
                        compressed_bytes: (bytes as f64 * share) as u64,
                    },
                    ..page.objects[0].clone()
                };
                let text = text(3, bytes, share);
                for coding in Coding::ALL {
                    let mut encoder = Encoder::new(coding, Some(bytes)).unwrap();
                    encoder.write(&text).unwrap();
                    let size = encoder.ready().len() + encoder.finish().unwrap().len();
                    let off = size as f64 / bytes as f64 - share;
                    // Tables of codes weigh more in small bodies.
                    let slack = 0.02 + 120.0 / bytes as f64;
                    assert!(off.abs() < slack, "{coding:?}, {bytes} bytes to {share}: {off:+.3}");
                    assert!(least_compressed_bytes(3, &object).unwrap() <= size as u64);
                }
            }
        }
    }

    #[test]
    fn images_do_not_shrink() {
        let mut page = page::open("synthetic:1x1KB").unwrap();
        assert!(least_compressed_bytes(0, &page.objects[0]).is_some());
        assert_eq!(least_compressed_bytes(1, &page.objects[1]), None);
        page.objects[0].coding = page::BodyCoding::Compressed { decoded_bytes: 9_000 };
        assert_eq!(least_compressed_bytes(0, &page.objects[0]), None);
    }
}
