//! Check that a request has each pseudo-header field once, before its fields: `:method`, `:scheme`, `:authority`,
//! `:path` (RFC 9114 section 4.3). No I/O.
//!
//! h3 takes the last of several, at any position. Here only the names of a field section are read, as its bytes pass:
//! of QPACK (RFC 9204 section 4.5) that needs only the shape of lines, since the dynamic table is not used.

/// The pseudo-header fields, a bit each.
const NAMES: [(&[u8], u8); 6] = [
    (b":authority", 1),
    (b":path", 2),
    (b":method", 4),
    (b":scheme", 8),
    (b":status", 16),
    (b":protocol", 32),
];

/// Bytes kept of a name: the longest of these and more.
const KEPT_BYTES: usize = 16;

/// Scanner of a message's field sections.
#[derive(Debug, Default)]
pub(super) struct PseudoScan {
    at: QpackPosition,
    name: Vec<u8>,
    seen: u8,
    has_fields: bool,
    is_malformed: bool,
}

/// The position of the scan in a field section.
#[derive(Clone, Copy, Debug)]
enum QpackPosition {
    /// In the prefix, with this many integers still to come.
    Prefix(u8, Integer),
    Line,
    /// In the index of an indexed line, of the static table or not.
    Indexed(bool, Integer),
    /// In the index of a name.
    NameIndex(bool, Integer),
    /// In the length of a name, which may be Huffman-coded.
    NameLength(bool, Integer),
    Name(bool, u64),
    ValueStart,
    ValueLength(Integer),
    Value(u64),
}

impl Default for QpackPosition {
    fn default() -> QpackPosition {
        QpackPosition::Prefix(2, Integer::default())
    }
}

/// A partial integer (RFC 7541 section 5.1).
#[derive(Clone, Copy, Debug, Default)]
struct Integer {
    value: u64,
    /// Shift of the next byte; `None` before the first.
    shift: Option<u32>,
}

impl Integer {
    /// Processes a byte, of which the first holds `bits` bits; returns the value if it was the last.
    fn take(&mut self, byte: u8, bits: u32) -> Option<u64> {
        let Some(shift) = self.shift else {
            let most = u8::MAX >> (8 - bits);
            self.value = u64::from(byte & most);
            self.shift = Some(0);
            return (byte & most != most).then_some(self.value);
        };
        // Larger ones are left for h3 to refuse.
        let part = u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(u64::MAX / 2);
        self.value = self.value.saturating_add(part);
        self.shift = Some(shift + 7);
        (byte & 0x80 == 0).then_some(self.value)
    }
}

impl PseudoScan {
    /// Returns true if the part read so far is malformed.
    pub(super) fn is_malformed(&self) -> bool {
        self.is_malformed
    }

    /// Starts another field section.
    pub(super) fn begin(&mut self) {
        self.at = QpackPosition::default();
    }

