//! Head drop: a full queue drops its oldest packet, so that the sender learns of it earlier (Lakshman, Neidhardt,
//! Ott, "The Drop from Front Strategy in TCP and in TCP over ATM", 1996; Linux's `pfifo_head_drop`).

use units::Time;

use super::{Backlog, Depth, Discipline, Drops, Queued};
use crate::{DropCause, QueueLimit};

/// A queue that drops at its head.
pub(crate) struct DropHead<P> {
    limit: QueueLimit,
    backlog: Backlog<P>,
}

impl<P> DropHead<P> {
    pub(crate) fn new(limit: QueueLimit) -> DropHead<P> {
        DropHead { limit, backlog: Backlog::new() }
    }
}

impl<P> Discipline<P> for DropHead<P> {
    fn enqueue(
        &mut self,
        now: Time,
        packet: Queued<P>,
        drops: &mut Drops<P>,
    ) -> Result<(), DropCause> {
        while !self.backlog.has_room(self.limit, &packet) {
            // The packet does not fit even into an empty queue.
            let oldest = self.backlog.take().ok_or(DropCause::QueueFull)?;
            drops.push_back(oldest.fall(now, DropCause::QueueFull));
        }
        self.backlog.push(packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Time, _drops: &mut Drops<P>) -> Option<Queued<P>> {
        self.backlog.take()
    }

    fn depth(&self) -> Depth {
        self.backlog.depth()
    }
}

#[cfg(test)]
mod tests {
    use super::super::discipline::tests::packet;
    use super::*;

    #[test]
    fn the_oldest_goes_when_the_queue_is_full() {
        let mut queue = DropHead::new(QueueLimit::Packets(2));
        let mut drops = Drops::new();
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
        let refused = queue.enqueue(Time::ZERO, packet(Time::ZERO, 0, false, 0), &mut Drops::new());
        assert_eq!(refused, Err(DropCause::QueueFull));
    }
}
