//! The virtual clock, its timers, and the heap of scheduled events.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::task::{Context, Poll, Waker};

use units::Time;

use super::plan::NodeId;
use super::state;

/// The virtual time.
pub(crate) fn now() -> Time {
    state::with(|state| state.now)
}

/// A future that completes at a deadline. It is scheduled when first polled.
pub(crate) struct SimTimer {
    deadline: Time,
    slot: Option<(u32, u32)>,
}

impl SimTimer {
    pub(crate) fn new(deadline: Time) -> SimTimer {
        SimTimer { deadline, slot: None }
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        state::with(|state| {
            if state.now >= self.deadline {
                return Poll::Ready(());
            }
            match self.slot {
                Some((slot, _)) => state.timers.update_waker(slot, cx.waker()),
                None => {
                    let (slot, generation) = state.timers.add(cx.waker().clone());
                    state.agenda.plan(self.deadline, SimEvent::Timer { slot, generation });
                    self.slot = Some((slot, generation));
                }
            }
            Poll::Pending
        })
    }
}

impl Drop for SimTimer {
    fn drop(&mut self) {
        if let Some((slot, generation)) = self.slot {
            state::with_if_any(|state| state.timers.remove(slot, generation));
        }
    }
}

/// The wakers of pending timers.
#[derive(Default)]
pub(super) struct SimTimers {
    slots: Vec<(u32, Option<Waker>)>,
    free: Vec<u32>,
}

impl SimTimers {
    fn add(&mut self, waker: Waker) -> (u32, u32) {
        match self.free.pop() {
            Some(slot) => {
                let entry = &mut self.slots[slot as usize];
                entry.1 = Some(waker);
                (slot, entry.0)
            }
            None => {
                self.slots.push((0, Some(waker)));
                ((self.slots.len() - 1) as u32, 0)
            }
        }
    }

    fn update_waker(&mut self, slot: u32, waker: &Waker) {
        let entry = &mut self.slots[slot as usize].1;
        if !entry.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *entry = Some(waker.clone());
        }
    }

    fn remove(&mut self, slot: u32, generation: u32) {
        let entry = &mut self.slots[slot as usize];
        if entry.0 == generation {
            *entry = (generation.wrapping_add(1), None);
            self.free.push(slot);
        }
    }

    /// The waker of a timer that is due, unless it was dropped since.
    pub(super) fn fire(&mut self, slot: u32, generation: u32) -> Option<Waker> {
        let entry = &mut self.slots[slot as usize];
        if entry.0 == generation { entry.1.take() } else { None }
    }
}

// Scheduled events: a heap ordered by time, then by the order of scheduling.

/// An event that fires at one time. Slots carry generations: an event whose slot has moved on is
/// stale and ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SimEvent {
    /// A [`SimTimer`] is due.
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
    heap: BinaryHeap<Reverse<AgendaEntry>>,
    planned: u64,
}

/// An event with its key: its time above its number. One wide number, because comparing
/// entries is the most frequent operation here.
struct AgendaEntry {
    place: u128,
    event: SimEvent,
}

impl Agenda {
    pub(super) fn plan(&mut self, at: Time, event: SimEvent) {
        self.planned += 1;
        let place = (u128::from(at.as_nanos()) << 64) | u128::from(self.planned);
        self.heap.push(Reverse(AgendaEntry { place, event }));
    }

    pub(super) fn next(&mut self) -> Option<(Time, SimEvent)> {
        let Reverse(AgendaEntry { place, event }) = self.heap.pop()?;
        Some((Time::from_nanos((place >> 64) as u64), event))
    }
}

impl Ord for AgendaEntry {
    fn cmp(&self, other: &AgendaEntry) -> Ordering {
        self.place.cmp(&other.place)
    }
}

impl PartialOrd for AgendaEntry {
    fn partial_cmp(&self, other: &AgendaEntry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for AgendaEntry {
    fn eq(&self, other: &AgendaEntry) -> bool {
        self.place == other.place
    }
}

impl Eq for AgendaEntry {}
