//! A HAR's outermost structure - pages and entries -, decoded from a file's bytes and read leniently.

use std::borrow::Cow;

use serde_json::Value;

use super::entry::{self, HarEntry};
use super::repair;
use crate::Error;

/// One `log.pages` element.
#[derive(Clone, Debug)]
pub(super) struct PageMark {
    pub id: String,
    /// Time of the load event, as an instant like [`HarEntry::started`].
    pub loaded_at: Option<i64>,
}

/// A HAR, with typed fields where needed.
#[derive(Debug)]
pub(super) struct HarLog {
    /// The recording tool.
    pub creator: String,
    pub pages: Vec<PageMark>,
    pub entries: Vec<HarEntry>,
}

impl HarLog {
    /// Parses `text`; strict on structure, lenient on values.
    pub fn parse(name: &str, text: &[u8]) -> Result<HarLog, Error> {
        let text = decode(name, text)?;
        let value: Value = serde_json::from_str(&text).map_err(|e| Error::NotJson {
            name: name.to_owned(),
            line: e.line(),
            column: e.column(),
            detail: e.to_string(),
        })?;
        let not_har =
            |missing: &str| Error::NotHar { name: name.to_owned(), missing: missing.to_owned() };
        let log = value.get("log").ok_or_else(|| not_har("there is no `log`"))?;
        let entries = log
            .get("entries")
            .ok_or_else(|| not_har("`log` has no `entries`"))?
            .as_array()
            .ok_or_else(|| not_har("`log.entries` is not a list"))?;
        if entries.is_empty() {
            return Err(Error::NoEntries { name: name.to_owned() });
        }
        let pages = field(log, "pages").as_array().map(Vec::as_slice).unwrap_or_default();
        let reader = entry::EntryReader::new(name, entries);
        let mut read: Vec<HarEntry> = entries
            .iter()
            .enumerate()
            .map(|(index, value)| reader.read(index, value))
            .collect::<Result<_, _>>()?;
        repair::repair(&mut read);
        Ok(HarLog {
            creator: creator(log),
            pages: pages.iter().map(page_mark).collect(),
            entries: read,
        })
    }
}

fn creator(log: &Value) -> String {
    let creator = field(log, "creator");
    let name = text(field(creator, "name")).unwrap_or("an unnamed tool");
    match text(field(creator, "version")) {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    }
}

fn page_mark(value: &Value) -> PageMark {
    let started = text(field(value, "startedDateTime")).and_then(entry::instant);
    let on_load = number(field(field(value, "pageTimings"), "onLoad")).filter(|ms| *ms > 0.0);
    PageMark {
        id: text(field(value, "id")).unwrap_or_default().to_owned(),
        loaded_at: started
            .zip(on_load.and_then(entry::micros))
            .map(|(started, on_load)| started + on_load),
    }
}

// Decodes a HAR's text from a file's bytes, whatever its encoding; other formats are named in the error.
//
// Bodies are stored as text without any guarantee that they are text: recorders leave bytes of other encodings and
// halves of surrogate pairs in them. These are replaced by U+FFFD, as most bodies are never read.

/// The text in `bytes`, ready for a JSON parser.
pub(super) fn decode<'a>(name: &str, bytes: &'a [u8]) -> Result<Cow<'a, str>, Error> {
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

// Lenient access to JSON: a number may be a string, a field may be missing or null.

/// The field `name` of an object; `Null` if absent.
pub(super) fn field<'a>(value: &'a Value, name: &str) -> &'a Value {
    static NULL: Value = Value::Null;
    value.get(name).unwrap_or(&NULL)
}

/// A number, or a string that holds one.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(n) => n.as_f64(),
        Value::String(s) => s.trim().parse().ok(),
        _ => None,
    }
    .filter(|n| n.is_finite())
}

/// A count of bytes: a number of 0 or more. Tools write -1 for "not known".
pub(super) fn bytes(value: &Value) -> Option<u64> {
    // Beyond 2^53 a JSON number is not a plausible count.
    number(value).filter(|n| (0.0..9.007e15).contains(n)).map(|n| n.round() as u64)
}

/// A non-empty string.
pub(super) fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|s| !s.is_empty())
}

/// `true`, `"true"` or a 1.
pub(super) fn truth(value: &Value) -> bool {
    match value {
        Value::Bool(b) => *b,
        Value::String(s) => matches!(s.as_str(), "true" | "1"),
        other => number(other) == Some(1.0),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(bytes: &[u8]) -> String {
        decode("a", bytes).unwrap().into_owned()
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
            let message = decode("a.har", bytes).unwrap_err().to_string();
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
            let _ = decode("a", &bytes);
        }
    }
}
