//! Counters of the memory tier.

use std::ops::Add;

/// Event counters of a memory tier, and its contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
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

impl Add for Tally {
    type Output = Tally;

    fn add(self, other: Tally) -> Tally {
        Tally {
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
