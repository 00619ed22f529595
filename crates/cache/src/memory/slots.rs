//! Slots for entries: a table, a queue and a heap refer to them by number, and moving an entry between these allocates nothing.

use std::sync::Arc;

use crate::entry::Entry;

/// No slot.
pub(super) const NONE: u32 = u32::MAX;

/// An entry's place.
#[derive(Debug)]
pub(super) struct Slot<V> {
    pub hash: u64,
    pub weight: u64,
    /// `None` while the slot is free.
    pub entry: Option<Arc<Entry<V>>>,
    /// In the queue: its neighbour towards the head, where entries come in. In a free slot: the next free one.
    pub newer: u32,
    /// In the queue: its neighbour towards the tail.
    pub older: u32,
    /// In the heap: its index.
    pub place: u32,
    /// Number of finds since the last valuation.
    pub finds: u32,
    /// Number of requests up to then, including earlier stays in the cache.
    pub asked: u32,
    /// Worth at the last valuation.
    pub worth: u64,
    pub standing: Standing,
}

/// Standing of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// In the queue: requested only once.
    Probation,
    /// In the heap.
    Proven,
}

/// All slots of a shard.
#[derive(Debug)]
pub(super) struct Slots<V> {
    slots: Vec<Slot<V>>,
    free: u32,
}

impl<V> Slots<V> {
    pub fn new() -> Slots<V> {
        Slots { slots: Vec::new(), free: NONE }
    }

    /// Takes a free slot for an entry with `asked` requests so far.
    pub fn take(&mut self, hash: u64, weight: u64, entry: Arc<Entry<V>>, asked: u32) -> u32 {
        let entry = Some(entry);
        let (newer, older, place, standing) = (NONE, NONE, NONE, Standing::Probation);
        let slot =
            Slot { hash, weight, entry, newer, older, place, finds: 0, asked, worth: 0, standing };
        if self.free == NONE {
            self.slots.push(slot);
            return self.slots.len() as u32 - 1;
        }
        let at = self.free;
        self.free = self.slots[at as usize].newer;
        self.slots[at as usize] = slot;
        at
    }

    /// Frees a slot that is in no queue any more.
    pub fn release(&mut self, at: u32) -> Option<Arc<Entry<V>>> {
        let free = self.free;
        self.free = at;
        let slot = &mut self.slots[at as usize];
        slot.newer = free;
        slot.entry.take()
    }

    pub fn get(&self, at: u32) -> &Slot<V> {
        &self.slots[at as usize]
    }

    pub fn get_mut(&mut self, at: u32) -> &mut Slot<V> {
        &mut self.slots[at as usize]
    }

    /// The entry in a slot.
    ///
    /// # Panics
    /// If the slot is free: table, queue and heap name taken slots only.
    pub fn entry(&self, at: u32) -> &Arc<Entry<V>> {
        self.slots[at as usize].entry.as_ref().expect("a slot in use holds an entry")
    }

    /// All slots in use.
    pub fn used(&self) -> impl Iterator<Item = u32> + use<'_, V> {
        (0..self.slots.len() as u32).filter(|at| self.slots[*at as usize].entry.is_some())
    }
}
