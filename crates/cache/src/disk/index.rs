//! In-memory index of the responses on disk. Keys are kept with their text, for removals by prefix and so that a miss costs no disk
//! access.

use hashbrown::HashTable;

use super::segments::Record;
use crate::fields::Section;
use crate::key::{CacheKey, OwnedKey};

/// Location of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RecordLocation {
    pub segment: u64,
    pub at: u64,
    pub length: u32,
}

/// The response to one choice of fields under a key.
#[derive(Debug)]
struct IndexedResponse {
    hash: u64,
    key: OwnedKey,
    chosen_by: Section,
    location: RecordLocation,
}

#[derive(Debug)]
pub(super) struct Index {
    secret: (u64, u64),
    table: HashTable<IndexedResponse>,
    weight: u64,
}

impl IndexedResponse {
    /// Memory held, including the table's buckets, of which there are up to twice as many as are in use.
    fn weight(&self) -> u64 {
        /// Allocator overhead of two texts.
        const ALLOCATIONS: usize = 2 * 16;
        let texts = self.key.uri().len() + self.chosen_by.text().len();
        (2 * size_of::<IndexedResponse>() + ALLOCATIONS + texts) as u64
    }
}

impl Index {
    pub fn new(secret: (u64, u64)) -> Index {
        Index { secret, table: HashTable::new(), weight: 0 }
    }

    /// Memory held by the index.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    pub fn len(&self) -> u64 {
        self.table.len() as u64
    }

    /// Adds a response, replacing one with the same key and choosing fields.
    pub fn insert(&mut self, key: &CacheKey<'_>, chosen_by: &Section, location: RecordLocation) {
        let hash = key.hash(self.secret);
        match self
            .table
            .find_mut(hash, |response| response.key.is(key) && response.chosen_by == *chosen_by)
        {
            Some(response) => response.location = location,
            None => {
                let response = IndexedResponse {
                    hash,
                    key: key.to_owned(),
                    chosen_by: chosen_by.clone(),
                    location,
                };
                self.weight += response.weight();
                self.table.insert_unique(hash, response, |response| response.hash);
            }
        }
    }

    /// All locations under a key, the latest first.
    pub fn candidates(&self, key: &CacheKey<'_>) -> Vec<RecordLocation> {
        let under =
            self.table.iter_hash(key.hash(self.secret)).filter(|response| response.key.is(key));
        let mut locations: Vec<_> = under.map(|response| response.location).collect();
        locations.sort_unstable();
        locations.reverse();
        locations
    }

    pub fn forget(&mut self, key: &CacheKey<'_>, location: RecordLocation) {
        if let Ok(response) =
            self.table.find_entry(key.hash(self.secret), |response| response.location == location)
        {
            self.weight -= response.remove().0.weight();
        }
    }

    /// Applies a removal record. Returns the number of responses removed.
    pub fn remove(&mut self, gone: &Record) -> u64 {
        match gone {
            Record::KeyGone(key) => self.remove_key(&key.borrow()),
            Record::Gone(partition, prefix) => self.remove_where(|response| {
                response.key.partition() == *partition && response.key.uri().starts_with(prefix)
            }),
            Record::PartitionGone(partition) => {
                self.remove_where(|response| response.key.partition() == *partition)
            }
            Record::AllGone => self.remove_where(|_| true),
            Record::Response(_) => 0,
        }
    }

    fn remove_key(&mut self, key: &CacheKey<'_>) -> u64 {
        let hash = key.hash(self.secret);
        let mut removed = 0;
        while let Ok(response) = self.table.find_entry(hash, |response| response.key.is(key)) {
            self.weight -= response.remove().0.weight();
            removed += 1;
        }
        removed
    }

    pub fn remove_segment(&mut self, segment: u64) {
        self.remove_where(|response| response.location.segment == segment);
    }

    fn remove_where(&mut self, gone: impl Fn(&IndexedResponse) -> bool) -> u64 {
        let (before, weight) = (self.table.len(), &mut self.weight);
        self.table.retain(|response| {
            let is_gone = gone(response);
            *weight -= if is_gone { response.weight() } else { 0 };
            !is_gone
        });
        (before - self.table.len()) as u64
    }
}
