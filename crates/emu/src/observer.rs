//! Who looks on while packets are carried.
//!
//! What nobody asks for costs nothing: an emulator is generic over its observer, and a packet's bytes are put together when they are asked for.

use std::net::SocketAddr;

use units::Time;

use crate::links::Drop;
use crate::superpacket::Segment;
use crate::{Side, TcpNumbers};

/// A packet that is looked at.
pub struct Sighting<'a> {
    /// Its number, in the order in which packets entered their first link. A copy that a link made has the same.
    pub number: u64,
    /// Whence it came.
    pub from: Side,
    /// Whose it is: the number of the client.
    pub user: u32,
    /// Whether queue management marked it (RFC 3168, CE) on its way.
    pub marked: bool,
    pub(crate) segment: &'a Segment,
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

/// Sees every packet. `()` looks away, a pair looks with both, an `Option` if it is there.
pub trait Observer {
    /// A packet left the host at `packet.from` and entered its first link at `at`.
    fn entered(&mut self, at: Time, packet: &Sighting<'_>) {
        let _ = (at, packet);
    }

    /// A packet left its last link at `due`, and was handed to the host at the other side at `left`. The host's kernel has done its work on
    /// it; what it answered has not been read.
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
