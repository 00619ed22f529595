//! What SPDY's header blocks became in earlier journeys: the same page is loaded again and again, and says the same.
//!
//! Nothing of it shows in a result: a context that recalls gives the bytes that it would have computed.

use std::sync::Mutex;

use http_stack::spdy::Recall;

/// As much does one memory hold: some dozens of pages of 100 objects.
const MEMORY_BYTES: usize = 8 << 20;

/// A memory for each journey that runs at a time, so that workers do not wait for each other.
#[derive(Default)]
pub(super) struct Memories(Mutex<Vec<Recall>>);

impl Memories {
    /// Does `work` with one that nobody else has meanwhile. If it panics the memory is gone with it.
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
