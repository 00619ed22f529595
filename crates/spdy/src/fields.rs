//! The names and values of a header block (2.6.10), before compression.
//!
//! ```text
//! number of pairs | length of name | name | length of value | value | ...
//! ```
//! Numbers have 16 bits in version 2 and 32 since version 3. A name occurs once; several values of one name are
//! joined by NUL.

use std::ops::Range;

use thiserror::Error;

use crate::Version;

/// Names with their values, in order. One buffer holds all their text.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    text: Vec<u8>,
    pairs: Vec<FieldPair>,
}

#[derive(Clone, Debug)]
struct FieldPair {
    name: Range<usize>,
    value: Range<usize>,
}

/// Error in a header block. Its stream must be reset (2.6.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FieldError {
    /// The lengths in the block do not add up to its size.
    #[error("the header block's lengths do not match its size")]
    Framing,
    /// The block has more pairs than this end's limit.
    #[error("the header block has more than {limit} fields")]
    TooMany {
        /// This end's limit.
        limit: usize,
    },
    /// A name is empty, has upper-case letters or is not ASCII.
    #[error("a name in the header block is empty or not lower-case ASCII")]
    Name,
    /// A name occurs twice.
    #[error("the header block repeats a name")]
    Duplicate,
    /// A value is empty where this is not allowed: beside another value, or at all in version 2.
    #[error("a value in the header block is empty")]
    EmptyValue,
    /// A name or value is too long for the version's lengths.
    #[error("a name or value is too long for the version's length field")]
    TooLong,
}

impl Fields {
    /// Creates an empty list, with capacity for a usual head.
    pub fn new() -> Fields {
        Fields { text: Vec::with_capacity(512), pairs: Vec::with_capacity(16) }
    }

    /// Adds a field. Several values of one name are one value with NUL between them: see [`Fields::push_all`].
    pub fn push(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.push_all(name, [value]);
    }

