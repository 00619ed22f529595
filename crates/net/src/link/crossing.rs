//! Crossing of a packet whose whole fate is decided when it enters.

use units::Time;

use crate::delay_line::Order;

/// A packet's way over a link. Plain nanoseconds: this is computed for every packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crossing {
    /// Time spent waiting for the server.
    pub(super) waited_ns: u64,
    /// Time for which the packet keeps the server busy.
    pub(super) service_ns: u64,
    /// Arrival at the far end; [`Time::NEVER`] if the packet is never served.
    pub(super) arrives: Time,
    /// Permission to overtake others.
    pub(super) order: Order,
}

/// Nanoseconds from one instant to a later one.
#[inline]
pub(super) fn nanos_between(from: Time, to: Time) -> u64 {
    to.as_nanos().saturating_sub(from.as_nanos())
}
