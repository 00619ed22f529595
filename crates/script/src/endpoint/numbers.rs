//! Sequence numbers in scripts: `1:1449(1448)`, `seg 3`, `segs 0..10`.
//!
//! They count from the SYN, which is 0, so the first byte is 1. `seg n` is the n-th full segment, from 0.

use std::ops::Range;

use crate::cursor::Cursor;
use crate::problem::Problem;

/// Maximum number of segments in one `segs`.
const MOST_SEGMENTS: u64 = 10_000;
/// The largest payload that a segment can have: an IPv4 packet of 65535 bytes less its headers.
const MOST_PAYLOAD: u64 = 65_495;
/// Maximum sequence number of a script, far from overflow.
const LAST_NUMBER: u64 = 1 << 60;

/// Parser of sequence numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    /// The payload of a full segment, the unit of `seg`.
    pub(crate) mss: u32,
}

impl Numbers {
    /// The data of each segment: `1:1449(1448)`, `seg 3`, `segs 0..10`, or nothing.
    pub(crate) fn data(self, cursor: &mut Cursor<'_>) -> Result<Vec<Range<u64>>, Problem> {
        if cursor.peek().is_some_and(|c| c.is_ascii_digit()) {
            let from = cursor.mark();
            let numbers = self.numbers(cursor)?;
            let len = numbers.end - numbers.start;
            if len > MOST_PAYLOAD {
                let message = format!("a segment carries at most {MOST_PAYLOAD} bytes");
                return Err(Problem::new(cursor.since(from), message));
            }
            return Ok(vec![numbers]);
        }
        if cursor.eat_word("seg") {
            let n = self.segment_number(cursor)?;
            return Ok(vec![self.full(n)]);
        }
        if cursor.eat_word("segs") {
            let from = cursor.mark();
            let segments = self.segment_range(cursor)?;
            if segments.end - segments.start > MOST_SEGMENTS {
                let message = format!("at most {MOST_SEGMENTS} segments stand in one line");
                return Err(Problem::new(cursor.since(from), message));
            }
            return Ok(segments.map(|n| self.full(n)).collect());
        }
        Ok(Vec::new())
    }

    /// `1:1449`, optionally followed by `(1448)`.
    fn numbers(self, cursor: &mut Cursor<'_>) -> Result<Range<u64>, Problem> {
        let from = cursor.mark();
        let start = sequence_number(cursor)?;
        if !cursor.eat(":") {
            return Err(cursor.unexpected("`:` and the number behind the last byte"));
        }
        let end = sequence_number(cursor)?;
        if end < start {
            return Err(Problem::new(cursor.since(from), "the range ends before it begins"));
        }
        if cursor.eat("(") {
            let len = cursor.number("a length")?;
            if !cursor.eat(")") {
                return Err(cursor.unexpected("`)`"));
            }
            if len != end - start {
                let message =
                    format!("from {start} to {end} it is {} bytes, not {len}", end - start);
                return Err(Problem::new(cursor.since(from), message));
            }
        }
        Ok(start..end)
    }

    /// A sequence number: `1449`, or `seg 1`: the start of that segment.
    pub(crate) fn position(self, cursor: &mut Cursor<'_>) -> Result<u64, Problem> {
        if cursor.eat_word("seg") {
            return Ok(self.number_of(self.segment_number(cursor)?));
        }
        sequence_number(cursor)
    }

    /// The numbers of the n-th full segment.
    fn full(self, n: u64) -> Range<u64> {
        self.number_of(n)..self.number_of(n + 1)
    }

    fn number_of(self, segment: u64) -> u64 {
        1 + segment * u64::from(self.mss)
    }

    fn segment_number(self, cursor: &mut Cursor<'_>) -> Result<u64, Problem> {
        let from = cursor.mark();
        let n = cursor.number("a segment's number")?;
        if n >= LAST_NUMBER / u64::from(self.mss) - 1 {
            return Err(Problem::new(cursor.since(from), "no connection sends so many segments"));
        }
        Ok(n)
    }

    fn segment_range(self, cursor: &mut Cursor<'_>) -> Result<Range<u64>, Problem> {
        let from = cursor.mark();
        let start = self.segment_number(cursor)?;
        if !cursor.eat("..") {
            return Err(cursor.unexpected("`..` and the segment behind the last"));
        }
        let end = self.segment_number(cursor)?;
        if end <= start {
            return Err(Problem::new(cursor.since(from), "there are no segments in this range")
                .help("the end is not part of it: `segs 0..10` are ten"));
        }
        Ok(start..end)
    }

    /// `1449:2897 segs 3..5`: one block each.
    pub(crate) fn blocks(self, cursor: &mut Cursor<'_>) -> Result<Vec<Range<u64>>, Problem> {
        let mut blocks = Vec::new();
        loop {
            if cursor.eat_word("segs") {
                let segments = self.segment_range(cursor)?;
                blocks.push(self.number_of(segments.start)..self.number_of(segments.end));
            } else if cursor.eat_word("seg") {
                let n = self.segment_number(cursor)?;
                blocks.push(self.full(n));
            } else if cursor.peek().is_some_and(|c| c.is_ascii_digit()) {
                blocks.push(self.numbers(cursor)?);
            } else if blocks.is_empty() {
                return Err(cursor.unexpected("a block: `1449:2897`, `seg 1` or `segs 1..3`"));
            } else {
                return Ok(blocks);
            }
        }
    }
}

fn sequence_number(cursor: &mut Cursor<'_>) -> Result<u64, Problem> {
    let from = cursor.mark();
    let number = cursor.number("a sequence number")?;
    if number > LAST_NUMBER {
        return Err(Problem::new(cursor.since(from), format!("{number} is too big")));
    }
    Ok(number)
}
