//! Compressed SPDY header blocks of earlier journeys: the same page is loaded repeatedly with the same headers.
//!
//! They do not affect results: a context that recalls a block yields the bytes that it would have computed.

use std::sync::Mutex;

use http_stack::spdy::Recall;

/// Capacity of one memory: some dozens of pages of 100 objects.
const MEMORY_BYTES: usize = 8 << 20;

/// One memory for each concurrent journey, so that workers do not wait for each other.
#[derive(Default)]
pub(super) struct Memories(Mutex<Vec<Recall>>);

impl Memories {
    /// Runs `work` with exclusive use of a memory. If it panics, the memory is lost.
    pub(super) fn lend<T>(&self, work: impl FnOnce(&Recall) -> T) -> T {
        let spare = self.idle(Vec::pop);
        let recall = spare.unwrap_or_else(|| Recall::new(MEMORY_BYTES));
        let done = work(&recall);
        self.idle(|idle| idle.push(recall));
        done
    }

    fn idle<T>(&self, with: impl FnOnce(&mut Vec<Recall>) -> T) -> T {
        with(&mut self.0.lock().expect("nothing panics while it takes or gives back"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_as_are_in_use_at_once() {
        let memories = Memories::default();
        memories.lend(|_| memories.lend(|_| ()));
        memories.lend(|_| ());
        assert_eq!(memories.idle(|idle| idle.len()), 2);
    }
}
