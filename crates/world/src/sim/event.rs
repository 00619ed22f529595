//! What is going to happen: a heap ordered by time, then by the order of planning.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::Time;

/// Something that fires at an instant. Slots carry generations: an event whose slot has moved on is
/// stale and ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A [`super::clock::Timer`] is due.
    Timer { slot: u32, generation: u32 },
    /// A packet has reached the far end of a link.
    Link(u32),
    /// A TCP connection has a timer due.
    Tcp { slot: u32, generation: u32 },
    /// A packet between two sockets of one node is due.
    Local,
}

#[derive(Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<(Time, u64, Event)>>,
    planned: u64,
}

impl Agenda {
    pub(super) fn plan(&mut self, at: Time, event: Event) {
        self.planned += 1;
        self.heap.push(Reverse((at, self.planned, event)));
    }

    pub(super) fn next(&mut self) -> Option<(Time, Event)> {
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }
}
