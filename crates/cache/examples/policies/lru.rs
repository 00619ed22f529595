//! Queues: LRU and FIFO eviction.

use std::collections::{BTreeMap, HashMap};

use crate::policy::Policy;

/// Least recently used.
pub struct Lru {
    queue: Order,
}

/// First in, first out.
pub struct Fifo {
    queue: Order,
}

impl Lru {
    pub fn new(limit: u64) -> Lru {
        Lru { queue: Order::new(limit) }
    }
}

impl Fifo {
    pub fn new(limit: u64) -> Fifo {
        Fifo { queue: Order::new(limit) }
    }
}

impl Policy for Lru {
    fn request(&mut self, object: u32, weight: u64) -> bool {
        let held = self.queue.remove(object).is_some();
        self.queue.push(object, weight);
        held
    }
}

impl Policy for Fifo {
    fn request(&mut self, object: u32, weight: u64) -> bool {
        let held = self.queue.has(object);
        if !held {
            self.queue.push(object, weight);
        }
        held
    }
}

/// Objects in order of arrival.
pub struct Order {
    limit: u64,
    pub bytes: u64,
    next: u64,
    by_time: BTreeMap<u64, u32>,
    objects: HashMap<u32, (u64, u64)>,
}

impl Order {
    pub fn new(limit: u64) -> Order {
        Order { limit, bytes: 0, next: 0, by_time: BTreeMap::new(), objects: HashMap::new() }
    }

    pub fn has(&self, object: u32) -> bool {
        self.objects.contains_key(&object)
    }

    pub fn remove(&mut self, object: u32) -> Option<u64> {
        let (time, weight) = self.objects.remove(&object)?;
        self.by_time.remove(&time);
        self.bytes -= weight;
        Some(weight)
    }

    /// Appends an object. Evicts from the front those that no longer fit.
    pub fn push(&mut self, object: u32, weight: u64) -> Vec<(u32, u64)> {
        self.append(object, weight);
        let mut gone = Vec::new();
        while self.bytes > self.limit {
            gone.extend(self.pop());
        }
        gone
    }

    pub fn append(&mut self, object: u32, weight: u64) {
        self.by_time.insert(self.next, object);
        self.objects.insert(object, (self.next, weight));
        self.next += 1;
        self.bytes += weight;
    }

    pub fn pop(&mut self) -> Option<(u32, u64)> {
        let object = *self.by_time.first_key_value()?.1;
        self.remove(object).map(|weight| (object, weight))
    }

    /// Iterates from the front.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.by_time.values().map(|object| (*object, self.objects[object].1))
    }
}
