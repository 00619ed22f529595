//! Farlink's own link with a droptail queue: serialise in order of arrival, then delay.
//!
//! As no waiting packet is ever dropped, a packet's whole way is known when it enters, and it costs at most one
//! timer: its arrival. This path carries millions of packets a second.

use units::Time;

use super::crossing::{Crossing, nanos_between};
use crate::delay_line::Order;
use crate::propagation::Propagation;
use crate::queue::{Depth, DropTail};
use crate::server::{Server, Service};
use crate::{DropCause, LinkConfig};

pub(super) struct Fifo {
    queue: DropTail,
    server: Server,
    propagation: Propagation,
}

impl Fifo {
    pub(super) fn new(config: &LinkConfig, propagation: Propagation) -> Fifo {
        Fifo { queue: DropTail::new(config.queue), server: Server::new(&config.rate), propagation }
    }

    #[inline]
    pub(super) fn admit(&mut self, now: Time, bytes: u32) -> Result<Crossing, DropCause> {
        self.queue.advance(now);
        // A packet that finds the server idle needs no room in the queue.
        let waits = self.server.starts(now) > now;
        if waits && !self.queue.has_room(bytes) {
            return Err(DropCause::QueueFull);
        }
        let Service { starts, ends } = self.server.serve(now, bytes);
        if waits {
            self.queue.push(bytes, starts);
        }
        let (arrives, order) = match ends {
            Time::NEVER => (Time::NEVER, Order::Kept),
            _ => self.propagation.next(ends),
        };
        Ok(Crossing {
            waited_ns: nanos_between(now, starts),
            service_ns: nanos_between(starts, ends),
            arrives,
            order,
        })
    }

    pub(super) fn depth(&self) -> Depth {
        self.queue.depth()
    }
}
