//! Parsing of the segments in a line, `[ect0] P. 1:101(100) ack 1 win 1000 <sack 201:301>`, and of their numbers.

use std::ops::Range;

use tcp::{Ecn, Flags};

use super::pattern::{OptionPattern, Pattern, Stamps};
use crate::cursor::Cursor;
use crate::problem::{ScriptProblem, suggestion};
use crate::when::instant;

/// A segment, or several similar ones: `P. 1:101(100) ack 1 win 1000 <...>`, `. segs 0..10`.
pub(crate) fn segments(
    cursor: &mut Cursor<'_>,
    numbers: SequenceNumbers,
) -> Result<Vec<Pattern>, ScriptProblem> {
    let ecn = if cursor.eat("[") { Some(codepoint(cursor)?) } else { None };
    let mut pattern = Pattern { ecn, flags: flags(cursor)?, ..Pattern::default() };
    let data = numbers.data(cursor)?;
    while !cursor.is_at_end() {
        if cursor.peek() == Some('<') {
            pattern.options = Some(options(cursor, numbers)?);
            cursor.finish()?;
            break;
        }
        field(cursor, numbers, &mut pattern)?;
    }
    if data.is_empty() {
        return Ok(vec![pattern]);
    }
    let patterns = data.into_iter().map(|data| Pattern { data: Some(data), ..pattern.clone() });
    Ok(patterns.collect())
}

fn field(
    cursor: &mut Cursor<'_>,
    numbers: SequenceNumbers,
    pattern: &mut Pattern,
) -> Result<(), ScriptProblem> {
    let from = cursor.mark();
    let word = cursor.word();
    let twice = match word {
        "ack" => {
            if !pattern.flags.contains(Flags::ACK) {
                let message = "a segment without the flag `.` acknowledges nothing";
                return Err(ScriptProblem::new(cursor.since(from), message));
            }
            pattern.ack.replace(numbers.position(cursor)?).is_some()
        }
        "win" => pattern.window_bytes.replace(cursor.number("a window")?).is_some(),
        "" => return Err(cursor.unexpected("`ack`, `win` or `<options>`")),
        _ => {
            let place = cursor.since(from);
            return Err(ScriptProblem::new(place, format!("`{word}` is not part of a segment"))
                .label(suggestion(word, ["ack", "win", "seg", "segs"])));
        }
    };
    if twice {
        return Err(ScriptProblem::new(cursor.since(from), format!("duplicate `{word}`")));
    }
    Ok(())
}

fn options(
    cursor: &mut Cursor<'_>,
    numbers: SequenceNumbers,
) -> Result<OptionPattern, ScriptProblem> {
    cursor.eat("<");
    let mut options = OptionPattern::default();
    while cursor.peek() != Some('>') {
        option(cursor, numbers, &mut options)?;
        if !cursor.eat(",") && cursor.peek() != Some('>') {
            return Err(cursor.unexpected("`,` or `>`"));
        }
    }
    cursor.eat(">");
    Ok(options)
}

fn option(
    cursor: &mut Cursor<'_>,
    numbers: SequenceNumbers,
    options: &mut OptionPattern,
) -> Result<(), ScriptProblem> {
    let from = cursor.mark();
    match cursor.word() {
        "mss" => options.mss = Some(small(cursor, "an MSS", u32::MAX)?),
        "wscale" => options.window_scale = Some(small(cursor, "a window scale", 14)? as u8),
        "sackOK" => options.sack_permitted = true,
        "sack" => options.sack = numbers.blocks(cursor)?,
        "TS" => {
            let value = cursor.eat_word("val").then(|| instant(cursor)).transpose()?;
            let echo = cursor.eat_word("ecr").then(|| instant(cursor)).transpose()?;
            options.timestamps = Some(Stamps { value, echo });
        }
        "ecr" => options.timestamps = Some(Stamps { value: None, echo: Some(instant(cursor)?) }),
        "" => return Err(cursor.unexpected("an option")),
        "nop" | "eol" => {
            let message = "padding is not modelled";
            return Err(ScriptProblem::new(cursor.since(from), message).help("leave it out"));
        }
        other => {
            let known = ["mss", "wscale", "sackOK", "sack", "TS", "ecr"];
            return Err(ScriptProblem::new(
                cursor.since(from),
                format!("unknown option `{other}`"),
            )
            .label(suggestion(other, known)));
        }
    }
    Ok(())
}

fn small(cursor: &mut Cursor<'_>, what: &str, most: u32) -> Result<u32, ScriptProblem> {
    let from = cursor.mark();
    let number = cursor.number(what)?;
    u32::try_from(number)
        .ok()
        .filter(|number| *number <= most)
        .ok_or_else(|| ScriptProblem::new(cursor.since(from), format!("{what} is at most {most}")))
}

/// Codepoint in brackets before the flags.
fn codepoint(cursor: &mut Cursor<'_>) -> Result<Ecn, ScriptProblem> {
    let from = cursor.mark();
    let name = cursor.word();
    let Some((_, ecn)) = super::pattern::CODEPOINTS.iter().find(|(known, _)| *known == name) else {
        return Err(ScriptProblem::new(
            cursor.since(from),
            format!("unknown ECN codepoint `{name}`"),
        )
        .label(suggestion(name, super::pattern::CODEPOINTS.map(|(name, _)| name))));
    };
    if !cursor.eat("]") {
        return Err(cursor.unexpected("`]`"));
    }
    Ok(*ecn)
}

