//! One shard of the memory tier: a table of entries, and the choice of entries to evict.
//!
//! It combines two ideas. From S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023): new entries are on probation in a
//! queue of a twentieth of the bytes; those not requested again by its end are evicted, so that one-hit objects pass through little memory, and a
//! find writes one number. From GreedyDual-Size-Frequency (Cherkasova, HPL-98-69, 1998): among the proven entries, the one is evicted that saves
//! least for the memory it takes, that is
//!
//! `clock + asked * (ROUND_TRIP + weight) / weight`
//!
//! where the clock is the worth of the last evicted entry, so that old merits fade, and a fetch from the origin costs a round trip, counted as
//! the bytes that could have been sent meanwhile, and the transfer. Small objects gain from the first term; with it alone, byte hit ratios
//! would fall below LRU's. Worth is recalculated only when an entry is about to be evicted. Evicted keys are remembered for a while with their
//! request counts. `docs/cache.md` has the measurements.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashTable;

use super::MemoryTally;
use super::slots::Heap;
use super::slots::ProbationQueue;
use super::slots::{EntrySlot, SlotState, Slots};
use crate::date::Date;
use crate::entry::{CacheEntry, EntryValue};
use crate::fields::FieldLines;
use crate::key::{CacheKey, OwnedKey};
use crate::request::CacheRequest;
use crate::status::ForwardReason;

/// Maximum number of responses under one key: `Vary` must not let one resource fill a cache.
const VARIANTS: usize = 32;
/// Divisor of the bytes for entries on probation: a twentieth.
const PROBATION: u64 = 20;
/// Cost of a round trip to an origin in bytes: 50 ms at 2.6 Mbit/s, 16 ms at 8 Mbit/s. Between 4 and 64 KiB the ratios change little.
const ROUND_TRIP: u64 = 16 << 10;
/// Fixed-point scale of worth: the worth of one find whose whole cost is its own transfer.
const FRACTION: u64 = 256;
/// Evicted keys remembered per entry held.
const REMEMBERED: usize = 2;
/// Number of parts of the key space with separate invalidation generations.
const GENERATIONS: usize = 64;

#[derive(Debug)]
pub(super) struct Shard<V> {
    limit: u64,
    /// Slots by the hash of their key; entries with equal keys lie side by side.
    table: HashTable<u32>,
    slots: Slots<V>,
    probation: ProbationQueue,
    proven: Heap,
    /// Worth of the last proven entry evicted.
    clock: u64,
    ghost: Ghost,
    generations: [u32; GENERATIONS],
    tally: MemoryTally,
}

/// Memory cost of an entry: its own weight and its bookkeeping.
pub(super) fn weight<V: EntryValue>(entry: &CacheEntry<V>) -> u64 {
    (entry.weight() + bookkeeping::<V>()) as u64
}

/// Bookkeeping bytes of an entry.
pub(super) fn bookkeeping<V>() -> usize {
    // Vectors double, so each place counts twice: a slot, its buckets in table and heap, and its share of the ghost list.
    let departed = size_of::<Departed>() + 1 + size_of::<u64>();
    let places = 2 * (size_of::<EntrySlot<V>>() + 2 * size_of::<u32>() + 1 + REMEMBERED * departed);
    // Reference counts, and the allocator's overhead of four or five allocations.
    let allocations = 2 * size_of::<usize>() + 5 * 16;
    places + allocations
}

impl<V: EntryValue> Shard<V> {
    pub fn new(limit: u64) -> Shard<V> {
        Shard {
            limit,
            table: HashTable::new(),
            slots: Slots::new(),
            probation: ProbationQueue::new(),
            proven: Heap::default(),
            clock: 0,
            ghost: Ghost::new(),
            generations: [0; GENERATIONS],
            tally: MemoryTally::default(),
        }
    }

