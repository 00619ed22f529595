//! GreedyDual-Size-Frequency (Cherkasova, HP Labs 1998): evicts the object with the least finds times cost per byte, aged by a
//! clock that rises to the worth of each evicted object. The cost of a fetch is a round trip's worth of bytes plus the object's
//! own.

use std::collections::{BTreeSet, HashMap};

use crate::policy::Policy;

pub struct Gdsf {
    limit: u64,
    bytes: u64,
    clock: u64,
    by_worth: BTreeSet<(u64, u32)>,
    objects: HashMap<u32, (u64, u64, u64)>,
}

impl Gdsf {
    pub fn new(limit: u64) -> Gdsf {
        Gdsf { limit, bytes: 0, clock: 0, by_worth: BTreeSet::new(), objects: HashMap::new() }
    }

    fn worth(&self, finds: u64, weight: u64) -> u64 {
        self.clock + finds * (16_384 + weight) * 256 / weight
    }
}

impl Policy for Gdsf {
    fn request(&mut self, object: u32, weight: u64) -> bool {
        if let Some((worth, finds, _)) = self.objects.get(&object).copied() {
            self.by_worth.remove(&(worth, object));
            let worth = self.worth(finds + 1, weight);
            self.by_worth.insert((worth, object));
            self.objects.insert(object, (worth, finds + 1, weight));
            return true;
        }
        if weight > self.limit {
            return false;
        }
        while self.bytes + weight > self.limit {
            let Some((worth, victim)) = self.by_worth.pop_first() else { break };
            self.clock = worth;
            self.bytes -= self.objects.remove(&victim).map_or(0, |(_, _, weight)| weight);
        }
        let worth = self.worth(1, weight);
        self.by_worth.insert((worth, object));
        self.objects.insert(object, (worth, 1, weight));
        self.bytes += weight;
        false
    }
}
