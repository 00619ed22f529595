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
    entered: u64,
    /// The number after the highest that has arrived.
    expected: u64,
}

struct InFlight<P> {
    arrives: Time,
    number: u64,
    packet: Delivered<P>,
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
        DelayLine { packets: VecDeque::new(), last_arrival: Time::ZERO, entered: 0, expected: 0 }
    }

    /// A packet that arrives at `arrives`, but, if order is kept, not before those ahead of it. Returns
    /// when it will.
    pub(crate) fn push(&mut self, arrives: Time, order: Order, packet: Delivered<P>) -> Time {
        let number = self.entered;
        self.entered += 1;
        if order == Order::Free && arrives < self.last_arrival {
            let behind = self.packets.partition_point(|packet| packet.arrives <= arrives);
            self.packets.insert(behind, InFlight { arrives, number, packet });
            return arrives;
        }
        let arrives = arrives.max(self.last_arrival);
        self.last_arrival = arrives;
        self.packets.push_back(InFlight { arrives, number, packet });
        arrives
    }

    /// The next packet, if it has arrived by `now`, and whether a later one came before it.
    pub(crate) fn pop(&mut self, now: Time) -> Option<(Delivered<P>, bool)> {
        if self.next_arrival()? > now {
            return None;
        }
        let InFlight { number, packet, .. } = self.packets.pop_front()?;
        let is_late = number < self.expected;
        self.expected = self.expected.max(number + 1);
        Some((packet, is_late))
    }

    /// When the next packet arrives; `None` if none ever does.
    pub(crate) fn next_arrival(&self) -> Option<Time> {
        self.packets.front().map(|packet| packet.arrives).filter(|at| *at < Time::NEVER)
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }
}
