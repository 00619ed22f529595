//! The memory tier: stored responses shared by all cores, bounded in bytes.
//!
//! It is split into shards by a seeded hash of the key. A lookup holds one shard's lock only while it finds an entry, notes the find and
//! counts up the reference; further use of the entry needs no lock. A hit allocates nothing.
//!
//! The bound holds for the sum of the entries' weights, bookkeeping included, at every instant: room is made before an entry goes in.
//! Each shard has an equal share, so an entry is limited to that, too.

mod shard;
mod slots;

use std::ops::Add;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::date::Date;
use crate::entry::{CacheEntry, EntryValue};
use crate::fields::FieldLines;
use crate::key::{CacheKey, OwnedKey, Partition};
use crate::lookup::Lookup;
use crate::request::CacheRequest;
use crate::status::ForwardReason;
use crate::storing::Storable;

use shard::Shard;

/// Limits of a memory tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Bytes in all.
    pub bytes: u64,
    /// Bytes per entry: larger ones are refused. Small objects profit most from a cache near the client: their transfer is mostly
    /// waiting.
    pub entry_bytes: u64,
}

impl MemoryLimits {
    /// Number of shards, and the bytes of each.
    fn shards(&self) -> (u64, u64) {
        let shards = (self.bytes / SHARD_BYTES).clamp(1, SHARDS);
        // A power of two, so that some bits of the hash select a shard.
        let shards = 1 << shards.ilog2();
        (shards, self.bytes / shards)
    }

    /// The largest entry accepted: it must fit into one shard.
    pub fn largest_entry(&self) -> u64 {
        self.entry_bytes.min(self.shards().1)
    }
}

/// Reason for refusing an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InsertError {
    /// Larger than the limit for an entry, or than a shard.
    #[error("the entry weighs {weight} bytes, more than the limit of {limit}")]
    TooLarge {
        /// Weight of the entry, in bytes.
        weight: u64,
        /// Maximum weight, in bytes.
        limit: u64,
    },
    /// A part whose body length differs from its `Content-Range`.
    #[error("the body's length differs from its Content-Range")]
    Unsound,
    /// Its key was invalidated or purged while it was being fetched.
    #[error("the key was invalidated while the response was being fetched")]
    Invalidated,
}

/// Permission to insert a response fetched from now on, unless its key is invalidated meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsertTicket {
    hash: u64,
    generation: u32,
}

impl InsertTicket {
    /// The key's seeded hash, for tables beside this memory.
    pub fn key_hash(self) -> u64 {
        self.hash
    }
}

/// Stored responses in memory.
#[derive(Debug)]
pub struct Memory<V> {
    shards: Box<[Mutex<Shard<V>>]>,
    secret: (u64, u64),
    entry_limit: u64,
}

/// Maximum number of shards: enough for many cores, but no shard is smaller than `SHARD_BYTES`.
const SHARDS: u64 = 64;
const SHARD_BYTES: u64 = 8 << 20;

impl<V: EntryValue> Memory<V> {
    /// An empty tier. The secret keys its hash and must not be known outside.
    pub fn new(limits: MemoryLimits, secret: (u64, u64)) -> Memory<V> {
        let (count, share) = limits.shards();
        let shards = (0..count).map(|_| Mutex::new(Shard::new(share))).collect();
        Memory { shards, secret, entry_limit: limits.largest_entry() }
    }

    /// True if an entry of `storable` under `key` is small enough to be kept; `value_bytes` is what its value holds beside its own
    /// structure.
    pub fn has_room(&self, key: &OwnedKey, storable: &Storable, value_bytes: u64) -> bool {
        let rest = shard::bookkeeping::<V>() + CacheEntry::<V>::weight_without_value(key, storable);
        value_bytes.saturating_add(rest as u64) <= self.entry_limit
    }

    /// Looks up a request.
    pub fn lookup<F: FieldLines + ?Sized>(
        &self,
        key: &CacheKey<'_>,
        request: &CacheRequest<'_, F>,
        now: Date,
    ) -> Lookup<V> {
        let found = match request.answerable() {
            false => Err(ForwardReason::Method),
            true => {
                let hash = key.hash(self.secret);
                self.shard(hash).lock().find(hash, key, request)
            }
        };
        Lookup::of(found, request, now)
    }

