//! Parts of representations: `Range` and `Content-Range` (RFC 9110 section 14), as far as stored responses answer them.
//!
//! One range is answered. A request for several gets the whole representation, as section 14.2 allows: multipart responses save little
//! where objects are small.

use std::fmt;
use std::ops::RangeInclusive;

use crate::fields::{FieldLines, members};

/// The selection that a `Range` makes of a representation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selected {
    /// All of it: the field is malformed, of another unit, or names several ranges.
    Whole,
    /// These bytes.
    Part(RangeInclusive<u64>),
    /// Nothing: 416 (section 15.5.17).
    Unsatisfiable,
}

/// The selection of `Range: range` in `length` bytes (section 14.1.2).
pub fn select(range: &[u8], length: u64) -> Selected {
    let Some(set) = range.split_once_ignoring_case(b"bytes=") else { return Selected::Whole };
    let mut specs = members(set);
    let (Some(spec), None) = (specs.next(), specs.next()) else { return Selected::Whole };
    match RangeSpec::parse(spec) {
        None => Selected::Whole,
        Some(spec) => spec.of(length).map_or(Selected::Unsatisfiable, Selected::Part),
    }
}

trait AfterPrefix {
    fn split_once_ignoring_case(&self, prefix: &[u8]) -> Option<&[u8]>;
}

impl AfterPrefix for [u8] {
    /// The text after the prefix: range units compare case-insensitively (section 14.1).
    fn split_once_ignoring_case(&self, prefix: &[u8]) -> Option<&[u8]> {
        let (head, rest) = self.split_at_checked(prefix.len())?;
        head.eq_ignore_ascii_case(prefix).then_some(rest)
    }
}

/// One requested range.
enum RangeSpec {
    From(u64),
    Between(u64, u64),
    /// The last `n` bytes.
    Suffix(u64),
}

impl RangeSpec {
    fn parse(text: &[u8]) -> Option<RangeSpec> {
        let dash = text.iter().position(|byte| *byte == b'-')?;
        let (first, last) = (&text[..dash], &text[dash + 1..]);
        match (first.is_empty(), last.is_empty()) {
            (true, true) => None,
            (true, false) => Some(RangeSpec::Suffix(number(last)?)),
            (false, true) => Some(RangeSpec::From(number(first)?)),
            (false, false) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(RangeSpec::Between(first, last))
            }
        }
    }

    fn of(&self, length: u64) -> Option<RangeInclusive<u64>> {
        let end = length.checked_sub(1)?;
        match *self {
            RangeSpec::From(first) => (first <= end).then_some(first..=end),
            RangeSpec::Between(first, last) => (first <= end).then_some(first..=last.min(end)),
            RangeSpec::Suffix(0) => None,
            RangeSpec::Suffix(size) => Some(length.saturating_sub(size)..=end),
        }
    }
}

/// Digits alone; a number past 2^64 is treated as beyond any end.
fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(
        text.iter()
            .fold(0u64, |sum, byte| sum.saturating_mul(10).saturating_add(u64::from(byte - b'0'))),
    )
}

/// The part that a 206 holds (section 14.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentRange {
    /// Offset of the first byte.
    pub first: u64,
    /// Offset of the last byte.
    pub last: u64,
    /// Length of the whole, if known.
    pub whole: Option<u64>,
}

impl ContentRange {
    /// Parses the field; `None` if it is malformed or describes no part.
    pub fn parse(text: &[u8]) -> Option<ContentRange> {
        let text = text.split_once_ignoring_case(b"bytes ")?;
        let slash = text.iter().position(|byte| *byte == b'/')?;
        let dash = text.iter().position(|byte| *byte == b'-')?;
        let (first, last) = (number(&text[..dash])?, number(text.get(dash + 1..slash)?)?);
        let whole = match &text[slash + 1..] {
            b"*" => None,
            digits => Some(number(digits)?),
        };
        let sound = first <= last && last < u64::MAX && whole.is_none_or(|whole| last < whole);
        sound.then_some(ContentRange { first, last, whole })
    }

    /// The part that a 206 claims to hold: `None` unless it has exactly one `Content-Range`, valid and consistent with its length.
    pub(crate) fn stated_by(response: &(impl FieldLines + ?Sized)) -> Option<ContentRange> {
        let (mut lines, mut part) = (0, None);
        response.values("content-range", |value| {
            lines += 1;
            part = ContentRange::parse(value);
        });
        let part = part.filter(|_| lines == 1)?;
        let length = response.value("content-length").map_or(Some(part.size()), number);
        (length == Some(part.size())).then_some(part)
    }

    /// Number of bytes it holds.
    pub fn size(&self) -> u64 {
        self.last - self.first + 1
    }
}

impl fmt::Display for ContentRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytes {}-{}/", self.first, self.last)?;
        match self.whole {
            Some(whole) => whole.fmt(f),
            None => f.write_str("*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(range: &str, length: u64) -> Selected {
        select(range.as_bytes(), length)
    }

    /// RFC 9110 section 14.1.2.
    #[test]
    fn one_range_is_cut_to_what_there_is() {
        for (range, expected) in [
            ("bytes=0-499", 0..=499),
            ("bytes=500-999", 500..=999),
            ("bytes=500-5000", 500..=999),
            ("Bytes=999-", 999..=999),
            ("bytes=-1", 999..=999),
            ("bytes=-5000", 0..=999),
            ("bytes=0-99999999999999999999999", 0..=999),
        ] {
            assert_eq!(of(range, 1_000), Selected::Part(expected), "{range}");
        }
        for range in ["bytes=1000-", "bytes=-0", "bytes=1000-2000"] {
            assert_eq!(of(range, 1_000), Selected::Unsatisfiable, "{range}");
        }
        assert_eq!(of("bytes=0-", 0), Selected::Unsatisfiable);
    }

    #[test]
    fn what_is_not_understood_selects_the_whole() {
        for range in [
            "bytes=",
            "bytes=5-2",
            "bytes=a-b",
            "bytes=-",
            "lines=0-5",
            "bytes=0-1,4-5",
            "bytes 0-5",
            "",
        ] {
            assert_eq!(of(range, 1_000), Selected::Whole, "{range}");
        }
    }

    #[test]
    fn content_ranges_are_read_and_written() {
        let part = ContentRange { first: 10, last: 19, whole: Some(100) };
        assert_eq!(ContentRange::parse(b"bytes 10-19/100"), Some(part));
        assert_eq!((part.to_string().as_str(), part.size()), ("bytes 10-19/100", 10));
        for wrong in
            ["bytes */100", "bytes 5-2/9", "bytes 0-10/10", "bytes 0-5", "x 0-5/9", "bytes 5/9-1"]
        {
            assert_eq!(ContentRange::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_part_lies_within(range in "bytes=[0-9-]{0,6}", length in 0u64..2_000) {
            if let Selected::Part(part) = of(&range, length) {
                prop_assert!(part.start() <= part.end() && *part.end() < length);
            }
        }

        #[test]
        fn content_ranges_round_trip(text in "bytes [0-9*/-]{0,12}") {
            if let Some(part) = ContentRange::parse(text.as_bytes()) {
                prop_assert_eq!(ContentRange::parse(part.to_string().as_bytes()), Some(part));
            }
        }
    }
}
