//! Packets on their way: a queue ordered by arrival.
//!
//! Has room for any number, as dummynet's delay line does (netem's limit counts these too: a
//! difference that matters when the bandwidth-delay product exceeds the limit).

use std::collections::VecDeque;

use units::Time;

/// What has left the serialiser and has not arrived.
pub(crate) struct DelayLine<P> {
    packets: VecDeque<InFlight<P>>,
    last_arrival: Time,
}

struct InFlight<P> {
    arrives: Time,
    bytes: u32,
    body: P,
}

impl<P> DelayLine<P> {
    pub(crate) fn new() -> DelayLine<P> {
        DelayLine { packets: VecDeque::new(), last_arrival: Time::ZERO }
    }

    /// A packet that arrives at `arrives`, but not before those ahead of it.
    pub(crate) fn push(&mut self, arrives: Time, bytes: u32, body: P) {
        let arrives = arrives.max(self.last_arrival);
        self.last_arrival = arrives;
        self.packets.push_back(InFlight { arrives, bytes, body });
    }

    /// The next packet, if it has arrived by `now`.
    pub(crate) fn pop(&mut self, now: Time) -> Option<(u32, P)> {
        if self.next_arrival()? > now {
            return None;
        }
        self.packets.pop_front().map(|packet| (packet.bytes, packet.body))
    }

    pub(crate) fn next_arrival(&self) -> Option<Time> {
        self.packets.front().map(|packet| packet.arrives)
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }
}
