//! Decodes a HAR's text from a file's bytes, whatever its encoding; other formats are named in the error.
//!
//! Bodies are stored as text without any guarantee that they are text: recorders leave bytes of other encodings and
//! halves of surrogate pairs in them. These are replaced by U+FFFD, as most bodies are never read.

use std::borrow::Cow;

use crate::Error;

/// The text in `bytes`, ready for a JSON parser.
pub(super) fn text<'a>(name: &str, bytes: &'a [u8]) -> Result<Cow<'a, str>, Error> {
    if let Some(what) = other_format(bytes) {
        return Err(Error::OtherFormat { name: name.to_owned(), what });
    }
    let text = match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest),
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes).into(),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes).into(),
        [b'{', 0, ..] => utf16(bytes, u16::from_le_bytes).into(),
        [0, b'{', ..] => utf16(bytes, u16::from_be_bytes).into(),
        _ => String::from_utf8_lossy(bytes),
    };
    Ok(match lone_surrogates(&text) {
        lone if lone.is_empty() => text,
        lone => replace_escapes(&text, &lone).into(),
    })
}

/// Format of a file that is not a HAR, with advice.
fn other_format(bytes: &[u8]) -> Option<&'static str> {
    let start = bytes.trim_ascii_start();
    match bytes {
        [b'P', b'K', 3, 4, ..] => Some("a ZIP archive; unpack it and give the .har file inside"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("compressed by zstd; decompress it, or use gzip"),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => Some("compressed by xz; decompress it, or use gzip"),
        [b'B', b'Z', b'h', ..] => Some("compressed by bzip2; decompress it, or use gzip"),
        [b'7', b'z', 0xbc, 0xaf, ..] => Some("a 7z archive; unpack it and give the .har file"),
        [b'W', b'A', b'R', b'C', b'/', ..] => Some("a WARC file; export the page as HAR"),
        [b'%', b'P', b'D', b'F', ..] => Some("a PDF file; save the network panel's log as HAR"),
        _ if start.starts_with(b"<") => {
            Some("an HTML or XML document; save the network panel's log as HAR, not the page")
        }
        _ => None,
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let text = char::decode_utf16(units).map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER));
    let text: String = text.collect();
    text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)
}

/// Positions of `\uD800` to `\uDFFF` without their other half, which JSON parsers refuse (RFC 8259 section 8.2).
fn lone_surrogates(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let (mut lone, mut at) = (Vec::new(), 0);
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        let escape = at + found;
        at = match unit(bytes, escape) {
            Some(0xd800..=0xdbff) => match unit(bytes, escape + ESCAPE) {
                Some(0xdc00..=0xdfff) => escape + 2 * ESCAPE,
                _ => {
                    lone.push(escape);
                    escape + ESCAPE
                }
            },
            Some(0xdc00..=0xdfff) => {
                lone.push(escape);
                escape + ESCAPE
            }
            _ => (escape + 2).min(bytes.len()),
        };
    }
    lone
}

/// Length of `\uXXXX`.
const ESCAPE: usize = 6;

/// UTF-16 unit escaped at a position.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + ESCAPE)?.strip_prefix(b"\\u")?;
    let digits = digits.iter().all(u8::is_ascii_hexdigit).then_some(digits)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn replace_escapes(text: &str, escapes: &[usize]) -> String {
    let (mut mended, mut from) = (String::with_capacity(text.len()), 0);
    for escape in escapes {
        mended.push_str(&text[from..*escape]);
        mended.push_str("\\ufffd");
        from = escape + ESCAPE;
    }
    mended.push_str(&text[from..]);
    mended
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(bytes: &[u8]) -> String {
        text("a", bytes).unwrap().into_owned()
    }

    #[test]
    fn encodings_are_told_by_their_first_bytes() {
        let utf16 = |text: &str, bytes: fn(u16) -> [u8; 2]| {
            text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>()
        };
        let har = "{\"log\": \"caf\u{e9} \u{1f600}\"}";
        assert_eq!(of(har.as_bytes()), har);
        assert_eq!(of(&[&b"\xef\xbb\xbf"[..], har.as_bytes()].concat()), har);
        assert_eq!(of(&utf16(&format!("\u{feff}{har}"), u16::to_le_bytes)), har);
        assert_eq!(of(&utf16(&format!("\u{feff}{har}"), u16::to_be_bytes)), har);
        assert_eq!(of(&utf16(har, u16::to_le_bytes)), har);
        assert_eq!(of(b"{\"a\": \"caf\xe9\"}"), "{\"a\": \"caf\u{fffd}\"}");
    }

    #[test]
    fn other_files_are_named() {
        for (bytes, what) in [
            (&b"PK\x03\x04rest"[..], "a ZIP archive"),
            (b"  <!DOCTYPE html>", "an HTML or XML document"),
            (b"\x28\xb5\x2f\xfd", "compressed by zstd"),
        ] {
            let message = text("a.har", bytes).unwrap_err().to_string();
            assert!(message.starts_with(&format!("a.har: this is {what}")), "{message}");
        }
    }

    #[test]
    fn halves_of_surrogate_pairs_are_replaced() {
        for (before, after) in [
            (r#"["cut \ud83d"]"#, r#"["cut \ufffd"]"#),
            (r#"["\uDE00 first"]"#, r#"["\ufffd first"]"#),
            (r#"["\ud83d\ud83d\ude00"]"#, r#"["\ufffd\ud83d\ude00"]"#),
            (r#"["a backslash \\ud83d"]"#, r#"["a backslash \\ud83d"]"#),
            (r#"["\ud83d\ude00"]"#, r#"["\ud83d\ude00"]"#),
            (r#"["\ud83"]"#, r#"["\ud83"]"#),
        ] {
            assert_eq!(of(before.as_bytes()), after);
        }
    }

    proptest! {
        #[test]
        fn every_json_text_stays_readable(units in proptest::collection::vec(any::<u16>(), 0..20)) {
            let escaped: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let mended = of(format!("\"{escaped}\"").as_bytes());
            prop_assert!(serde_json::from_str::<String>(&mended).is_ok(), "{}", mended);
            if let Ok(text) = String::from_utf16(&units) {
                prop_assert_eq!(serde_json::from_str::<String>(&mended).unwrap(), text);
            }
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = text("a", &bytes);
        }
    }
}