    /// The best match for a request, or the reason for a miss: among several, whole responses first, then the latest (RFC 9111
    /// section 4.1).
    pub fn find<F: FieldLines + ?Sized>(
        &mut self,
        hash: u64,
        key: &CacheKey<'_>,
        request: &CacheRequest<'_, F>,
    ) -> Result<Arc<CacheEntry<V>>, ForwardReason> {
        let (mut best, mut why) = (None, ForwardReason::UriMiss);
        for at in self.table.iter_hash(hash).copied() {
            let entry = self.slots.entry(at);
            if self.slots.get(at).hash != hash || !entry.key().is(key) {
                continue;
            }
            match fit(entry, request) {
                Ok(rank) if best.is_none_or(|(_, other)| rank > other) => best = Some((at, rank)),
                Ok(_) => {}
                Err(miss) => why = miss,
            }
        }
        let Some((at, _)) = best else {
            self.tally.missed += 1;
            return Err(why);
        };
        self.tally.found += 1;
        let slot = self.slots.get_mut(at);
        slot.finds = slot.finds.saturating_add(1);
        Ok(self.slots.entry(at).clone())
    }

    /// The generation of a key: it changes when the key is invalidated.
    pub fn generation(&self, hash: u64) -> u32 {
        self.generations[hash as usize % GENERATIONS]
    }

    /// Inserts an entry that weighs no more than a shard may hold.
    pub fn insert(&mut self, hash: u64, entry: Arc<CacheEntry<V>>, weight: u64) {
        let predecessor = self.remove_superseded(hash, &entry);
        let known =
            predecessor.or_else(|| self.ghost.recall(hash).map(|asked| asked.saturating_add(1)));
        self.make_room(weight);
        let at = self.slots.take(hash, weight, entry, known.unwrap_or(1));
        match known {
            None => self.probation.push(&mut self.slots, at),
            Some(_) => self.promote(at),
        }
        let slots = &self.slots;
        self.table.insert_unique(hash, at, |at| slots.get(*at).hash);
        self.tally.inserted += 1;
    }

    /// Removes the entries that a new entry supersedes, and the oldest of too many variants. Returns the request count of the
    /// predecessor, if there was one.
    fn remove_superseded(&mut self, hash: u64, entry: &CacheEntry<V>) -> Option<u32> {
        let mut asked = None;
        let mut others = Vec::new();
        for at in self.under(hash, &entry.key().borrow()) {
            let slot = self.slots.get(at);
            if entry.supersedes(self.slots.entry(at)) {
                asked = asked.max(Some(slot.asked.saturating_add(slot.finds)));
                self.remove(at);
            } else {
                others.push(at);
            }
        }
        if others.len() >= VARIANTS {
            let received = |at: &u32| self.slots.entry(*at).terms().exchange().received;
            if let Some(oldest) = others.iter().copied().min_by_key(received) {
                self.remove(oldest);
            }
        }
        asked
    }

    /// The slots of all entries under a key.
    fn under(&self, hash: u64, key: &CacheKey<'_>) -> Vec<u32> {
        let same =
            |at: &u32| self.slots.get(*at).hash == hash && self.slots.entry(*at).key().is(key);
        self.table.iter_hash(hash).copied().filter(same).collect()
    }

    pub fn invalidate(&mut self, hash: u64, key: &CacheKey<'_>) -> usize {
        let generation = &mut self.generations[hash as usize % GENERATIONS];
        *generation = generation.wrapping_add(1);
        let gone = self.under(hash, key);
        self.remove_all(&gone)
    }

    pub fn remove_where(&mut self, gone: impl Fn(&OwnedKey) -> bool) -> usize {
        for generation in &mut self.generations {
            *generation = generation.wrapping_add(1);
        }
        let gone: Vec<_> =
            self.slots.used().filter(|at| gone(self.slots.entry(*at).key())).collect();
        self.remove_all(&gone)
    }

    fn remove_all(&mut self, gone: &[u32]) -> usize {
        for at in gone {
            self.remove(*at);
        }
        self.tally.removed += gone.len() as u64;
        gone.len()
    }

    pub fn tally(&self) -> MemoryTally {
        let entries = (self.probation.len + self.proven.len()) as u64;
        MemoryTally { entries, bytes: self.bytes(), ..self.tally }
    }

    fn bytes(&self) -> u64 {
        self.probation.bytes + self.proven.bytes
    }

    fn make_room(&mut self, weight: u64) {
        while self.bytes() + weight > self.limit {
            let probation =
                self.probation.bytes >= self.limit / PROBATION || self.proven.len() == 0;
            let from = if probation { self.probation.tail() } else { self.proven.least() };
            // A weight is at most the limit, so there is room before both are empty.
            let Some(at) = from else { return };
            if probation { self.end_probation(at) } else { self.revalue_or_evict(at) }
        }
    }

