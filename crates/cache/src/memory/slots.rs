//! Slots for entries, and the queue and the heap through them. Table, queue and heap refer to a slot by its number, so that moving an entry
//! between these allocates nothing.

use std::sync::Arc;

use crate::entry::CacheEntry;

/// No slot.
pub(super) const NONE: u32 = u32::MAX;

/// One entry, and its position in queue or heap.
#[derive(Debug)]
pub(super) struct EntrySlot<V> {
    pub hash: u64,
    pub weight: u64,
    /// `None` while the slot is free.
    pub entry: Option<Arc<CacheEntry<V>>>,
    /// In the queue: its neighbour towards the head, where entries come in. In a free slot: the next free one.
    pub newer: u32,
    /// In the queue: its neighbour towards the tail.
    pub older: u32,
    /// In the heap: its index.
    pub heap_index: u32,
    /// Number of finds since the last valuation.
    pub finds: u32,
    /// Number of requests up to then, including earlier stays in the cache.
    pub asked: u32,
    /// Worth at the last valuation.
    pub worth: u64,
    pub state: SlotState,
}

/// Holder of an entry: the queue or the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotState {
    /// In the queue: requested only once.
    Probation,
    /// In the heap.
    Proven,
}

/// All slots of a shard.
#[derive(Debug)]
pub(super) struct Slots<V> {
    slots: Vec<EntrySlot<V>>,
    free: u32,
}

impl<V> Slots<V> {
    pub fn new() -> Slots<V> {
        Slots { slots: Vec::new(), free: NONE }
    }

    /// Takes a free slot for an entry with `asked` requests so far.
    pub fn take(&mut self, hash: u64, weight: u64, entry: Arc<CacheEntry<V>>, asked: u32) -> u32 {
        let entry = Some(entry);
        let (newer, older, heap_index, state) = (NONE, NONE, NONE, SlotState::Probation);
        let slot = EntrySlot {
            hash,
            weight,
            entry,
            newer,
            older,
            heap_index,
            finds: 0,
            asked,
            worth: 0,
            state,
        };
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
    pub fn release(&mut self, at: u32) -> Option<Arc<CacheEntry<V>>> {
        let free = self.free;
        self.free = at;
        let slot = &mut self.slots[at as usize];
        slot.newer = free;
        slot.entry.take()
    }

    pub fn get(&self, at: u32) -> &EntrySlot<V> {
        &self.slots[at as usize]
    }

    pub fn get_mut(&mut self, at: u32) -> &mut EntrySlot<V> {
        &mut self.slots[at as usize]
    }

    /// The entry in a slot.
    ///
    /// # Panics
    /// If the slot is free: table, queue and heap name taken slots only.
    pub fn entry(&self, at: u32) -> &Arc<CacheEntry<V>> {
        self.slots[at as usize].entry.as_ref().expect("a slot in use holds an entry")
    }

    /// All slots in use.
    pub fn used(&self) -> impl Iterator<Item = u32> + use<'_, V> {
        (0..self.slots.len() as u32).filter(|at| self.slots[*at as usize].entry.is_some())
    }
}

/// Entries on probation: a queue threaded through their slots. They come in at the head and leave at the tail.
#[derive(Debug)]
pub(super) struct ProbationQueue {
    head: u32,
    tail: u32,
    pub bytes: u64,
    pub len: usize,
}

impl ProbationQueue {
    pub fn new() -> ProbationQueue {
        ProbationQueue { head: NONE, tail: NONE, bytes: 0, len: 0 }
    }

    /// The oldest entry.
    pub fn tail(&self) -> Option<u32> {
        (self.tail != NONE).then_some(self.tail)
    }

    pub fn push<V>(&mut self, slots: &mut Slots<V>, at: u32) {
        let slot = slots.get_mut(at);
        (slot.newer, slot.older) = (NONE, self.head);
        self.bytes += slot.weight;
        self.len += 1;
        match self.head {
            NONE => self.tail = at,
            head => slots.get_mut(head).newer = at,
        }
        self.head = at;
    }

    pub fn unlink<V>(&mut self, slots: &mut Slots<V>, at: u32) {
        let (newer, older, weight) =
            (slots.get(at).newer, slots.get(at).older, slots.get(at).weight);
        self.bytes -= weight;
        self.len -= 1;
        match newer {
            NONE => self.head = older,
            newer => slots.get_mut(newer).older = older,
        }
        match older {
            NONE => self.tail = newer,
            older => slots.get_mut(older).newer = newer,
        }
    }
}

/// Proven entries by worth, the least first: a binary heap of slots that know their indices, so that any of them can be removed.
#[derive(Debug, Default)]
pub(super) struct Heap {
    order: Vec<u32>,
    pub bytes: u64,
}

impl Heap {
    /// The slot of the least worth.
    pub fn least(&self) -> Option<u32> {
        self.order.first().copied()
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Inserts a slot by its stored worth.
    pub fn push<V>(&mut self, slots: &mut Slots<V>, at: u32) {
        self.bytes += slots.get(at).weight;
        self.order.push(at);
        self.sift_up(slots, self.order.len() - 1);
    }

    pub fn remove<V>(&mut self, slots: &mut Slots<V>, at: u32) {
        self.bytes -= slots.get(at).weight;
        let index = slots.get(at).heap_index as usize;
        self.order.swap_remove(index);
        if index < self.order.len() {
            // The replacement came from the end: it may belong further down, or, from another branch, further up.
            let index = self.sift_up(slots, index);
            self.sift_down(slots, index);
        }
    }

    /// Moves a slot up to its index, which it returns.
    fn sift_up<V>(&mut self, slots: &mut Slots<V>, mut index: usize) -> usize {
        let at = self.order[index];
        let worth = slots.get(at).worth;
        while index > 0 {
            let parent = (index - 1) / 2;
            if slots.get(self.order[parent]).worth <= worth {
                break;
            }
            self.set(slots, index, self.order[parent]);
            index = parent;
        }
        self.set(slots, index, at);
        index
    }

    fn sift_down<V>(&mut self, slots: &mut Slots<V>, mut index: usize) {
        let at = self.order[index];
        let worth = slots.get(at).worth;
        loop {
            let (left, right) = (2 * index + 1, 2 * index + 2);
            let of = |index: usize| self.order.get(index).map(|at| slots.get(*at).worth);
            let Some(mut least) = of(left).map(|worth| (worth, left)) else { break };
            if let Some(right_worth) = of(right).filter(|worth| *worth < least.0) {
                least = (right_worth, right);
            }
            if worth <= least.0 {
                break;
            }
            self.set(slots, index, self.order[least.1]);
            index = least.1;
        }
        self.set(slots, index, at);
    }

    fn set<V>(&mut self, slots: &mut Slots<V>, index: usize, at: u32) {
        self.order[index] = at;
        slots.get_mut(at).heap_index = index as u32;
    }
}
