//! The links of other emulators: Linux's netem, and dummynet.
//!
//! Netem is `delay`, `rate` and `limit` in one qdisc (`netem_enqueue` of `sch_netem.c`). Its differences from a real link: the limit counts all packets that have not left, including those that are merely
//! delayed; serialisation comes after the delay (`max(now + delay, the last one's time) + length / rate`); the rate
//! is truncated to whole bytes per second and the time to whole nanoseconds; without a rate, jitter reorders;
//! `reorder` releases a packet at once, before all others. Not modelled: correlations, slots, cells, the
//! distributions that need a table.

use std::collections::VecDeque;
use std::time::Duration;

use units::{BitsPerSec, Time};

use super::fifo::{LinkTransit, nanos_between};
use crate::propagation::{ArrivalOrder, Propagation};
use crate::queue::{DropTail, QueueDepth};
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

    pub(super) fn admit(&mut self, now: Time, bytes: u32) -> Result<LinkTransit, DropCause> {
        self.advance(now);
        if !self.limit.has_room(self.leaving.len(), self.bytes, bytes) {
            return Err(DropCause::QueueFull);
        }
        let order = ArrivalOrder::Free;
        if self.propagation.jumps() {
            return Ok(LinkTransit { waited_ns: 0, service_ns: 0, arrives: now, order });
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
        Ok(LinkTransit { waited_ns, service_ns, arrives: leaves, order })
    }

    pub(super) fn depth(&self) -> QueueDepth {
        QueueDepth { packets: self.leaving.len(), bytes: self.bytes }
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

// A dummynet pipe as the Linux port of ipfw3 runs it (`dummynet_io`, `serve_sched` and
// `transmit_event` of `ip_dn_io.c`).
//
// Time is counted in ticks (of 1 ms: `hz` 1000), but on Linux the timer runs once a jiffy (4 ms at HZ 250) and then
// advances by all its ticks at once: packets leave in batches. A pipe has a credit in bits: it grows with the ticks,
// a packet is served when it is not negative, and takes its length from it, so that the rate holds in the long run.
// An idle pipe begins without credit (`io_fast` 0).
//
// Order: loss (before this file), tail drop when the slots are taken, serialisation, delay. The delay is truncated
// to whole ticks. A queue in bytes is full when it holds more than its limit without the new packet. Not modelled:
// RED, weighted queues, bursts, MAC overhead profiles, the port's corrections of its clock, and the limit of limits
// (`pipe_slot_limit`, 100 by default).

pub(super) struct Dummynet {
    tick_ns: u64,
    /// `hz`.
    ticks_per_sec: u64,
    /// Bits per second; `None`: unlimited.
    bandwidth: Option<i128>,
    delay_ticks: u64,
    ticks_per_timer: u64,
    limit: QueueLimit,
    queue: DropTail,
    /// Earliest tick at which the next packet can be served, and the credit then, in bits times ticks per second. The
    /// credit is not negative.
    serves_at: u64,
    credit: i128,
}

impl Dummynet {
    pub(super) fn new(config: &LinkConfig, tick: Duration, timer: Duration) -> Dummynet {
        let rate = config.rate.mean();
        let ticks = |span: Duration| (span.as_nanos() / tick.as_nanos()) as u64;
        Dummynet {
            tick_ns: tick.as_nanos() as u64,
            ticks_per_sec: ticks(Duration::from_secs(1)),
            bandwidth: (rate < BitsPerSec::UNLIMITED).then_some(i128::from(rate.0.max(1))),
            delay_ticks: ticks(config.delay),
            ticks_per_timer: ticks(timer).max(1),
            limit: config.queue,
            queue: DropTail::new(config.queue),
            serves_at: 0,
            credit: 0,
        }
    }

    pub(super) fn admit(&mut self, now: Time, bytes: u32) -> Result<LinkTransit, DropCause> {
        self.queue.advance(now);
        let tick = self.tick(now);
        let waits = self.serves_at > tick;
        if waits && !self.has_room(bytes) {
            return Err(DropCause::QueueFull);
        }
        if !waits && self.serves_at < tick {
            // The pipe was idle: `si->sched_time = dn_cfg.curr_time; si->credit = 0`.
            (self.serves_at, self.credit) = (tick, 0);
        }
        let starts = if waits { self.instant(self.serves_at) } else { now };
        if waits {
            self.queue.push(bytes, starts);
        }
        let ends = self.serve(bytes);
        let leaves = self.instant(ends + self.delay_ticks).max(starts);
        Ok(LinkTransit {
            waited_ns: nanos_between(now, starts),
            service_ns: nanos_between(starts, self.instant(self.serves_at)),
            arrives: leaves,
            order: ArrivalOrder::Kept,
        })
    }

    pub(super) fn depth(&self) -> QueueDepth {
        self.queue.depth()
    }

    /// `serve_sched` for one packet: the tick of its `output_time`, without the delay.
    fn serve(&mut self, bytes: u32) -> u64 {
        let at = self.serves_at;
        let Some(bandwidth) = self.bandwidth else { return at };
        self.credit -= i128::from(u64::from(bytes) * 8 * self.ticks_per_sec);
        if self.credit >= 0 {
            return at;
        }
        let ticks = ((bandwidth - 1 - self.credit) / bandwidth) as u64;
        self.serves_at = (at + ticks).next_multiple_of(self.ticks_per_timer);
        self.credit += i128::from(self.serves_at - at) * bandwidth;
        at + ticks
    }

    /// `dn_cfg.curr_time`: tick at which the timer last ran.
    fn tick(&self, now: Time) -> u64 {
        let ticks = now.as_nanos() / self.tick_ns;
        ticks - ticks % self.ticks_per_timer
    }

    /// Time at which the timer first sees `tick`.
    fn instant(&self, tick: u64) -> Time {
        let nanos = tick.next_multiple_of(self.ticks_per_timer).saturating_mul(self.tick_ns);
        Time::from_nanos(nanos)
    }

    /// `dn_enqueue`: `len_bytes > qsize` or `length >= qsize` drops.
    fn has_room(&self, bytes: u32) -> bool {
        match self.limit {
            QueueLimit::Bytes(limit) => self.queue.depth().bytes <= limit,
            QueueLimit::Packets(_) | QueueLimit::Unlimited => self.queue.has_room(bytes),
        }
    }
}
