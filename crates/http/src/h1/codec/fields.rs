//! A head's fields, and the message framing that they define together.

use super::{BodyLength, Error, Version};

/// The field lines of a parsed head, iterable repeatedly without an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields<'b>(&'b [u8]);

impl<'b> Fields<'b> {
    /// The lines after the start line of `head`, which `httparse` has accepted.
    pub(crate) fn of(head: &'b [u8]) -> Fields<'b> {
        let start = memchr::memchr(b'\n', head).map_or(head.len(), |feed| feed + 1);
        Fields(&head[start..])
    }

    /// The lines of [`Fields::text`].
    pub(crate) fn of_text(lines: &'b [u8]) -> Fields<'b> {
        Fields(lines)
    }

    /// The lines, for storage.
    pub(crate) fn text(self) -> &'b [u8] {
        self.0
    }

    /// The fields in order: names in their original case, values without surrounding blanks.
    pub fn iter(self) -> impl Iterator<Item = (&'b str, &'b [u8])> {
        self.0.split(|&byte| byte == b'\n').filter_map(|line| {
            let colon = memchr::memchr(b':', line)?;
            let name = str::from_utf8(&line[..colon]).ok()?;
            Some((name, line[colon + 1..].trim_ascii()))
        })
    }

    /// The first field called `name`, in any case.
    pub fn get(self, name: &str) -> Option<&'b [u8]> {
        self.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// The members of a list (RFC 9110 section 5.6.1): separated by commas, empty ones skipped.
pub(super) fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|member| !member.is_empty())
}

/// The fields of one head that determine the message's end and the connection's persistence.
#[derive(Debug, Default)]
pub(super) struct FramingFields {
    length: Option<u64>,
    /// Number of lengths seen.
    lengths: usize,
    coded: bool,
    chunked: bool,
    close: bool,
    keep_alive: bool,
}

impl FramingFields {
    /// Takes in one field.
    pub(super) fn field(&mut self, name: &str, value: &[u8]) -> Result<(), Error> {
        if name.eq_ignore_ascii_case("connection") {
            self.connection(value);
            Ok(())
        } else if name.eq_ignore_ascii_case("content-length") {
            self.content_length(value)
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            self.coding(value)
        } else {
            Ok(())
        }
    }

    fn connection(&mut self, value: &[u8]) {
        for option in members(value) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// RFC 9110 section 8.6: the same number repeated may be accepted as one; RFC 9112 section 6.3 item 5: anything
    /// else is an unrecoverable error.
    fn content_length(&mut self, value: &[u8]) -> Result<(), Error> {
        let mut any = false;
        for member in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            let length = decimal(member).ok_or(Error::ContentLength)?;
            if self.length.is_some_and(|before| before != length) {
                return Err(Error::ContentLength);
            }
            self.length = Some(length);
            self.lengths += 1;
            any = true;
        }
        if any { Ok(()) } else { Err(Error::ContentLength) }
    }

    /// RFC 9112 section 6.1: `chunked` is applied once, and last.
    fn coding(&mut self, value: &[u8]) -> Result<(), Error> {
        self.coded = true;
        for coding in members(value) {
            if self.chunked {
                return Err(Error::TransferEncoding);
            }
            if !coding.eq_ignore_ascii_case(b"chunked") {
                return Err(Error::UnknownCoding);
            }
            self.chunked = true;
        }
        Ok(())
    }

    /// Returns true if the length occurs more than once, even if it is the same: not every recipient looks at all of them.
    pub(super) fn repeats_length(&self) -> bool {
        self.lengths > 1
    }

    /// The body's length if the fields define it, else `None`.
    pub(super) fn body(&self, version: Version) -> Result<Option<BodyLength>, Error> {
        if !self.coded {
            return Ok(self.length.map(BodyLength::Exactly));
        }
        // RFC 9112 section 6.1: a Transfer-Encoding in HTTP/1.0 is faulty framing; section 6.3
        // item 3: beside Content-Length it "ought to be handled as an error".
        if version == Version::V10 || self.length.is_some() || !self.chunked {
            return Err(Error::TransferEncoding);
        }
        Ok(Some(BodyLength::Chunked))
    }

    /// RFC 9112 section 9.3: returns true if the connection persists after this message.
    pub(super) fn persistent(&self, version: Version) -> bool {
        !self.close && (version == Version::V11 || self.keep_alive)
    }
}

/// `1*DIGIT` as a number, if it fits.
fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |sum, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framing(fields: &[(&str, &str)]) -> Result<FramingFields, Error> {
        let mut framing = FramingFields::default();
        for (name, value) in fields {
            framing.field(name, value.as_bytes())?;
        }
        Ok(framing)
    }

    #[test]
    fn content_length_is_digits_that_agree() {
        let length = |v: &str| framing(&[("Content-Length", v)])?.body(Version::V11);
        assert_eq!(length("42"), Ok(Some(BodyLength::Exactly(42))));
        assert_eq!(length("42, 42"), Ok(Some(BodyLength::Exactly(42))));
        assert_eq!(length("18446744073709551615"), Ok(Some(BodyLength::Exactly(u64::MAX))));
        for bad in ["", "-1", "+1", "0x10", "4 2", "42,43", "42,", "18446744073709551616", "1e3"] {
            assert_eq!(length(bad), Err(Error::ContentLength), "{bad}");
        }
        let twice = framing(&[("content-length", "1"), ("CONTENT-LENGTH", "2")]);
        assert_eq!(twice.unwrap_err(), Error::ContentLength);
    }

    #[test]
    fn transfer_encoding_is_chunked_once_and_alone() {
        let body = |f: &[(&str, &str)], v| framing(f)?.body(v);
        let te = "Transfer-Encoding";
        assert_eq!(body(&[(te, "Chunked")], Version::V11), Ok(Some(BodyLength::Chunked)));
        assert_eq!(body(&[(te, "chunked")], Version::V10), Err(Error::TransferEncoding));
        assert_eq!(body(&[(te, "chunked, chunked")], Version::V11), Err(Error::TransferEncoding));
        assert_eq!(body(&[(te, "")], Version::V11), Err(Error::TransferEncoding));
        assert_eq!(body(&[(te, "gzip, chunked")], Version::V11), Err(Error::UnknownCoding));
        assert_eq!(body(&[(te, "xchunked")], Version::V11), Err(Error::UnknownCoding));
        let both = [(te, "chunked"), ("Content-Length", "3")];
        assert_eq!(body(&both, Version::V11), Err(Error::TransferEncoding));
    }

    #[test]
    fn connections_persist_by_version_and_option() {
        let persists = |value, version| {
            framing(&[("Connection", value)]).is_ok_and(|framing| framing.persistent(version))
        };
        assert!(persists("", Version::V11));
        assert!(!persists("", Version::V10));
        assert!(persists("Keep-Alive", Version::V10));
        assert!(!persists("foo, Close", Version::V11));
        assert!(!persists("keep-alive, close", Version::V10));
    }

    #[test]
    fn fields_are_found_again_in_the_text() {
        let fields = Fields::of(b"GET / HTTP/1.1\r\nHost: a\r\nX-Y:  b:c \r\n\r\n");
        let all: Vec<_> = fields.iter().collect();
        assert_eq!(all, [("Host", &b"a"[..]), ("X-Y", b"b:c")]);
        assert_eq!(fields.get("x-y"), Some(&b"b:c"[..]));
    }
}
