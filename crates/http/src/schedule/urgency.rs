//! RFC 9218: the urgency of a response (the `priority` field and the payload of PRIORITY_UPDATE), and the schedule by it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use super::{Schedule, ServeOutcome, Signal};

/// The urgency of a response, and whether it is incremental.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Urgency {
    /// 0, the most urgent, to 7 (section 4.1).
    pub level: u8,
    /// True if it may share the connection with others of its level (section 4.2).
    pub is_incremental: bool,
}

/// The default (section 4).
impl Default for Urgency {
    fn default() -> Urgency {
        Urgency { level: 3, is_incremental: false }
    }
}

impl Urgency {
    /// The lowest urgency.
    pub const LEAST: u8 = 7;

    /// Parses a field's value. Unknown parts are ignored (section 4). Of RFC 8941's dictionaries only the syntax of
    /// these two parameters is supported: integers and booleans, parameters skipped.
    pub fn parse(value: &[u8]) -> Urgency {
        let mut urgency = Urgency::default();
        for member in value.split(|byte| *byte == b',') {
            let member = member.split(|byte| *byte == b';').next().unwrap_or_default();
            match member.trim_ascii() {
                [b'u', b'=', level @ b'0'..=b'7'] => urgency.level = level - b'0',
                b"i" | b"i=?1" => urgency.is_incremental = true,
                b"i=?0" => urgency.is_incremental = false,
                _ => {}
            }
        }
        urgency
    }
}

/// The field's value, without defaults: possibly empty.
impl fmt::Display for Urgency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.level == Urgency::default().level, self.is_incremental) {
            (true, false) => Ok(()),
            (true, true) => f.write_str("i"),
            (false, false) => write!(f, "u={}", self.level),
            (false, true) => write!(f, "u={}, i", self.level),
        }
    }
}

// Eight levels, the most urgent first: SPDY's rule and RFC 9218's (section 10).
//
// Within a level, incremental responses take turns; non-incremental ones come one after the other, by stream number,
// and share one turn: the RFC leaves the order of the two kinds open.

/// Number of streams, possibly never opened, whose signals are remembered: further PRIORITY_UPDATEs displace the oldest
/// (RFC 9218 section 7.1 lets a server).
const REMEMBERED: usize = 256;

/// The part of a signal that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PriorityUse {
    /// The level alone: all of a level take turns.
    Urgency,
    /// The level, and whether a response takes turns.
    Everything,
}

/// The signals about a stream.
#[derive(Clone, Copy, Debug, Default)]
struct StreamSignal {
    urgency: Urgency,
    /// Set by a frame, which no field overrides.
    by_update: bool,
}

/// A participant in the turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UrgencySlot {
    /// The first of the non-incremental responses.
    Sequential,
    /// A stream that takes turns.
    Incremental(u32),
}

#[derive(Debug, Default)]
struct UrgencyLevel {
    slots: VecDeque<UrgencySlot>,
    sequential: BTreeSet<u32>,
}

#[derive(Debug)]
pub(super) struct UrgencySchedule {
    priority_use: PriorityUse,
    signals: BTreeMap<u32, StreamSignal>,
    ready: BTreeSet<u32>,
    levels: [UrgencyLevel; Urgency::LEAST as usize + 1],
}

impl UrgencySchedule {
    pub(super) fn new(priority_use: PriorityUse) -> UrgencySchedule {
        UrgencySchedule {
            priority_use,
            signals: BTreeMap::new(),
            ready: BTreeSet::new(),
            levels: Default::default(),
        }
    }

    fn urgency(&self, stream: u32) -> Urgency {
        let urgency = self.signals.get(&stream).copied().unwrap_or_default().urgency;
        match self.priority_use {
            PriorityUse::Everything => urgency,
            PriorityUse::Urgency => Urgency { is_incremental: true, ..urgency },
        }
    }

    fn insert(&mut self, stream: u32) {
        let urgency = self.urgency(stream);
        self.levels[usize::from(urgency.level)].insert(stream, urgency.is_incremental);
    }

    fn remove(&mut self, stream: u32) {
        let level = self.urgency(stream).level;
        self.levels[usize::from(level)].remove(stream);
    }

    /// Bounds the memory of signals about streams that are not ready, before a signal about `stream` is added.
    fn make_room(&mut self, stream: u32) {
        if self.signals.len() >= REMEMBERED
            && !self.signals.contains_key(&stream)
            && let Some(oldest) = self.signals.keys().find(|stream| !self.ready.contains(stream))
        {
            let oldest = *oldest;
            self.signals.remove(&oldest);
        }
    }
}

impl Schedule for UrgencySchedule {
    fn add(&mut self, stream: u32) {
        self.ready.insert(stream);
        self.insert(stream);
    }

    fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    fn serve_one(&mut self, serve: &mut dyn FnMut(u32) -> ServeOutcome) -> bool {
        let Some((stream, served)) =
            self.levels.iter_mut().find_map(|level| level.serve_one(serve))
        else {
            return false;
        };
        if let ServeOutcome::Done(_) = served {
            self.remove(stream);
            self.ready.remove(&stream);
            self.signals.remove(&stream);
        }
        true
    }

    fn signal(&mut self, stream: u32, signal: Signal) {
        let signals = match signal {
            Signal::Dependency(_) => return,
            Signal::Field(_)
                if self.signals.get(&stream).is_some_and(|signals| signals.by_update) =>
            {
                return;
            }
            Signal::Field(urgency) => StreamSignal { urgency, by_update: false },
            Signal::Update(urgency) => StreamSignal { urgency, by_update: true },
        };
        let is_ready = self.ready.contains(&stream);
        if is_ready {
            self.remove(stream);
        }
        self.make_room(stream);
        self.signals.insert(stream, signals);
        if is_ready {
            self.insert(stream);
        }
    }
}

