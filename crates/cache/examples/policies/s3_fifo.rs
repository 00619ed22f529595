//! S3-FIFO (Yang et al., SOSP 2023): a small queue on probation, a main queue with second chances, and a ghost queue of
//! evicted keys.

use std::collections::HashMap;

use crate::lru::Order;
use crate::policy::Policy;

pub struct S3Fifo {
    limit: u64,
    small: Order,
    main: Order,
    ghost: Order,
    finds: HashMap<u32, u8>,
}

impl S3Fifo {
    pub fn new(limit: u64) -> S3Fifo {
        let queue = || Order::new(u64::MAX);
        S3Fifo {
            limit,
            small: queue(),
            main: queue(),
            ghost: Order::new(limit / 10 * 9),
            finds: HashMap::new(),
        }
    }

    fn make_room(&mut self, weight: u64) {
        while self.small.bytes + self.main.bytes + weight > self.limit {
            if self.small.bytes >= self.limit / 10 || self.main.bytes == 0 {
                self.leave_small()
            } else {
                self.leave_main()
            }
        }
    }

    fn leave_small(&mut self) {
        let Some((object, weight)) = self.small.pop() else { return };
        // The paper's threshold: found more than once.
        if self.finds.insert(object, 0).is_some_and(|finds| finds > 1) {
            self.main.append(object, weight);
        } else {
            self.finds.remove(&object);
            self.ghost.push(object, weight);
        }
    }

    fn leave_main(&mut self) {
        let Some((object, weight)) = self.main.pop() else { return };
        match self.finds.get_mut(&object) {
            Some(finds) if *finds > 0 => {
                *finds -= 1;
                self.main.append(object, weight);
            }
            _ => {
                self.finds.remove(&object);
            }
        }
    }
}

impl Policy for S3Fifo {
    fn request(&mut self, object: u32, weight: u64) -> bool {
        if let Some(finds) = self.finds.get_mut(&object) {
            *finds = (*finds + 1).min(3);
            return true;
        }
        if weight > self.limit {
            return false;
        }
        let known = self.ghost.remove(object).is_some();
        self.make_room(weight);
        self.finds.insert(object, 0);
        if known {
            self.main.append(object, weight)
        } else {
            self.small.append(object, weight)
        }
        false
    }
}
