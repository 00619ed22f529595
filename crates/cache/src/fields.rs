//! Access to a message's fields in any representation, and list parsing in field values.
//!
//! A server's codec, a `HeaderMap` and a stored [`Section`] all show their field lines in order; reading copies nothing.

use http::{HeaderMap, HeaderName, HeaderValue};

/// The fields of a message.
pub trait FieldLines {
    /// Calls `see` with each field line in order: its name, in its original case, and its value without surrounding
    /// white space.
    fn each<'a>(&'a self, see: impl FnMut(&'a str, &'a [u8]));

    /// Calls `see` with the values of each line of that name, given in lower case.
    fn values<'a>(&'a self, name: &str, mut see: impl FnMut(&'a [u8])) {
        self.each(|candidate, value| {
            if candidate.eq_ignore_ascii_case(name) {
                see(value);
            }
        });
    }

    /// The value of the first line of that name.
    fn value<'a>(&'a self, name: &str) -> Option<&'a [u8]> {
        let mut first = None;
        self.values(name, |value| first = first.or(Some(value)));
        first
    }

    /// Returns true if there is a line of that name.
    fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }
}

impl FieldLines for HeaderMap {
    fn each<'a>(&'a self, mut see: impl FnMut(&'a str, &'a [u8])) {
        for (name, value) in self {
            see(name.as_str(), value.as_bytes());
        }
    }
}

impl<N: AsRef<str>, V: AsRef<[u8]>> FieldLines for [(N, V)] {
    fn each<'a>(&'a self, mut see: impl FnMut(&'a str, &'a [u8])) {
        for (name, value) in self {
            see(name.as_ref(), value.as_ref());
        }
    }
}

/// The members of a comma-separated list (RFC 9110 section 5.6.1): trimmed, without empty ones; commas in quoted strings do not
/// separate.
pub fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = value;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = member_end(rest);
            let member = rest[..end].trim_ascii();
            rest = rest.get(end + 1..).unwrap_or_default();
            if !member.is_empty() {
                return Some(member);
            }
        }
        None
    })
}

/// End of the first member: a comma outside quotes, or the end of the list.
fn member_end(list: &[u8]) -> usize {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in list.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => return at,
            _ => {}
        }
    }
    list.len()
}

/// The content of a quoted string without escapes; any other text as it is.
pub fn unquoted(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text)
}

/// A message's fields as lines of text, `name: value` CRLF each, as HTTP/1.1 sends them: one buffer, ready to be sent or written to disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section(bytes::Bytes);

impl Section {
    /// The lines of these fields.
    pub fn of(fields: &(impl FieldLines + ?Sized)) -> Section {
        Section::of_those(fields, |_| true)
    }

    /// The lines of those fields for whose name `kept` returns true.
    pub fn of_those(fields: &(impl FieldLines + ?Sized), kept: impl Fn(&str) -> bool) -> Section {
        let mut text = Vec::new();
        fields.each(|name, value| {
            if kept(name) {
                push_line(&mut text, name, value);
            }
        });
        Section(text.into())
    }

    /// Takes lines that were written as [`Section::text`]; `None` if they are not such lines.
    pub fn from_text(text: bytes::Bytes) -> Option<Section> {
        let section = Section(text);
        let mut seen = 0;
        section.each(|name, value| {
            let valid = HeaderName::from_bytes(name.as_bytes()).is_ok()
                && HeaderValue::from_bytes(value).is_ok();
            seen += if valid { name.len() + value.len() + 4 } else { 0 };
        });
        (seen == section.0.len()).then_some(section)
    }

    /// The lines, each ended by CRLF, without the empty line that ends a head.
    pub fn text(&self) -> &bytes::Bytes {
        &self.0
    }

    /// The same fields as a map.
    pub fn to_map(&self) -> HeaderMap {
        let mut map = HeaderMap::new();
        self.each(|name, value| {
            let name = HeaderName::from_bytes(name.as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value)) {
                map.append(name, value);
            }
        });
        map
    }
}

fn push_line(text: &mut Vec<u8>, name: &str, value: &[u8]) {
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(b": ");
    text.extend_from_slice(value);
    text.extend_from_slice(b"\r\n");
}

impl FieldLines for Section {
    fn each<'a>(&'a self, mut see: impl FnMut(&'a str, &'a [u8])) {
        let mut rest = &self.0[..];
        while let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
            let (line, after) = (&rest[..end], &rest[end + 2..]);
            rest = after;
            let colon = line.windows(2).position(|pair| pair == b": ");
            let Some((name, value)) = colon.map(|at| (&line[..at], &line[at + 2..])) else {
                continue;
            };
            if let Ok(name) = std::str::from_utf8(name) {
                see(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn members_are_parted_outside_quotes() {
        let list = br#"a, ,b="x, y" ,c="\",", d"#;
        let found: Vec<_> = members(list).map(|m| std::str::from_utf8(m).unwrap()).collect();
        assert_eq!(found, ["a", r#"b="x, y""#, r#"c="\",""#, "d"]);
        assert_eq!(members(b"").count(), 0);
        assert_eq!(members(b"\"never closed, ").count(), 1);
    }

    #[test]
    fn names_match_in_any_case() {
        let fields = [("ETag", "\"a\""), ("etag", "\"b\"")];
        assert_eq!(fields.value("etag"), Some(&b"\"a\""[..]));
        assert!(!fields.has("age"));
    }

    proptest! {
        #[test]
        fn a_section_gives_back_its_fields(lines in prop::collection::vec(("[a-z-]{1,12}", "[!-~]([ -~]{0,20}[!-~])?"), 0..8)) {
            let section = Section::of(&lines[..]);
            let mut back = Vec::new();
            section.each(|name, value| back.push((name.to_owned(), String::from_utf8(value.to_vec()).unwrap())));
            prop_assert_eq!(back, lines);
            prop_assert_eq!(Section::from_text(section.text().clone()), Some(section));
        }

        #[test]
        fn any_text_is_read_or_refused(text in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Some(section) = Section::from_text(text.into()) {
                section.to_map();
            }
        }

        #[test]
        fn members_never_panic(text in prop::collection::vec(prop::sample::select(b"a,\" \\=".to_vec()), 0..20)) {
            for member in members(&text) {
                prop_assert!(!member.is_empty());
            }
        }
    }
}
