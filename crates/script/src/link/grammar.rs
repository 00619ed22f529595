//! Parsing of lines to events of a link: `in 1500 #1 flow 2 ect user 1`, `out #1 ce`, `drop #1 queue-full`, `quiet`.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use net::Packet;

use super::{CAUSES, Entry, FLOW_SHIFT, Fate, Wire};
use crate::cursor::Cursor;
use crate::problem::{Problem, suggestion};
use crate::script::Line;
use crate::subject::{Event, Step};
use crate::when::When;

/// Maximum number of packets in one line.
const MOST_PACKETS: u64 = 10_000;

/// Parses lines to events.
pub(crate) fn steps(lines: &[Line<'_>]) -> Result<Vec<Step<Wire>>, Problem> {
    let mut steps = Vec::new();
    let mut used = BTreeSet::new();
    for line in lines {
        let mut cursor = line.cursor();
        let span = cursor.span();
        let from = cursor.mark();
        let mut when = When::parse(&mut cursor)?;
        let time = cursor.since(from);
        for event in events(&mut cursor)? {
            match &event {
                Event::Output(_) => {}
                _ if !when.is_exact() => {
                    return Err(Problem::new(time, "only what leaves may have a range of times"));
                }
                Event::Input(entry) if !used.insert(entry.id) => {
                    let message = format!("there is a packet #{} already", entry.id);
                    return Err(Problem::new(span, message));
                }
                _ => {}
            }
            steps.push(Step { when, event, span: span.clone() });
            when = When::AT_ONCE;
        }
    }
    Ok(steps)
}

fn events(cursor: &mut Cursor<'_>) -> Result<Vec<Event<Wire>>, Problem> {
    let from = cursor.mark();
    let events = match cursor.word() {
        "in" => {
            let wire_bytes = small(cursor, "a size in bytes")?;
            let ids = packets(cursor)?;
            let flow = if cursor.eat_word("flow") { flow(cursor)? } else { 0 };
            let ect = cursor.eat_word("ect");
            let user = if cursor.eat_word("user") { small(cursor, "a user's number")? } else { 0 };
            let packet = Packet { wire_bytes, flow, ect, user };
            ids.map(|id| Event::Input(Entry { packet, id })).collect()
        }
        "out" => {
            let ids = packets(cursor)?;
            let marked = cursor.eat_word("ce");
            ids.map(|id| Event::Output(Fate::Out { id, marked })).collect()
        }
        "drop" => {
            let ids = packets(cursor)?;
            let cause = cause(cursor)?;
            ids.map(|id| Event::Output(Fate::Drop { id, cause })).collect()
        }
        "quiet" => vec![Event::Quiet],
        "" => return Err(cursor.unexpected("an event, for example `in 1500 #1`")),
        other => {
            return Err(Problem::new(cursor.since(from), format!("`{other}` is no event"))
                .label(suggestion(other, ["in", "out", "drop", "quiet"])));
        }
    };
    cursor.finish()?;
    Ok(events)
}

fn small(cursor: &mut Cursor<'_>, what: &str) -> Result<u32, Problem> {
    let from = cursor.mark();
    let number = cursor.number(what)?;
    u32::try_from(number)
        .map_err(|_| Problem::new(cursor.since(from), format!("{number} is too big for {what}")))
}

/// A hash that maps to the queue of this number, of FQ-CoDel's 1024.
fn flow(cursor: &mut Cursor<'_>) -> Result<u32, Problem> {
    let from = cursor.mark();
    let number = small(cursor, "a flow's number")?;
    if number >= 1 << (u32::BITS - FLOW_SHIFT) {
        return Err(Problem::new(cursor.since(from), "flows are numbered from 0 to 1023"));
    }
    Ok(number << FLOW_SHIFT)
}

/// `#1`, or `#1..#4`: all four.
fn packets(cursor: &mut Cursor<'_>) -> Result<RangeInclusive<u64>, Problem> {
    let from = cursor.mark();
    let first = id(cursor)?;
    let last = if cursor.eat("..") { id(cursor)? } else { first };
    if last < first || last - first >= MOST_PACKETS {
        let message = format!("one line names between one packet and {MOST_PACKETS}, in order");
        return Err(Problem::new(cursor.since(from), message));
    }
    Ok(first..=last)
}

fn id(cursor: &mut Cursor<'_>) -> Result<u64, Problem> {
    if !cursor.eat("#") {
        return Err(cursor.unexpected("a packet, for example `#1`"));
    }
    cursor.number("a packet's number")
}

fn cause(cursor: &mut Cursor<'_>) -> Result<net::DropCause, Problem> {
    let from = cursor.mark();
    let name = cursor.word();
    match CAUSES.iter().find(|(known, _)| *known == name) {
        Some((_, cause)) => Ok(*cause),
        None => Err(Problem::new(cursor.since(from), format!("`{name}` is no cause of a drop"))
            .label(suggestion(name, CAUSES.map(|(name, _)| name)))),
    }
}
