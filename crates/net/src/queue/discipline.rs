//! Interface of queue management: enqueue, dequeue, and the packets dropped.

use units::Time;

use super::Depth;
use crate::{DropCause, Fallen, Packet};

/// A queue that decides when packets leave it as well as when they arrive.
pub(crate) trait Discipline<P> {
    /// Enqueues a packet at `now`. If that packet is dropped, returns the cause as an error.
    fn enqueue(
        &mut self,
        now: Time,
        packet: Queued<P>,
        drops: &mut Drops<P>,
    ) -> Result<(), DropCause>;

    /// Dequeues the packet to serve at `now`, if any is left.
    fn dequeue(&mut self, now: Time, drops: &mut Drops<P>) -> Option<Queued<P>>;

    /// Current depth of the queue.
    fn depth(&self) -> Depth;
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
    pub(crate) fn fall(self, now: Time, cause: DropCause) -> Fallen<P> {
        Fallen { at: now, wire_bytes: self.packet.wire_bytes, cause, body: self.body }
    }
}

/// Packets that were accepted and then dropped, oldest first.
pub(crate) type Drops<P> = std::collections::VecDeque<Fallen<P>>;

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
    pub(crate) struct Run {
        pub(crate) left: Vec<(Time, u32, bool)>,
        pub(crate) drops: Drops<u32>,
        pub(crate) refused: usize,
    }

    /// Offers a packet every `arrival` and takes one every `service` until `until`.
    pub(crate) fn run(
        queue: &mut dyn Discipline<u32>,
        arrival: Duration,
        service: Duration,
        until: Time,
        ect: bool,
    ) -> Run {
        let mut run = Run { left: Vec::new(), drops: Drops::new(), refused: 0 };
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
