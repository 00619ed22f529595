//! A droptail queue in front of a serialiser.
//!
//! Since the rate is constant, a packet's service is known when it arrives; what the queue remembers
//! is when each waiting packet will leave it. The packet in service has left: dummynet and Linux's
//! fifo over a device count in the same way.

use std::collections::VecDeque;

use units::Time;

use crate::QueueLimit;

/// The packets that wait for the serialiser, oldest first.
pub(crate) struct DropTail {
    limit: QueueLimit,
    waiting: VecDeque<Waiting>,
    bytes: u64,
}

struct Waiting {
    leaves: Time,
    bytes: u32,
}

impl DropTail {
    pub(crate) fn new(limit: QueueLimit) -> DropTail {
        DropTail { limit, waiting: VecDeque::new(), bytes: 0 }
    }

    /// Forgets the packets whose service has begun by `now`.
    pub(crate) fn advance(&mut self, now: Time) {
        while let Some(front) = self.waiting.front().filter(|front| front.leaves <= now) {
            self.bytes -= u64::from(front.bytes);
            self.waiting.pop_front();
        }
    }

    /// Whether one more packet of `bytes` may wait.
    pub(crate) fn has_room(&self, bytes: u32) -> bool {
        match self.limit {
            QueueLimit::Packets(limit) => self.waiting.len() < limit as usize,
            QueueLimit::Bytes(limit) => self.bytes + u64::from(bytes) <= limit,
            QueueLimit::Unlimited => true,
        }
    }

    /// A packet waits until its service begins at `leaves`, no earlier than those before it.
    pub(crate) fn push(&mut self, bytes: u32, leaves: Time) {
        self.waiting.push_back(Waiting { leaves, bytes });
        self.bytes += u64::from(bytes);
    }

    pub(crate) fn packets(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}
