//! Entries on probation: a queue threaded through their slots. They come in at the head and leave at the tail.

use super::slots::{NONE, Slots};

#[derive(Debug)]
pub(super) struct Queue {
    head: u32,
    tail: u32,
    pub bytes: u64,
    pub len: usize,
}

impl Queue {
    pub fn new() -> Queue {
        Queue { head: NONE, tail: NONE, bytes: 0, len: 0 }
    }

    /// The oldest entry.
    pub fn tail(&self) -> Option<u32> {
        (self.tail != NONE).then_some(self.tail)
    }

    pub fn push<V>(&mut self, slots: &mut Slots<V>, at: u32) {
        let slot = slots.get_mut(at);
        (slot.newer, slot.older) = (NONE, self.head);
        self.bytes += slot.weight;
        self.len += 1;
        match self.head {
            NONE => self.tail = at,
            head => slots.get_mut(head).newer = at,
        }
        self.head = at;
    }

    pub fn unlink<V>(&mut self, slots: &mut Slots<V>, at: u32) {
        let (newer, older, weight) =
            (slots.get(at).newer, slots.get(at).older, slots.get(at).weight);
        self.bytes -= weight;
        self.len -= 1;
        match newer {
            NONE => self.head = older,
            newer => slots.get_mut(newer).older = older,
        }
        match older {
            NONE => self.tail = newer,
            older => slots.get_mut(older).newer = newer,
        }
    }
}
