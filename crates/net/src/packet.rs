//! What a link sees of a packet, and what comes out at its far end.
//!
//! A link never looks into a packet's body. What queue management needs of it travels beside.

use units::Time;

use crate::DropCause;

/// A packet that enters a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its IP length.
    pub wire_bytes: u32,
    /// A hash of its addresses and ports: what FQ-CoDel tells flows apart by.
    pub flow: u32,
    /// Whether its sender understands ECN (RFC 3168, ECT(0) or ECT(1)): queue management may mark it
    /// instead of dropping it.
    pub ect: bool,
    /// Which of the link's users it comes from or goes to, from 0: what schedulers and handovers tell users apart by.
    pub user: u32,
}

impl Packet {
    /// A packet of the only user and the only flow there are, whose sender does not understand ECN.
    pub fn new(wire_bytes: u32) -> Packet {
        Packet { wire_bytes, flow: 0, ect: false, user: 0 }
    }
}

/// A packet that has arrived at the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered<P> {
    /// Its IP length.
    pub wire_bytes: u32,
    /// Whether queue management marked it (RFC 3168, CE) instead of dropping it.
    pub congestion_experienced: bool,
    /// What the link was given to carry.
    pub body: P,
}

/// A packet that was dropped after it had been accepted: by queue management, or to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fallen<P> {
    /// When.
    pub at: Time,
    /// Its IP length.
    pub wire_bytes: u32,
    /// Why.
    pub cause: DropCause,
    /// What the link was given to carry.
    pub body: P,
}