    /// A ticket for inserting a response that is requested from the origin from now on.
    pub fn ticket(&self, key: &CacheKey<'_>) -> InsertTicket {
        let hash = key.hash(self.secret);
        InsertTicket { hash, generation: self.shard(hash).lock().generation(hash) }
    }

    /// Returns true if a response fetched under a ticket may still be kept: its key has not been invalidated meanwhile.
    pub fn is_current(&self, ticket: InsertTicket) -> bool {
        self.shard(ticket.hash).lock().generation(ticket.hash) == ticket.generation
    }

    /// Inserts an entry, replacing one that it supersedes. The ticket must be for its key.
    pub fn insert(
        &self,
        ticket: InsertTicket,
        entry: CacheEntry<V>,
    ) -> Result<Arc<CacheEntry<V>>, InsertError> {
        let weight = shard::weight(&entry);
        if weight > self.entry_limit {
            return Err(InsertError::TooLarge { weight, limit: self.entry_limit });
        }
        if !entry.is_sound() {
            return Err(InsertError::Unsound);
        }
        debug_assert_eq!(
            ticket.hash,
            entry.key().borrow().hash(self.secret),
            "a ticket is for one key"
        );
        let entry = Arc::new(entry);
        let mut shard = self.shard(ticket.hash).lock();
        if shard.generation(ticket.hash) != ticket.generation {
            return Err(InsertError::Invalidated);
        }
        shard.insert(ticket.hash, entry.clone(), weight);
        Ok(entry)
    }

    /// Removes everything under a key and cancels pending inserts for it (RFC 9111 section 4.4). Returns the number of entries
    /// removed.
    pub fn invalidate(&self, key: &CacheKey<'_>) -> usize {
        let hash = key.hash(self.secret);
        self.shard(hash).lock().invalidate(hash, key)
    }

    /// Removes entries at an operator's request and cancels their pending inserts. Returns the number of entries removed.
    pub fn purge(&self, purge: &Purge<'_>) -> usize {
        match purge {
            Purge::Key(key) => self.invalidate(key),
            _ => self.remove_where(|key| purge.covers(key)),
        }
    }

    fn remove_where(&self, gone: impl Fn(&OwnedKey) -> bool) -> usize {
        self.shards.iter().map(|shard| shard.lock().remove_where(&gone)).sum()
    }

    /// Counters so far, and current contents.
    pub fn tally(&self) -> MemoryTally {
        self.shards.iter().fold(MemoryTally::default(), |sum, shard| sum + shard.lock().tally())
    }

    fn shard(&self, hash: u64) -> &Mutex<Shard<V>> {
        // The upper bits select a shard, the lower ones a bucket in it.
        &self.shards[(hash >> 58) as usize & (self.shards.len() - 1)]
    }
}

/// Scope of a removal.
#[derive(Clone, Copy, Debug)]
pub enum Purge<'a> {
    /// All responses under one key.
    Key(CacheKey<'a>),
    /// All responses of one partition whose URI has this prefix: `https://www.example.com/images/`. Scheme and host
    /// in lower case.
    Prefix(Partition, &'a str),
    /// Everything in one partition.
    Partition(Partition),
    /// Everything.
    All,
}

impl Purge<'_> {
    fn covers(&self, key: &OwnedKey) -> bool {
        match self {
            Purge::Key(wanted) => key.is(wanted),
            Purge::Prefix(partition, prefix) => {
                key.partition() == *partition && key.uri().starts_with(prefix)
            }
            Purge::Partition(partition) => key.partition() == *partition,
            Purge::All => true,
        }
    }
}

/// Event counters of a memory tier, and its contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryTally {
    /// Lookups that found a matching entry, usable at once or not.
    pub found: u64,
    /// Lookups that found none.
    pub missed: u64,
    /// Entries inserted.
    pub inserted: u64,
    /// Entries evicted to make room for others.
    pub evicted: u64,
    /// Entries removed by invalidation and purges.
    pub removed: u64,
    /// Entries held.
    pub entries: u64,
    /// Bytes held, bookkeeping included.
    pub bytes: u64,
}

impl Add for MemoryTally {
    type Output = MemoryTally;

    fn add(self, other: MemoryTally) -> MemoryTally {
        MemoryTally {
            found: self.found + other.found,
            missed: self.missed + other.missed,
            inserted: self.inserted + other.inserted,
            evicted: self.evicted + other.evicted,
            removed: self.removed + other.removed,
            entries: self.entries + other.entries,
            bytes: self.bytes + other.bytes,
        }
    }
}
