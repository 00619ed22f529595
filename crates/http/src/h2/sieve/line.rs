//! The lines of a header block as encoded (RFC 7541 section 6), and validation of their strings.

use http::{HeaderName, Method, StatusCode};

use super::huffman;

/// A block is unreadable, so that the table is no longer known.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

/// The kind of a name, and the values that it allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Field,
    Method,
    Status,
    /// The other pseudo-header fields: any text.
    Part,
    /// An invalid name.
    Bad,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    pub(super) kind: Kind,
    pub(super) bytes: usize,
}

/// A line of a block.
pub(super) enum Line<'b> {
    Indexed(usize),
    Literal(Literal<'b>),
    Resize(usize),
}

pub(super) struct Literal<'b> {
    /// True if it is added to the table.
    pub(super) is_kept: bool,
    /// 0 if the name is a string.
    pub(super) name_index: usize,
    pub(super) name: Option<Text<'b>>,
    /// The bytes before the value.
    pub(super) name_part: &'b [u8],
    pub(super) value: Text<'b>,
}

/// A string as encoded in a block.
pub(super) struct Text<'b> {
    is_coded: bool,
    pub(super) bytes: &'b [u8],
}

impl Text<'_> {
    pub(super) fn decoded_len(&self) -> Result<usize, Unreadable> {
        self.with_decoded(<[u8]>::len)
    }

    fn with_decoded<T>(&self, see: impl FnOnce(&[u8]) -> T) -> Result<T, Unreadable> {
        if !self.is_coded {
            return Ok(see(self.bytes));
        }
        Ok(see(&huffman::decode(self.bytes).ok_or(Unreadable)?))
    }

    pub(super) fn as_name(&self) -> Result<Name, Unreadable> {
        self.with_decoded(|text| Name { kind: kind(text), bytes: text.len() })
    }

    /// Returns true if it is a valid value for a name of this kind.
    pub(super) fn is_value_of(&self, kind: Kind) -> Result<bool, Unreadable> {
        let takes_plain = matches!(kind, Kind::Field | Kind::Part);
        if takes_plain && self.is_coded && huffman::is_plain(self.bytes) {
            return Ok(true);
        }
        match kind {
            Kind::Field => self.with_decoded(|text| text.iter().copied().all(is_of_value)),
            Kind::Method => self.with_decoded(|text| Method::from_bytes(text).is_ok()),
            Kind::Status => self.with_decoded(|text| StatusCode::from_bytes(text).is_ok()),
            Kind::Part => self.with_decoded(|text| std::str::from_utf8(text).is_ok()),
            Kind::Bad => Ok(false),
        }
    }
}

/// RFC 9113 section 8.2.1, and RFC 9110 section 5.5: the bytes that `http` accepts, as h2 does.
fn is_of_value(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

fn kind(name: &[u8]) -> Kind {
    match name {
        b":method" => Kind::Method,
        b":status" => Kind::Status,
        b":authority" | b":scheme" | b":path" | b":protocol" => Kind::Part,
        _ if HeaderName::from_lowercase(name).is_ok() => Kind::Field,
        _ => Kind::Bad,
    }
}

/// The rest of a block.
pub(super) struct Reader<'b>(pub(super) &'b [u8]);

impl<'b> Reader<'b> {
    pub(super) fn line(&mut self) -> Result<Line<'b>, Unreadable> {
        let first = *self.0.first().ok_or(Unreadable)?;
        Ok(match first {
            0x80.. => Line::Indexed(self.integer(7)?),
            0x40..0x80 => Line::Literal(self.literal(true, 6)?),
            0x20..0x40 => Line::Resize(self.integer(5)?),
            _ => Line::Literal(self.literal(false, 4)?),
        })
    }

    fn literal(&mut self, is_kept: bool, bits: u32) -> Result<Literal<'b>, Unreadable> {
        let start = self.0;
        let name_index = self.integer(bits)?;
        let name = if name_index == 0 { Some(self.text()?) } else { None };
        let name_part = &start[..start.len() - self.0.len()];
        Ok(Literal { is_kept, name_index, name, name_part, value: self.text()? })
    }

    fn text(&mut self) -> Result<Text<'b>, Unreadable> {
        let is_coded = self.0.first().ok_or(Unreadable)? & 0x80 != 0;
        let length = self.integer(7)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Unreadable)?;
        self.0 = rest;
        Ok(Text { is_coded, bytes })
    }

    /// RFC 7541 section 5.1, for integers of up to as many bytes as h2 reads.
    fn integer(&mut self, bits: u32) -> Result<usize, Unreadable> {
        let most = usize::from(u8::MAX >> (8 - bits));
        let mut value = usize::from(self.byte()?) & most;
        if value < most {
            return Ok(value);
        }
        for shift in [0, 7, 14, 21] {
            let byte = self.byte()?;
            value += usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Unreadable)
    }

    fn byte(&mut self) -> Result<u8, Unreadable> {
        let (first, rest) = self.0.split_first().ok_or(Unreadable)?;
        self.0 = rest;
        Ok(*first)
    }
}
