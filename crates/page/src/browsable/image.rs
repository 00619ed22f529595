//! Images of an exact size: GIFs of one pixel (GIF89a, CompuServe 1990).
//!
//! The filler stands in comment extensions before the pixel, so that a browser can paint the image
//! when the whole of it has arrived, and not before.

use super::filler::filler;

/// Header and logical screen: one by one pixel, a colour table of two.
const START: [u8; 13] = *b"GIF89a\x01\x00\x01\x00\x80\x00\x00";
/// Image descriptor, one pixel of colour 0 (LZW code size 2: clear, 0, end), trailer.
const PIXEL: [u8; 16] = *b"\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b";
const COLOURS: usize = 6;
/// The smallest image: what is smaller is the start of one, which arrives all the same.
const LEAST: usize = START.len() + COLOURS + PIXEL.len();

/// An image of `bytes` bytes, in a colour of `number`'s own.
pub(super) fn gif(number: usize, bytes: u64) -> Vec<u8> {
    let bytes = bytes as usize;
    let mut image = START.to_vec();
    // Neither white nor black: it is to be seen on whatever it lies.
    let shade = |step: usize| 0x30 + (number * step % 0x90) as u8;
    let colour = [shade(37), shade(59), shade(83)];
    image.extend_from_slice(&colour);
    image.extend_from_slice(&colour);
    let mut missing = bytes.saturating_sub(LEAST);
    if let Some(comment) = missing.checked_sub(COMMENT_OVERHEAD).filter(|inside| *inside > 1) {
        append_comment(&mut image, comment);
        missing = 0;
    }
    image.extend_from_slice(&PIXEL);
    // Too little for a comment: decoders stop at the trailer.
    filler(&mut image, missing);
    image.truncate(bytes);
    image
}

/// Introducer, label, and the empty block at the end.
const COMMENT_OVERHEAD: usize = 3;

/// A comment extension with `len` bytes of blocks, two at least; each is its length and up to 255 letters.
fn append_comment(image: &mut Vec<u8>, len: usize) {
    image.extend_from_slice(&[0x21, 0xfe]);
    let mut left = len;
    while left > 0 {
        let full = left.min(256);
        // A length alone would be no block.
        let block = if left - full == 1 { full - 1 } else { full };
        image.push((block - 1) as u8);
        filler(image, block - 1);
        left -= block;
    }
    image.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads blocks as a decoder does; gives where the pixel begins.
    fn pixel_at(image: &[u8]) -> usize {
        let mut at = START.len() + COLOURS;
        while image[at] == 0x21 {
            at += 2;
            while image[at] != 0 {
                at += 1 + image[at] as usize;
            }
            at += 1;
        }
        at
    }

    #[test]
    fn every_size_is_exact_and_decodes() {
        for bytes in 0..2000 {
            let image = gif(bytes, bytes as u64);
            assert_eq!(image.len(), bytes);
            if bytes >= LEAST {
                let at = pixel_at(&image);
                assert_eq!(image[at..at + PIXEL.len()], PIXEL, "{bytes}");
            }
        }
    }
}
