//! Parsing of lines to events of an endpoint.

use std::ops::Range;

use tcp::Flags;
use units::Time;

use super::call::Call;
use super::condition::Condition;
use super::numbers::Numbers;
use super::pattern::Pattern;
use super::segments::segments;
use super::settings::Settings;
use super::{Endpoint, Input};
use crate::cursor::Cursor;
use crate::problem::{Problem, suggestion};
use crate::script::Line;
use crate::subject::{Event, Step};
use crate::when::{When, span};

type Steps = Vec<Step<Endpoint>>;

/// Parses lines to events.
pub(crate) fn steps(settings: &Settings, lines: &[Line<'_>]) -> Result<Steps, Problem> {
    let grammar = Grammar { numbers: settings.numbers() };
    let mut steps = Vec::new();
    for line in lines {
        steps.extend(grammar.line(line.cursor())?);
    }
    Ok(steps)
}

struct Grammar {
    numbers: Numbers,
}

impl Grammar {
    fn line(&self, mut cursor: Cursor<'_>) -> Result<Steps, Problem> {
        let place = cursor.span();
        if cursor.eat_word("handshake") {
            return handshake(&mut cursor, &place);
        }
        let from = cursor.mark();
        let when = When::parse(&mut cursor)?;
        let time = cursor.since(from);
        if cursor.eat(">") {
            let patterns = segments(&mut cursor, self.numbers)?;
            return Ok(in_turn(when, &place, patterns.into_iter().map(Event::Output)));
        }
        if !when.is_exact() {
            let message = "only what leaves may have a range of times";
            return Err(Problem::new(time, message));
        }
        let events: Vec<Event<Endpoint>> = if cursor.eat("<") {
            let arrivals = segments(&mut cursor, self.numbers)?.into_iter().map(Input::Arrival);
            arrivals.map(Event::Input).collect()
        } else {
            self.action(&mut cursor)?
        };
        Ok(in_turn(when, &place, events))
    }

    /// An event that begins with a word.
    fn action(&self, cursor: &mut Cursor<'_>) -> Result<Vec<Event<Endpoint>>, Problem> {
        let from = cursor.mark();
        if cursor.eat_word("expect") {
            return Ok(list(cursor, ",", Condition::parse)?
                .into_iter()
                .map(Event::Check)
                .collect());
        }
        if cursor.eat_word("quiet") {
            cursor.finish()?;
            return Ok(vec![Event::Quiet]);
        }
        let word = cursor.clone().word();
        if Call::is_named(word) {
            let calls = list(cursor, ";", |cursor| Call::parse(cursor, self.numbers.mss))?;
            return Ok(vec![Event::Input(Input::Calls(calls))]);
        }
        if word.is_empty() {
            return Err(cursor.unexpected("an event"));
        }
        cursor.word();
        let others = ["expect", "quiet", "handshake", "config"];
        let known = Call::NAMES.into_iter().chain(others);
        Err(Problem::new(cursor.since(from), format!("`{word}` is no event"))
            .label(suggestion(word, known))
            .help("or `<` and a segment that arrives, `>` and a segment that leaves"))
    }
}

/// One item or several.
fn list<'a, T>(
    cursor: &mut Cursor<'a>,
    separator: &str,
    one: impl Fn(&mut Cursor<'a>) -> Result<T, Problem>,
) -> Result<Vec<T>, Problem> {
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
    events: impl IntoIterator<Item = Event<Endpoint>>,
) -> Steps {
    let times = std::iter::once(when).chain(std::iter::repeat(When::AT_ONCE));
    let steps = events.into_iter().zip(times);
    steps.map(|(event, when)| Step { when, event, span: place.clone() }).collect()
}

/// `handshake server 100ms`: the endpoint is opened at time zero and the usual handshake takes this long.
fn handshake(cursor: &mut Cursor<'_>, place: &Range<usize>) -> Result<Steps, Problem> {
    let from = cursor.mark();
    let role = cursor.word();
    let role_place = cursor.since(from);
    let rtt = Time::ZERO + span(cursor)?;
    cursor.finish()?;
    let arrival =
        |flags, ack| Event::Input(Input::Arrival(Pattern { flags, ack, ..Pattern::default() }));
    let departure = |flags, ack| Event::Output(Pattern { flags, ack, ..Pattern::default() });
    let syn_ack = Flags::SYN.with(Flags::ACK);
    let events = match role {
        "server" => vec![
            (Time::ZERO, arrival(Flags::SYN, None)),
            (Time::ZERO, departure(syn_ack, Some(1))),
            (rtt, arrival(Flags::ACK, Some(1))),
        ],
        "client" => vec![
            (Time::ZERO, Event::Input(Input::Calls(vec![Call::Connect]))),
            (Time::ZERO, departure(Flags::SYN, None)),
            (rtt, arrival(syn_ack, Some(1))),
            (rtt, departure(Flags::ACK, Some(1))),
        ],
        _ => {
            return Err(Problem::new(role_place, format!("no endpoint is a `{role}`"))
                .label(suggestion(role, ["client", "server"]))
                .help("write `handshake server 100ms` or `handshake client 100ms`"));
        }
    };
    let step = |(at, event)| Step { when: When::at(at), event, span: place.clone() };
    Ok(events.into_iter().map(step).collect())
}
