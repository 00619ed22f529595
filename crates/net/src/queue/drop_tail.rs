//! A droptail queue in front of a server whose service times are known in advance.
//!
//! A droptail queue decides on arrival, and then the packet's service is known; the queue stores when each waiting
//! packet will leave it. The packet in service has left: dummynet and Linux's fifo over a device count in the same
//! way.

use std::collections::VecDeque;

use units::Time;

use crate::QueueLimit;

/// Packets that wait for the server, oldest first.
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
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        while let Some(front) = self.waiting.front().filter(|front| front.leaves <= now) {
            self.bytes -= u64::from(front.bytes);
            self.waiting.pop_front();
        }
    }

    /// Returns true if there is room for one more packet of `bytes`.
    #[inline]
    pub(crate) fn has_room(&self, bytes: u32) -> bool {
        self.limit.has_room(self.waiting.len(), self.bytes, bytes)
    }

    /// Adds a packet that waits until its service begins at `leaves`, no earlier than those before it.
    #[inline]
    pub(crate) fn push(&mut self, bytes: u32, leaves: Time) {
        self.waiting.push_back(Waiting { leaves, bytes });
        self.bytes += u64::from(bytes);
    }

    /// Number of waiting packets, and their bytes.
    #[inline]
    pub(crate) fn depth(&self) -> Depth {
        Depth { packets: self.waiting.len(), bytes: self.bytes }
    }
}

/// Depth of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Depth {
    pub(crate) packets: usize,
    pub(crate) bytes: u64,
}
