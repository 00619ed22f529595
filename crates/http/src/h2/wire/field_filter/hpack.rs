//! Header blocks: detection of malformed lines, and replacements with the same effect on the dynamic table.
//!
//! Only the shape of the dynamic table is kept: an entry's kind of name, its length, and whether it is malformed.

use std::collections::VecDeque;

use http::{HeaderName, Method, StatusCode};

use super::huffman;

/// The initial size of the dynamic table in bytes (RFC 9113 section 6.5.2); only blocks change it.
const INITIAL_BYTES: usize = 4_096;

/// Overhead of an entry's size (RFC 7541 section 4.1).
const ENTRY_BYTES: usize = 32;

/// Number of lines of the static table (appendix A).
const STATIC_LINES: usize = STATIC_NAMES.len();

/// Their names.
#[rustfmt::skip]
const STATIC_NAMES: [&str; 61] = [
    ":authority", ":method", ":method", ":path", ":path", ":scheme", ":scheme", ":status", ":status", ":status", ":status", ":status",
    ":status", ":status", "accept-charset", "accept-encoding", "accept-language", "accept-ranges", "accept",
    "access-control-allow-origin", "age", "allow", "authorization", "cache-control", "content-disposition", "content-encoding",
    "content-language", "content-length", "content-location", "content-range", "content-type", "cookie", "date", "etag", "expect",
    "expires", "from", "host", "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "last-modified",
    "link", "location", "max-forwards", "proxy-authenticate", "proxy-authorization", "range", "referer", "refresh", "retry-after",
    "server", "set-cookie", "strict-transport-security", "transfer-encoding", "user-agent", "vary", "via", "www-authenticate",
];

/// `connection: `, never indexed: a field that makes any message malformed (RFC 9113 section 8.2.2), and that h2 recognises.
const MALFORMED_FIELD: &[u8; 13] = b"\x10\x0aconnection\0";

#[derive(Debug)]
struct TableEntry {
    kind: NameKind,
    name_bytes: u32,
    value_bytes: u32,
    /// True if it makes a message malformed.
    is_bad: bool,
}

impl TableEntry {
    fn bytes(&self) -> usize {
        ENTRY_BYTES + self.name_bytes as usize + self.value_bytes as usize
    }
}

/// The shape of a dynamic table.
#[derive(Debug)]
pub(crate) struct TableShape {
    /// The newest first.
    entries: VecDeque<TableEntry>,
    bytes: usize,
    most_bytes: usize,
}

impl TableShape {
    pub(crate) fn new() -> TableShape {
        TableShape { entries: VecDeque::new(), bytes: 0, most_bytes: INITIAL_BYTES }
    }

    /// Reads the next block. If a line of it is malformed, returns a block that has the same effect on h2's table and
    /// that h2 treats as a malformed message.
    pub(crate) fn read(&mut self, block: &[u8]) -> Result<Option<Vec<u8>>, Unreadable> {
        let mut rest = LineReader(block);
        let mut instead: Option<Vec<u8>> = None;
        while !rest.0.is_empty() {
            let start = rest.0;
            // Nearly all lines are a one-byte index.
            if let Some((first @ 0x81..=0xfe, behind)) = start.split_first()
                && !self.is_bad(usize::from(first & 0x7f))?
            {
                instead.iter_mut().for_each(|instead| instead.push(*first));
                rest = LineReader(behind);
                continue;
            }
            let line = rest.line()?;
            let bytes = &start[..start.len() - rest.0.len()];
            match self.take(&line)? {
                None => instead.iter_mut().for_each(|instead| instead.extend_from_slice(bytes)),
                Some(substitute) => {
                    let before = &block[..block.len() - start.len()];
                    let begun = || [before, MALFORMED_FIELD].concat();
                    instead.get_or_insert_with(begun).extend(substitute);
                }
            }
        }
        Ok(instead)
    }

    /// Processes a line; if it is malformed, returns a replacement that has the same effect on h2's table.
    fn take(&mut self, line: &FieldLine<'_>) -> Result<Option<Vec<u8>>, Unreadable> {
        match line {
            FieldLine::Resize(most) => {
                self.most_bytes = *most;
                self.shrink_to(*most);
                Ok(None)
            }
            FieldLine::Indexed(index) => Ok(self.is_bad(*index)?.then(Vec::new)),
            FieldLine::Literal(literal) => self.take_literal(literal),
        }
    }

    /// Returns true if the line with that index is malformed.
    fn is_bad(&self, index: usize) -> Result<bool, Unreadable> {
        match index.checked_sub(STATIC_LINES + 1) {
            None if index == 0 => Err(Unreadable),
            None => Ok(false),
            Some(place) => self.entries.get(place).map(|entry| entry.is_bad).ok_or(Unreadable),
        }
    }

