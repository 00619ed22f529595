//! Images of an exact size: GIFs of one colour (GIF89a, CompuServe 1990), whose dimensions grow with the number of
//! bytes.
//!
//! The filler stands in comment extensions before the pixels, so that a browser cannot paint the image before all of
//! it has arrived.

use super::filler;

/// Header and logical screen without width and height; a colour table of two follows.
const SCREEN_BYTES: usize = 13;
const COLOURS: usize = 6;
/// Pixels per byte of a photograph, at two bits each.
const PIXELS_A_BYTE: u64 = 4;
/// Largest image, with an aspect ratio of 4:3; a larger one would fill the window.
const LARGEST: (u16, u16) = (640, 480);

/// An image of `bytes` bytes, in a colour derived from `number`.
pub(super) fn gif(number: usize, bytes: u64) -> Vec<u8> {
    let (width, height, pixels) = picture(bytes);
    let bytes = bytes as usize;
    let mut image = b"GIF89a".to_vec();
    image.extend([width, height].into_iter().flat_map(u16::to_le_bytes));
    image.extend_from_slice(&[0x80, 0, 0]);
    // Neither white nor black, so that it is visible on any background.
    let shade = |step: usize| 0x30 + (number * step % 0x90) as u8;
    let colour = [shade(37), shade(59), shade(83)];
    image.extend_from_slice(&colour);
    image.extend_from_slice(&colour);
    let mut missing = bytes.saturating_sub(SCREEN_BYTES + COLOURS + pixels.len());
    if let Some(comment) = missing.checked_sub(COMMENT_OVERHEAD).filter(|inside| *inside > 1) {
        append_comment(&mut image, comment);
        missing = 0;
    }
    image.extend_from_slice(&pixels);
    // Too few bytes for a comment: decoders stop at the trailer.
    filler(&mut image, missing);
    image.truncate(bytes);
    image
}

/// Width, height and painting code of an image of `bytes` bytes: one pixel if no more fit.
fn picture(bytes: u64) -> (u16, u16, Vec<u8>) {
    let (most_wide, most_high) = LARGEST;
    let height = (bytes.saturating_mul(PIXELS_A_BYTE * 3) / 4).isqrt().min(u64::from(most_high));
    let height = height.max(1) as u16;
    let width = (u32::from(height) * 4 / 3).min(u32::from(most_wide)) as u16;
    let pixels = painted(width, height);
    match SCREEN_BYTES + COLOURS + pixels.len() <= bytes as usize {
        true => (width, height, pixels),
        false => (1, 1, painted(1, 1)),
    }
}

/// Image descriptor, all pixels in colour 0 by LZW, and trailer.
fn painted(width: u16, height: u16) -> Vec<u8> {
    let mut image = vec![0x2c, 0, 0, 0, 0];
    image.extend([width, height].into_iter().flat_map(u16::to_le_bytes));
    image.extend_from_slice(&[0, CODE_SIZE]);
    for block in one_colour(u32::from(width) * u32::from(height)).chunks(255) {
        image.push(block.len() as u8);
        image.extend_from_slice(block);
    }
    image.extend_from_slice(&[0, 0x3b]);
    image
}

/// Bits of a colour for LZW: two is the minimum in GIF.
const CODE_SIZE: u8 = 2;

/// LZW codes of `pixels` pixels of colour 0 (GIF89a, appendix F): each new code is a run that is one pixel longer
/// than the last. With the largest image, codes stay below the table's 4,096.
fn one_colour(pixels: u32) -> Vec<u8> {
    let (clear, end) = (1 << CODE_SIZE, (1 << CODE_SIZE) + 1);
    let mut codes = Codes { width: u32::from(CODE_SIZE) + 1, ..Codes::default() };
    codes.push(clear);
    codes.push(0);
    let (mut run, mut left, mut next) = (1, pixels - 1, end + 1);
    while left > 0 {
        // A run of one pixel is the colour itself; of n, the code after the end's by n - 2.
        run = (run + 1).min(left);
        codes.push(if run == 1 { 0 } else { end + run - 1 });
        left -= run;
        // The decoder adds an entry for each code except the first, and reads wider codes from then on.
        next += 1;
        if next == 1 << codes.width && codes.width < 12 {
            codes.width += 1;
        }
    }
    codes.push(end);
    codes.bytes()
}

