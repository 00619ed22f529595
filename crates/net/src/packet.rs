//! Packets as a link sees them, at its near and its far end.
//!
//! A link never looks into a packet's body. The metadata that queue management needs travels beside it.

use units::Time;

use crate::DropCause;

/// A packet that enters a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its IP length.
    pub wire_bytes: u32,
    /// Hash of its addresses and ports, by which FQ-CoDel tells flows apart.
    pub flow: u32,
    /// True if its sender supports ECN (RFC 3168, ECT(0) or ECT(1)): queue management may mark it instead of dropping
    /// it.
    pub ect: bool,
    /// The link's user that it comes from or goes to, from 0, for schedulers and handovers.
    pub user: u32,
}

impl Packet {
    /// A packet of the only user and the only flow, whose sender does not support ECN.
    pub fn new(wire_bytes: u32) -> Packet {
        Packet { wire_bytes, flow: 0, ect: false, user: 0 }
    }
}

/// A packet that has arrived at the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered<P> {
    /// Its IP length.
    pub wire_bytes: u32,
    /// True if queue management marked it (RFC 3168, CE) instead of dropping it.
    pub congestion_experienced: bool,
    /// The body that the link was given.
    pub body: P,
}

/// A packet that was dropped after it had been accepted: by queue management, or to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedPacket<P> {
    /// Time of the drop.
    pub at: Time,
    /// Its IP length.
    pub wire_bytes: u32,
    /// Cause of the drop.
    pub cause: DropCause,
    /// The body that the link was given.
    pub body: P,
}