    fn take_literal(&mut self, line: &Literal<'_>) -> Result<Option<Vec<u8>>, Unreadable> {
        let name = self.name(line)?;
        let is_bad = !line.value.is_value_of(name.kind)?;
        if !line.is_kept {
            return Ok(is_bad.then(Vec::new));
        }
        let value_bytes = line.value.decoded_len()?;
        let (kind, substitute) = match is_bad {
            false => (name.kind, None),
            true => {
                let (kind, line) = substitute(line, name, value_bytes)?;
                (kind, Some(line))
            }
        };
        let [name_bytes, value_bytes] = [name.bytes, value_bytes].map(|bytes| bytes as u32);
        self.insert(TableEntry { kind, name_bytes, value_bytes, is_bad });
        Ok(substitute)
    }

    fn name(&self, line: &Literal<'_>) -> Result<HpackName, Unreadable> {
        match (&line.name, line.name_index.checked_sub(STATIC_LINES + 1)) {
            (Some(name), _) => name.as_name(),
            (None, None) => Ok(static_name(line.name_index)),
            (None, Some(place)) => {
                let entry = self.entries.get(place).ok_or(Unreadable)?;
                Ok(HpackName { kind: entry.kind, bytes: entry.name_bytes as usize })
            }
        }
    }

    /// RFC 7541 section 4.4.
    fn insert(&mut self, entry: TableEntry) {
        let bytes = entry.bytes();
        self.shrink_to(self.most_bytes.saturating_sub(bytes));
        if bytes <= self.most_bytes {
            self.bytes += bytes;
            self.entries.push_front(entry);
        }
    }

    fn shrink_to(&mut self, bytes: usize) {
        while self.bytes > bytes {
            let Some(oldest) = self.entries.pop_back() else { return };
            self.bytes -= oldest.bytes();
        }
    }
}

fn static_name(index: usize) -> HpackName {
    let kind = match index {
        2 | 3 => NameKind::Method,
        8..=14 => NameKind::Status,
        1..8 => NameKind::Part,
        _ => NameKind::Field,
    };
    HpackName { kind, bytes: STATIC_NAMES[index - 1].len() }
}

/// A line that creates an entry of the same size, with the same name if that is valid; also returns the entry's kind.
fn substitute(
    line: &Literal<'_>,
    name: HpackName,
    value_bytes: usize,
) -> Result<(NameKind, Vec<u8>), Unreadable> {
    let keeps_name = match name.kind {
        NameKind::Field | NameKind::Part => true,
        // Zeros are a valid method unless empty, and never a valid status.
        NameKind::Method => value_bytes > 0,
        NameKind::Status | NameKind::Bad => false,
    };
    let mut out = Vec::new();
    if keeps_name {
        out.extend_from_slice(line.name_part);
        push_zeros(value_bytes, &mut out);
        return Ok((name.kind, out));
    }
    // A name has at least one byte, which an empty one takes from its value.
    let name_bytes = name.bytes.max(1);
    let value_bytes = (name.bytes + value_bytes).checked_sub(name_bytes).ok_or(Unreadable)?;
    out.push(0x40);
    push_zeros(name_bytes, &mut out);
    push_zeros(value_bytes, &mut out);
    Ok((NameKind::Bad, out))
}

/// Appends a string of `count` zeros.
fn push_zeros(count: usize, out: &mut Vec<u8>) {
    let mut length = (count * 5).div_ceil(8);
    if length < 0x7f {
        out.push(0x80 | length as u8);
    } else {
        out.push(0xff);
        length -= 0x7f;
        while length >= 0x80 {
            out.push(0x80 | length as u8);
            length >>= 7;
        }
        out.push(length as u8);
    }
    huffman::push_zeros(count, out);
}

// The lines of a header block as encoded (RFC 7541 section 6), and validation of their strings.

/// A block is unreadable, so that the table is no longer known.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unreadable;

/// The kind of a name, and the values that it allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    Field,
    Method,
    Status,
    /// The other pseudo-header fields: any text.
    Part,
    /// An invalid name.
    Bad,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct HpackName {
    pub(crate) kind: NameKind,
    pub(crate) bytes: usize,
}

/// A line of a block.
pub(crate) enum FieldLine<'b> {
    Indexed(usize),
    Literal(Literal<'b>),
    Resize(usize),
}

pub(crate) struct Literal<'b> {
    /// True if it is added to the table.
    pub(crate) is_kept: bool,
    /// 0 if the name is a string.
    pub(crate) name_index: usize,
    pub(crate) name: Option<HpackString<'b>>,
    /// The bytes before the value.
    pub(crate) name_part: &'b [u8],
    pub(crate) value: HpackString<'b>,
}

/// A string as encoded in a block.
pub(crate) struct HpackString<'b> {
    is_coded: bool,
    pub(crate) bytes: &'b [u8],
}

