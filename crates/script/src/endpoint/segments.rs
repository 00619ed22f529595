//! Parsing of the segments in a line: `[ect0] P. 1:101(100) ack 1 win 1000 <sack 201:301>`.

use tcp::{Ecn, Flags};

use super::numbers::Numbers;
use super::pattern::{Options, Pattern, Stamps};
use super::wire_text;
use crate::cursor::Cursor;
use crate::problem::{Problem, suggestion};
use crate::when::instant;

/// A segment, or several similar ones: `P. 1:101(100) ack 1 win 1000 <...>`, `. segs 0..10`.
pub(crate) fn segments(cursor: &mut Cursor<'_>, numbers: Numbers) -> Result<Vec<Pattern>, Problem> {
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

fn field(cursor: &mut Cursor<'_>, numbers: Numbers, pattern: &mut Pattern) -> Result<(), Problem> {
    let from = cursor.mark();
    let word = cursor.word();
    let twice = match word {
        "ack" => {
            if !pattern.flags.contains(Flags::ACK) {
                let message = "a segment without the flag `.` acknowledges nothing";
                return Err(Problem::new(cursor.since(from), message));
            }
            pattern.ack.replace(numbers.position(cursor)?).is_some()
        }
        "win" => pattern.window_bytes.replace(cursor.number("a window")?).is_some(),
        "" => return Err(cursor.unexpected("`ack`, `win` or `<options>`")),
        _ => {
            let place = cursor.since(from);
            return Err(Problem::new(place, format!("`{word}` is no part of a segment"))
                .label(suggestion(word, ["ack", "win", "seg", "segs"])));
        }
    };
    if twice {
        return Err(Problem::new(cursor.since(from), format!("`{word}` is said twice")));
    }
    Ok(())
}

fn options(cursor: &mut Cursor<'_>, numbers: Numbers) -> Result<Options, Problem> {
    cursor.eat("<");
    let mut options = Options::default();
    while cursor.peek() != Some('>') {
        option(cursor, numbers, &mut options)?;
        if !cursor.eat(",") && cursor.peek() != Some('>') {
            return Err(cursor.unexpected("`,` or `>`"));
        }
    }
    cursor.eat(">");
    Ok(options)
}

fn option(cursor: &mut Cursor<'_>, numbers: Numbers, options: &mut Options) -> Result<(), Problem> {
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
            return Err(Problem::new(cursor.since(from), message).help("leave it out"));
        }
        other => {
            let known = ["mss", "wscale", "sackOK", "sack", "TS", "ecr"];
            return Err(Problem::new(cursor.since(from), format!("`{other}` is no option"))
                .label(suggestion(other, known)));
        }
    }
    Ok(())
}

fn small(cursor: &mut Cursor<'_>, what: &str, most: u32) -> Result<u32, Problem> {
    let from = cursor.mark();
    let number = cursor.number(what)?;
    u32::try_from(number)
        .ok()
        .filter(|number| *number <= most)
        .ok_or_else(|| Problem::new(cursor.since(from), format!("{what} is at most {most}")))
}

/// Codepoint in brackets before the flags.
fn codepoint(cursor: &mut Cursor<'_>) -> Result<Ecn, Problem> {
    let from = cursor.mark();
    let name = cursor.word();
    let Some((_, ecn)) = wire_text::CODEPOINTS.iter().find(|(known, _)| *known == name) else {
        return Err(Problem::new(cursor.since(from), format!("`{name}` is no ECN codepoint"))
            .label(suggestion(name, wire_text::CODEPOINTS.map(|(name, _)| name))));
    };
    if !cursor.eat("]") {
        return Err(cursor.unexpected("`]`"));
    }
    Ok(*ecn)
}

fn flags(cursor: &mut Cursor<'_>) -> Result<Flags, Problem> {
    let from = cursor.mark();
    let mut flags = Flags::NONE;
    for letter in cursor.take_while(|c| !c.is_whitespace()).chars() {
        match wire_text::FLAGS.iter().find(|(known, _)| *known == letter) {
            Some((_, flag)) => flags = flags.with(*flag),
            None => {
                let message = format!("`{letter}` is no flag");
                return Err(Problem::new(cursor.since(from), message).help(
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