    /// Processes the next bytes of the section.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(&first) = bytes.first() {
            bytes = match self.at {
                QpackPosition::Name(is_coded, left) => self.name(is_coded, left, bytes),
                QpackPosition::Value(left) => {
                    let (taken, left) = taken(left, bytes);
                    self.at =
                        if left == 0 { QpackPosition::Line } else { QpackPosition::Value(left) };
                    &bytes[taken..]
                }
                _ => {
                    self.at = self.framing(first);
                    &bytes[1..]
                }
            };
        }
    }

    fn framing(&mut self, byte: u8) -> QpackPosition {
        match self.at {
            QpackPosition::Prefix(left, mut integer) => {
                // The first has eight bits, the second a sign before seven.
                match (integer.take(byte, if left == 2 { 8 } else { 7 }), left) {
                    (None, _) => QpackPosition::Prefix(left, integer),
                    (Some(_), 2) => QpackPosition::Prefix(1, Integer::default()),
                    (Some(_), _) => QpackPosition::Line,
                }
            }
            QpackPosition::Line => match byte {
                0x80.. => self.indexed(byte & 0x40 != 0, Integer::default(), byte, 6),
                0x40..0x80 => self.name_index(byte & 0x10 != 0, Integer::default(), byte, 4),
                0x20..0x40 => self.name_length(byte & 0x08 != 0, Integer::default(), byte),
                0x10..0x20 => self.indexed(false, Integer::default(), byte, 4),
                _ => self.name_index(false, Integer::default(), byte, 3),
            },
            QpackPosition::Indexed(is_static, integer) => self.indexed(is_static, integer, byte, 0),
            QpackPosition::NameIndex(is_static, integer) => {
                self.name_index(is_static, integer, byte, 0)
            }
            QpackPosition::NameLength(is_coded, integer) => {
                self.name_length(is_coded, integer, byte)
            }
            QpackPosition::ValueStart => value_length(Integer::default(), byte),
            QpackPosition::ValueLength(integer) => value_length(integer, byte),
            QpackPosition::Name(..) | QpackPosition::Value(_) => {
                unreachable!("their bytes are taken together")
            }
        }
    }

    fn indexed(
        &mut self,
        is_static: bool,
        mut integer: Integer,
        byte: u8,
        bits: u32,
    ) -> QpackPosition {
        match integer.take(byte, bits) {
            None => QpackPosition::Indexed(is_static, integer),
            Some(index) => {
                self.note(part_of(is_static, index));
                QpackPosition::Line
            }
        }
    }

    fn name_index(
        &mut self,
        is_static: bool,
        mut integer: Integer,
        byte: u8,
        bits: u32,
    ) -> QpackPosition {
        match integer.take(byte, bits) {
            None => QpackPosition::NameIndex(is_static, integer),
            Some(index) => {
                self.note(part_of(is_static, index));
                QpackPosition::ValueStart
            }
        }
    }

    fn name_length(&mut self, is_coded: bool, mut integer: Integer, byte: u8) -> QpackPosition {
        self.name.clear();
        match integer.take(byte, 3) {
            None => QpackPosition::NameLength(is_coded, integer),
            // Not a name: h3 reports it.
            Some(0) => QpackPosition::ValueStart,
            Some(length) => QpackPosition::Name(is_coded, length),
        }
    }

    /// Processes bytes of a name; returns the bytes after it.
    fn name<'b>(&mut self, is_coded: bool, left: u64, bytes: &'b [u8]) -> &'b [u8] {
        let (taken, left) = taken(left, bytes);
        let room = KEPT_BYTES - self.name.len();
        self.name.extend_from_slice(&bytes[..taken.min(room)]);
        self.at = QpackPosition::Name(is_coded, left);
        if left == 0 {
            let is = |name: &[u8]| match is_coded {
                true => coded(name) == self.name,
                false => name == self.name,
            };
            let part = NAMES.iter().find(|(name, _)| is(name)).map_or(0, |(_, part)| *part);
            self.note(part);
            self.at = QpackPosition::ValueStart;
        }
        &bytes[taken..]
    }

    /// Notes a line of that pseudo-header field, or of a field.
    fn note(&mut self, part: u8) {
        self.is_malformed |= part != 0 && (self.has_fields || self.seen & part != 0);
        self.has_fields |= part == 0;
        self.seen |= part;
    }
}

/// Number of `bytes` within an item that has `left` bytes to come, and the new `left`.
fn taken(left: u64, bytes: &[u8]) -> (usize, u64) {
    let taken = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
    (taken, left - taken as u64)
}

fn value_length(mut integer: Integer, byte: u8) -> QpackPosition {
    match integer.take(byte, 7) {
        None => QpackPosition::ValueLength(integer),
        Some(0) => QpackPosition::Line,
        Some(length) => QpackPosition::Value(length),
    }
}

