//! Parsing of lines to events of an endpoint, and the calls of its application.

use std::fmt;
use std::ops::Range;

use tcp::{Connection, Flags};
use units::Time;

use super::condition::FieldCondition;
use super::pattern::Pattern;
use super::segments::{SequenceNumbers, segments};
use super::{EndpointSettings, EndpointUnderTest, Input};
use crate::cursor::Cursor;
use crate::problem::{ScriptProblem, suggestion};
use crate::script::ScriptLine;
use crate::stage::{StageEvent, StageStep};
use crate::when::{When, span};

type Steps = Vec<StageStep<EndpointUnderTest>>;

/// Parses lines to events.
pub(crate) fn steps(
    settings: &EndpointSettings,
    lines: &[ScriptLine<'_>],
) -> Result<Steps, ScriptProblem> {
    let grammar = Grammar { numbers: settings.numbers() };
    let mut steps = Vec::new();
    for line in lines {
        steps.extend(grammar.line(line.cursor())?);
    }
    Ok(steps)
}

struct Grammar {
    numbers: SequenceNumbers,
}

impl Grammar {
    fn line(&self, mut cursor: Cursor<'_>) -> Result<Steps, ScriptProblem> {
        let place = cursor.span();
        if cursor.eat_word("handshake") {
            return handshake(&mut cursor, &place);
        }
        let from = cursor.mark();
        let when = When::parse(&mut cursor)?;
        let time = cursor.since(from);
        if cursor.eat(">") {
            let patterns = segments(&mut cursor, self.numbers)?;
            return Ok(in_turn(when, &place, patterns.into_iter().map(StageEvent::Output)));
        }
        if !when.is_exact() {
            let message = "only what leaves may have a range of times";
            return Err(ScriptProblem::new(time, message));
        }
        let events: Vec<StageEvent<EndpointUnderTest>> = if cursor.eat("<") {
            let arrivals = segments(&mut cursor, self.numbers)?.into_iter().map(Input::Arrival);
            arrivals.map(StageEvent::Input).collect()
        } else {
            self.action(&mut cursor)?
        };
        Ok(in_turn(when, &place, events))
    }

    /// An event that begins with a word.
    fn action(
        &self,
        cursor: &mut Cursor<'_>,
    ) -> Result<Vec<StageEvent<EndpointUnderTest>>, ScriptProblem> {
        let from = cursor.mark();
        if cursor.eat_word("expect") {
            return Ok(list(cursor, ",", FieldCondition::parse)?
                .into_iter()
                .map(StageEvent::Check)
                .collect());
        }
        if cursor.eat_word("quiet") {
            cursor.finish()?;
            return Ok(vec![StageEvent::Quiet]);
        }
        let word = cursor.clone().word();
        if AppCall::is_named(word) {
            let calls = list(cursor, ";", |cursor| AppCall::parse(cursor, self.numbers.mss))?;
            return Ok(vec![StageEvent::Input(Input::Calls(calls))]);
        }
        if word.is_empty() {
            return Err(cursor.unexpected("an event"));
        }
        cursor.word();
        let others = ["expect", "quiet", "handshake", "config"];
        let known = AppCall::NAMES.into_iter().chain(others);
        Err(ScriptProblem::new(cursor.since(from), format!("unknown event `{word}`"))
            .label(suggestion(word, known))
            .help("or `<` and a segment that arrives, `>` and a segment that leaves"))
    }
}

/// One item or several.
fn list<'a, T>(
    cursor: &mut Cursor<'a>,
    separator: &str,
    one: impl Fn(&mut Cursor<'a>) -> Result<T, ScriptProblem>,
) -> Result<Vec<T>, ScriptProblem> {
    let mut all = vec![one(cursor)?];
    while cursor.eat(separator) {
        all.push(one(cursor)?);
    }
    cursor.finish()?;
    Ok(all)
}

/// The first event at its time, the others at the same time.
fn in_turn(
    when: When,
    place: &Range<usize>,
    events: impl IntoIterator<Item = StageEvent<EndpointUnderTest>>,
) -> Steps {
    let times = std::iter::once(when).chain(std::iter::repeat(When::AT_ONCE));
    let steps = events.into_iter().zip(times);
    steps.map(|(event, when)| StageStep { when, event, span: place.clone() }).collect()
}

/// `handshake server 100ms`: the endpoint is opened at time zero and the usual handshake takes this long.
fn handshake(cursor: &mut Cursor<'_>, place: &Range<usize>) -> Result<Steps, ScriptProblem> {
    let from = cursor.mark();
    let role = cursor.word();
    let role_place = cursor.since(from);
    let rtt = Time::ZERO + span(cursor)?;
    cursor.finish()?;
    let arrival = |flags, ack| {
        StageEvent::Input(Input::Arrival(Pattern { flags, ack, ..Pattern::default() }))
    };
    let departure = |flags, ack| StageEvent::Output(Pattern { flags, ack, ..Pattern::default() });
    let syn_ack = Flags::SYN.with(Flags::ACK);
    let events = match role {
        "server" => vec![
            (Time::ZERO, arrival(Flags::SYN, None)),
            (Time::ZERO, departure(syn_ack, Some(1))),
            (rtt, arrival(Flags::ACK, Some(1))),
        ],
        "client" => vec![
            (Time::ZERO, StageEvent::Input(Input::Calls(vec![AppCall::Connect]))),
            (Time::ZERO, departure(Flags::SYN, None)),
            (rtt, arrival(syn_ack, Some(1))),
            (rtt, departure(Flags::ACK, Some(1))),
        ],
        _ => {
            return Err(ScriptProblem::new(role_place, format!("unknown role `{role}`"))
                .label(suggestion(role, ["client", "server"]))
                .help("write `handshake server 100ms` or `handshake client 100ms`"));
        }
    };
    let step = |(at, event)| StageStep { when: When::at(at), event, span: place.clone() };
    Ok(events.into_iter().map(step).collect())
}

// Calls of the application: `connect`, `write 1000`, `read`, `close`, `abort`, `lowat 16384`.

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AppCall {
    Connect,
    /// Writes `bytes` bytes, of which `taken` must be accepted.
    Write {
        bytes: usize,
        taken: usize,
    },
    /// Reads at most `most` bytes; `found` bytes must be available.
    Read {
        most: usize,
        found: Option<usize>,
    },
    Close,
    Abort,
    Lowat {
        bytes: u64,
    },
}

const CALLS: [&str; 6] = ["connect", "write", "read", "close", "abort", "lowat"];
/// More than any script needs; it is allocated.
const MOST_BYTES: u64 = 64 << 20;

impl AppCall {
    /// True if a line that begins with this word is a call.
    pub(crate) fn is_named(word: &str) -> bool {
        CALLS.contains(&word)
    }

    pub(crate) const NAMES: [&str; 6] = CALLS;

    pub(crate) fn parse(cursor: &mut Cursor<'_>, mss: u32) -> Result<AppCall, ScriptProblem> {
        let from = cursor.mark();
        match cursor.word() {
            "connect" => Ok(AppCall::Connect),
            "write" => {
                let bytes = amount(cursor, mss)?;
                let taken = result(cursor, mss)?.unwrap_or(bytes);
                Ok(AppCall::Write { bytes, taken })
            }
            "read" => {
                let limited = cursor.peek().is_some_and(|c| c.is_ascii_digit());
                let most = if limited { amount(cursor, mss)? } else { MOST_BYTES as usize };
                Ok(AppCall::Read { most, found: result(cursor, mss)? })
            }
            "close" => Ok(AppCall::Close),
            "abort" => Ok(AppCall::Abort),
            "lowat" => Ok(AppCall::Lowat { bytes: amount(cursor, mss)? as u64 }),
            other => {
                let message = format!("unknown call `{other}`");
                Err(ScriptProblem::new(cursor.since(from), message).label(suggestion(other, CALLS)))
            }
        }
    }

    /// Makes any call except `connect`.
    pub(crate) fn make(self, now: Time, connection: &mut Connection) -> Result<(), String> {
        match self {
            AppCall::Connect => {}
            AppCall::Write { bytes, taken } => {
                let n = connection.write(now, &vec![0; bytes]);
                if n != taken {
                    return Err(format!("{n} bytes were taken, not {taken}"));
                }
            }
            AppCall::Read { most, found } => {
                let n = read(now, connection, most);
                if found.is_some_and(|found| found != n) {
                    return Err(format!("there were {n} bytes to read"));
                }
            }
            AppCall::Close => connection.close(now),
            AppCall::Abort => connection.abort(now),
            AppCall::Lowat { bytes } => connection.set_notsent_lowat(bytes),
        }
        Ok(())
    }
}

fn read(now: Time, connection: &mut Connection, most: usize) -> usize {
    let mut total = 0;
    while total < most
        && let Some(bytes) = connection.read_bytes(now, most - total)
    {
        total += bytes.len();
    }
    total
}

/// `1000`, or `10 segs`: full segments.
fn amount(cursor: &mut Cursor<'_>, mss: u32) -> Result<usize, ScriptProblem> {
    let from = cursor.mark();
    let number = cursor.number("a number of bytes")?;
    let each = if cursor.eat_word("segs") || cursor.eat_word("seg") { mss } else { 1 };
    number
        .checked_mul(u64::from(each))
        .filter(|bytes| *bytes <= MOST_BYTES)
        .and_then(|bytes| usize::try_from(bytes).ok())
        .ok_or_else(|| {
            ScriptProblem::new(
                cursor.since(from),
                format!("a call moves at most {MOST_BYTES} bytes"),
            )
        })
}

fn result(cursor: &mut Cursor<'_>, mss: u32) -> Result<Option<usize>, ScriptProblem> {
    cursor.eat("=").then(|| amount(cursor, mss)).transpose()
}

impl fmt::Display for AppCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AppCall::Connect => f.write_str("connect"),
            AppCall::Write { bytes, taken } if bytes == taken => write!(f, "write {bytes}"),
            AppCall::Write { bytes, taken } => write!(f, "write {bytes} = {taken}"),
            AppCall::Read { found: None, .. } => f.write_str("read"),
            AppCall::Read { found: Some(found), .. } => write!(f, "read = {found}"),
            AppCall::Close => f.write_str("close"),
            AppCall::Abort => f.write_str("abort"),
            AppCall::Lowat { bytes } => write!(f, "lowat {bytes}"),
        }
    }
}
