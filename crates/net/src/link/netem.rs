//! Linux's netem with `delay`, `rate` and `limit` in one qdisc (`netem_enqueue` of `sch_netem.c`).
//!
//! Differences from a real link: the limit counts all packets that have not left, including those that are merely
//! delayed; serialisation comes after the delay (`max(now + delay, the last one's time) + length / rate`); the rate
//! is truncated to whole bytes per second and the time to whole nanoseconds; without a rate, jitter reorders;
//! `reorder` releases a packet at once, before all others. Not modelled: correlations, slots, cells, the
//! distributions that need a table.

use std::collections::VecDeque;
use std::time::Duration;

use units::{BitsPerSec, Time};

use super::crossing::{Crossing, nanos_between};
use crate::delay_line::Order;
use crate::propagation::Propagation;
use crate::queue::Depth;
use crate::{DropCause, LinkConfig, QueueLimit};

pub(super) struct Netem {
    /// `None`: unlimited.
    bytes_per_sec: Option<u64>,
    limit: QueueLimit,
    propagation: Propagation,
    /// Departure time and size of each packet in the qdisc, in order.
    leaving: VecDeque<(Time, u32)>,
    bytes: u64,
}

impl Netem {
    pub(super) fn new(config: &LinkConfig, propagation: Propagation) -> Netem {
        let rate = config.rate.mean();
        Netem {
            bytes_per_sec: (rate < BitsPerSec::UNLIMITED).then_some((rate.0 / 8).max(1)),
            limit: config.queue,
            propagation,
            leaving: VecDeque::new(),
            bytes: 0,
        }
    }

    pub(super) fn admit(&mut self, now: Time, bytes: u32) -> Result<Crossing, DropCause> {
        self.advance(now);
        if !self.limit.has_room(self.leaving.len(), self.bytes, bytes) {
            return Err(DropCause::QueueFull);
        }
        let order = Order::Free;
        if self.propagation.jumps() {
            return Ok(Crossing { waited_ns: 0, service_ns: 0, arrives: now, order });
        }
        let ready = self.propagation.delayed(now);
        let (starts, service_ns) = match self.bytes_per_sec {
            None => (ready, 0),
            Some(rate) => {
                let last = self.leaving.back().map_or(Time::ZERO, |(leaves, _)| *leaves);
                (ready.max(last), u64::from(bytes) * 1_000_000_000 / rate)
            }
        };
        let leaves = starts + Duration::from_nanos(service_ns);
        self.insert(leaves, bytes);
        let waited_ns = nanos_between(ready, starts);
        Ok(Crossing { waited_ns, service_ns, arrives: leaves, order })
    }

    pub(super) fn depth(&self) -> Depth {
        Depth { packets: self.leaving.len(), bytes: self.bytes }
    }

    fn advance(&mut self, now: Time) {
        while let Some((_, bytes)) = self.leaving.front().filter(|(leaves, _)| *leaves <= now) {
            self.bytes -= u64::from(*bytes);
            self.leaving.pop_front();
        }
    }

    fn insert(&mut self, leaves: Time, bytes: u32) {
        self.bytes += u64::from(bytes);
        let behind = self.leaving.partition_point(|(other, _)| *other <= leaves);
        self.leaving.insert(behind, (leaves, bytes));
    }
}
