//! Collapsed forwarding: one upstream fetch for concurrent requests of one object, unless its answers cannot be stored.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cache::{Date, InsertTicket, OwnedKey};
use tokio::sync::Semaphore;

/// Time that a request waits for the leader's answer, which may be as slow as the leader's client.
const PATIENCE: Duration = Duration::from_secs(2);

/// Time that it waits for a leader without a connection: that client may have used up its share of them, which must not delay others.
const CONNECT_PATIENCE: Duration = Duration::from_millis(500);

/// Requests under way, on all cores. Clones share the same state.
#[derive(Clone, Debug, Default)]
pub struct Flights(Arc<Mutex<UnderWay>>);

type UnderWay = BTreeMap<FlightKey, Arc<FlightProgress>>;

/// Partition and URI of a request.
type FlightKey = (u32, String);

/// Progress of a flight: a closed semaphore marks a stage that has passed. Permits are never issued.
#[derive(Debug)]
struct FlightProgress {
    /// Closed once the leader has a connection.
    connecting: Semaphore,
    /// Closed once the leader is done.
    answering: Semaphore,
}

/// The first request for an object. Dropping it releases the requests that wait for it.
#[derive(Debug)]
pub struct SingleFlight {
    flights: Flights,
    key: FlightKey,
    progress: Arc<FlightProgress>,
}

/// Role of a request in collapsed forwarding.
#[derive(Debug)]
pub enum FlightRole {
    /// The first: it goes to the origin.
    Leader(SingleFlight),
    /// A follower: it has waited for the leader, whose answer may be in the cache now.
    Waited,
}

impl Flights {
    /// The role of a request for `key`; waits for a flight under way.
    pub async fn enter(&self, key: &OwnedKey) -> FlightRole {
        let key = (key.partition().0, key.uri().to_owned());
        let progress = match self.join(&key) {
            Ok(progress) => progress,
            Err(progress) => {
                return FlightRole::Leader(SingleFlight { flights: self.clone(), key, progress });
            }
        };
        let began = world::now();
        if world::timeout(CONNECT_PATIENCE, progress.connecting.acquire()).await.is_ok() {
            let left = PATIENCE.saturating_sub(world::now().since(began));
            // Go on, with or without the answer.
            let _ = world::timeout(left, progress.answering.acquire()).await;
        }
        FlightRole::Waited
    }

    /// Returns the flight under way as `Ok`, or else a new one as `Err`.
    fn join(&self, key: &FlightKey) -> Result<Arc<FlightProgress>, Arc<FlightProgress>> {
        let mut under_way = self.lock();
        if let Some(progress) = under_way.get(key) {
            return Ok(Arc::clone(progress));
        }
        let progress = Arc::new(FlightProgress {
            connecting: Semaphore::new(0),
            answering: Semaphore::new(0),
        });
        under_way.insert(key.clone(), Arc::clone(&progress));
        Err(progress)
    }

    fn lock(&self) -> MutexGuard<'_, UnderWay> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if a request for `key` is under way.
    pub fn is_under_way(&self, key: &OwnedKey) -> bool {
        self.lock().contains_key(&(key.partition().0, key.uri().to_owned()))
    }
}

impl SingleFlight {
    /// Marks that it has a connection.
    pub fn connected(&self) {
        self.progress.connecting.close();
    }
}

impl Drop for SingleFlight {
    fn drop(&mut self) {
        self.flights.lock().remove(&self.key);
        self.progress.connecting.close();
        self.progress.answering.close();
    }
}

/// Time for which an answer that was not stored counts for later requests: Varnish's `uncacheable` TTL.
const LIFETIME_SECS: u64 = 120;

/// Number of slots of eight bytes; a power of two.
const SLOTS: usize = 1 << 14;

/// Hit-for-miss memory, as in Varnish: objects whose last answer could not be stored. Requests for them do not wait for one another.
///
/// A fixed table: of two objects with the same slot, the later one is remembered. Forgetting costs a wait, nothing else.
#[derive(Debug)]
pub struct HitForMiss {
    /// Each slot: the upper half of an object's hash, and the Unix time in seconds until which it counts.
    slots: Box<[AtomicU64]>,
}

impl Default for HitForMiss {
    fn default() -> HitForMiss {
        HitForMiss { slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect() }
    }
}

impl HitForMiss {
    /// Notes that the answer to a request with this ticket was not stored.
    pub fn remember(&self, object: InsertTicket, now: Date) {
        let until = u32::try_from(now.unix_millis() / 1_000 + LIFETIME_SECS).unwrap_or(u32::MAX);
        self.slot(object).store(mark(object) | u64::from(until), Ordering::Relaxed);
    }

    /// Notes that an answer was stored.
    pub fn forget(&self, object: InsertTicket) {
        let slot = self.slot(object);
        let held = slot.load(Ordering::Relaxed);
        if held & MARK == mark(object) {
            // A concurrent writer that has replaced the mark is right as well.
            let _ = slot.compare_exchange(held, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Returns true if the last answer was not stored.
    pub fn knows(&self, object: InsertTicket, now: Date) -> bool {
        let held = self.slot(object).load(Ordering::Relaxed);
        held & MARK == mark(object) && now.unix_millis() / 1_000 < held & !MARK
    }

    fn slot(&self, object: InsertTicket) -> &AtomicU64 {
        &self.slots[object.key_hash() as usize & (SLOTS - 1)]
    }
}

const MARK: u64 = 0xFFFF_FFFF_0000_0000;

fn mark(object: InsertTicket) -> u64 {
    object.key_hash() & MARK
}

#[cfg(test)]
mod tests {
    use cache::{CacheKey, Memory, MemoryLimits, Partition, Scheme, StoredResponse};

    use super::*;

    #[test]
    fn an_object_is_remembered_for_its_time_or_until_it_is_stored() {
        let memory: Memory<StoredResponse> =
            Memory::new(MemoryLimits { bytes: 1 << 20, entry_bytes: 1 << 10 }, (1, 2));
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
