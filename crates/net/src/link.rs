//! One direction of a network: loss, queue, serialiser, delay line.
//!
//! The order is dummynet's (`ip_dn_io.c`): a packet is lost first, dropped at the tail of a full
//! queue next, then serialised, then delayed. All of a packet's fate is decided when it enters, so a
//! packet costs one timer at most: its arrival.

use std::time::Duration;

use chance::Stream;
use units::Time;

use crate::delay_line::DelayLine;
use crate::loss::Loss;
use crate::queue::DropTail;
use crate::serialiser::Serialiser;
use crate::{LinkConfig, LinkStats, ProcessingJitter};

/// One direction of a network, carrying packets whose bodies `P` it never looks at.
pub struct Link<P> {
    mtu: u32,
    delay: Duration,
    processing_jitter: ProcessingJitter,
    loss: Loss,
    jitter: Stream,
    queue: DropTail,
    serialiser: Serialiser,
    delay_line: DelayLine<P>,
    stats: LinkStats,
}

/// What became of a packet that was handed to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// It will arrive.
    Queued,
    /// It will not.
    Dropped(DropCause),
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// Random loss.
    Loss,
    /// No room in the queue.
    QueueFull,
    /// Larger than the MTU.
    TooBig,
}

impl<P> Link<P> {
    /// An idle link. `loss` and `jitter` are streams of its own (`"link/down/loss"`, ...), so that
    /// what one direction draws shifts nothing in the other.
    pub fn new(config: LinkConfig, loss: Stream, jitter: Stream) -> Link<P> {
        Link {
            mtu: config.mtu,
            delay: config.delay,
            processing_jitter: config.processing_jitter,
            loss: Loss::new(config.loss, loss),
            jitter,
            queue: DropTail::new(config.queue),
            serialiser: Serialiser::new(config.rate),
            delay_line: DelayLine::new(),
            stats: LinkStats::default(),
        }
    }

    /// A packet of `wire_bytes` (its IP length) enters at `now`, which never goes back.
    pub fn handle(&mut self, now: Time, wire_bytes: u32, body: P) -> Verdict {
        self.stats.offered_packets += 1;
        self.stats.offered_bytes += u64::from(wire_bytes);
        self.queue.advance(now);
        let start = self.serialiser.starts(now);
        if let Some(cause) = self.refusal(now, start, wire_bytes) {
            return self.drop_packet(wire_bytes, cause);
        }
        if start > now {
            self.wait(now, start, wire_bytes);
        }
        let service = self.serialiser.serve(start, wire_bytes);
        self.stats.busy = self.stats.busy.saturating_add(service);
        let arrives = start + service + self.delay + self.processing(service);
        self.delay_line.push(arrives, wire_bytes, body);
        Verdict::Queued
    }

    /// The next packet that has arrived at the far end by `now`, with its IP length.
    pub fn poll(&mut self, now: Time) -> Option<(u32, P)> {
        let (wire_bytes, body) = self.delay_line.pop(now)?;
        self.stats.delivered_packets += 1;
        self.stats.delivered_bytes += u64::from(wire_bytes);
        Some((wire_bytes, body))
    }

    /// When the next packet arrives.
    pub fn deadline(&self) -> Option<Time> {
        self.delay_line.next_arrival()
    }

    /// Packets that were accepted and have not been polled.
    pub fn in_flight(&self) -> usize {
        self.delay_line.len()
    }

    /// Totals so far.
    pub fn stats(&self) -> &LinkStats {
        &self.stats
    }

    fn refusal(&mut self, now: Time, start: Time, wire_bytes: u32) -> Option<DropCause> {
        if wire_bytes > self.mtu {
            return Some(DropCause::TooBig);
        }
        if self.loss.strikes() {
            return Some(DropCause::Loss);
        }
        // A packet that finds the serialiser idle needs no room in the queue.
        if start > now && !self.queue.has_room(wire_bytes) {
            return Some(DropCause::QueueFull);
        }
        None
    }

    fn drop_packet(&mut self, wire_bytes: u32, cause: DropCause) -> Verdict {
        self.stats.dropped_bytes += u64::from(wire_bytes);
        match cause {
            DropCause::Loss => self.stats.lost_packets += 1,
            DropCause::QueueFull => self.stats.queue_full_packets += 1,
            DropCause::TooBig => self.stats.too_big_packets += 1,
        }
        Verdict::Dropped(cause)
    }

    fn wait(&mut self, now: Time, start: Time, wire_bytes: u32) {
        self.queue.push(wire_bytes, start);
        let stats = &mut self.stats;
        stats.waited_packets += 1;
        stats.waited = stats.waited.saturating_add(start - now);
        stats.max_queue_packets = stats.max_queue_packets.max(self.queue.packets() as u64);
        stats.max_queue_bytes = stats.max_queue_bytes.max(self.queue.bytes());
    }

    /// The nuisance model's share of a packet's delay.
    fn processing(&mut self, service: Duration) -> Duration {
        match self.processing_jitter {
            ProcessingJitter::None => Duration::ZERO,
            ProcessingJitter::UpToOneSerialisation => self.jitter.span(service),
        }
    }
}

#[cfg(test)]
mod tests;
