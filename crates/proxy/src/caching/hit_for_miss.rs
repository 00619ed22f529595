//! Hit-for-miss memory (as in Varnish): objects whose answers could not be stored. Requests for them do not wait for one another.
//!
//! A fixed table: of two objects with the same slot, the later one is remembered. Forgetting costs a wait, nothing else.

use std::sync::atomic::{AtomicU64, Ordering};

use cache::{Date, InsertTicket};

/// Time for which an answer that was not stored counts for later requests: Varnish's `uncacheable` TTL.
const LIFETIME_SECS: u64 = 120;

/// Number of slots of eight bytes; a power of two.
const PLACES: usize = 1 << 14;

/// Objects whose last answer could not be stored.
#[derive(Debug)]
pub struct HitForMiss {
    /// Each slot: the upper half of an object's hash, and the Unix time in seconds until which it counts.
    places: Box<[AtomicU64]>,
}

impl Default for HitForMiss {
    fn default() -> HitForMiss {
        HitForMiss { places: (0..PLACES).map(|_| AtomicU64::new(0)).collect() }
    }
}

impl HitForMiss {
    /// Notes that the answer to a request with this ticket was not stored.
    pub fn remember(&self, object: InsertTicket, now: Date) {
        let until = u32::try_from(now.unix_millis() / 1_000 + LIFETIME_SECS).unwrap_or(u32::MAX);
        self.place(object).store(mark(object) | u64::from(until), Ordering::Relaxed);
    }

    /// Notes that an answer was stored.
    pub fn forget(&self, object: InsertTicket) {
        let place = self.place(object);
        let held = place.load(Ordering::Relaxed);
        if held & MARK == mark(object) {
            // A concurrent writer that has replaced the slot is right as well.
            let _ = place.compare_exchange(held, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Returns true if the last answer was not stored.
    pub fn knows(&self, object: InsertTicket, now: Date) -> bool {
        let held = self.place(object).load(Ordering::Relaxed);
        held & MARK == mark(object) && now.unix_millis() / 1_000 < held & !MARK
    }

    fn place(&self, object: InsertTicket) -> &AtomicU64 {
        &self.places[object.key_hash() as usize & (PLACES - 1)]
    }
}

const MARK: u64 = 0xFFFF_FFFF_0000_0000;

fn mark(object: InsertTicket) -> u64 {
    object.key_hash() & MARK
}

#[cfg(test)]
mod tests {
    use cache::{CacheKey, Limits, Memory, Partition, Scheme, StoredResponse};

    use super::*;

    #[test]
    fn an_object_is_remembered_for_its_time_or_until_it_is_stored() {
        let memory: Memory<StoredResponse> =
            Memory::new(Limits { bytes: 1 << 20, entry_bytes: 1 << 10 }, (1, 2));
        let ticket =
            |target| memory.ticket(&CacheKey::new(Partition(0), Scheme::Http, "a.test", target));
        let (known, at) = (HitForMiss::default(), Date::from_unix_secs);
        known.remember(ticket("/a"), at(1_000));
        assert!(known.knows(ticket("/a"), at(1_119)));
        assert!(!known.knows(ticket("/a"), at(1_120)) && !known.knows(ticket("/b"), at(1_000)));
        known.forget(ticket("/b"));
        assert!(known.knows(ticket("/a"), at(1_001)), "another's was forgotten");
        known.forget(ticket("/a"));
        assert!(!known.knows(ticket("/a"), at(1_001)));
    }
}
