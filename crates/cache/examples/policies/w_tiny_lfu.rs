//! W-TinyLFU (Einziger, Friedman, Manes, ACM TOS 2017) with admission by aggregated victims for objects of different sizes (Einziger
//! et al., ACM TOS 2022): a candidate is admitted if it was requested as often as all its victims together.

use std::collections::HashMap;

use crate::lru::Order;
use crate::policy::Policy;

pub struct WTinyLfu {
    limit: u64,
    window: Order,
    probation: Order,
    protected: Order,
    counts: Counts,
}

impl WTinyLfu {
    pub fn new(limit: u64) -> WTinyLfu {
        WTinyLfu {
            limit,
            window: Order::new(limit / 100),
            probation: Order::new(u64::MAX),
            protected: Order::new(limit / 100 * 79),
            counts: Counts::default(),
        }
    }

    fn main_limit(&self) -> u64 {
        self.limit - self.limit / 100
    }

    fn offer(&mut self, object: u32, weight: u64) {
        let needed = (self.probation.bytes + self.protected.bytes + weight)
            .saturating_sub(self.main_limit());
        let (mut freed, mut worth, mut victims) = (0, 0, Vec::new());
        for (victim, weight) in self.probation.iter().chain(self.protected.iter()) {
            if freed >= needed {
                break;
            }
            freed += weight;
            worth += self.counts.of(victim);
            victims.push(victim);
        }
        if freed < needed || (!victims.is_empty() && self.counts.of(object) < worth) {
            // The victims get another turn, so that one popular object at the front does not keep all others out.
            for victim in victims {
                if let Some(weight) = self.probation.remove(victim) {
                    self.probation.append(victim, weight);
                }
            }
            return;
        }
        for victim in victims {
            self.probation.remove(victim);
            self.protected.remove(victim);
        }
        self.probation.append(object, weight);
    }
}

impl Policy for WTinyLfu {
    fn request(&mut self, object: u32, weight: u64) -> bool {
        self.counts.count(object);
        if self.window.remove(object).is_some() {
            self.window.push(object, weight);
            return true;
        }
        if self.probation.remove(object).is_some() || self.protected.remove(object).is_some() {
            for (object, weight) in self.protected.push(object, weight) {
                self.probation.append(object, weight);
            }
            return true;
        }
        if weight > self.limit {
            return false;
        }
        for (object, weight) in self.window.push(object, weight) {
            self.offer(object, weight);
        }
        false
    }
}

/// Recent request counts of objects, up to 15 each: exact, where an implementation would have a sketch. Halved from time to time.
#[derive(Default)]
pub struct Counts {
    counts: HashMap<u32, u64>,
    since: usize,
}

impl Counts {
    pub fn of(&self, object: u32) -> u64 {
        self.counts.get(&object).copied().unwrap_or_default()
    }

    pub fn count(&mut self, object: u32) {
        let count = self.counts.entry(object).or_default();
        *count = (*count + 1).min(15);
        self.since += 1;
        if self.since >= 10 * self.counts.len().max(1_000) {
            self.since = 0;
            self.counts.retain(|_, count| {
                *count /= 2;
                *count > 0
            });
        }
    }
}
