//! A dummynet pipe as the Linux port of ipfw3 runs it (`dummynet_io`, `serve_sched` and
//! `transmit_event` of `ip_dn_io.c`).
//!
//! Time is counted in ticks (of 1 ms: `hz` 1000), but on Linux the timer runs once a jiffy (4 ms at HZ 250) and then
//! advances by all its ticks at once: packets leave in batches. A pipe has a credit in bits: it grows with the ticks,
//! a packet is served when it is not negative, and takes its length from it, so that the rate holds in the long run.
//! An idle pipe begins without credit (`io_fast` 0).
//!
//! Order: loss (before this file), tail drop when the slots are taken, serialisation, delay. The delay is truncated
//! to whole ticks. A queue in bytes is full when it holds more than its limit without the new packet. Not modelled:
//! RED, weighted queues, bursts, MAC overhead profiles, the port's corrections of its clock, and the limit of limits
//! (`pipe_slot_limit`, 100 by default).

use std::time::Duration;

use units::{BitsPerSec, Time};

use super::crossing::{Crossing, nanos_between};
use crate::delay_line::Order;
use crate::queue::{Depth, DropTail};
use crate::{DropCause, LinkConfig, QueueLimit};

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

    pub(super) fn admit(&mut self, now: Time, bytes: u32) -> Result<Crossing, DropCause> {
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
        Ok(Crossing {
            waited_ns: nanos_between(now, starts),
            service_ns: nanos_between(starts, self.instant(self.serves_at)),
            arrives: leaves,
            order: Order::Kept,
        })
    }

    pub(super) fn depth(&self) -> Depth {
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
