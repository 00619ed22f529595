//! A droptail queue in front of a server whose service times are known in advance.
//!
//! A droptail queue decides on arrival, and then the packet's service is known; the queue stores when each waiting
//! packet will leave it. The packet in service has left: dummynet and Linux's fifo over a device count in the same
//! way.

use std::collections::VecDeque;

use units::Time;

use super::{Discipline, DroppedPackets, PacketFifo, Queued};
use crate::{DropCause, QueueLimit};

/// Packets that wait for the server, oldest first.
pub(crate) struct DropTail {
    limit: QueueLimit,
    waiting: VecDeque<WaitingPacket>,
    bytes: u64,
}

struct WaitingPacket {
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
        self.waiting.push_back(WaitingPacket { leaves, bytes });
        self.bytes += u64::from(bytes);
    }

    /// Number of waiting packets, and their bytes.
    #[inline]
    pub(crate) fn depth(&self) -> QueueDepth {
        QueueDepth { packets: self.waiting.len(), bytes: self.bytes }
    }
}

/// Depth of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueDepth {
    pub(crate) packets: usize,
    pub(crate) bytes: u64,
}

// Tail drop, packet by packet: a plain queue for a server whose next packet is not known in advance.
//
// For one queue served in order, [`DropTail`](super::DropTail) does the same at less cost.

/// A queue that refuses packets when it is full.
pub(crate) struct TailDrop<P> {
    limit: QueueLimit,
    backlog: PacketFifo<P>,
}

impl<P> TailDrop<P> {
    pub(crate) fn new(limit: QueueLimit) -> TailDrop<P> {
        TailDrop { limit, backlog: PacketFifo::new() }
    }
}

impl<P> Discipline<P> for TailDrop<P> {
    fn enqueue(
        &mut self,
        _now: Time,
        packet: Queued<P>,
        _drops: &mut DroppedPackets<P>,
    ) -> Result<(), DropCause> {
        if !self.backlog.has_room(self.limit, &packet) {
            return Err(DropCause::QueueFull);
        }
        self.backlog.push(packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Time, _drops: &mut DroppedPackets<P>) -> Option<Queued<P>> {
        self.backlog.take()
    }

    fn depth(&self) -> QueueDepth {
        self.backlog.depth()
    }
}

// Head drop: a full queue drops its oldest packet, so that the sender learns of it earlier (Lakshman, Neidhardt,
// Ott, "The Drop from Front Strategy in TCP and in TCP over ATM", 1996; Linux's `pfifo_head_drop`).

/// A queue that drops at its head.
pub(crate) struct DropHead<P> {
    limit: QueueLimit,
    backlog: PacketFifo<P>,
}

impl<P> DropHead<P> {
    pub(crate) fn new(limit: QueueLimit) -> DropHead<P> {
        DropHead { limit, backlog: PacketFifo::new() }
    }
}

impl<P> Discipline<P> for DropHead<P> {
    fn enqueue(
        &mut self,
        now: Time,
        packet: Queued<P>,
        drops: &mut DroppedPackets<P>,
    ) -> Result<(), DropCause> {
        while !self.backlog.has_room(self.limit, &packet) {
            // The packet does not fit even into an empty queue.
            let oldest = self.backlog.take().ok_or(DropCause::QueueFull)?;
            drops.push_back(oldest.into_drop(now, DropCause::QueueFull));
        }
        self.backlog.push(packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Time, _drops: &mut DroppedPackets<P>) -> Option<Queued<P>> {
        self.backlog.take()
    }

    fn depth(&self) -> QueueDepth {
        self.backlog.depth()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::packet;
    use super::*;

    #[test]
    fn who_finds_it_full_is_refused() {
        let mut queue = TailDrop::new(QueueLimit::Bytes(3000));
        let mut offer = |body| {
            queue.enqueue(
                Time::ZERO,
                packet(Time::ZERO, 0, false, body),
                &mut DroppedPackets::new(),
            )
        };
        assert_eq!([offer(0), offer(1), offer(2)], [Ok(()), Ok(()), Err(DropCause::QueueFull)]);
        let left = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut DroppedPackets::new()));
        assert_eq!(left.map(|packet| packet.body).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(queue.depth(), QueueDepth::default());
    }

    #[test]
    fn the_oldest_goes_when_the_queue_is_full() {
        let mut queue = DropHead::new(QueueLimit::Packets(2));
        let mut drops = DroppedPackets::new();
        for body in 0..4 {
            let now = Time::from_millis(u64::from(body));
            queue.enqueue(now, packet(now, 0, false, body), &mut drops).expect("there is room");
        }
        let dropped: Vec<_> = drops.iter().map(|drop| (drop.at, drop.body)).collect();
        assert_eq!(dropped, [(Time::from_millis(2), 0), (Time::from_millis(3), 1)]);
        let left: Vec<_> =
            std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut drops)).map(|p| p.body).collect();
        assert_eq!(left, [2, 3]);
    }

    #[test]
    fn a_packet_larger_than_the_queue_is_refused() {
        let mut queue = DropHead::new(QueueLimit::Bytes(1000));
        let refused =
            queue.enqueue(Time::ZERO, packet(Time::ZERO, 0, false, 0), &mut DroppedPackets::new());
        assert_eq!(refused, Err(DropCause::QueueFull));
    }
}
