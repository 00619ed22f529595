//! FIFO of waiting packets with a byte count, used by every discipline.

use std::collections::VecDeque;

use super::{Depth, Queued};
use crate::QueueLimit;

/// Waiting packets, oldest first.
pub(super) struct Backlog<P> {
    waiting: VecDeque<Queued<P>>,
    bytes: u64,
}

impl<P> Backlog<P> {
    pub(super) fn new() -> Backlog<P> {
        Backlog { waiting: VecDeque::new(), bytes: 0 }
    }

    /// Returns true if `limit` admits `packet`.
    pub(super) fn has_room(&self, limit: QueueLimit, packet: &Queued<P>) -> bool {
        limit.has_room(self.waiting.len(), self.bytes, packet.packet.wire_bytes)
    }

    pub(super) fn push(&mut self, packet: Queued<P>) {
        self.bytes += u64::from(packet.packet.wire_bytes);
        self.waiting.push_back(packet);
    }

    /// The oldest packet.
    pub(super) fn take(&mut self) -> Option<Queued<P>> {
        let packet = self.waiting.pop_front()?;
        self.bytes -= u64::from(packet.packet.wire_bytes);
        Some(packet)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn depth(&self) -> Depth {
        Depth { packets: self.waiting.len(), bytes: self.bytes }
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Queued<P>> {
        self.waiting.iter()
    }
}