    /// Adds a field; for chaining.
    #[must_use]
    pub fn with(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Fields {
        self.push(name, value);
        self
    }

    /// Adds a field with several values.
    pub fn push_all(
        &mut self,
        name: impl AsRef<[u8]>,
        values: impl IntoIterator<Item: AsRef<[u8]>>,
    ) {
        let name = self.append(name.as_ref());
        let start = self.text.len();
        for (index, value) in values.into_iter().enumerate() {
            if index > 0 {
                self.text.push(0);
            }
            self.text.extend_from_slice(value.as_ref());
        }
        self.pairs.push(FieldPair { name, value: start..self.text.len() });
    }

    fn append(&mut self, text: &[u8]) -> Range<usize> {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        start..self.text.len()
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Returns true if there are no fields.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Every name with its value; several values are separated by NUL.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> + Clone {
        self.pairs
            .iter()
            .map(|pair| (&self.text[pair.name.clone()], &self.text[pair.value.clone()]))
    }

    /// The value of `name`.
    pub fn get(&self, name: impl AsRef<[u8]>) -> Option<&[u8]> {
        let name = name.as_ref();
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The individual values in `value`.
    pub fn values(value: &[u8]) -> impl Iterator<Item = &[u8]> {
        value.split(|byte| *byte == 0)
    }

    /// Checks the rules of `version`.
    ///
    /// # Errors
    /// The first violated rule.
    pub fn check(&self, version: Version) -> Result<(), FieldError> {
        for (index, (name, value)) in self.iter().enumerate() {
            check_name(name)?;
            check_value(value, version)?;
            let mut earlier = self.pairs[..index].iter().map(|pair| &pair.name);
            // Few names have equal lengths: most comparisons need not read them.
            if earlier.any(|it| it.len() == name.len() && self.text[it.clone()] == *name) {
                return Err(FieldError::Duplicate);
            }
        }
        Ok(())
    }

    /// Appends the block of these fields, in the format of `version`.
    ///
    /// # Errors
    /// If they violate a rule of the version; nothing is appended.
    pub fn write(&self, version: Version, block: &mut Vec<u8>) -> Result<(), FieldError> {
        self.check(version)?;
        let width = Width::of(version);
        let longest = self.iter().map(|(name, value)| name.len().max(value.len())).max();
        if longest.unwrap_or(0).max(self.len()) > width.greatest() {
            return Err(FieldError::TooLong);
        }
        block.reserve(self.text.len() + (1 + 2 * self.len()) * width.bytes());
        width.write(self.len(), block);
        for part in self.iter().flat_map(|(name, value)| [name, value]) {
            width.write(part.len(), block);
            block.extend_from_slice(part);
        }
        Ok(())
    }

    /// Reads a complete block of `version` with at most `limit` fields.
    ///
    /// # Errors
    /// See [`FieldError`].
    pub fn read(version: Version, block: &[u8], limit: usize) -> Result<Fields, FieldError> {
        let mut reader = BlockReader { width: Width::of(version), block, at: 0 };
        let count = reader.number()?;
        if count > limit {
            return Err(FieldError::TooMany { limit });
        }
        let mut pairs = Vec::with_capacity(count);
        for _ in 0..count {
            pairs.push(FieldPair { name: reader.text()?, value: reader.text()? });
        }
        if reader.at != block.len() {
            return Err(FieldError::Framing);
        }
        let fields = Fields { text: block.to_vec(), pairs };
        fields.check(version)?;
        Ok(fields)
    }
}

impl PartialEq for Fields {
    fn eq(&self, other: &Fields) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Fields {}

impl<N: AsRef<[u8]>, V: AsRef<[u8]>> FromIterator<(N, V)> for Fields {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Fields {
        pairs.into_iter().fold(Fields::new(), |fields, (name, value)| fields.with(name, value))
    }
}

fn check_name(name: &[u8]) -> Result<(), FieldError> {
    let legal = |byte: &u8| byte.is_ascii_graphic() && !byte.is_ascii_uppercase();
    if name.is_empty() || !name.iter().all(legal) { Err(FieldError::Name) } else { Ok(()) }
}

fn check_value(value: &[u8], version: Version) -> Result<(), FieldError> {
    let may_be_empty = version != Version::V2;
    if value.is_empty() && may_be_empty {
        return Ok(());
    }
    // No NUL at either end, no two in a row. Most values are single: that is detected without checking each byte.
    let has_empty = || Fields::values(value).any(<[u8]>::is_empty);
    let is_broken = value.is_empty() || (value.contains(&0) && has_empty());
    if is_broken { Err(FieldError::EmptyValue) } else { Ok(()) }
}

/// The width of a version's numbers.
#[derive(Clone, Copy)]
enum Width {
    Two,
    Four,
}

impl Width {
    fn of(version: Version) -> Width {
        if version == Version::V2 { Width::Two } else { Width::Four }
    }

    fn bytes(self) -> usize {
        match self {
            Width::Two => 2,
            Width::Four => 4,
        }
    }

    fn greatest(self) -> usize {
        match self {
            Width::Two => u16::MAX.into(),
            // "In practice, this length must not exceed 2^24, as that is the maximum size of a SPDY frame."
            Width::Four => 1 << 24,
        }
    }

    fn write(self, number: usize, block: &mut Vec<u8>) {
        let bytes = (number as u32).to_be_bytes();
        block.extend_from_slice(&bytes[4 - self.bytes()..]);
    }
}

struct BlockReader<'a> {
    width: Width,
    block: &'a [u8],
    at: usize,
}

impl BlockReader<'_> {
    fn take(&mut self, bytes: usize) -> Result<Range<usize>, FieldError> {
        let end = self.at.checked_add(bytes).filter(|end| *end <= self.block.len());
        let start = std::mem::replace(&mut self.at, end.ok_or(FieldError::Framing)?);
        Ok(start..self.at)
    }

    fn number(&mut self) -> Result<usize, FieldError> {
        let bytes = self.take(self.width.bytes())?;
        Ok(self.block[bytes].iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    fn text(&mut self) -> Result<Range<usize>, FieldError> {
        let length = self.number()?;
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(version: Version, fields: &Fields) -> Vec<u8> {
        let mut block = Vec::new();
        fields.write(version, &mut block).expect("these fields can be written");
        block
    }

    #[test]
    fn each_version_has_its_numbers() {
        let fields = Fields::new().with("a", "xyz");
        assert_eq!(written(Version::V2, &fields), b"\0\x01\0\x01a\0\x03xyz");
        assert_eq!(written(Version::V3, &fields), b"\0\0\0\x01\0\0\0\x01a\0\0\0\x03xyz");
        assert_eq!(written(Version::V31, &fields), written(Version::V3, &fields));
    }

    #[test]
    fn several_values_are_one_with_nul() {
        let mut fields = Fields::new();
        fields.push_all("set-cookie", ["a=1", "b=2"]);
        assert_eq!(fields.get("set-cookie"), Some(&b"a=1\0b=2"[..]));
        let values: Vec<_> = Fields::values(fields.get("set-cookie").unwrap()).collect();
        assert_eq!(values, [b"a=1", b"b=2"]);
    }

    #[test]
    fn rules_are_kept_when_writing_and_when_reading() {
        let broken = [
            (Fields::new().with("", "x"), FieldError::Name),
            (Fields::new().with("Host", "x"), FieldError::Name),
            (Fields::new().with("h\u{f6}st", "x"), FieldError::Name),
            (Fields::new().with("a", "x").with("a", "y"), FieldError::Duplicate),
            (Fields::new().with("a", "\0x"), FieldError::EmptyValue),
            (Fields::new().with("a", "x\0"), FieldError::EmptyValue),
            (Fields::new().with("a", "x\0\0y"), FieldError::EmptyValue),
        ];
        for (fields, error) in broken {
            for version in Version::ALL {
                assert_eq!(fields.write(version, &mut Vec::new()), Err(error), "{fields:?}");
                let mut block = Vec::new();
                let width = Width::of(version);
                width.write(fields.len(), &mut block);
                for part in fields.iter().flat_map(|(name, value)| [name, value]) {
                    width.write(part.len(), &mut block);
                    block.extend_from_slice(part);
                }
                assert_eq!(Fields::read(version, &block, 9), Err(error), "{fields:?}");
            }
        }
    }

    #[test]
    fn an_empty_value_came_with_version_3() {
        let fields = Fields::new().with("x", "");
        assert_eq!(fields.check(Version::V2), Err(FieldError::EmptyValue));
        assert_eq!(fields.check(Version::V3), Ok(()));
    }

    #[test]
    fn version_2_cannot_say_how_long_a_long_value_is() {
        let fields = Fields::new().with("cookie", "c".repeat(65_536));
        assert_eq!(fields.write(Version::V2, &mut Vec::new()), Err(FieldError::TooLong));
        assert!(fields.write(Version::V3, &mut Vec::new()).is_ok());
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        let read = |block: &[u8]| Fields::read(Version::V3, block, 100);
        assert_eq!(read(b""), Err(FieldError::Framing));
        assert_eq!(read(b"\0\0\0\x01\0\0\0\x02a"), Err(FieldError::Framing));
        assert_eq!(read(b"\0\0\0\x00more"), Err(FieldError::Framing));
        assert_eq!(read(b"\xff\xff\xff\xff"), Err(FieldError::TooMany { limit: 100 }));
        assert_eq!(read(b"\0\0\0\x01\xff\xff\xff\xffa\0\0\0\0"), Err(FieldError::Framing));
    }

    fn some_fields() -> impl Strategy<Value = Fields> {
        let value = prop::collection::vec("[ -~]{1,40}", 1..3);
        prop::collection::btree_map("[a-z:-]{1,20}", value, 0..20).prop_map(|map| {
            let mut fields = Fields::new();
            for (name, values) in map {
                fields.push_all(name, values);
            }
            fields
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            version in prop::sample::select(Version::ALL.to_vec()),
            fields in some_fields(),
        ) {
            prop_assert_eq!(Fields::read(version, &written(version, &fields), 20), Ok(fields));
        }

        #[test]
        fn whatever_is_read_can_be_written_again(
            version in prop::sample::select(Version::ALL.to_vec()),
            block in prop::collection::vec(prop_oneof![Just(0u8), 0u8..4, any::<u8>()], 0..64),
        ) {
            if let Ok(fields) = Fields::read(version, &block, 20) {
                prop_assert_eq!(written(version, &fields), block);
            }
        }
    }
}
