//! HPACK's Huffman code (RFC 7541 appendix B), decoding only, for strings whose text matters.
//!
//! The code is canonical, so the lengths of its symbols' codes define it. Few strings have to be decoded, see [`is_plain`].

/// The length in bits of each byte's code, and of EOS.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// The length of the longest code in bits.
const LONGEST: usize = 30;

/// Number of symbols with codes of each length.
const COUNTS: [u32; LONGEST + 1] = {
    let mut counts = [0; LONGEST + 1];
    let mut symbol = 0;
    while symbol < LENGTHS.len() {
        counts[LENGTHS[symbol] as usize] += 1;
        symbol += 1;
    }
    counts
};

/// The symbols in the order of their codes.
const SYMBOLS: [u16; LENGTHS.len()] = {
    let mut symbols = [0; LENGTHS.len()];
    let (mut length, mut filled) = (1, 0);
    while length <= LONGEST {
        let mut symbol = 0;
        while symbol < LENGTHS.len() {
            if LENGTHS[symbol] as usize == length {
                symbols[filled] = symbol as u16;
                filled += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    symbols
};

/// The first symbol of each byte and its length, if its code has up to eight bits.
const QUICK: [(u16, u32); 256] = {
    let mut quick = [(0, 0); 256];
    let mut byte = 0;
    while byte < quick.len() {
        quick[byte] = find(byte as u64, 8);
        byte += 1;
    }
    quick
};

/// The first symbol in the lowest `held` bits of `window`, and the length of its code; 0 if there is no complete code.
const fn find(window: u64, held: u32) -> (u16, u32) {
    // The first code of a length, and its position among the symbols.
    let (mut first, mut place, mut length) = (0, 0, 1);
    while length <= LONGEST && length as u32 <= held {
        let code = window >> (held - length as u32) & ((1 << length) - 1);
        let count = COUNTS[length] as u64;
        if code - first < count {
            return (SYMBOLS[(place + code - first) as usize], length as u32);
        }
        place += count;
        first = (first + count) << 1;
        length += 1;
    }
    (0, 0)
}

/// Decodes `coded`; `None` if it is invalid.
pub(crate) fn decode(coded: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(coded.len() * 8 / 5);
    let mut bytes = coded.iter();
    let (mut window, mut held) = (0_u64, 0);
    loop {
        while held <= 56
            && let Some(byte) = bytes.next()
        {
            (window, held) = (window << 8 | u64::from(*byte), held + 8);
        }
        let quick = if held < 8 { (0, 0) } else { QUICK[(window >> (held - 8) & 0xff) as usize] };
        let (symbol, length) = if quick.1 > 0 { quick } else { find(window, held) };
        if length == 0 {
            break;
        }
        text.push(u8::try_from(symbol).ok()?);
        held -= length;
    }
    // Less than a byte of padding, all ones.
    let is_padding = held < 8 && (window | u64::MAX << held) == u64::MAX;
    is_padding.then_some(text)
}

/// Returns true only if a coded string consists of printable ASCII: the codes of all other bytes begin with ten ones.
pub(crate) fn is_plain(coded: &[u8]) -> bool {
    let mut ones = 0;
    coded.iter().all(|byte| {
        let is_short = ones + byte.leading_ones() < 10;
        ones = if *byte == 0xff { ones + 8 } else { byte.trailing_ones() };
        is_short
    })
}

/// Appends the code of `count` `0`s, a shortest string of that length: five bits of 0 each.
pub(crate) fn push_zeros(count: usize, out: &mut Vec<u8>) {
    let bits = count * 5;
    out.resize(out.len() + bits / 8, 0);
    if !bits.is_multiple_of(8) {
        out.push(0xff >> (bits % 8));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Each byte's code, in the order of RFC 7541.
    fn encode(text: &[u8]) -> Vec<u8> {
        let mut bits = Vec::new();
        for byte in text {
            let place = SYMBOLS.iter().position(|symbol| *symbol == u16::from(*byte)).unwrap();
            let length = usize::from(LENGTHS[usize::from(*byte)]);
            // The canonical code: count up, and shift where the length grows.
            let code = (1..=place).fold(0_u32, |code, place| {
                let [before, this] =
                    [place - 1, place].map(|place| LENGTHS[usize::from(SYMBOLS[place])]);
                (code + 1) << (this - before)
            });
            bits.extend((0..length).rev().map(|bit| code >> bit & 1 == 1));
        }
        bits.resize(bits.len().next_multiple_of(8), true);
        bits.chunks(8)
            .map(|byte| byte.iter().fold(0, |all, bit| all << 1 | u8::from(*bit)))
            .collect()
    }

    #[test]
    fn the_examples_of_the_rfc_are_read() {
        // RFC 7541 sections C.4.1, C.4.2 and C.6.1.
        let host = [0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
        assert_eq!(decode(&host).unwrap(), b"www.example.com");
        assert_eq!(decode(&[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]).unwrap(), b"no-cache");
        assert_eq!(decode(&[0x64, 0x02]).unwrap(), b"302");
        assert_eq!(encode(b"no-cache"), [0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]);
        assert_eq!(decode(&[]).unwrap(), b"");
    }

    #[test]
    fn usual_texts_are_plain() {
        for text in ["www.example.com", "/static/main.css?v=12", "text/html; charset=utf-8"] {
            assert!(is_plain(&encode(text.as_bytes())), "{text}");
        }
    }

    #[test]
    fn what_is_no_code_is_refused() {
        // EOS, padding of a byte, padding with zeros.
        for coded in [&[0xff; 4][..], &[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf, 0xff], &[0x64]] {
            assert_eq!(decode(coded), None, "{coded:x?}");
        }
    }

    #[test]
    fn zeros_are_zeros() {
        for count in 0..20 {
            let mut coded = Vec::new();
            push_zeros(count, &mut coded);
            assert_eq!(decode(&coded).unwrap(), vec![b'0'; count]);
        }
    }

    proptest! {
        #[test]
        fn every_text_is_read_and_none_that_is_not_printable_is_plain(text: Vec<u8>) {
            let coded = encode(&text);
            prop_assert_eq!(decode(&coded).unwrap(), &text[..]);
            if is_plain(&coded) {
                prop_assert!(text.iter().all(|byte| (0x20..0x7f).contains(byte)), "{text:?}");
            }
        }
    }
}
