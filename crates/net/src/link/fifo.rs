//! Farlink's own link with a droptail queue: serialise in order of arrival, then delay.
//!
//! As no waiting packet is ever dropped, a packet's whole way is known when it enters, and it costs at most one
//! timer: its arrival. This path carries millions of packets a second.

use units::Time;

use crate::propagation::{ArrivalOrder, Propagation};
use crate::queue::{DropTail, QueueDepth};
use crate::server::{LinkServer, ServiceTime};
use crate::{DropCause, LinkConfig};

pub(super) struct Fifo {
    queue: DropTail,
    server: LinkServer,
    propagation: Propagation,
}

impl Fifo {
    pub(super) fn new(config: &LinkConfig, propagation: Propagation) -> Fifo {
        Fifo {
            queue: DropTail::new(config.queue),
            server: LinkServer::new(&config.rate),
            propagation,
        }
    }

    #[inline]
    pub(super) fn admit(&mut self, now: Time, bytes: u32) -> Result<LinkTransit, DropCause> {
        self.queue.advance(now);
        // A packet that finds the server idle needs no room in the queue.
        let waits = self.server.starts(now) > now;
        if waits && !self.queue.has_room(bytes) {
            return Err(DropCause::QueueFull);
        }
        let ServiceTime { starts, ends } = self.server.serve(now, bytes);
        if waits {
            self.queue.push(bytes, starts);
        }
        let (arrives, order) = match ends {
            Time::NEVER => (Time::NEVER, ArrivalOrder::Kept),
            _ => self.propagation.next(ends),
        };
        Ok(LinkTransit {
            waited_ns: nanos_between(now, starts),
            service_ns: nanos_between(starts, ends),
            arrives,
            order,
        })
    }

    pub(super) fn depth(&self) -> QueueDepth {
        self.queue.depth()
    }
}

/// A packet's way over a link. Plain nanoseconds: this is computed for every packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkTransit {
    /// Time spent waiting for the server.
    pub(super) waited_ns: u64,
    /// Time for which the packet keeps the server busy.
    pub(super) service_ns: u64,
    /// Arrival at the far end; [`Time::NEVER`] if the packet is never served.
    pub(super) arrives: Time,
    /// Permission to overtake others.
    pub(super) order: ArrivalOrder,
}

/// Nanoseconds from one instant to a later one.
#[inline]
pub(super) fn nanos_between(from: Time, to: Time) -> u64 {
    to.as_nanos().saturating_sub(from.as_nanos())
}