/// Codes of variable width, lowest bits first.
#[derive(Default)]
struct Codes {
    bytes: Vec<u8>,
    width: u32,
    bits: u64,
    count: u32,
}

impl Codes {
    fn push(&mut self, code: u32) {
        self.bits |= u64::from(code) << self.count;
        self.count += self.width;
        while self.count >= 8 {
            self.bytes.push(self.bits as u8);
            self.bits >>= 8;
            self.count -= 8;
        }
    }

    fn bytes(mut self) -> Vec<u8> {
        if self.count > 0 {
            self.bytes.push(self.bits as u8);
        }
        self.bytes
    }
}

/// Introducer, label, and the empty block at the end.
const COMMENT_OVERHEAD: usize = 3;

/// Appends a comment extension with `len` bytes of blocks, at least two; each is its length and up to 255 letters.
fn append_comment(image: &mut Vec<u8>, len: usize) {
    image.extend_from_slice(&[0x21, 0xfe]);
    let mut left = len;
    while left > 0 {
        let full = left.min(256);
        // A block cannot be a length alone.
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

    /// Decodes an image: width, height, and number of pixels of colour 0. Written after the standard's appendix F,
    /// independently of the encoder.
    fn decoded(image: &[u8]) -> (u16, u16, usize) {
        let word = |at: usize| u16::from_le_bytes([image[at], image[at + 1]]);
        let mut at = SCREEN_BYTES + COLOURS;
        while image[at] == 0x21 {
            at += 2;
            while image[at] != 0 {
                at += 1 + image[at] as usize;
            }
            at += 1;
        }
        assert_eq!(image[at], 0x2c);
        assert_eq!(
            (word(at + 5), word(at + 7)),
            (word(6), word(8)),
            "all of the screen is painted"
        );
        at += 11;
        let mut data = Vec::new();
        while image[at] != 0 {
            let len = image[at] as usize;
            data.extend_from_slice(&image[at + 1..=at + len]);
            at += 1 + len;
        }
        assert_eq!(image[at + 1], 0x3b);
        let bit = |at: usize| usize::from(data[at / 8] >> (at % 8) & 1);
        let mut place = 0;
        let mut code = |width: usize| {
            let code = (0..width).map(|n| bit(place + n) << n).sum::<usize>();
            place += width;
            code
        };
        let (mut table, mut width, mut last, mut pixels) = (Vec::new(), 3, None::<usize>, 0);
        loop {
            let run = match code(width) {
                4 => {
                    table = vec![1, 1, 1, 1, 0, 0];
                    (width, last) = (3, None);
                    continue;
                }
                5 => return (word(6), word(8), pixels),
                known if known < table.len() => {
                    assert!(known == 0 || known > 5, "one colour alone");
                    last.into_iter().for_each(|last| table.push(last + 1));
                    table[known]
                }
                new => {
                    assert_eq!(new, table.len());
                    table.push(last.unwrap() + 1);
                    table[new]
                }
            };
            pixels += run;
            last = Some(run);
            if table.len() == 1 << width && width < 12 {
                width += 1;
            }
        }
    }

    #[test]
    fn every_size_is_exact_and_decodes() {
        let larger = [10_000, 61_440, 100_001, 3_000_000];
        for bytes in (0..2000).chain(larger) {
            let image = gif(bytes as usize, bytes);
            assert_eq!(image.len() as u64, bytes);
            if bytes >= 35 {
                let (width, height, pixels) = decoded(&image);
                assert_eq!(pixels, usize::from(width) * usize::from(height), "{bytes}");
                let area = (u64::from(width) * u64::from(height)).min(bytes * PIXELS_A_BYTE);
                assert!(bytes < 60 || area >= bytes * 2 || width == LARGEST.0, "{bytes}: {width}");
            }
        }
    }
}
