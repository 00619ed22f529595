//! Packets on their way: a queue ordered by arrival.
//!
//! Has room for any number, as dummynet's delay line does (netem's limit counts these too: a
//! difference that matters when the bandwidth-delay product exceeds the limit).

use std::collections::VecDeque;

use units::Time;

use crate::Delivered;

/// What has left the serialiser and has not arrived.
pub(crate) struct DelayLine<P> {
    packets: VecDeque<InFlight<P>>,
    last_arrival: Time,
}

struct InFlight<P> {
    arrives: Time,
    // A [`Delivered`], in fields: as one value it is first written aside and then copied.
    wire_bytes: u32,
    congestion_experienced: bool,
    /// Whether a later packet arrives before it.
    is_late: bool,
    body: P,
}

impl<P> InFlight<P> {
    #[inline(always)]
    fn new(arrives: Time, packet: Delivered<P>) -> InFlight<P> {
        let Delivered { wire_bytes, congestion_experienced, body } = packet;
        InFlight { arrives, wire_bytes, congestion_experienced, is_late: false, body }
    }
}

/// Whether a packet may overtake those ahead of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// It arrives after them.
    Kept,
    /// It arrives when it arrives.
    Free,
}

impl<P> DelayLine<P> {
    pub(crate) fn new() -> DelayLine<P> {
        DelayLine { packets: VecDeque::new(), last_arrival: Time::ZERO }
    }

    /// A packet that arrives at `arrives`, but, if order is kept, not before those ahead of it. Returns
    /// when it will.
    #[inline(always)]
    pub(crate) fn push(&mut self, arrives: Time, order: Order, packet: Delivered<P>) -> Time {
        if order == Order::Free && arrives < self.last_arrival {
            self.overtake(arrives, packet);
            return arrives;
        }
        let arrives = arrives.max(self.last_arrival);
        self.last_arrival = arrives;
        self.packets.push_back(InFlight::new(arrives, packet));
        arrives
    }

    #[cold]
    fn overtake(&mut self, arrives: Time, packet: Delivered<P>) {
        let behind = self.packets.partition_point(|packet| packet.arrives <= arrives);
        self.packets.range_mut(behind..).for_each(|overtaken| overtaken.is_late = true);
        self.packets.insert(behind, InFlight::new(arrives, packet));
    }

    /// The next packet, if it has arrived by `now`, and whether a later one came before it.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time) -> Option<(Delivered<P>, bool)> {
        if self.next_arrival()? > now {
            return None;
        }
        let InFlight { wire_bytes, congestion_experienced, is_late, body, .. } =
            self.packets.pop_front()?;
        Some((Delivered { wire_bytes, congestion_experienced, body }, is_late))
    }

    /// When the next packet arrives; `None` if none ever does.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<Time> {
        self.packets.front().map(|packet| packet.arrives).filter(|at| *at < Time::NEVER)
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }
}
