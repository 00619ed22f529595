//! Ghost list: hashes of recently evicted keys with their request counts, without entries.

use std::collections::VecDeque;

use hashbrown::HashTable;

/// The last evicted keys, in order of eviction.
#[derive(Debug)]
pub(super) struct Ghost {
    order: VecDeque<u64>,
    known: HashTable<Departed>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Departed {
    hash: u64,
    asked: u32,
}

impl Ghost {
    pub fn new() -> Ghost {
        Ghost { order: VecDeque::new(), known: HashTable::new() }
    }

    /// Remembers a key, and drops the oldest ones beyond `limit`.
    pub fn remember(&mut self, hash: u64, asked: u32, limit: usize) {
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
    pub fn recall(&mut self, hash: u64) -> Option<u32> {
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
