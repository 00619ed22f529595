//! Queue disciplines: which packets wait for the server, and which are dropped. Their interface, and the FIFO that they share.

use std::collections::VecDeque;

use units::Time;

use crate::{DropCause, DroppedPacket, Packet, QueueLimit};

mod codel;
mod drop_tail;
mod fq_codel;
mod pie;

pub(crate) use codel::CodelQueue;
pub(crate) use drop_tail::{DropHead, DropTail, QueueDepth, TailDrop};
pub(crate) use fq_codel::FqCodel;
pub(crate) use pie::PieQueue;

/// Waiting packets, oldest first.
struct PacketFifo<P> {
    waiting: VecDeque<Queued<P>>,
    bytes: u64,
}

impl<P> PacketFifo<P> {
    fn new() -> PacketFifo<P> {
        PacketFifo { waiting: VecDeque::new(), bytes: 0 }
    }

    /// Returns true if `limit` admits `packet`.
    fn has_room(&self, limit: QueueLimit, packet: &Queued<P>) -> bool {
        limit.has_room(self.waiting.len(), self.bytes, packet.packet.wire_bytes)
    }

    fn push(&mut self, packet: Queued<P>) {
        self.bytes += u64::from(packet.packet.wire_bytes);
        self.waiting.push_back(packet);
    }

    /// The oldest packet.
    fn take(&mut self) -> Option<Queued<P>> {
        let packet = self.waiting.pop_front()?;
        self.bytes -= u64::from(packet.packet.wire_bytes);
        Some(packet)
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn depth(&self) -> QueueDepth {
        QueueDepth { packets: self.waiting.len(), bytes: self.bytes }
    }

    #[cfg(test)]
    fn iter(&self) -> impl Iterator<Item = &Queued<P>> {
        self.waiting.iter()
    }
}

/// A queue that decides when packets leave it as well as when they arrive.
pub(crate) trait Discipline<P> {
    /// Enqueues a packet at `now`. If that packet is dropped, returns the cause as an error.
    fn enqueue(
        &mut self,
        now: Time,
        packet: Queued<P>,
        drops: &mut DroppedPackets<P>,
    ) -> Result<(), DropCause>;

    /// Dequeues the packet to serve at `now`, if any is left.
    fn dequeue(&mut self, now: Time, drops: &mut DroppedPackets<P>) -> Option<Queued<P>>;

    /// Current depth of the queue.
    fn depth(&self) -> QueueDepth;
}

/// A waiting packet.
pub(crate) struct Queued<P> {
    /// Time since which it waits.
    pub(crate) since: Time,
    /// Metadata of the packet.
    pub(crate) packet: Packet,
    /// True if it was marked instead of dropped.
    pub(crate) marked: bool,
    /// Body of the packet.
    pub(crate) body: P,
}

impl<P> Queued<P> {
    /// Marks the packet if both its sender and the queue support ECN (`INET_ECN_set_ce`).
    pub(crate) fn mark(&mut self, ecn: bool) -> bool {
        let can = ecn && self.packet.ect;
        self.marked |= can;
        can
    }

    /// Turns the packet into a drop at `now`.
    pub(crate) fn into_drop(self, now: Time, cause: DropCause) -> DroppedPacket<P> {
        DroppedPacket { at: now, wire_bytes: self.packet.wire_bytes, cause, body: self.body }
    }
}

/// Packets that were accepted and then dropped, oldest first.
pub(crate) type DroppedPackets<P> = std::collections::VecDeque<DroppedPacket<P>>;

#[cfg(test)]
pub(crate) mod tests {
    //! Helpers for the tests of all disciplines.

    use std::time::Duration;

    use super::*;

    /// A full packet of one flow, which enters at `now`.
    pub(crate) fn packet(now: Time, flow: u32, ect: bool, body: u32) -> Queued<u32> {
        let packet = Packet { flow, ect, ..Packet::new(1500) };
        Queued { since: now, packet, marked: false, body }
    }

    /// One run of a discipline between a source and a server with fixed periods: departures and drops.
    pub(crate) struct DisciplineRun {
        pub(crate) left: Vec<(Time, u32, bool)>,
        pub(crate) drops: DroppedPackets<u32>,
        pub(crate) refused: usize,
    }

    /// Offers a packet every `arrival` and takes one every `service` until `until`.
    pub(crate) fn run(
        queue: &mut dyn Discipline<u32>,
        arrival: Duration,
        service: Duration,
        until: Time,
        ect: bool,
    ) -> DisciplineRun {
        let mut run = DisciplineRun { left: Vec::new(), drops: DroppedPackets::new(), refused: 0 };
        let (mut comes, mut serves, mut body) = (Time::ZERO, Time::ZERO + service, 0);
        while comes.min(serves) < until {
            if comes <= serves {
                let offered = queue.enqueue(comes, packet(comes, 0, ect, body), &mut run.drops);
                run.refused += usize::from(offered.is_err());
                (body, comes) = (body + 1, comes + arrival);
            } else {
                if let Some(packet) = queue.dequeue(serves, &mut run.drops) {
                    run.left.push((serves, packet.body, packet.marked));
                }
                serves += service;
            }
        }
        run
    }
}
