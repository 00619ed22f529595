//! In-memory index of the responses on disk. Keys are kept with their text, for removals by prefix and so that a miss costs no disk
//! access.

use hashbrown::HashTable;

use super::record::Record;
use crate::fields::Section;
use crate::key::{Key, OwnedKey};

/// Location of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub segment: u64,
    pub at: u64,
    pub length: u32,
}

/// The response to one choice of fields under a key.
#[derive(Debug)]
struct Known {
    hash: u64,
    key: OwnedKey,
    chosen_by: Section,
    place: Place,
}

#[derive(Debug)]
pub(super) struct Index {
    secret: (u64, u64),
    table: HashTable<Known>,
    weight: u64,
}

impl Known {
    /// Memory held, including the table's buckets, of which there are up to twice as many as are in use.
    fn weight(&self) -> u64 {
        /// Allocator overhead of two texts.
        const ALLOCATIONS: usize = 2 * 16;
        let texts = self.key.uri().len() + self.chosen_by.text().len();
        (2 * size_of::<Known>() + ALLOCATIONS + texts) as u64
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
    pub fn insert(&mut self, key: &Key<'_>, chosen_by: &Section, place: Place) {
        let hash = key.hash(self.secret);
        match self.table.find_mut(hash, |known| known.key.is(key) && known.chosen_by == *chosen_by)
        {
            Some(known) => known.place = place,
            None => {
                let known =
                    Known { hash, key: key.to_owned(), chosen_by: chosen_by.clone(), place };
                self.weight += known.weight();
                self.table.insert_unique(hash, known, |known| known.hash);
            }
        }
    }

    /// All places under a key, the latest first.
    pub fn candidates(&self, key: &Key<'_>) -> Vec<Place> {
        let under = self.table.iter_hash(key.hash(self.secret)).filter(|known| known.key.is(key));
        let mut places: Vec<_> = under.map(|known| known.place).collect();
        places.sort_unstable();
        places.reverse();
        places
    }

    pub fn forget(&mut self, key: &Key<'_>, place: Place) {
        if let Ok(known) =
            self.table.find_entry(key.hash(self.secret), |known| known.place == place)
        {
            self.weight -= known.remove().0.weight();
        }
    }

    /// Applies a removal record. Returns the number of responses removed.
    pub fn remove(&mut self, gone: &Record) -> u64 {
        match gone {
            Record::KeyGone(key) => self.remove_key(&key.borrow()),
            Record::Gone(partition, prefix) => self.remove_where(|known| {
                known.key.partition() == *partition && known.key.uri().starts_with(prefix)
            }),
            Record::PartitionGone(partition) => {
                self.remove_where(|known| known.key.partition() == *partition)
            }
            Record::AllGone => self.remove_where(|_| true),
            Record::Response(_) => 0,
        }
    }

    fn remove_key(&mut self, key: &Key<'_>) -> u64 {
        let hash = key.hash(self.secret);
        let mut removed = 0;
        while let Ok(known) = self.table.find_entry(hash, |known| known.key.is(key)) {
            self.weight -= known.remove().0.weight();
            removed += 1;
        }
        removed
    }

    pub fn remove_segment(&mut self, segment: u64) {
        self.remove_where(|known| known.place.segment == segment);
    }

    fn remove_where(&mut self, gone: impl Fn(&Known) -> bool) -> u64 {
        let (before, weight) = (self.table.len(), &mut self.weight);
        self.table.retain(|known| {
            let is_gone = gone(known);
            *weight -= if is_gone { known.weight() } else { 0 };
            !is_gone
        });
        (before - self.table.len()) as u64
    }
}