/// The pseudo-header field of a line of the static table (RFC 9204 appendix A); 0 for other fields.
fn part_of(is_static: bool, index: u64) -> u8 {
    match index {
        _ if !is_static => 0,
        0 => 1,
        1 => 2,
        15..=21 => 4,
        22 | 23 => 8,
        24..=28 | 63..=71 => 16,
        _ => 0,
    }
}

/// One of these names in Huffman's code (RFC 7541 appendix B).
fn coded(name: &[u8]) -> Vec<u8> {
    let (mut bits, mut count, mut out) = (0_u64, 0, Vec::new());
    for byte in name {
        let (code, length) = match byte {
            b':' => (0x5c, 7),
            b'a' => (0x3, 5),
            b'c' => (0x4, 5),
            b'd' => (0x24, 6),
            b'e' => (0x5, 5),
            b'h' => (0x27, 6),
            b'i' => (0x6, 5),
            b'l' => (0x28, 6),
            b'm' => (0x29, 6),
            b'o' => (0x7, 5),
            b'p' => (0x2b, 6),
            b'r' => (0x2c, 6),
            b's' => (0x8, 5),
            b't' => (0x9, 5),
            b'u' => (0x2d, 6),
            b'y' => (0x7a, 7),
            _ => unreachable!("the parts' names have no other letters"),
        };
        (bits, count) = ((bits << length) | code, count + length);
        while count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    if count > 0 {
        // Padded with ones.
        out.push(((bits << (8 - count)) | ((1 << (8 - count)) - 1)) as u8);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A line with a literal name.
    fn literal(name: &[u8], is_coded: bool, value: &[u8]) -> Vec<u8> {
        let text = if is_coded { coded(name) } else { name.to_vec() };
        let mut line = Vec::new();
        let first = 0x20 | u8::from(is_coded) << 3;
        match text.len() {
            length @ 0..7 => line.push(first | length as u8),
            length => line.extend([first | 7, (length - 7) as u8]),
        }
        [line, text, vec![value.len() as u8], value.to_vec()].concat()
    }

    fn is_malformed(lines: &[&[u8]], step: usize) -> bool {
        let mut scan = PseudoScan::default();
        [&[0, 0], &lines.concat()[..]].concat().chunks(step).for_each(|piece| scan.feed(piece));
        scan.is_malformed()
    }

    /// `:method: GET`, `:scheme: https`, `:authority: a`, `:path: /`, `accept: */*`.
    const REQUEST: [&[u8]; 5] = [&[0xd1], &[0xd7], &[0x50, 1, b'a'], &[0xc1], &[0xdd]];

    #[test]
    fn names_are_coded_as_others_code_them() {
        assert_eq!(coded(b":path"), [0xb9, 0x58, 0xd3, 0x3f]);
        assert_eq!(coded(b":authority"), [0xb8, 0x3b, 0x53, 0x39, 0xec, 0x32, 0x7d, 0x7f]);
    }

    #[test]
    fn parts_come_once_and_first() {
        let path = [literal(b":path", false, b"/b"), literal(b":path", true, b"/b")];
        let other = literal(b"x-a", false, b":path");
        for step in [1, 3, 1_000] {
            assert!(!is_malformed(&REQUEST, step));
            assert!(!is_malformed(&[&REQUEST[..], &[&other, &other]].concat(), step));
            let by_name = [&REQUEST[..3], &[&path[1], &other]].concat();
            assert!(!is_malformed(&by_name, step));
            for more in [&path[0][..], &path[1], &[0xc1], &[0x51, 2, b'/', b'b'], &[0xd4]] {
                assert!(is_malformed(&[&REQUEST[..4], &[more]].concat(), step), "{more:x?}");
                assert!(is_malformed(&[&REQUEST[..], &[more]].concat(), step), "{more:x?}");
            }
            assert!(is_malformed(&[&REQUEST[4..], &REQUEST[..1]].concat(), step));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_give_the_same(bytes: Vec<u8>, step in 1..20usize) {
            prop_assert_eq!(is_malformed(&[&bytes], step), is_malformed(&[&bytes], 1_000));
        }
    }
}
