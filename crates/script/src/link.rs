//! One direction of a link as a subject: packets go in, come out, or are dropped.

mod grammar;
mod settings;

use std::collections::VecDeque;
use std::fmt;

use net::{Delivered, DropCause, Link, LinkConfig, Packet, Verdict};
use units::Time;

use crate::subject::Subject;

pub(crate) use grammar::steps;
pub(crate) use settings::Settings;

/// Queues with flow isolation use the upper ten bits of the flow hash.
const FLOW_SHIFT: u32 = 22;

/// A packet goes in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    packet: Packet,
    id: u64,
}

impl fmt::Display for Entry {
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
pub(crate) enum Fate {
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

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fate::Out { id, marked: false } => write!(f, "out #{id}"),
            Fate::Out { id, marked: true } => write!(f, "out #{id} ce"),
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
    left: VecDeque<Fate>,
}

impl Wire {
    fn new(config: LinkConfig, seed: u64) -> Wire {
        let link = Link::new(config, &chance::Source::new(seed, 0), "down");
        Wire { link, left: VecDeque::new() }
    }
}

/// A link has no state to check in a script: its packets show everything.
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
        match self.link.handle(now, entry.packet, entry.id) {
            Verdict::Queued => {}
            Verdict::Dropped(cause) => self.left.push_back(Fate::Drop { id: entry.id, cause }),
        }
        Ok(())
    }

    fn deadline(&self) -> Option<Time> {
        self.link.deadline()
    }

    fn handle_timeout(&mut self, _now: Time) {}

    fn poll(&mut self, now: Time) -> Option<Fate> {
        if self.left.is_empty() {
            let arrived = self.link.poll(now);
            while let Some(fallen) = self.link.fallen() {
                self.left.push_back(Fate::Drop { id: fallen.body, cause: fallen.cause });
            }
            self.left.extend(arrived.map(|Delivered { body, congestion_experienced, .. }| {
                Fate::Out { id: body, marked: congestion_experienced }
            }));
        }
        self.left.pop_front()
    }

    fn unfinished(&self) -> Option<String> {
        let inside = self.link.in_flight();
        (inside > 0).then(|| format!("packets still in the link: {inside}"))
    }

    fn compare(&mut self, expected: &Fate, left: &Fate) -> Result<(), String> {
        if expected == left { Ok(()) } else { Err(format!("expected {expected}, found {left}")) }
    }

    fn check(&self, check: &Nothing) -> Result<(), String> {
        match *check {}
    }
}
