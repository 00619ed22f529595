//! One direction of a link as a subject: packets go in, come out, or are dropped. Its lines and its configuration.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::ops::{Range, RangeInclusive};

use net::{Admission, Delivered, DropCause, Link, LinkConfig, Network, Packet};
use units::Time;

use crate::cursor::Cursor;
use crate::problem::{ScriptProblem, suggestion};
use crate::script::{ScriptLine, ScriptSetting};
use crate::stage::{StageEvent, StageStep, Subject};
use crate::when::When;

/// Queues with flow isolation use the upper ten bits of the flow hash.
const FLOW_SHIFT: u32 = 22;

/// A packet goes in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EnteringPacket {
    packet: Packet,
    id: u64,
}

impl fmt::Display for EnteringPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Packet { wire_bytes, flow, ect, user } = self.packet;
        write!(f, "in {wire_bytes} #{}", self.id)?;
        if flow != 0 {
            write!(f, " flow {}", flow >> FLOW_SHIFT)?;
        }
        if ect {
            f.write_str(" ect")?;
        }
        if user != 0 { write!(f, " user {user}") } else { Ok(()) }
    }
}

/// Fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkOutput {
    Out { id: u64, marked: bool },
    Drop { id: u64, cause: DropCause },
}

/// The causes and their names in scripts.
const CAUSES: [(&str, DropCause); 4] = [
    ("loss", DropCause::Loss),
    ("queue-full", DropCause::QueueFull),
    ("managed", DropCause::Managed),
    ("too-big", DropCause::TooBig),
];

/// The names of all causes.
pub(crate) fn causes() -> impl Iterator<Item = &'static str> {
    CAUSES.iter().map(|(name, _)| *name)
}

impl fmt::Display for LinkOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkOutput::Out { id, marked: false } => write!(f, "out #{id}"),
            LinkOutput::Out { id, marked: true } => write!(f, "out #{id} ce"),
            LinkOutput::Drop { id, cause } => {
                let name =
                    CAUSES.iter().find(|(_, known)| known == cause).map_or("?", |(name, _)| name);
                write!(f, "drop #{id} {name}")
            }
        }
    }
}

/// The link under test.
pub(crate) struct LinkUnderTest {
    link: Link<u64>,
    left: VecDeque<LinkOutput>,
}

impl LinkUnderTest {
    fn new(config: LinkConfig, seed: u64) -> LinkUnderTest {
        let link = Link::new(config, &chance::RandomSource::new(seed, 0), "down");
        LinkUnderTest { link, left: VecDeque::new() }
    }
}

/// A link has no state to check in a script: its packets show everything.
pub(crate) enum Nothing {}

impl fmt::Display for Nothing {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl Subject for LinkUnderTest {
    type Input = EnteringPacket;
    type Output = LinkOutput;
    type EndpointCheckheckCheck = Nothing;
    type EndpointLeftoverLeftovereLeftover = LinkOutput;

    fn apply(&mut self, now: Time, entry: &EnteringPacket) -> Result<(), String> {
        match self.link.handle(now, entry.packet, entry.id) {
            Admission::Queued => {}
            Admission::Dropped(cause) => {
                self.left.push_back(LinkOutput::Drop { id: entry.id, cause })
            }
        }
        Ok(())
    }

    fn deadline(&self) -> Option<Time> {
        self.link.deadline()
    }

    fn handle_timeout(&mut self, _now: Time) {}

    fn poll(&mut self, now: Time) -> Option<LinkOutput> {
        if self.left.is_empty() {
            let arrived = self.link.poll(now);
            while let Some(dropped) = self.link.poll_dropped() {
                self.left.push_back(LinkOutput::Drop { id: dropped.body, cause: dropped.cause });
            }
            self.left.extend(arrived.map(|Delivered { body, congestion_experienced, .. }| {
                LinkOutput::Out { id: body, marked: congestion_experienced }
            }));
        }
        self.left.pop_front()
    }

    fn unfinished(&self) -> Option<String> {
        let inside = self.link.in_flight();
        (inside > 0).then(|| format!("packets still in the link: {inside}"))
    }

    fn compare(&mut self, expected: &LinkOutput, left: &LinkOutput) -> Result<(), String> {
        if expected == left { Ok(()) } else { Err(format!("expected {expected}, found {left}")) }
    }

    fn check(&self, check: &Nothing) -> Result<(), String> {
        match *check {}
    }
}

// Parsing of lines to events of a link: `in 1500 #1 flow 2 ect user 1`, `out #1 ce`, `drop #1 queue-full`, `quiet`.

/// Maximum number of packets in one line.
const MOST_PACKETS: u64 = 10_000;

/// Parses lines to events.
pub(crate) fn steps(
    lines: &[ScriptLine<'_>],
) -> Result<Vec<StageStep<LinkUnderTest>>, ScriptProblem> {
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
                StageEvent::Output(_) => {}
                _ if !when.is_exact() => {
                    return Err(ScriptProblem::new(
                        time,
                        "only what leaves may have a range of times",
                    ));
                }
                StageEvent::Input(entry) if !used.insert(entry.id) => {
                    let message = format!("there is a packet #{} already", entry.id);
                    return Err(ScriptProblem::new(span, message));
                }
                _ => {}
            }
            steps.push(StageStep { when, event, span: span.clone() });
            when = When::AT_ONCE;
        }
    }
    Ok(steps)
}

