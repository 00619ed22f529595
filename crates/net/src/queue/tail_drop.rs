//! Tail drop, packet by packet: a plain queue for a server whose next packet is not known in advance.
//!
//! For one queue served in order, [`DropTail`](super::DropTail) does the same at less cost.

use units::Time;

use super::{Backlog, Depth, Discipline, Drops, Queued};
use crate::{DropCause, QueueLimit};

/// A queue that refuses packets when it is full.
pub(crate) struct TailDrop<P> {
    limit: QueueLimit,
    backlog: Backlog<P>,
}

impl<P> TailDrop<P> {
    pub(crate) fn new(limit: QueueLimit) -> TailDrop<P> {
        TailDrop { limit, backlog: Backlog::new() }
    }
}

impl<P> Discipline<P> for TailDrop<P> {
    fn enqueue(
        &mut self,
        _now: Time,
        packet: Queued<P>,
        _drops: &mut Drops<P>,
    ) -> Result<(), DropCause> {
        if !self.backlog.has_room(self.limit, &packet) {
            return Err(DropCause::QueueFull);
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
    fn who_finds_it_full_is_refused() {
        let mut queue = TailDrop::new(QueueLimit::Bytes(3000));
        let mut offer =
            |body| queue.enqueue(Time::ZERO, packet(Time::ZERO, 0, false, body), &mut Drops::new());
        assert_eq!([offer(0), offer(1), offer(2)], [Ok(()), Ok(()), Err(DropCause::QueueFull)]);
        let left = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut Drops::new()));
        assert_eq!(left.map(|packet| packet.body).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(queue.depth(), Depth::default());
    }
}