impl UrgencyLevel {
    fn insert(&mut self, stream: u32, is_incremental: bool) {
        if is_incremental {
            self.slots.push_back(UrgencySlot::Incremental(stream));
            return;
        }
        if self.sequential.is_empty() {
            self.slots.push_back(UrgencySlot::Sequential);
        }
        self.sequential.insert(stream);
    }

    fn remove(&mut self, stream: u32) {
        let was_whole = self.sequential.remove(&stream);
        let is_gone = |seat: UrgencySlot| match seat {
            UrgencySlot::Incremental(part) => part == stream,
            UrgencySlot::Sequential => was_whole && self.sequential.is_empty(),
        };
        self.slots.retain(|seat| !is_gone(*seat));
    }

    /// Serves the first that is not blocked, which then waits until the others have had their turns.
    fn serve_one(
        &mut self,
        serve: &mut dyn FnMut(u32) -> ServeOutcome,
    ) -> Option<(u32, ServeOutcome)> {
        for at in 0..self.slots.len() {
            let seat = self.slots[at];
            let mut sent = |stream| match serve(stream) {
                ServeOutcome::Blocked => None,
                served => Some((stream, served)),
            };
            let found = match seat {
                UrgencySlot::Incremental(stream) => sent(stream),
                UrgencySlot::Sequential => self.sequential.iter().copied().find_map(sent),
            };
            if found.is_some() {
                self.slots.remove(at);
                self.slots.push_back(seat);
                return found;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{order, order_of};
    use super::*;

    proptest! {
        #[test]
        fn it_reads_back(level in 0..=Urgency::LEAST, is_incremental: bool) {
            let urgency = Urgency { level, is_incremental };
            prop_assert_eq!(Urgency::parse(urgency.to_string().as_bytes()), urgency);
        }

        #[test]
        fn any_bytes_are_some_urgency(value: Vec<u8>) {
            prop_assert!(Urgency::parse(&value).level <= Urgency::LEAST);
        }
    }

    #[test]
    fn what_is_not_understood_counts_as_not_said() {
        let read = |text: &str| Urgency::parse(text.as_bytes()).to_string();
        assert_eq!(read("u=8, i=?1;x=2"), "i");
        assert_eq!(read(" i ,u=0;y"), "u=0, i");
        assert_eq!(read("u=2.0, u, i=1"), "");
    }

    fn field(text: &str) -> Signal {
        Signal::Field(Urgency::parse(text.as_bytes()))
    }

    fn urgent(priority_use: PriorityUse, fields: &[(u32, &str)]) -> UrgencySchedule {
        let mut urgent = UrgencySchedule::new(priority_use);
        fields.iter().for_each(|(stream, text)| urgent.signal(*stream, field(text)));
        urgent
    }

    #[test]
    fn the_most_urgent_goes_first() {
        let mut schedule = urgent(PriorityUse::Everything, &[(1, "u=5"), (3, "u=0"), (5, "")]);
        assert_eq!(order(&mut schedule, &[(1, 2), (3, 2), (5, 1)]), [3, 3, 5, 1, 1]);
    }

    #[test]
    fn wholes_come_by_number_and_parts_in_turn() {
        let signals = [(1, "u=2"), (3, "u=2"), (5, "u=2, i"), (7, "u=2, i")];
        let mut schedule = urgent(PriorityUse::Everything, &signals);
        let served = order(&mut schedule, &[(3, 2), (5, 2), (7, 1), (1, 1)]);
        assert_eq!(served, [1, 5, 7, 3, 5, 3]);
    }

    #[test]
    fn strictly_by_level_all_of_one_take_turns() {
        let mut schedule = urgent(PriorityUse::Urgency, &[(1, "u=2"), (3, "u=2"), (5, "u=1")]);
        assert_eq!(order(&mut schedule, &[(1, 2), (3, 2), (5, 1)]), [5, 1, 3, 1, 3]);
    }

    #[test]
    fn a_frame_overrides_the_field_and_moves_what_is_ready() {
        let mut schedule = UrgencySchedule::new(PriorityUse::Everything);
        schedule.signal(3, Signal::Update(Urgency { level: 1, is_incremental: false }));
        schedule.signal(3, field("u=7"));
        schedule.add(1);
        schedule.signal(1, Signal::Update(Urgency { level: 0, is_incremental: false }));
        assert_eq!(schedule.urgency(3).level, 1);
        let mut first = 0;
        schedule.add(3);
        assert!(schedule.serve_one(&mut |stream| {
            first = stream;
            ServeOutcome::Done(1)
        }));
        assert_eq!(first, 1);
    }

    #[test]
    fn a_blocked_stream_is_passed_over() {
        let mut schedule =
            urgent(PriorityUse::Everything, &[(1, "u=0"), (3, "u=0"), (5, "u=6, i")]);
        assert_eq!(order_of(&mut schedule, &[(1, 1), (3, 2), (5, 1)], &[1]), [3, 3, 5]);
    }

    #[test]
    fn a_flood_of_updates_is_forgotten() {
        let mut schedule = UrgencySchedule::new(PriorityUse::Everything);
        (0..10_000).for_each(|stream| schedule.signal(stream, field("u=1")));
        assert_eq!(schedule.signals.len(), REMEMBERED);
    }
}
