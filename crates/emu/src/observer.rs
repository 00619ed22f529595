//! Observers of packets in the emulator.
//!
//! Unused observation costs nothing: an emulator is generic over its observer, and a packet's bytes are put together on request.

use std::net::SocketAddr;

use units::Time;

use crate::links::Drop;
use crate::superpacket::FrameSegment;
use crate::{Side, TcpNumbers};

/// An observed packet.
pub struct Sighting<'a> {
    /// Its number, in the order of entry into the first link. A duplicate made by a link has the same number.
    pub number: u64,
    /// Side of its origin.
    pub from: Side,
    /// Number of the client that it belongs to.
    pub user: u32,
    /// True if queue management marked it (RFC 3168, CE) on its way.
    pub marked: bool,
    pub(crate) segment: &'a FrameSegment,
}

impl Sighting<'_> {
    /// Length of the IP packet.
    pub fn wire_bytes(&self) -> u32 {
        self.segment.wire_bytes() as u32
    }

    /// Its source and destination, if it carries TCP or UDP.
    pub fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        self.segment.ends()
    }

    /// Its numbers, if it carries TCP.
    pub fn tcp(&self) -> Option<TcpNumbers> {
        self.segment.tcp()
    }

    /// The IP packet with its checksums complete, as a wire would carry it.
    pub fn ip_packet(&self) -> Vec<u8> {
        self.segment.ip_packet(self.marked)
    }
}

/// Sees every packet. `()` ignores all, a pair passes each to both, an `Option` to the observer in it, if any.
pub trait Observer {
    /// A packet left the host at `packet.from` and entered its first link at `at`.
    fn entered(&mut self, at: Time, packet: &Sighting<'_>) {
        let _ = (at, packet);
    }

    /// A packet left its last link at `due`, and was handed to the host at the other side at `left`. The host's kernel has processed it;
    /// its responses have not been read.
    fn delivered(&mut self, due: Time, left: Time, packet: &Sighting<'_>) {
        let _ = (due, left, packet);
    }

    /// The packet with this number was dropped.
    fn dropped(&mut self, number: u64, drop: &Drop) {
        let _ = (number, drop);
    }
}

impl Observer for () {}

impl<A: Observer, B: Observer> Observer for (A, B) {
    fn entered(&mut self, at: Time, packet: &Sighting<'_>) {
        self.0.entered(at, packet);
        self.1.entered(at, packet);
    }

    fn delivered(&mut self, due: Time, left: Time, packet: &Sighting<'_>) {
        self.0.delivered(due, left, packet);
        self.1.delivered(due, left, packet);
    }

    fn dropped(&mut self, number: u64, drop: &Drop) {
        self.0.dropped(number, drop);
        self.1.dropped(number, drop);
    }
}

impl<O: Observer> Observer for Option<O> {
    fn entered(&mut self, at: Time, packet: &Sighting<'_>) {
        self.iter_mut().for_each(|observer| observer.entered(at, packet));
    }

    fn delivered(&mut self, due: Time, left: Time, packet: &Sighting<'_>) {
        self.iter_mut().for_each(|observer| observer.delivered(due, left, packet));
    }

    fn dropped(&mut self, number: u64, drop: &Drop) {
        self.iter_mut().for_each(|observer| observer.dropped(number, drop));
    }
}
