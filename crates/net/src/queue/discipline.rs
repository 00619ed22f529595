//! What queue management is: it takes packets in, gives them out, and says whom it dropped.

use units::Time;

use super::Depth;
use crate::{DropCause, Fallen, Packet};

/// A queue whose decisions fall when packets leave it as well as when they come.
pub(crate) trait Discipline<P> {
    /// A packet comes at `now`. If it is the one that has to go, the error says why.
    fn enqueue(
        &mut self,
        now: Time,
        packet: Queued<P>,
        drops: &mut Drops<P>,
    ) -> Result<(), DropCause>;

    /// The server is free at `now`: the packet that it gets, if any is left.
    fn dequeue(&mut self, now: Time, drops: &mut Drops<P>) -> Option<Queued<P>>;

    /// How much waits.
    fn depth(&self) -> Depth;
}

/// A packet that waits.
pub(crate) struct Queued<P> {
    /// Since when.
    pub(crate) since: Time,
    /// What the link was told of it.
    pub(crate) packet: Packet,
    /// Whether it was marked instead of being dropped.
    pub(crate) marked: bool,
    /// What it carries.
    pub(crate) body: P,
}

impl<P> Queued<P> {
    /// Marks it, if its sender and the queue both know ECN (`INET_ECN_set_ce`).
    pub(crate) fn mark(&mut self, ecn: bool) -> bool {
        let can = ecn && self.packet.ect;
        self.marked |= can;
        can
    }

    /// Its end, `now`.
    pub(crate) fn fall(self, now: Time, cause: DropCause) -> Fallen<P> {
        Fallen { at: now, wire_bytes: self.packet.wire_bytes, cause, body: self.body }
    }
}

/// Packets that were accepted and had to go, oldest first.
pub(crate) type Drops<P> = std::collections::VecDeque<Fallen<P>>;

#[cfg(test)]
pub(crate) mod tests {
    //! What the tests of all disciplines use.

    use std::time::Duration;

    use super::*;

    /// A full packet of one flow, which enters at `now`.
    pub(crate) fn packet(now: Time, flow: u32, ect: bool, body: u32) -> Queued<u32> {
        let packet = Packet { flow, ect, ..Packet::new(1500) };
        Queued { since: now, packet, marked: false, body }
    }

    /// One run of a discipline between a source and a server with fixed periods: what left and when,
    /// and what was dropped.
    pub(crate) struct Run {
        pub(crate) left: Vec<(Time, u32, bool)>,
        pub(crate) drops: Drops<u32>,
        pub(crate) refused: usize,
    }

    /// Offers a packet each `arrival` and takes one each `service` until `until`.
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