fn events(cursor: &mut Cursor<'_>) -> Result<Vec<StageEvent<LinkUnderTest>>, ScriptProblem> {
    let from = cursor.mark();
    let events = match cursor.word() {
        "in" => {
            let wire_bytes = small(cursor, "a size in bytes")?;
            let ids = packets(cursor)?;
            let flow = if cursor.eat_word("flow") { flow(cursor)? } else { 0 };
            let ect = cursor.eat_word("ect");
            let user = if cursor.eat_word("user") { small(cursor, "a user's number")? } else { 0 };
            let packet = Packet { wire_bytes, flow, ect, user };
            ids.map(|id| StageEvent::Input(EnteringPacket { packet, id })).collect()
        }
        "out" => {
            let ids = packets(cursor)?;
            let marked = cursor.eat_word("ce");
            ids.map(|id| StageEvent::Output(LinkOutput::Out { id, marked })).collect()
        }
        "drop" => {
            let ids = packets(cursor)?;
            let cause = cause(cursor)?;
            ids.map(|id| StageEvent::Output(LinkOutput::Drop { id, cause })).collect()
        }
        "quiet" => vec![StageEvent::Quiet],
        "" => return Err(cursor.unexpected("an event, for example `in 1500 #1`")),
        other => {
            return Err(ScriptProblem::new(cursor.since(from), format!("unknown event `{other}`"))
                .label(suggestion(other, ["in", "out", "drop", "quiet"])));
        }
    };
    cursor.finish()?;
    Ok(events)
}

fn small(cursor: &mut Cursor<'_>, what: &str) -> Result<u32, ScriptProblem> {
    let from = cursor.mark();
    let number = cursor.number(what)?;
    u32::try_from(number).map_err(|_| {
        ScriptProblem::new(cursor.since(from), format!("{number} is too big for {what}"))
    })
}

/// A hash that maps to the queue of this number, of FQ-CoDel's 1024.
fn flow(cursor: &mut Cursor<'_>) -> Result<u32, ScriptProblem> {
    let from = cursor.mark();
    let number = small(cursor, "a flow's number")?;
    if number >= 1 << (u32::BITS - FLOW_SHIFT) {
        return Err(ScriptProblem::new(cursor.since(from), "flows are numbered from 0 to 1023"));
    }
    Ok(number << FLOW_SHIFT)
}

/// `#1`, or `#1..#4`: all four.
fn packets(cursor: &mut Cursor<'_>) -> Result<RangeInclusive<u64>, ScriptProblem> {
    let from = cursor.mark();
    let first = id(cursor)?;
    let last = if cursor.eat("..") { id(cursor)? } else { first };
    if last < first || last - first >= MOST_PACKETS {
        let message = format!("one line names between one packet and {MOST_PACKETS}, in order");
        return Err(ScriptProblem::new(cursor.since(from), message));
    }
    Ok(first..=last)
}

fn id(cursor: &mut Cursor<'_>) -> Result<u64, ScriptProblem> {
    if !cursor.eat("#") {
        return Err(cursor.unexpected("a packet, for example `#1`"));
    }
    cursor.number("a packet's number")
}

fn cause(cursor: &mut Cursor<'_>) -> Result<net::DropCause, ScriptProblem> {
    let from = cursor.mark();
    let name = cursor.word();
    match CAUSES.iter().find(|(known, _)| *known == name) {
        Some((_, cause)) => Ok(*cause),
        None => Err(ScriptProblem::new(cursor.since(from), format!("unknown drop cause `{name}`"))
            .label(suggestion(name, CAUSES.map(|(name, _)| name)))),
    }
}

/// The configuration of the link.
#[derive(Debug)]
pub(crate) struct LinkSettings {
    config: LinkConfig,
    seed: u64,
}

impl LinkSettings {
    /// Parses the `config` lines: settings of a network's direction (`docs/networks.md`), and `seed` for its
    /// randomness. Errors point at `header` if there are none.
    pub(crate) fn parse(
        settings: &[ScriptSetting],
        header: Range<usize>,
    ) -> Result<LinkSettings, ScriptProblem> {
        let place = match (settings.first(), settings.last()) {
            (Some(first), Some(last)) => first.span.start..last.span.end,
            _ => header,
        };
        // The other direction is there because a network has two.
        let mut typed = vec!["up=unlimited,up.delay=0ms".to_owned()];
        let mut seed = 0;
        for ScriptSetting { text, span } in settings {
            match text.strip_prefix("seed=") {
                Some(number) => {
                    seed = number.parse().map_err(|_| {
                        ScriptProblem::new(span.clone(), format!("`{number}` is no whole number"))
                    })?;
                }
                None => typed.push(format!("down.{text}")),
            }
        }
        let network = Network::parse(&typed.join(",")).map_err(|error| {
            let help = "write `config rate=10mbit,delay=50ms,queue=3pkt`";
            // The direction is implied, and not part of the script.
            ScriptProblem::new(place, error.to_string().replace("down.", "")).help(help)
        })?;
        Ok(LinkSettings { config: network.down, seed })
    }

    pub(crate) fn wire(&self) -> LinkUnderTest {
        LinkUnderTest::new(self.config.clone(), self.seed)
    }
}