    /// Promotes an entry that was requested again since its insertion; evicts it otherwise.
    fn end_probation(&mut self, at: u32) {
        if self.slots.get(at).finds > 0 {
            self.probation.unlink(&mut self.slots, at);
            self.promote(at);
        } else {
            self.evict(at);
        }
    }

    /// Revalues an entry that was requested since its last valuation; evicts it otherwise.
    fn revalue_or_evict(&mut self, at: u32) {
        if self.slots.get(at).finds > 0 {
            self.proven.remove(&mut self.slots, at);
            self.promote(at);
        } else {
            self.clock = self.slots.get(at).worth;
            self.evict(at);
        }
    }

    /// Values an entry and puts it among the proven ones.
    fn promote(&mut self, at: u32) {
        let clock = self.clock;
        let slot = self.slots.get_mut(at);
        slot.asked = slot.asked.saturating_add(slot.finds);
        slot.finds = 0;
        let one = (ROUND_TRIP + slot.weight) * FRACTION / slot.weight;
        slot.worth = clock.saturating_add(u64::from(slot.asked) * one);
        slot.state = SlotState::Proven;
        self.proven.push(&mut self.slots, at);
    }

    fn evict(&mut self, at: u32) {
        let (hash, asked) = (self.slots.get(at).hash, self.slots.get(at).asked);
        self.remove(at);
        let held = self.probation.len + self.proven.len();
        self.ghost.remember(hash, asked, REMEMBERED * held);
        self.tally.evicted += 1;
    }

    /// Removes an entry from table, queue and heap.
    fn remove(&mut self, at: u32) {
        match self.slots.get(at).state {
            SlotState::Probation => self.probation.unlink(&mut self.slots, at),
            SlotState::Proven => self.proven.remove(&mut self.slots, at),
        }
        let hash = self.slots.get(at).hash;
        if let Ok(bucket) = self.table.find_entry(hash, |other| *other == at) {
            bucket.remove();
        }
        self.slots.release(at);
    }
}

/// Rank of an entry's fit for a request: whole responses before parts, then the latest.
fn fit<V: EntryValue, F: FieldLines + ?Sized>(
    entry: &CacheEntry<V>,
    request: &CacheRequest<'_, F>,
) -> Result<(bool, Date), ForwardReason> {
    if !entry.vary().matches(request.fields()) {
        return Err(ForwardReason::VaryMiss);
    }
    let whole = entry.terms().content_range().is_none();
    if !whole && entry.terms().shape(request, entry.value().body_length()).is_none() {
        return Err(ForwardReason::Partial);
    }
    Ok((whole, entry.terms().date()))
}

/// Ghost list: hashes of recently evicted keys with their request counts, in order of eviction.
#[derive(Debug)]
struct Ghost {
    order: VecDeque<u64>,
    known: HashTable<Departed>,
}

#[derive(Clone, Copy, Debug)]
struct Departed {
    hash: u64,
    asked: u32,
}

impl Ghost {
    fn new() -> Ghost {
        Ghost { order: VecDeque::new(), known: HashTable::new() }
    }

    /// Remembers a key, and drops the oldest ones beyond `limit`.
    fn remember(&mut self, hash: u64, asked: u32, limit: usize) {
        if self.recall(hash).is_none() {
            self.order.push_back(hash);
        }
        self.known.insert_unique(hash, Departed { hash, asked }, |known| known.hash);
        while self.order.len() > limit {
            if let Some(oldest) = self.order.pop_front() {
                self.recall(oldest);
            }
        }
    }

    /// Removes a key and returns its request count.
    fn recall(&mut self, hash: u64) -> Option<u32> {
        let found = self.known.find_entry(hash, |known| known.hash == hash).ok()?;
        Some(found.remove().0.asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_the_last_and_each_once() {
        let mut ghost = Ghost::new();
        for hash in 0..5 {
            ghost.remember(hash, 7, 3);
        }
        assert_eq!([1, 2, 4].map(|hash| ghost.recall(hash)), [None, Some(7), Some(7)]);
        assert_eq!(ghost.recall(4), None);
        // A key that comes back and leaves again must not lengthen the queue without end.
        for _ in 0..100 {
            ghost.remember(9, 1, 3);
            ghost.recall(9);
        }
        assert!(ghost.order.len() <= 3 && ghost.known.len() <= 3);
    }
}
