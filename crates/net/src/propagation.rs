//! Propagation: time from the end of serialisation to arrival, and the packets on their way.

use std::collections::VecDeque;

use chance::RandomStream;
use units::Time;

use crate::{Delivered, Jitter, JitterShape, LinkConfig, Reorder};

/// A delay, possibly with jitter.
pub(crate) struct Propagation {
    delay_ns: u64,
    jitter: Jitter,
    reorder: Reorder,
    stream: RandomStream,
}

impl Propagation {
    pub(crate) fn new(config: &LinkConfig, stream: RandomStream) -> Propagation {
        let LinkConfig { delay, jitter, reorder, .. } = *config;
        Propagation { delay_ns: delay.as_nanos() as u64, jitter, reorder, stream }
    }

    /// Arrival time of the next packet, which departs at `from`, and whether it may overtake others.
    #[inline]
    pub(crate) fn next(&mut self, from: Time) -> (Time, ArrivalOrder) {
        let arrives = self.delayed(from);
        match self.reorder {
            Reorder::Never => (arrives, ArrivalOrder::Kept),
            Reorder::ByJitter => (arrives, ArrivalOrder::Free),
            Reorder::Jump(probability) if self.stream.happens(probability) => {
                (from, ArrivalOrder::Free)
            }
            Reorder::Jump(_) => (arrives, ArrivalOrder::Kept),
        }
    }

    /// Arrival time of the next packet, which departs at `from`. A link without jitter draws nothing.
    #[inline]
    pub(crate) fn delayed(&mut self, from: Time) -> Time {
        let delay_ns = match self.jitter.spread.is_zero() {
            true => self.delay_ns,
            false => self.varied(),
        };
        Time::from_nanos(from.as_nanos().saturating_add(delay_ns))
    }

    fn varied(&mut self) -> u64 {
        let Jitter { spread, shape } = self.jitter;
        match shape {
            JitterShape::Uniform => {
                let drawn = self.stream.span(2 * spread).as_nanos() as u64;
                (self.delay_ns + drawn).saturating_sub(spread.as_nanos() as u64)
            }
            JitterShape::Normal => {
                let drawn = self.stream.normal() * spread.as_nanos() as f64;
                (self.delay_ns as f64 + drawn).max(0.0).round() as u64
            }
        }
    }

    /// Returns true if the next packet skips everything that delays it (netem's `reorder`).
    pub(crate) fn jumps(&mut self) -> bool {
        matches!(self.reorder, Reorder::Jump(probability) if self.stream.happens(probability))
    }
}

// Delay line: packets in propagation, ordered by arrival.
//
// Has no limit, as dummynet's delay line (netem's limit counts these packets too: a difference that matters when the
// bandwidth-delay product exceeds the limit).

/// Packets that have left the serialiser and have not arrived.
pub(crate) struct DelayLine<P> {
    packets: VecDeque<InFlight<P>>,
    last_arrival: Time,
}

struct InFlight<P> {
    arrives: Time,
    // A [`Delivered`], field by field: a whole value would first be built elsewhere and then copied.
    wire_bytes: u32,
    congestion_experienced: bool,
    /// True if a later packet arrives before it.
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

/// Permission to overtake packets ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrivalOrder {
    /// The packet arrives after those ahead.
    Kept,
    /// The packet arrives at its own time.
    Free,
}

impl<P> DelayLine<P> {
    pub(crate) fn new() -> DelayLine<P> {
        DelayLine { packets: VecDeque::new(), last_arrival: Time::ZERO }
    }

    /// Adds a packet that arrives at `arrives` but, if order is kept, not before those ahead of it. Returns its
    /// actual arrival time.
    #[inline(always)]
    pub(crate) fn push(
        &mut self,
        arrives: Time,
        order: ArrivalOrder,
        packet: Delivered<P>,
    ) -> Time {
        if order == ArrivalOrder::Free && arrives < self.last_arrival {
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

    /// Removes the next packet if it has arrived by `now`, and tells whether a later one came before it.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time) -> Option<(Delivered<P>, bool)> {
        if self.next_arrival()? > now {
            return None;
        }
        let InFlight { wire_bytes, congestion_experienced, is_late, body, .. } =
            self.packets.pop_front()?;
        Some((Delivered { wire_bytes, congestion_experienced, body }, is_late))
    }

    /// Arrival time of the next packet; `None` if none will ever arrive.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<Time> {
        self.packets.front().map(|packet| packet.arrives).filter(|at| *at < Time::NEVER)
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }
}