fn flags(cursor: &mut Cursor<'_>) -> Result<Flags, ScriptProblem> {
    let from = cursor.mark();
    let mut flags = Flags::NONE;
    for letter in cursor.take_while(|c| !c.is_whitespace()).chars() {
        match super::pattern::FLAGS.iter().find(|(known, _)| *known == letter) {
            Some((_, flag)) => flags = flags.with(*flag),
            None => {
                let message = format!("unknown flag `{letter}`");
                return Err(ScriptProblem::new(cursor.since(from), message).help(
                    "flags are S (SYN), F (FIN), R (RST), P (PSH), `.` (ACK), E (ECE) and W (CWR)",
                ));
            }
        }
    }
    if flags == Flags::NONE {
        return Err(cursor.unexpected("a segment's flags, for example `.` or `S.`"));
    }
    Ok(flags)
}

// Sequence numbers in scripts: `1:1449(1448)`, `seg 3`, `segs 0..10`.
//
// They count from the SYN, which is 0, so the first byte is 1. `seg n` is the n-th full segment, from 0.

/// Maximum number of segments in one `segs`.
const MOST_SEGMENTS: u64 = 10_000;
/// The largest payload that a segment can have: an IPv4 packet of 65535 bytes less its headers.
const MOST_PAYLOAD: u64 = 65_495;
/// Maximum sequence number of a script, far from overflow.
const LAST_NUMBER: u64 = 1 << 60;

/// Parser of sequence numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SequenceNumbers {
    /// The payload of a full segment, the unit of `seg`.
    pub(crate) mss: u32,
}

impl SequenceNumbers {
    /// The data of each segment: `1:1449(1448)`, `seg 3`, `segs 0..10`, or nothing.
    pub(crate) fn data(self, cursor: &mut Cursor<'_>) -> Result<Vec<Range<u64>>, ScriptProblem> {
        if cursor.peek().is_some_and(|c| c.is_ascii_digit()) {
            let from = cursor.mark();
            let numbers = self.numbers(cursor)?;
            let len = numbers.end - numbers.start;
            if len > MOST_PAYLOAD {
                let message = format!("a segment carries at most {MOST_PAYLOAD} bytes");
                return Err(ScriptProblem::new(cursor.since(from), message));
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
                return Err(ScriptProblem::new(cursor.since(from), message));
            }
            return Ok(segments.map(|n| self.full(n)).collect());
        }
        Ok(Vec::new())
    }

    /// `1:1449`, optionally followed by `(1448)`.
    fn numbers(self, cursor: &mut Cursor<'_>) -> Result<Range<u64>, ScriptProblem> {
        let from = cursor.mark();
        let start = sequence_number(cursor)?;
        if !cursor.eat(":") {
            return Err(cursor.unexpected("`:` and the number behind the last byte"));
        }
        let end = sequence_number(cursor)?;
        if end < start {
            return Err(ScriptProblem::new(cursor.since(from), "the range ends before it begins"));
        }
        if cursor.eat("(") {
            let len = cursor.number("a length")?;
            if !cursor.eat(")") {
                return Err(cursor.unexpected("`)`"));
            }
            if len != end - start {
                let message =
                    format!("from {start} to {end} it is {} bytes, not {len}", end - start);
                return Err(ScriptProblem::new(cursor.since(from), message));
            }
        }
        Ok(start..end)
    }

    /// A sequence number: `1449`, or `seg 1`: the start of that segment.
    pub(crate) fn position(self, cursor: &mut Cursor<'_>) -> Result<u64, ScriptProblem> {
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

    fn segment_number(self, cursor: &mut Cursor<'_>) -> Result<u64, ScriptProblem> {
        let from = cursor.mark();
        let n = cursor.number("a segment's number")?;
        if n >= LAST_NUMBER / u64::from(self.mss) - 1 {
            return Err(ScriptProblem::new(
                cursor.since(from),
                "no connection sends so many segments",
            ));
        }
        Ok(n)
    }

    fn segment_range(self, cursor: &mut Cursor<'_>) -> Result<Range<u64>, ScriptProblem> {
        let from = cursor.mark();
        let start = self.segment_number(cursor)?;
        if !cursor.eat("..") {
            return Err(cursor.unexpected("`..` and the segment behind the last"));
        }
        let end = self.segment_number(cursor)?;
        if end <= start {
            return Err(ScriptProblem::new(
                cursor.since(from),
                "there are no segments in this range",
            )
            .help("the end is not part of it: `segs 0..10` are ten"));
        }
        Ok(start..end)
    }

    /// `1449:2897 segs 3..5`: one block each.
    pub(crate) fn blocks(self, cursor: &mut Cursor<'_>) -> Result<Vec<Range<u64>>, ScriptProblem> {
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

fn sequence_number(cursor: &mut Cursor<'_>) -> Result<u64, ScriptProblem> {
    let from = cursor.mark();
    let number = cursor.number("a sequence number")?;
    if number > LAST_NUMBER {
        return Err(ScriptProblem::new(cursor.since(from), format!("{number} is too big")));
    }
    Ok(number)
}
