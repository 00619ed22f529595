//! Scheduled events: a heap ordered by time, then by the order of scheduling.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use units::Time;

use super::plan::NodeId;

/// An event that fires at one time. Slots carry generations: an event whose slot has moved on is
/// stale and ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A [`super::clock::Timer`] is due.
    Timer { slot: u32, generation: u32 },
    /// A packet has reached the far end of a link.
    Link(u32),
    /// A radio lets packets pass, or changes its state.
    Radio(u32),
    /// A TCP connection has a timer due.
    Tcp { slot: u32, generation: u32 },
    /// A packet between two sockets of one node is due.
    Local,
    /// A node's process wakes up.
    Wake(NodeId),
}

#[derive(Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<Entry>>,
    planned: u64,
}

/// An event with its key: its time above its number. One wide number, because comparing
/// entries is the most frequent operation here.
struct Entry {
    place: u128,
    event: Event,
}

impl Agenda {
    pub(super) fn plan(&mut self, at: Time, event: Event) {
        self.planned += 1;
        let place = (u128::from(at.as_nanos()) << 64) | u128::from(self.planned);
        self.heap.push(Reverse(Entry { place, event }));
    }

    pub(super) fn next(&mut self) -> Option<(Time, Event)> {
        let Reverse(Entry { place, event }) = self.heap.pop()?;
        Some((Time::from_nanos((place >> 64) as u64), event))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        self.place.cmp(&other.place)
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.place == other.place
    }
}

impl Eq for Entry {}
