//! One direction of a link as a subject: packets go in, come out, or are dropped.

mod grammar;
mod settings;

use std::collections::VecDeque;
use std::fmt;

use net::{DropCause, Link, LinkConfig, Verdict};
use units::Time;

use crate::subject::Subject;

pub(crate) use grammar::steps;
pub(crate) use settings::Settings;

/// A packet goes in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    bytes: u32,
    id: u64,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in {} #{}", self.bytes, self.id)
    }
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Out { id: u64 },
    Drop { id: u64, cause: DropCause },
}

/// The causes and their names in scripts.
const CAUSES: [(&str, DropCause); 3] = [
    ("loss", DropCause::Loss),
    ("queue-full", DropCause::QueueFull),
    ("too-big", DropCause::TooBig),
];

/// The names of all causes.
pub(crate) fn causes() -> impl Iterator<Item = &'static str> {
    CAUSES.iter().map(|(name, _)| *name)
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fate::Out { id } => write!(f, "out #{id}"),
            Fate::Drop { id, cause } => {
                let name =
                    CAUSES.iter().find(|(_, known)| known == cause).map_or("?", |(name, _)| name);
                write!(f, "drop #{id} {name}")
            }
        }
    }
}

/// The link under test.
pub(crate) struct Wire {
    link: Link<u64>,
    dropped: VecDeque<Fate>,
}

impl Wire {
    fn new(config: LinkConfig, seed: u64) -> Wire {
        let source = chance::Source::new(seed, 0);
        let link = Link::new(config, source.stream("link/loss"), source.stream("link/jitter"));
        Wire { link, dropped: VecDeque::new() }
    }
}

/// A link has no state that a script could ask for: packets tell all.
pub(crate) enum Nothing {}

impl fmt::Display for Nothing {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl Subject for Wire {
    type Input = Entry;
    type Output = Fate;
    type Check = Nothing;
    type Left = Fate;

    fn apply(&mut self, now: Time, entry: &Entry) -> Result<(), String> {
        match self.link.handle(now, entry.bytes, entry.id) {
            Verdict::Queued => {}
            Verdict::Dropped(cause) => self.dropped.push_back(Fate::Drop { id: entry.id, cause }),
        }
        Ok(())
    }

    fn deadline(&self) -> Option<Time> {
        self.link.deadline()
    }

    fn handle_timeout(&mut self, _now: Time) {}

    fn poll(&mut self, now: Time) -> Option<Fate> {
        let arrived = || self.link.poll(now).map(|(_, id)| Fate::Out { id });
        self.dropped.pop_front().or_else(arrived)
    }

    fn compare(&mut self, expected: &Fate, left: &Fate) -> Result<(), String> {
        if expected == left { Ok(()) } else { Err(format!("expected {expected}, found {left}")) }
    }

    fn check(&self, check: &Nothing) -> Result<(), String> {
        match *check {}
    }
}