impl HpackString<'_> {
    pub(crate) fn decoded_len(&self) -> Result<usize, Unreadable> {
        self.with_decoded(<[u8]>::len)
    }

    fn with_decoded<T>(&self, see: impl FnOnce(&[u8]) -> T) -> Result<T, Unreadable> {
        if !self.is_coded {
            return Ok(see(self.bytes));
        }
        Ok(see(&huffman::decode(self.bytes).ok_or(Unreadable)?))
    }

    pub(crate) fn as_name(&self) -> Result<HpackName, Unreadable> {
        self.with_decoded(|text| HpackName { kind: kind(text), bytes: text.len() })
    }

    /// Returns true if it is a valid value for a name of this kind.
    pub(crate) fn is_value_of(&self, kind: NameKind) -> Result<bool, Unreadable> {
        let takes_plain = matches!(kind, NameKind::Field | NameKind::Part);
        if takes_plain && self.is_coded && huffman::is_plain(self.bytes) {
            return Ok(true);
        }
        match kind {
            NameKind::Field => self.with_decoded(|text| text.iter().copied().all(is_of_value)),
            NameKind::Method => self.with_decoded(|text| Method::from_bytes(text).is_ok()),
            NameKind::Status => self.with_decoded(|text| StatusCode::from_bytes(text).is_ok()),
            NameKind::Part => self.with_decoded(|text| std::str::from_utf8(text).is_ok()),
            NameKind::Bad => Ok(false),
        }
    }
}

/// RFC 9113 section 8.2.1, and RFC 9110 section 5.5: the bytes that `http` accepts, as h2 does.
fn is_of_value(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

fn kind(name: &[u8]) -> NameKind {
    match name {
        b":method" => NameKind::Method,
        b":status" => NameKind::Status,
        b":authority" | b":scheme" | b":path" | b":protocol" => NameKind::Part,
        _ if HeaderName::from_lowercase(name).is_ok() => NameKind::Field,
        _ => NameKind::Bad,
    }
}

/// The rest of a block.
pub(crate) struct LineReader<'b>(pub(crate) &'b [u8]);

impl<'b> LineReader<'b> {
    pub(crate) fn line(&mut self) -> Result<FieldLine<'b>, Unreadable> {
        let first = *self.0.first().ok_or(Unreadable)?;
        Ok(match first {
            0x80.. => FieldLine::Indexed(self.integer(7)?),
            0x40..0x80 => FieldLine::Literal(self.literal(true, 6)?),
            0x20..0x40 => FieldLine::Resize(self.integer(5)?),
            _ => FieldLine::Literal(self.literal(false, 4)?),
        })
    }

    fn literal(&mut self, is_kept: bool, bits: u32) -> Result<Literal<'b>, Unreadable> {
        let start = self.0;
        let name_index = self.integer(bits)?;
        let name = if name_index == 0 { Some(self.text()?) } else { None };
        let name_part = &start[..start.len() - self.0.len()];
        Ok(Literal { is_kept, name_index, name, name_part, value: self.text()? })
    }

    fn text(&mut self) -> Result<HpackString<'b>, Unreadable> {
        let is_coded = self.0.first().ok_or(Unreadable)? & 0x80 != 0;
        let length = self.integer(7)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Unreadable)?;
        self.0 = rest;
        Ok(HpackString { is_coded, bytes })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
        digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
    }

    /// RFC 7541 sections C.5 and C.6: a table of 256 bytes that evicts its oldest entries.
    #[test]
    fn the_table_of_the_examples_has_their_sizes() {
        let plain = [
            "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d \
             546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
            "4803 3330 37c1 c0bf",
            "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f \
             6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b \
             2076 6572 7369 6f6e 3d31",
        ];
        let coded = [
            "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 \
             8f0b 97c8 e9ae 82ae 43d3",
            "4883 640e ffc1 c0bf",
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 \
             dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
        ];
        for blocks in [plain, coded] {
            let mut table = TableShape::new();
            assert_eq!(table.read(&bytes("3fe101")), Ok(None), "256 bytes");
            let sizes = blocks.map(|block| {
                assert_eq!(table.read(&bytes(block)), Ok(None), "{block}");
                (table.bytes, table.entries.len())
            });
            assert_eq!(sizes, [(222, 4), (222, 4), (215, 3)]);
        }
    }

    /// The replacement of a malformed block leaves a table of the same size, and contains nothing malformed except what
    /// h2 recognises.
    #[test]
    fn a_substitute_leaves_the_same_table() {
        let lines: [&[u8]; 8] = [
            b"\x82",
            b"\x40\x01A\x03abc",
            b"\x40\x00\x03abc",
            b"\x40\x01a\x03a\0c",
            b"\x42\x03G T",
            b"\x42\x00",
            b"\x48\x0220",
            b"\xbe",
        ];
        let (mut ours, mut of_h2) = (TableShape::new(), TableShape::new());
        let instead = ours.read(&lines.concat()).unwrap().expect("it is malformed");
        assert!(instead.starts_with(b"\x82\x10\x0aconnection\0"), "{instead:x?}");
        assert_eq!(of_h2.read(&instead), Ok(None), "{instead:x?}");
        let sizes =
            |table: &TableShape| table.entries.iter().map(TableEntry::bytes).collect::<Vec<_>>();
        assert_eq!(sizes(&of_h2), sizes(&ours));
        assert_eq!(sizes(&ours), [41, 39, 42, 36, 35, 36]);
    }

    #[test]
    fn what_is_no_block_is_said_to_be_none() {
        for block in
            [&b"\x80"[..], b"\xbe", b"\x40", b"\x40\x02a", b"\xff\xff\xff\xff\xff", b"\x40\0\0"]
        {
            assert_eq!(TableShape::new().read(block), Err(Unreadable), "{block:x?}");
        }
    }
}
