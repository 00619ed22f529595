//! Proven entries by worth, the least first: a binary heap of slots that know their places, so that any of them can be removed.

use super::slots::Slots;

#[derive(Debug, Default)]
pub(super) struct Heap {
    order: Vec<u32>,
    pub bytes: u64,
}

impl Heap {
    /// The slot of the least worth.
    pub fn least(&self) -> Option<u32> {
        self.order.first().copied()
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Inserts a slot by its stored worth.
    pub fn push<V>(&mut self, slots: &mut Slots<V>, at: u32) {
        self.bytes += slots.get(at).weight;
        self.order.push(at);
        self.rise(slots, self.order.len() - 1);
    }

    pub fn remove<V>(&mut self, slots: &mut Slots<V>, at: u32) {
        self.bytes -= slots.get(at).weight;
        let place = slots.get(at).place as usize;
        self.order.swap_remove(place);
        if place < self.order.len() {
            // The replacement came from the end: it may belong further down, or, from another branch, further up.
            let place = self.rise(slots, place);
            self.sink(slots, place);
        }
    }

    /// Moves a slot up to its place, which it returns.
    fn rise<V>(&mut self, slots: &mut Slots<V>, mut place: usize) -> usize {
        let at = self.order[place];
        let worth = slots.get(at).worth;
        while place > 0 {
            let parent = (place - 1) / 2;
            if slots.get(self.order[parent]).worth <= worth {
                break;
            }
            self.set(slots, place, self.order[parent]);
            place = parent;
        }
        self.set(slots, place, at);
        place
    }

    fn sink<V>(&mut self, slots: &mut Slots<V>, mut place: usize) {
        let at = self.order[place];
        let worth = slots.get(at).worth;
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let of = |place: usize| self.order.get(place).map(|at| slots.get(*at).worth);
            let Some(mut least) = of(left).map(|worth| (worth, left)) else { break };
            if let Some(right_worth) = of(right).filter(|worth| *worth < least.0) {
                least = (right_worth, right);
            }
            if worth <= least.0 {
                break;
            }
            self.set(slots, place, self.order[least.1]);
            place = least.1;
        }
        self.set(slots, place, at);
    }

    fn set<V>(&mut self, slots: &mut Slots<V>, place: usize, at: u32) {
        self.order[place] = at;
        slots.get_mut(at).place = place as u32;
    }
}
